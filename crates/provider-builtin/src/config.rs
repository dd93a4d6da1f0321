//! What the builtin provider takes from the configuration.

use std::path::{Path, PathBuf};

use memory_core::Scope;
use memory_core::config::{Config, DocumentLayout, EmbeddingConfig, EmbeddingKind, Rerank, SecretPolicy};
use memory_models::{EmbedderConfig, EmbedderKind};

use crate::documents::layout::Layout;
use crate::search::Weights;

/// Cosines below this are no evidence on their own.
const VECTOR_FLOOR: f32 = 0.25;

/// Settings of the builtin provider.
#[derive(Debug, Clone)]
pub struct BuiltinConfig {
    /// The home directory.
    pub home: PathBuf,
    /// The scope whose documents lie in the configured workspace.
    pub default_scope: Scope,
    /// The workspace of that scope.
    pub workspace: PathBuf,
    /// The layout of the workspace, where it is not to be detected.
    pub layout: Option<Layout>,
    /// The budget of a chunk in characters.
    pub chunk_characters: usize,
    /// How long a search may take in changed files, in milliseconds.
    pub documents_budget_ms: u64,
    /// What the gateway does and allows.
    pub gateway: GatewaySettings,
    /// How search works.
    pub search: SearchSettings,
    /// What makes the vectors.
    pub embedder: EmbedderConfig,
}

/// What the gateway does and allows.
#[derive(Debug, Clone)]
pub struct GatewaySettings {
    /// What happens to secrets in a text.
    pub secrets: SecretPolicy,
    /// The longest memory, in bytes.
    pub max_memory_bytes: usize,
    /// The longest message, in bytes.
    pub max_message_bytes: usize,
    /// Whether near-duplicates of memories are found.
    pub near_duplicates: bool,
    /// How alike two memories must be to be one, 0 to 1.
    pub near_duplicate_threshold: f64,
}

/// How search works.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    pub(crate) weights: Weights,
    /// Candidates of each arm.
    pub(crate) candidates: usize,
    /// Cosines below this are no evidence on their own.
    pub(crate) vector_floor: f32,
    /// How the best candidates are compared once more.
    pub(crate) rerank: Rerank,
}

impl BuiltinConfig {
    /// Takes what concerns the builtin provider.
    pub fn of(config: &Config, home: &Path) -> Self {
        let memory = &config.memory;
        let workspace = match memory.workspace_dir.as_os_str().is_empty() {
            true => home.join("workspace"),
            false => memory.workspace_dir.clone(),
        };
        let search = &memory.search;
        Self {
            home: home.to_owned(),
            default_scope: Scope {
                user: memory.external.user_id.to_string(),
                space: memory.external.scope_id.to_string(),
                owner: memory_core::Owner::User,
            },
            workspace,
            layout: match memory.documents.layout {
                DocumentLayout::Auto => None,
                DocumentLayout::Legacy => Some(Layout::Legacy),
                DocumentLayout::Daily => Some(Layout::Later),
            },
            chunk_characters: memory.documents.chunk_characters,
            documents_budget_ms: search.documents_budget_ms,
            gateway: GatewaySettings {
                secrets: memory.gateway.secrets,
                max_memory_bytes: memory.gateway.max_memory_bytes,
                max_message_bytes: memory.gateway.max_message_bytes,
                near_duplicates: memory.gateway.near_duplicates,
                near_duplicate_threshold: memory.gateway.near_duplicate_threshold,
            },
            search: SearchSettings {
                weights: Weights {
                    text: search.text_weight as f32,
                    vector: search.vector_weight as f32,
                    late: search.late_interaction_weight as f32,
                    importance: search.importance_weight as f32,
                },
                candidates: search.candidates.clamp(1, 1_000),
                vector_floor: VECTOR_FLOOR,
                rerank: search.rerank,
            },
            embedder: embedder(&memory.embedding),
        }
    }

    /// The file of the store.
    pub fn store_path(&self) -> PathBuf {
        self.home.join("store.db")
    }

    /// The folder of the indexes.
    pub fn index_folder(&self) -> PathBuf {
        self.home.join("index")
    }
}

fn embedder(config: &EmbeddingConfig) -> EmbedderConfig {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    EmbedderConfig {
        kind: match config.kind {
            EmbeddingKind::Static => EmbedderKind::Static,
            EmbeddingKind::Transformer => EmbedderKind::Transformer,
            EmbeddingKind::OpenAi => EmbedderKind::OpenAi,
            EmbeddingKind::Hash => EmbedderKind::Hash,
            EmbeddingKind::None => EmbedderKind::None,
        },
        path: (!config.path.as_os_str().is_empty()).then(|| config.path.clone()),
        query_prefix: text(&config.query_prefix),
        passage_prefix: text(&config.passage_prefix),
        base: config.api_base.clone(),
        key: config.api_key.clone(),
        model: config.model.clone(),
        dimensions: (config.dimensions > 0).then_some(config.dimensions),
        batch: Some(config.batch),
        ..EmbedderConfig::default()
    }
}
