//! A sentence model of the BERT family from a local directory, run on the processor in pure Rust (candle).

mod batches;
mod coverage;
mod embedder;
mod embeddings;
mod maximum_similarity;
mod model;
mod settings;

pub use embedder::TransformerEmbedder;
pub use settings::{Pooling, TextTemplate, TransformerOptions};

pub(crate) use settings::{SETTINGS_FILE, Settings};
