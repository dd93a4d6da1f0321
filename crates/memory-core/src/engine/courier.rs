//! Delivers what waits in the queue: in order within a scope, one at a time, as often as it takes.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};

use super::handover::{Handover, Settled};
use super::{Delivery, DeliveryQueue};
use crate::layers::{Backoff, Deadline, after};
use crate::{Clock, Error, ErrorKind, MemoryProvider, Result, Scope, Sleeper, Timestamp};

/// How much longer than the longest write a delivery is taken for, so that its time limit ends it first.
const LEASE_MARGIN: Duration = Duration::from_secs(30);
/// The pauses of [`Courier::run`]: other processes put things into the queue as well.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How many scopes are delivered at once.
const WORKERS: usize = 4;

/// What became of the deliveries that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CourierReport {
    /// Carried out.
    pub delivered: u64,
    /// Refused for good; they stand aside.
    pub refused: u64,
    /// To be tried again later.
    pub postponed: u64,
}

/// Delivers. Cheap to clone; every clone is the same courier. Deliveries run on their own: a caller who stops waiting for
/// one does not end it.
#[derive(Clone)]
pub struct Courier(Arc<Parts>);

pub(super) struct Parts {
    pub(super) queue: Arc<dyn DeliveryQueue>,
    /// In mode `both`: where abandoned deliveries are written once more.
    pub(super) builtin: Option<Arc<dyn MemoryProvider>>,
    pub(super) clock: Arc<dyn Clock>,
    handover: Handover,
    sleeper: Arc<dyn Sleeper>,
    backoff: Backoff,
    lease: Duration,
    /// Who waits for which delivery.
    waiting: Mutex<HashMap<i64, oneshot::Sender<Settled>>>,
    activity: watch::Sender<Activity>,
    closing: watch::Sender<bool>,
    postponed: Notify,
}

/// What goes on in this process.
#[derive(Default)]
struct Activity {
    /// Scopes that will be looked at.
    nudged: HashSet<Scope>,
    /// Scopes that are being looked at.
    running: HashMap<Scope, Looking>,
}

/// By how many a scope is being looked at, and since when the present delivery is under way.
struct Looking {
    count: usize,
    since: Timestamp,
}

impl Activity {
    fn enter(&mut self, scope: &Scope, now: Timestamp) {
        let looking = self.running.entry(scope.clone()).or_insert(Looking { count: 0, since: now });
        (looking.count, looking.since) = (looking.count + 1, now);
    }

    fn leave(&mut self, scope: &Scope) {
        if let Some(looking) = self.running.get_mut(scope) {
            looking.count -= 1;
            if looking.count == 0 {
                self.running.remove(scope);
            }
        }
    }

    /// True when the present delivery of `scope` has been under way for longer than `limit`.
    fn is_stuck(&self, scope: &Scope, limit: Duration, now: Timestamp) -> bool {
        self.running.get(scope).is_some_and(|looking| now >= after(looking.since, limit))
    }

    fn is_quiet(&self, scope: &Scope) -> bool {
        !self.nudged.contains(scope) && !self.running.contains_key(scope)
    }
}

/// That a scope is being looked at, for as long as this lives.
struct Running<'a>(&'a watch::Sender<Activity>, Scope);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|activity| activity.leave(&self.1));
    }
}

/// Asks workers to stop when it is dropped.
#[derive(Default)]
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Courier {
    pub(super) fn new(
        handover: Handover,
        builtin: Option<Arc<dyn MemoryProvider>>,
        clock: Arc<dyn Clock>,
        sleeper: Arc<dyn Sleeper>,
    ) -> Self {
        let seed = u64::try_from(clock.now().nanoseconds()).unwrap_or(0);
        Self(Arc::new(Parts {
            queue: handover.queue.clone(),
            lease: handover.provider.policy().write_limit.saturating_add(LEASE_MARGIN),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(300), seed),
            waiting: Mutex::default(),
            activity: watch::channel(Activity::default()).0,
            closing: watch::channel(false).0,
            postponed: Notify::new(),
            builtin,
            clock,
            handover,
            sleeper,
        }))
    }

    /// Delivers what is due in one scope. Waits no longer than `limit`; what is under way then goes on.
    pub async fn deliver_scope(&self, scope: &Scope, limit: Duration) -> Result<CourierReport> {
        self.deliver(Some(scope), usize::MAX, limit).await
    }

    /// Delivers at most `most` of what is due. Waits no longer than `limit`; what is under way then goes on.
    pub async fn deliver_due(&self, most: usize, limit: Duration) -> Result<CourierReport> {
        self.0.recover().await?;
        self.deliver(None, most, limit).await
    }

    /// Keeps delivering until `shutdown` is done. For processes that live long.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let work = async {
            loop {
                if let Err(error) = self.deliver_due(usize::MAX, Duration::MAX).await {
                    tracing::warn!(%error, "what waits for the external provider cannot be delivered");
                }
                let pause = self.0.pause().await;
                tokio::select! {
                    () = self.0.sleeper.sleep(pause) => {}
                    () = self.0.postponed.notified() => {}
                }
            }
        };
        tokio::select! {
            () = shutdown => {}
            () = work => {}
        }
    }

    /// Has a scope looked at soon, without waiting for it.
    pub(super) fn nudge(&self, scope: &Scope) {
        let parts = &self.0;
        let mut is_new = false;
        parts.activity.send_modify(|activity| is_new = activity.nudged.insert(scope.clone()));
        if !is_new {
            return;
        }
        let (parts, scope) = (parts.clone(), scope.clone());
        tokio::spawn(async move {
            parts.enter_alone(&scope).await;
            let running = Running(&parts.activity, scope);
            loop {
                match parts.deliver_next(Some(&running.1)).await {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%error, "what waits for the external provider cannot be delivered");
                        break;
                    }
                }
            }
        });
    }

    /// Delivers `numbers`, which are in `scopes`, and answers what became of those that were settled within `limit`.
    pub(super) async fn hand_over(
        &self,
        scopes: HashSet<Scope>,
        numbers: Vec<i64>,
        limit: Duration,
    ) -> HashMap<i64, Settled> {
        let mut receivers: Vec<(i64, oneshot::Receiver<Settled>)> = {
            let mut waiting = self.0.waiting();
            let register = |number| {
                let (sender, receiver) = oneshot::channel();
                waiting.insert(number, sender);
                (number, receiver)
            };
            numbers.iter().copied().map(register).collect()
        };
        let now = self.0.clock.now();
        let is_stuck = |scope: &Scope| self.0.activity.borrow().is_stuck(scope, limit, now);
        // Who waited behind a call that has not been answered for so long would wait in vain.
        let limit = if scopes.iter().any(is_stuck) { Duration::ZERO } else { limit };
        scopes.iter().for_each(|scope| self.nudge(scope));
        let mut settled = HashMap::new();
        let own = async {
            for (number, receiver) in &mut receivers {
                if let Ok(what) = receiver.await {
                    settled.insert(*number, what);
                }
            }
        };
        let quiet = async {
            let mut activity = self.0.activity.subscribe();
            for scope in &scopes {
                // The sender lives as long as this courier.
                let _ = activity.wait_for(|activity| activity.is_quiet(scope)).await;
            }
        };
        let either = async {
            tokio::select! {
                biased;
                () = own => {}
                () = quiet => {}
            }
        };
        // Out of time or not: what has been settled is answered below.
        let _ = Deadline::after(&*self.0.sleeper, limit).bound(either).await;
        for (number, mut receiver) in receivers {
            if let Ok(what) = receiver.try_recv() {
                settled.insert(number, what);
            }
            self.0.waiting().remove(&number);
        }
        settled
    }

    /// Delivers what is due within `limit` and closes: what is under way then is put back, to be tried again.
    pub(super) async fn close(&self, limit: Duration) -> Result<()> {
        let mut deadline = Deadline::after(&*self.0.sleeper, limit);
        let mut activity = self.0.activity.subscribe();
        let work = async {
            self.deliver_due(usize::MAX, Duration::MAX).await?;
            let _ = activity.wait_for(|activity| activity.running.is_empty() && activity.nudged.is_empty()).await;
            Ok(())
        };
        let outcome = deadline.bound(work).await.unwrap_or(Ok(()));
        self.0.closing.send_replace(true);
        let mut activity = self.0.activity.subscribe();
        let put_back = activity.wait_for(|activity| activity.running.is_empty());
        let _ = Deadline::after(&*self.0.sleeper, SHORTEST_PAUSE).bound(async { put_back.await.map(drop) }).await;
        outcome
    }

    async fn deliver(&self, scope: Option<&Scope>, most: usize, limit: Duration) -> Result<CourierReport> {
        let stop = Stop::default();
        let left = Arc::new(AtomicUsize::new(most));
        let report = Arc::new(Mutex::new(CourierReport::default()));
        let workers: Vec<_> = (0..if scope.is_some() { 1 } else { WORKERS })
            .map(|_| {
                let (parts, scope) = (self.0.clone(), scope.cloned());
                let (stop, left, report) = (stop.0.clone(), left.clone(), report.clone());
                tokio::spawn(async move {
                    let take = |left: usize| left.checked_sub(1);
                    while !stop.load(Ordering::Relaxed)
                        && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
                    {
                        let Some(one) = parts.deliver_next(scope.as_ref()).await? else { break };
                        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                        report.delivered += one.delivered;
                        report.refused += one.refused;
                        report.postponed += one.postponed;
                    }
                    Ok(())
                })
            })
            .collect();
        let all = async {
            for worker in workers {
                worker.await.map_err(|error| {
                    Error::unexpected("a delivery to the external provider broke down").with_source(error)
                })??;
            }
            Ok::<(), Error>(())
        };
        Deadline::after(&*self.0.sleeper, limit).bound(all).await.unwrap_or(Ok(()))?;
        Ok(*report.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Parts {
    fn waiting(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Settled>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody in this process is at `scope`, and enters it.
    async fn enter_alone(&self, scope: &Scope) {
        let mut activity = self.activity.subscribe();
        loop {
            let _ = activity.wait_for(|activity| !activity.running.contains_key(scope)).await;
            let entered = self.activity.send_if_modified(|activity| {
                let free = !activity.running.contains_key(scope);
                if free {
                    activity.nudged.remove(scope);
                    activity.enter(scope, self.clock.now());
                }
                free
            });
            if entered {
                return;
            }
        }
    }

    /// Delivers the next thing that is due; `None` when there is nothing, or this courier is closing.
    async fn deliver_next(&self, scope: Option<&Scope>) -> Result<Option<CourierReport>> {
        if *self.closing.borrow() {
            return Ok(None);
        }
        let now = self.clock.now();
        let Some(delivery) = self.queue.take(scope, now, after(now, self.lease)).await? else { return Ok(None) };
        self.activity.send_modify(|activity| activity.enter(&delivery.scope, now));
        let _running = Running(&self.activity, delivery.scope.clone());
        let mut closing = self.closing.subscribe();
        let closed = async {
            let _ = closing.wait_for(|closing| *closing).await;
        };
        let (settled, links) = tokio::select! {
            biased;
            settled = self.handover.perform(&delivery) => settled,
            () = closed => {
                let error = Error::new(ErrorKind::Cancelled, "the process ended before the provider answered");
                (Settled::Postponed(error), Vec::new())
            }
        };
        let mut report = CourierReport::default();
        match &settled {
            Settled::Done(_) | Settled::Gone => {
                self.queue.delivered(delivery.number, links).await?;
                report.delivered = 1;
            }
            Settled::Refused(error) => {
                tracing::warn!(%error, key = delivery.key, "the external provider refuses a delivery");
                self.queue.refuse(delivery.number, &error.to_string()).await?;
                report.refused = 1;
            }
            Settled::Postponed(error) => {
                self.queue.postpone(delivery.number, self.next_attempt(&delivery, error), &error.to_string()).await?;
                self.postponed.notify_one();
                report.postponed = 1;
            }
        }
        if let Some(waiting) = self.waiting().remove(&delivery.number) {
            // Whoever waited may have given up.
            let _ = waiting.send(settled);
        }
        Ok(Some(report))
    }

    fn next_attempt(&self, delivery: &Delivery, error: &Error) -> Timestamp {
        let now = self.clock.now();
        if error.kind() == ErrorKind::Cancelled {
            return now;
        }
        after(now, self.backoff.pause(delivery.attempts, error.retry_after_ms()))
    }

    /// How long nothing will be due.
    async fn pause(&self) -> Duration {
        let next = match self.queue.next_due().await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!(%error, "the queue of the external provider cannot be read");
                None
            }
        };
        let Some(next) = next else { return LONGEST_PAUSE };
        let left = next.nanoseconds().saturating_sub(self.clock.now().nanoseconds());
        Duration::from_nanos(u64::try_from(left).unwrap_or(0)).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }
}

impl std::fmt::Debug for Courier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Courier")
    }
}
