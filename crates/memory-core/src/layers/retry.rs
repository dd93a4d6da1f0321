//! When and after how long a failed call is tried again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Pauses that double with every failure, up to a bound, each cut by a random part so that many callers do not come back
/// at the same moment ("equal jitter": half of the pause is fixed, half is random).
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    random: AtomicU64,
}

impl Backoff {
    /// Pauses from `first` to `most`. `seed` sets the sequence of random parts.
    pub(crate) fn new(first: Duration, most: Duration, seed: u64) -> Self {
        Self { first, most, random: AtomicU64::new(seed) }
    }

    /// The pause after `failures` failures in a row (at least 1), or what the other side asked for when that is longer.
    pub(crate) fn pause(&self, failures: u32, retry_after_ms: Option<u64>) -> Duration {
        let doubled = self.first.saturating_mul(1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
        let pause = doubled.min(self.most).mul_f64(0.5 + 0.5 * self.random());
        pause.max(Duration::from_millis(retry_after_ms.unwrap_or(0)))
    }

    /// The next random number from 0 to 1: SplitMix64 (Steele, Lea and Flood, 2014). It spreads callers, no more.
    fn random(&self) -> f64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut bits = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        // The upper 32 bits are exact in an f64.
        f64::from(u32::try_from(bits >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_bound_and_differ() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300), 7);
        for (failures, longest) in [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (40, 300), (u32::MAX, 300)] {
            let pause = backoff.pause(failures, None);
            assert!(pause <= Duration::from_secs(longest) && pause >= Duration::from_secs(longest) / 2, "{pause:?}");
        }
        let pauses: std::collections::HashSet<Duration> = (0..100).map(|_| backoff.pause(5, None)).collect();
        assert!(pauses.len() > 90);
    }

    #[test]
    fn the_other_side_may_ask_for_more() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300), 7);
        assert_eq!(backoff.pause(1, Some(90_000)), Duration::from_secs(90));
        assert!(backoff.pause(1, Some(1)) >= Duration::from_millis(500));
    }
}
