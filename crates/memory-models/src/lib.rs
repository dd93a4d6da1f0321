//! Embedders: text in, vectors out, behind one trait.
//!
//! The default is a token table bundled in the binary: offline, no download, ready in milliseconds. A BERT-family
//! model from a local directory, any OpenAI-compatible service and a hash for tests are the others. Every embedder
//! carries a fingerprint, so that vectors of two embedders never meet in one index.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod cache;
mod config;
mod directory;
mod embedder;
mod fingerprint;
mod hash;
mod hub;
mod late_interaction;
mod openai;
mod script;
mod static_table;
mod transformer;

pub use cache::{CachedEmbedder, EmbeddingCache, TextHash};
pub use config::{EmbedderConfig, EmbedderKind, build_embedder};
pub use directory::{InstalledModel, ModelReport, SampleSimilarity, check_directory, install, list_installed};
pub use embedder::{EmbedCost, Embedder, NoEmbedder, Purpose, normalise};
pub use hash::HashEmbedder;
pub use hub::{DEFAULT_HUB, HubModel};
pub use late_interaction::{LateInteraction, QueryTokens};
pub use openai::{OpenAiConfig, OpenAiEmbedder, RetryPolicy};
pub use script::{Script, script_of};
pub use static_table::{StaticEmbedder, StaticTable};
pub use transformer::{Pooling, TextTemplate, TransformerEmbedder, TransformerOptions};
