//! Waiting, injected so that tests never wait.

use std::time::Duration;

use async_trait::async_trait;

/// Waits.
#[async_trait]
pub trait Sleeper: Send + Sync {
    /// Returns after `duration`.
    async fn sleep(&self, duration: Duration);
}

/// Waits on the timer of the runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemSleeper;

#[async_trait]
impl Sleeper for SystemSleeper {
    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
