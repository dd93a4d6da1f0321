//! From configuration to embedder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use memory_core::{Error, ErrorKind, Result, SafeUrl, Secret};
use serde::{Deserialize, Serialize};

use crate::cache::{CachedEmbedder, EmbeddingCache};
use crate::embedder::{Embedder, NoEmbedder};
use crate::hash::HashEmbedder;
use crate::openai::{OpenAiConfig, OpenAiEmbedder};
use crate::static_table::StaticEmbedder;
use crate::transformer::{Pooling, TransformerEmbedder, TransformerOptions};

/// The address used when a key is set and no base.
const OPENAI_BASE: &str = "https://api.openai.com/v1";

/// Which embedder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedderKind {
    /// The bundled token table: English, offline, nothing to set up.
    #[default]
    Static,
    /// A BERT-family sentence model from a local directory.
    Transformer,
    /// An OpenAI-compatible service.
    OpenAi,
    /// Feature hashing, for tests.
    Hash,
    /// No vectors: text search alone.
    None,
}

/// The section `embedding` of the configuration. Keys that the kind does not use are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedderConfig {
    /// Which embedder.
    pub kind: EmbedderKind,
    /// `transformer`: the model's directory.
    pub path: Option<PathBuf>,
    /// `transformer`: the words before a question; unset: as the model's directory says.
    pub query_prefix: Option<String>,
    /// `transformer`: the words before a text to be found; unset: as the model's directory says.
    pub passage_prefix: Option<String>,
    /// `transformer`: how token states become one vector; unset: as the model's directory says.
    pub pooling: Option<Pooling>,
    /// `transformer`: the longest text in tokens; unset: as the model's directory says.
    pub maximum_tokens: Option<usize>,
    /// `openai`: the base address (`EMBED_API_BASE`).
    pub base: SafeUrl,
    /// `openai`: the key (`EMBED_API_KEY`).
    pub key: Secret,
    /// `openai`: the model (`EMBED_MODEL`).
    pub model: String,
    /// `openai`: the width to ask the service for; `hash`: the width. Unset: what the model gives.
    pub dimensions: Option<usize>,
    /// `openai`: how many texts one call carries at most; unset: 64.
    pub batch: Option<usize>,
    /// `openai`: seconds one call may take; unset: 60.
    pub timeout_seconds: Option<u64>,
}

/// Makes the embedder that the configuration names. No model is loaded and nothing is sent before its first use.
/// `cache` is put before an embedder that is worth it.
pub fn build_embedder(config: &EmbedderConfig, cache: Option<Arc<dyn EmbeddingCache>>) -> Result<Arc<dyn Embedder>> {
    let embedder: Arc<dyn Embedder> = match config.kind {
        EmbedderKind::Static => Arc::new(StaticEmbedder::english()?),
        EmbedderKind::Transformer => Arc::new(TransformerEmbedder::open(&TransformerOptions {
            path: config.path.clone().unwrap_or_default(),
            query_prefix: config.query_prefix.clone(),
            passage_prefix: config.passage_prefix.clone(),
            pooling: config.pooling,
            maximum_tokens: config.maximum_tokens,
        })?),
        EmbedderKind::OpenAi => Arc::new(open_ai(config)?),
        EmbedderKind::Hash => Arc::new(config.dimensions.map_or_else(HashEmbedder::default, HashEmbedder::new)),
        EmbedderKind::None => Arc::new(NoEmbedder),
    };
    Ok(match cache {
        Some(cache) => CachedEmbedder::wrap(embedder, cache),
        None => embedder,
    })
}

fn open_ai(config: &EmbedderConfig) -> Result<OpenAiEmbedder> {
    let base = match (config.base.is_empty(), config.key.is_empty()) {
        (false, _) => config.base.clone(),
        (true, false) => SafeUrl::new(OPENAI_BASE),
        (true, true) => {
            return Err(Error::new(ErrorKind::ConfigInvalid, "the `openai` embedder has neither an address nor a key")
                .with_hint("set EMBED_API_KEY, or EMBED_API_BASE for a service of your own"));
        }
    };
    let mut service = OpenAiConfig::new(base, config.key.clone(), config.model.clone());
    service.dimensions = config.dimensions;
    if let Some(batch) = config.batch {
        service.batch_texts = batch.max(1);
    }
    if let Some(seconds) = config.timeout_seconds {
        service.timeout = Duration::from_secs(seconds.max(1));
    }
    OpenAiEmbedder::new(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(json: &str) -> Result<Arc<dyn Embedder>> {
        build_embedder(&serde_json::from_str(json).unwrap(), None)
    }

    #[test]
    fn each_kind_is_built() {
        assert!(build("{}").unwrap().id().starts_with("static:"));
        assert!(build(r#"{"kind":"hash","dimensions":64}"#).unwrap().id().contains(":64:"));
        assert_eq!(build(r#"{"kind":"none"}"#).unwrap().id(), "none");
        let service = build(r#"{"kind":"openai","key":"canary","model":"m"}"#).unwrap();
        assert_eq!(service.id(), "openai:api.openai.com/v1/embeddings:m:auto:service:plain");
        assert!(build(r#"{"kind":"openai","base":"http://localhost:8000/v1","model":"m"}"#).is_ok());
    }

    #[test]
    fn what_is_missing_is_named() {
        let kind = |json| build(json).map(|_| ()).unwrap_err().kind();
        assert_eq!(kind(r#"{"kind":"openai","model":"m"}"#), ErrorKind::ConfigInvalid);
        assert_eq!(kind(r#"{"kind":"openai","key":"k"}"#), ErrorKind::ConfigInvalid);
        assert_eq!(kind(r#"{"kind":"transformer"}"#), ErrorKind::ConfigInvalid);
        assert_eq!(kind(r#"{"kind":"transformer","path":"/no/such/model"}"#), ErrorKind::NotFound);
        assert!(serde_json::from_str::<EmbedderConfig>(r#"{"kind":"word2vec"}"#).is_err());
        assert!(serde_json::from_str::<EmbedderConfig>(r#"{"modle":"m"}"#).is_err());
    }

    #[test]
    fn a_written_configuration_shows_no_key() {
        let config: EmbedderConfig = serde_json::from_str(r#"{"kind":"openai","key":"canary","model":"m"}"#).unwrap();
        let written = format!("{config:?} {}", serde_json::to_string(&config).unwrap());
        assert!(!written.contains("canary"), "{written}");
    }
}
