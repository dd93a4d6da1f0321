//! Search, embeddings, chat model and documents.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{DocumentLayout, EmbeddingKind, Rerank};
use crate::{SafeUrl, SearchMode, Secret};

/// Section `memory.search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// How many hits an answer has, where a request does not say.
    pub limit: usize,
    /// Which arms run, where a request does not say.
    pub mode: SearchMode,
    /// Weight of the vector arm.
    pub vector_weight: f64,
    /// Weight of the text arm.
    pub text_weight: f64,
    /// Weight of the token-by-token comparison.
    pub late_interaction_weight: f64,
    /// How many candidates each arm brings.
    pub candidates: usize,
    /// How the candidates are compared once more.
    pub rerank: Rerank,
    /// How many neighbours of a message are shown, where a request does not say.
    pub neighbors: usize,
    /// Hits below this score are left out, where a request does not say.
    pub min_score: f64,
    /// Weight of the computed importance of a memory.
    pub importance_weight: f64,
    /// How many milliseconds a search may spend on taking in changed files.
    pub documents_budget_ms: u64,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            limit: 10,
            mode: SearchMode::Hybrid,
            vector_weight: 0.2,
            text_weight: 0.35,
            late_interaction_weight: 0.5,
            candidates: 50,
            rerank: Rerank::Static,
            neighbors: 0,
            min_score: 0.0,
            importance_weight: 0.0,
            documents_budget_ms: 150,
        }
    }
}

/// Section `memory.embedding`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingConfig {
    /// What turns text into vectors.
    pub kind: EmbeddingKind,
    /// The directory of the model.
    pub path: PathBuf,
    /// The name of the model at the endpoint.
    pub model: String,
    /// The address of the endpoint.
    pub api_base: SafeUrl,
    /// The key of the endpoint.
    pub api_key: Secret,
    /// The length of the vectors; 0 means that it is detected.
    pub dimensions: usize,
    /// Put before a question.
    pub query_prefix: String,
    /// Put before a stored text.
    pub passage_prefix: String,
    /// How many texts are embedded at once.
    pub batch: usize,
}

impl Default for EmbeddingConfig {
    fn default() -> Self {
        Self {
            kind: EmbeddingKind::Static,
            path: PathBuf::new(),
            model: String::new(),
            api_base: SafeUrl::default(),
            api_key: Secret::default(),
            dimensions: 0,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            batch: 64,
        }
    }
}

/// Section `memory.llm`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LlmConfig {
    /// The address of an OpenAI-compatible endpoint.
    pub api_base: SafeUrl,
    /// The key of the endpoint.
    pub api_key: Secret,
    /// The name of the model; empty means that no chat model is used.
    pub model: String,
}

impl LlmConfig {
    /// True when a chat model may be called: a model is named, and a place or a key for it. A key alone, such as an
    /// `OPENAI_API_KEY` that is there for something else, opens no connection.
    pub fn is_configured(&self) -> bool {
        !self.model.is_empty() && (!self.api_base.is_empty() || !self.api_key.is_empty())
    }
}

/// Section `memory.documents`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentsConfig {
    /// Where the documents lie.
    pub layout: DocumentLayout,
    /// Whether a long-lived process watches the files.
    pub watch: bool,
    /// How many milliseconds a file must be at rest before it is taken in.
    pub debounce_ms: u64,
    /// How many characters a chunk may have.
    pub chunk_characters: usize,
    /// More files and folders.
    pub extra_paths: Vec<PathBuf>,
}

impl Default for DocumentsConfig {
    fn default() -> Self {
        Self {
            layout: DocumentLayout::Auto,
            watch: true,
            debounce_ms: 2000,
            chunk_characters: 1200,
            extra_paths: Vec::new(),
        }
    }
}
