//! The embedder that plugins may use.

use async_trait::async_trait;
use memory_core::Result;

pub use crate::message::EmbedPurpose;

/// Makes vectors for plugins. The application passes its configured embedder.
#[async_trait]
pub trait Embed: Send + Sync {
    /// Two embedders whose vectors must not be compared have different fingerprints.
    fn fingerprint(&self) -> String;

    /// The width of its vectors; 0 while it is not known.
    fn dimensions(&self) -> usize;

    /// One result for each text, in order; `None` where the model does not cover the text.
    async fn embed(&self, texts: Vec<String>, purpose: EmbedPurpose) -> Result<Vec<Option<Vec<f32>>>>;
}
