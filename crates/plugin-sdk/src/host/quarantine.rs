//! A plugin that keeps panicking is not called any more.

use std::collections::VecDeque;

use memory_core::Timestamp;

/// So many panics …
const MOST: usize = 3;
/// … within so many seconds.
const WINDOW_SECONDS: i64 = 60;

/// The panics of an instance.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    recent: VecDeque<Timestamp>,
    total: u64,
    shut: bool,
}

impl Quarantine {
    /// Notes a panic. True when this one is too many.
    pub(super) fn note(&mut self, now: Timestamp) -> bool {
        self.total += 1;
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|oldest| *oldest < now.plus_seconds(-WINDOW_SECONDS)) {
            self.recent.pop_front();
        }
        let was_shut = self.shut;
        self.shut |= self.recent.len() >= MOST;
        self.shut && !was_shut
    }

    /// Whether it may not be called any more.
    pub(super) fn is_shut(&self) -> bool {
        self.shut
    }

    /// All panics so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_minute_are_too_many_and_three_in_an_hour_are_not() {
        let at = |seconds| Timestamp::from_nanoseconds(0).plus_seconds(seconds);
        let mut slow = Quarantine::default();
        assert!([0, 61, 122, 183].into_iter().all(|second| !slow.note(at(second))));
        assert!(!slow.is_shut());
        let mut fast = Quarantine::default();
        assert_eq!([0, 30, 60, 61].map(|second| fast.note(at(second))), [false, false, true, false]);
        assert!(fast.is_shut());
        assert_eq!(fast.total(), 4);
    }
}
