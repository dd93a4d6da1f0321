//! Keeps the best of many scored entries.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A scored entry. Better is greater: the higher score, then the lower key.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranked {
    score: f32,
    key: u64,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.key.cmp(&self.key))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best entries seen so far, at most a given number.
#[derive(Debug)]
pub(crate) struct Best {
    limit: usize,
    worst_first: BinaryHeap<Reverse<Ranked>>,
}

impl Best {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, worst_first: BinaryHeap::new() }
    }

    /// Offers an entry.
    pub(crate) fn offer(&mut self, score: f32, key: u64) {
        self.take(Ranked { score, key });
    }

    /// Takes over what another list has kept.
    pub(crate) fn merge(&mut self, other: Self) {
        for Reverse(ranked) in other.worst_first {
            self.take(ranked);
        }
    }

    fn take(&mut self, ranked: Ranked) {
        if self.worst_first.len() < self.limit {
            self.worst_first.push(Reverse(ranked));
        } else if let Some(mut worst) = self.worst_first.peek_mut()
            && ranked > worst.0
        {
            *worst = Reverse(ranked);
        }
    }

    /// An entry whose score is not above this cannot be among the best any more. Leaves room for ties and rounding.
    pub(crate) fn threshold(&self) -> f32 {
        match self.worst_first.peek() {
            Some(Reverse(worst)) if self.worst_first.len() >= self.limit => worst.score - 1e-3,
            _ => f32::MIN,
        }
    }

    /// Key and score of the best, best first.
    pub(crate) fn into_sorted(self) -> impl Iterator<Item = (u64, f32)> {
        self.worst_first.into_sorted_vec().into_iter().map(|Reverse(ranked)| (ranked.key, ranked.score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_key_whatever_the_order() {
        let offers = [(1.0, 9), (2.0, 5), (1.0, 3), (1.0, 7), (2.0, 6)];
        for rotation in 0..offers.len() {
            let mut best = Best::new(3);
            for at in 0..offers.len() {
                let (score, key) = offers[(at + rotation) % offers.len()];
                best.offer(score, key);
            }
            assert_eq!(best.into_sorted().collect::<Vec<_>>(), [(5, 2.0), (6, 2.0), (3, 1.0)]);
        }
    }

    #[test]
    fn a_full_list_raises_the_threshold() {
        let mut best = Best::new(1);
        assert_eq!(best.threshold(), f32::MIN);
        best.offer(4.0, 1);
        assert!(best.threshold() < 4.0 && best.threshold() > 3.9);
    }
}
