//! Time that passes at once when everybody waits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use memory_core::{Clock, Sleeper, Timestamp};
use tokio::sync::oneshot;

/// Polls of every task before time moves on. More than any chain of wake-ups in these tests.
const PATIENCE: usize = 200;

/// A clock and a sleeper. When nothing else goes on, it jumps to the next moment that someone waits for.
pub(crate) struct VirtualTime(Mutex<Inner>);

struct Inner {
    now: i64,
    next: u64,
    sleepers: BTreeMap<(i64, u64), oneshot::Sender<()>>,
}

impl VirtualTime {
    /// Starts at a fixed moment. Must be called on a single-threaded runtime.
    pub(crate) fn start() -> Arc<Self> {
        let now = 1_700_000_000_000_000_000;
        let time = Arc::new(Self(Mutex::new(Inner { now, next: 0, sleepers: BTreeMap::new() })));
        let driver = time.clone();
        tokio::spawn(async move {
            loop {
                for _ in 0..PATIENCE {
                    tokio::task::yield_now().await;
                }
                driver.jump();
            }
        });
        time
    }

    fn jump(&self) {
        let mut inner = self.0.lock().unwrap();
        // Who waits for ever is not waited for.
        if inner.sleepers.first_key_value().is_some_and(|((at, _), _)| *at < i64::MAX)
            && let Some(((at, _), sleeper)) = inner.sleepers.pop_first()
        {
            inner.now = inner.now.max(at);
            let _ = sleeper.send(());
        }
    }

    /// Seconds since `then`.
    pub(crate) fn since(&self, then: Timestamp) -> f64 {
        (self.now().nanoseconds() - then.nanoseconds()) as f64 / 1e9
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanoseconds(self.0.lock().unwrap().now)
    }
}

/// Takes a sleeper who gave up off the list, so that time does not jump to it.
struct Place<'a>(&'a VirtualTime, (i64, u64));

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().sleepers.remove(&self.1);
    }
}

#[async_trait]
impl Sleeper for VirtualTime {
    async fn sleep(&self, duration: Duration) {
        let (sender, woken) = oneshot::channel();
        let place = {
            let mut inner = self.0.lock().unwrap();
            let at = inner.now.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX));
            let key = (at, inner.next);
            inner.next += 1;
            inner.sleepers.insert(key, sender);
            Place(self, key)
        };
        let _ = woken.await;
        drop(place);
    }
}
