//! Groups sequences of similar length, so that little is computed on padding.

/// Sequences in one pass through the model.
const MAXIMUM_SEQUENCES: usize = 64;
/// Padded tokens in one pass: bounds memory, and larger passes are no faster on a processor.
const MAXIMUM_TOKENS: usize = 1024;

/// Indices of sequences that run together: each is at most an eighth (and one token) longer than the shortest.
pub(super) fn plan(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut order: Vec<(usize, usize)> = lengths.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut batches = Vec::new();
    let mut batch: Vec<usize> = Vec::new();
    let mut shortest = 0;
    for (length, index) in order {
        let fits = length <= shortest + shortest / 8 + 1
            && batch.len() < MAXIMUM_SEQUENCES
            && (batch.len() + 1) * length <= MAXIMUM_TOKENS;
        if batch.is_empty() || !fits {
            if !batch.is_empty() {
                batches.push(std::mem::take(&mut batch));
            }
            shortest = length;
        }
        batch.push(index);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn similar_lengths_run_together() {
        assert_eq!(plan(&[10, 100, 11, 12, 10, 13]), [vec![0, 4, 2, 3], vec![5], vec![1]]);
        assert_eq!(plan(&[]), Vec::<Vec<usize>>::new());
    }

    proptest! {
        #[test]
        fn each_sequence_runs_once_within_the_limits(lengths in proptest::collection::vec(1usize..600, 0..300)) {
            let batches = plan(&lengths);
            let mut seen: Vec<usize> = batches.concat();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
            for batch in batches {
                let longest = batch.iter().map(|index| lengths[*index]).max().unwrap();
                prop_assert!(batch.len() <= MAXIMUM_SEQUENCES && batch.len() * longest <= MAXIMUM_TOKENS);
                let used: usize = batch.iter().map(|index| lengths[*index]).sum();
                prop_assert!(used * 2 >= batch.len() * longest, "mostly padding");
            }
        }
    }
}
