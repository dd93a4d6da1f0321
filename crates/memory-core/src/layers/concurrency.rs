//! How many calls may be under way at once.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Places for calls.
#[derive(Debug)]
pub(super) struct Slots(Semaphore);

impl Slots {
    /// `count` places.
    pub(super) fn new(count: usize) -> Self {
        Self(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)))
    }

    /// Waits for a place and holds it until it is dropped. `None` cannot happen: the places are never closed.
    pub(super) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        self.0.acquire().await.ok()
    }
}
