//! Any service that speaks the embeddings API of OpenAI.

mod client;
mod embedder;
mod errors;
mod retry;
mod wire;

pub use embedder::{OpenAiConfig, OpenAiEmbedder};
pub use retry::RetryPolicy;
