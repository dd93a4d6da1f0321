//! A queue in memory.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{Delivery, DeliveryQueue, DeliveryState, Link, NewDelivery};
use crate::{Clock, Id, Result, Scope, Timestamp};

/// A [`DeliveryQueue`] in memory, for tests and for callers who accept that what waits is lost with the process.
pub struct VolatileQueue {
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    last: i64,
    deliveries: BTreeMap<i64, Delivery>,
    taken: BTreeMap<i64, Timestamp>,
    links: BTreeMap<Id, Link>,
    forgotten: HashSet<Id>,
}

impl VolatileQueue {
    /// An empty queue.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, kept: Mutex::default() }
    }

    /// Everything that is kept, in order.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.kept().deliveries.values().cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The first waiting delivery of each scope, with the moment from which it can be taken.
    fn heads(&self) -> BTreeMap<i64, Timestamp> {
        let mut seen = HashSet::new();
        self.deliveries
            .iter()
            .filter(|(_, delivery)| delivery.state == DeliveryState::Waiting && seen.insert(&delivery.scope))
            .map(|(number, delivery)| {
                let free = self.taken.get(number).copied().unwrap_or(delivery.due_at);
                (*number, free.max(delivery.due_at))
            })
            .collect()
    }

    fn change(&mut self, number: i64, change: impl FnOnce(&mut Delivery)) {
        self.taken.remove(&number);
        if let Some(delivery) = self.deliveries.get_mut(&number) {
            change(delivery);
        }
    }
}

#[async_trait]
impl DeliveryQueue for VolatileQueue {
    async fn put(&self, state: DeliveryState, deliveries: Vec<NewDelivery>) -> Result<Vec<i64>> {
        let now = self.clock.now();
        let mut kept = self.kept();
        let mut numbers = Vec::with_capacity(deliveries.len());
        for NewDelivery { scope, key, local_id, work } in deliveries {
            if let Some((number, _)) = kept.deliveries.iter().find(|(_, delivery)| delivery.key == key) {
                numbers.push(*number);
                continue;
            }
            kept.last += 1;
            let number = kept.last;
            let (created_at, due_at) = (now, now);
            let delivery = Delivery {
                number,
                scope,
                key,
                local_id,
                work,
                state,
                attempts: 0,
                created_at,
                due_at,
                last_error: None,
            };
            kept.deliveries.insert(number, delivery);
            numbers.push(number);
        }
        Ok(numbers)
    }

    async fn release(&self, number: i64, local_id: Option<Id>) -> Result<()> {
        self.kept().change(number, |delivery| {
            if delivery.state == DeliveryState::Prepared {
                delivery.state = DeliveryState::Waiting;
                delivery.local_id = local_id.or(delivery.local_id.take());
            }
        });
        Ok(())
    }

    async fn cancel(&self, number: i64) -> Result<()> {
        let mut kept = self.kept();
        kept.taken.remove(&number);
        kept.deliveries.remove(&number);
        Ok(())
    }

    async fn abandoned(&self, before: Timestamp) -> Result<Vec<Delivery>> {
        let kept = self.kept();
        let prepared = kept.deliveries.values().filter(|delivery| delivery.state == DeliveryState::Prepared);
        Ok(prepared.filter(|delivery| delivery.created_at < before).cloned().collect())
    }

    async fn take(&self, scope: Option<&Scope>, now: Timestamp, until: Timestamp) -> Result<Option<Delivery>> {
        let mut kept = self.kept();
        let fits = |number: &i64| {
            kept.deliveries.get(number).is_some_and(|delivery| scope.is_none_or(|scope| delivery.scope == *scope))
        };
        let found = kept.heads().into_iter().find(|(number, free)| *free <= now && fits(number));
        let Some((number, _)) = found else { return Ok(None) };
        kept.taken.insert(number, until);
        Ok(kept.deliveries.get_mut(&number).map(|delivery| {
            delivery.attempts += 1;
            delivery.clone()
        }))
    }

    async fn delivered(&self, number: i64, links: Vec<Link>) -> Result<()> {
        let mut kept = self.kept();
        kept.taken.remove(&number);
        kept.deliveries.remove(&number);
        for mut link in links {
            if link.forgotten {
                kept.forgotten.insert(link.local.clone());
            }
            link.forgotten |= kept.forgotten.contains(&link.local);
            kept.links.insert(link.local.clone(), link);
        }
        Ok(())
    }

    async fn postpone(&self, number: i64, due_at: Timestamp, error: &str) -> Result<()> {
        self.kept().change(number, |delivery| {
            delivery.due_at = due_at;
            delivery.last_error = Some(error.to_owned());
        });
        Ok(())
    }

    async fn refuse(&self, number: i64, error: &str) -> Result<()> {
        self.kept().change(number, |delivery| {
            delivery.state = DeliveryState::Refused;
            delivery.last_error = Some(error.to_owned());
        });
        Ok(())
    }

    async fn count(&self) -> Result<(u64, u64)> {
        let kept = self.kept();
        let refused = kept.deliveries.values().filter(|delivery| delivery.state == DeliveryState::Refused).count();
        Ok(((kept.deliveries.len() - refused) as u64, refused as u64))
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        Ok(self.kept().heads().into_values().min())
    }

    async fn remote_of(&self, local: &Id) -> Result<Option<Link>> {
        Ok(self.kept().links.get(local).cloned())
    }

    async fn local_of(&self, remote: &Id) -> Result<Option<Link>> {
        Ok(self.kept().links.values().find(|link| link.remote == *remote).cloned())
    }

    async fn forget(&self, local: &Id) -> Result<()> {
        let mut kept = self.kept();
        kept.forgotten.insert(local.clone());
        if let Some(link) = kept.links.get_mut(local) {
            link.forgotten = true;
        }
        Ok(())
    }

    async fn pending(&self, local: &Id) -> Result<Option<Delivery>> {
        Ok(self.kept().deliveries.values().find(|delivery| delivery.local_id.as_ref() == Some(local)).cloned())
    }

    async fn links_with_prefix(&self, prefix: &str) -> Result<Vec<Link>> {
        let fits = |link: &&Link| link.local.as_str().starts_with(prefix) || link.remote.as_str().starts_with(prefix);
        Ok(self.kept().links.values().filter(fits).cloned().collect())
    }
}

impl std::fmt::Debug for VolatileQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VolatileQueue").field("kept", &self.kept().deliveries.len()).finish_non_exhaustive()
    }
}
