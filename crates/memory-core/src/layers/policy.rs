//! How a provider is called: limits, retries, the circuit.

use std::time::Duration;

use crate::config::ExternalConfig;

/// How long, how often and how many at once a provider is called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardPolicy {
    /// The longest a read takes, waiting and retries included.
    pub read_limit: Duration,
    /// The longest a write takes. Some providers make a write real only after a while, and are given that while.
    pub write_limit: Duration,
    /// The longest a caller waits for a write before it is told that the write is queued.
    pub patience: Duration,
    /// The longest getting ready takes.
    pub initialize_limit: Duration,
    /// The longest closing takes.
    pub shutdown_limit: Duration,
    /// How often a call that may succeed later is tried again at once.
    pub retries: u32,
    /// How many calls may be under way at once.
    pub concurrency: usize,
    /// How many failed calls in a row open the circuit.
    pub breaker_failures: u32,
    /// How long the circuit stays open before one call is tried.
    pub breaker_cooldown: Duration,
}

impl GuardPolicy {
    /// The policy that section `memory.external` sets.
    pub fn of(config: &ExternalConfig) -> Self {
        let wait = match config.provider.trim() {
            "mem0" => config.mem0.event_timeout,
            "openviking" => config.openviking.commit_timeout,
            _ => 0.0,
        };
        Self {
            read_limit: seconds(config.timeout),
            write_limit: seconds(config.timeout + wait),
            patience: seconds(config.timeout),
            initialize_limit: seconds(config.initialize_timeout),
            shutdown_limit: seconds(config.shutdown_timeout),
            retries: config.retries,
            concurrency: usize::try_from(config.concurrency).unwrap_or(usize::MAX).max(1),
            breaker_failures: config.breaker_failures.max(1),
            breaker_cooldown: seconds(config.breaker_cooldown),
        }
    }
}

impl Default for GuardPolicy {
    fn default() -> Self {
        Self::of(&ExternalConfig::default())
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
