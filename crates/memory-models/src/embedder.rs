//! The contract of every embedder.

use std::sync::Arc;

use async_trait::async_trait;
use memory_core::{Error, ErrorKind, Result};

use crate::late_interaction::LateInteraction;

/// What a text is embedded for. Models trained for retrieval put a different prefix before each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A question asked of the memory.
    Query,
    /// A text to be found.
    Passage,
}

/// What one text costs, so that a search knows whether it may embed texts that no index holds yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EmbedCost {
    /// Microseconds a text, in this process: embed whatever you like at query time.
    Cheap,
    /// Milliseconds a text, in this process: a query, not a backlog.
    Expensive,
    /// A network call that may cost money.
    Remote,
}

/// Turns texts into vectors of one width.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The fingerprint: kind, model, dimension, pooling and text template, with a hash of the model's content where
    /// there is one. Vectors of two embedders may be compared only when their fingerprints are equal.
    fn id(&self) -> &str;

    /// The width of every vector. 0 only while a remote model has not answered yet: [`Embedder::prepare`] settles it.
    fn dimensions(&self) -> usize;

    /// What one text costs.
    fn cost(&self) -> EmbedCost;

    /// One result for each text, in order: an L2-normalised vector of [`Embedder::dimensions`] finite numbers, or
    /// `None` when this model does not cover the text (its script is foreign to the model, or nothing is in it).
    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>>;

    /// Loads the model or asks the service once, so that [`Embedder::dimensions`] is known and faults show early.
    async fn prepare(&self) -> Result<()> {
        Ok(())
    }

    /// Token-level scoring with the same model, when the embedder offers it.
    fn late_interaction(&self) -> Option<Arc<dyn LateInteraction>> {
        None
    }
}

/// The embedder of a memory without vectors: it covers no text.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEmbedder;

#[async_trait]
impl Embedder for NoEmbedder {
    fn id(&self) -> &str {
        "none"
    }

    fn dimensions(&self) -> usize {
        0
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Cheap
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        Ok(vec![None; texts.len()])
    }
}

/// Scales a vector to length 1. `None` when it has no direction (all zero, or a number in it is not finite).
#[must_use]
pub fn normalise(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    // The sum is taken in f64: squares of large f32 values overflow f32.
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    if !length.is_finite() || length <= 0.0 {
        return None;
    }
    for value in &mut vector {
        *value = (f64::from(*value) / length) as f32;
    }
    Some(vector)
}

/// Normalises a vector a model has made, and refuses one of the wrong width or without a direction.
pub(crate) fn checked(vector: Vec<f32>, dimensions: usize, model: &str) -> Result<Vec<f32>> {
    if vector.len() != dimensions {
        let message = format!("model `{model}` made a vector of {} numbers instead of {dimensions}", vector.len());
        return Err(Error::new(ErrorKind::BadReply, message)
            .with_hint("if the model was changed on purpose, start again and run `memory reindex`"));
    }
    normalise(vector).ok_or_else(|| {
        Error::new(ErrorKind::BadReply, format!("model `{model}` made a vector that is zero or not finite"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_vector_without_direction_is_refused() {
        assert_eq!(normalise(vec![0.0; 3]), None);
        assert_eq!(normalise(vec![1.0, f32::NAN]), None);
        assert_eq!(normalise(vec![1.0, f32::INFINITY]), None);
        assert_eq!(normalise(Vec::new()), None);
        assert_eq!(checked(vec![1.0], 2, "m").unwrap_err().kind(), ErrorKind::BadReply);
        assert_eq!(checked(vec![0.0, 0.0], 2, "m").unwrap_err().kind(), ErrorKind::BadReply);
    }

    proptest! {
        #[test]
        fn every_finite_direction_gets_length_one(vector in proptest::collection::vec(-1e30f32..1e30, 1..50)) {
            if let Some(unit) = normalise(vector.clone()) {
                let length: f32 = unit.iter().map(|value| value * value).sum();
                prop_assert!((length - 1.0).abs() < 1e-4, "{length}");
            } else {
                prop_assert!(vector.iter().all(|value| *value == 0.0));
            }
        }
    }

    #[tokio::test]
    async fn no_embedder_covers_nothing() {
        let vectors = NoEmbedder.embed(&["a".into(), "你好".into()], Purpose::Query).await.unwrap();
        assert_eq!(vectors, vec![None, None]);
    }
}
