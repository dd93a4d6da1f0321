//! When to try again, and how long to wait before.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use memory_core::Error;

/// Exponential back-off with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; at least 1.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each.
    pub base: Duration,
    /// The longest wait. When the service asks for a longer one, the operation fails at once and says so.
    pub maximum: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 4, base: Duration::from_millis(500), maximum: Duration::from_secs(20) }
    }
}

impl RetryPolicy {
    /// The wait after `failed` failed attempts, or `None` to give up. `jitter` lies within 0 and 1 and takes up to half
    /// of the wait away, so that many clients do not return at the same moment.
    pub(super) fn wait(&self, failed: u32, error: &Error, jitter: f64) -> Option<Duration> {
        if !error.is_retryable() || failed >= self.attempts {
            return None;
        }
        if let Some(asked) = error.retry_after_ms().map(Duration::from_millis) {
            return (asked <= self.maximum).then_some(asked);
        }
        let doubled = self.base.saturating_mul(2u32.saturating_pow(failed.saturating_sub(1)));
        Some(doubled.min(self.maximum).mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0))
    }
}

/// A number within 0 and 1 from the random keys of the standard hasher.
pub(super) fn jitter() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use memory_core::ErrorKind;

    use super::*;

    fn milliseconds(failed: u32, error: &Error, jitter: f64) -> Option<u128> {
        RetryPolicy::default().wait(failed, error, jitter).map(|wait| wait.as_millis())
    }

    #[test]
    fn waits_double_up_to_the_limit_with_jitter() {
        let error = Error::new(ErrorKind::Busy, "x");
        assert_eq!(milliseconds(1, &error, 0.0), Some(500));
        assert_eq!(milliseconds(1, &error, 1.0), Some(250));
        assert_eq!(milliseconds(3, &error, 0.0), Some(2000));
        assert_eq!(milliseconds(4, &error, 0.0), None);
        let patient = RetryPolicy { attempts: 100, ..RetryPolicy::default() };
        assert_eq!(patient.wait(99, &error, 0.0), Some(patient.maximum));
        assert!((0.0..=1.0).contains(&jitter()));
    }

    #[test]
    fn the_service_may_ask_for_a_wait_but_not_for_a_long_one() {
        let error = Error::new(ErrorKind::Busy, "x");
        assert_eq!(milliseconds(1, &error.retryable(Some(7000)), 1.0), Some(7000));
        let error = Error::new(ErrorKind::Busy, "x").retryable(Some(3_600_000));
        assert_eq!(milliseconds(1, &error, 0.0), None);
    }

    #[test]
    fn what_cannot_get_better_is_not_tried_again() {
        assert_eq!(milliseconds(1, &Error::new(ErrorKind::Unauthorized, "x"), 0.0), None);
    }
}
