//! The configuration as plain data. What each value means is said once, in the key table ([`crate::config::KEYS`]).

mod choice;
mod external;
mod retrieval;
mod upkeep;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use choice::{
    DocumentLayout, EmbeddingKind, EngineMode, InjectScope, LifecyclePreset, Mem0Dialect, Rerank, SecretPolicy,
};
pub use external::{ExternalConfig, Mem0Config, OpenJiuwenConfig, OpenVikingConfig, PluginSection};
pub use retrieval::{DocumentsConfig, EmbeddingConfig, LlmConfig, SearchConfig};
pub use upkeep::{
    DreamingConfig, DreamingMode, GatewayConfig, LifecycleConfig, LifecycleFlags, SHORTEST_DREAMING_INTERVAL_SECONDS,
};

use crate::{Relevance, Secret};

/// Everything that can be configured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The one section.
    pub memory: MemoryConfig,
}

/// Section `memory`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// Which providers are used.
    pub engine: EngineMode,
    /// The folder of the documents; empty means `workspace` in the home.
    pub workspace_dir: PathBuf,
    /// The folder of the plugins; empty means `~/.plugins/memory`.
    pub plugin_dir: PathBuf,
    /// What is logged, as filter text.
    pub log: String,
    /// The external provider.
    pub external: ExternalConfig,
    /// Consolidation in the background.
    pub dreaming: DreamingConfig,
    /// Whether memories are put into the prompt of an agent.
    pub inject: bool,
    /// At most so many memories are injected.
    pub max_inject: usize,
    /// Memories below this relevance are not injected.
    pub min_relevance: Relevance,
    /// Whose memories are injected.
    pub scope: InjectScope,
    /// At most so many memories are kept for each owner.
    pub max_entries: usize,
    /// Retrieval.
    pub search: SearchConfig,
    /// The embedder.
    pub embedding: EmbeddingConfig,
    /// The chat model.
    pub llm: LlmConfig,
    /// The Markdown workspace.
    pub documents: DocumentsConfig,
    /// The write path.
    pub gateway: GatewayConfig,
    /// Quality, decay, garbage collection and what follows from them.
    pub lifecycle: LifecycleConfig,
    /// The HTTP server.
    pub server: ServerConfig,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            engine: EngineMode::Builtin,
            workspace_dir: PathBuf::new(),
            plugin_dir: PathBuf::new(),
            log: "warn".into(),
            external: ExternalConfig::default(),
            dreaming: DreamingConfig::default(),
            inject: true,
            max_inject: 10,
            min_relevance: Relevance::Medium,
            scope: InjectScope::Both,
            max_entries: 500,
            search: SearchConfig::default(),
            embedding: EmbeddingConfig::default(),
            llm: LlmConfig::default(),
            documents: DocumentsConfig::default(),
            gateway: GatewayConfig::default(),
            lifecycle: LifecycleConfig::default(),
            server: ServerConfig::default(),
        }
    }
}

/// Section `memory.server`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// `HOST:PORT`.
    pub listen: String,
    /// Keys that callers must show; empty means that none is asked for.
    pub api_keys: Vec<Secret>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { listen: "127.0.0.1:8930".into(), api_keys: Vec::new() }
    }
}
