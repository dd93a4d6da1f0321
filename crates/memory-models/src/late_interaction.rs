//! Late interaction: a text is scored token by token against a query instead of vector by vector.
//!
//! Score = Σ over query tokens of weight × (best cosine with a token of the text) / Σ weight, the MaxSim of ColBERT
//! (Khattab and Zaharia 2020) with importance weights. It lies between 0 and 1.

use memory_core::Result;

/// Longer queries are cut: nobody asks in so many words, and the cost grows with each.
pub(crate) const MAXIMUM_QUERY_TOKENS: usize = 256;

/// Scores texts against a query by their tokens. Both calls compute in place: run the ones of an expensive embedder on
/// a blocking thread.
pub trait LateInteraction: Send + Sync {
    /// Tokens, importance weights and token vectors of a query, to be used with the scorer that made them only.
    fn prepare_query(&self, text: &str) -> Result<QueryTokens>;

    /// For each text, in order, the greatest cosine of each query token with any of the text's tokens; 0 where there is
    /// none above 0. The rows are empty for a query without tokens.
    fn similarities(&self, query: &QueryTokens, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// One score from 0 to 1 for each text, in order: the mean of its similarities under the weights of the query.
    /// All are 0 when the query has no token of any weight.
    fn score(&self, query: &QueryTokens, texts: &[&str]) -> Result<Vec<f32>> {
        let best = self.similarities(query, texts)?;
        Ok(best.iter().map(|best| weighted_mean(best, &query.weights)).collect())
    }
}

/// A query made ready for [`LateInteraction::score`].
#[derive(Debug, Clone, Default)]
pub struct QueryTokens {
    pub(crate) pieces: Vec<String>,
    pub(crate) ids: Vec<u32>,
    pub(crate) weights: Vec<f32>,
    /// Unit vectors one after the other; empty where the scorer looks vectors up by id.
    pub(crate) vectors: Vec<f32>,
}

impl QueryTokens {
    /// The tokens in the order of the query, with their weights.
    pub fn pieces(&self) -> impl Iterator<Item = (&str, f32)> {
        self.pieces.iter().map(String::as_str).zip(self.weights.iter().copied())
    }

    /// True when no token has any weight: every score would be 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.weights.iter().any(|weight| *weight > 0.0)
    }

    /// Replaces the weight of each token, given the token and its present weight. A weight that is negative or not
    /// finite counts as 0.
    pub fn reweigh(&mut self, mut weight_of: impl FnMut(&str, f32) -> f32) {
        for (piece, weight) in self.pieces.iter().zip(&mut self.weights) {
            let changed = weight_of(piece, *weight);
            *weight = if changed.is_finite() { changed.max(0.0) } else { 0.0 };
        }
    }
}

/// Σ weight × best / Σ weight, within 0 and 1.
pub(crate) fn weighted_mean(best: &[f32], weights: &[f32]) -> f32 {
    let total: f32 = weights.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    let sum: f32 = best.iter().zip(weights).map(|(best, weight)| best * weight).sum();
    (sum / total).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_can_be_replaced_and_stay_sane() {
        let mut query = QueryTokens {
            pieces: vec!["rust".into(), "的".into(), "nan".into()],
            weights: vec![2.0, 1.0, 1.0],
            ..QueryTokens::default()
        };
        query.reweigh(|piece, weight| match piece {
            "的" => -1.0,
            "nan" => f32::NAN,
            _ => weight * 2.0,
        });
        assert_eq!(query.pieces().collect::<Vec<_>>(), [("rust", 4.0), ("的", 0.0), ("nan", 0.0)]);
        assert!(!query.is_empty());
        query.reweigh(|_, _| 0.0);
        assert!(query.is_empty());
    }

    #[test]
    fn the_mean_is_weighted() {
        assert_eq!(weighted_mean(&[1.0, 0.0], &[3.0, 1.0]), 0.75);
        assert_eq!(weighted_mean(&[1.0], &[0.0]), 0.0);
        assert_eq!(weighted_mean(&[], &[]), 0.0);
    }
}
