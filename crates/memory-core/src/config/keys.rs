//! The one table of keys and variables. The loader, `config show`, the example file and the reference page are built
//! from it; no other place names a variable.

use super::Kind;
use super::types::{
    DocumentLayout, EmbeddingKind, EngineMode, InjectScope, LifecyclePreset, Mem0Dialect, Rerank, SecretPolicy,
};

/// One thing that can be configured.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Key {
    /// The path in `config.yaml`, or a single word for what locates the configuration itself.
    pub path: &'static str,
    /// The sort of value.
    pub kind: Kind,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// The variables that set it, strongest first.
    pub variables: &'static [&'static str],
    /// Variables that count only where neither a variable above, nor the file, nor a flag sets the key.
    pub fallbacks: &'static [&'static str],
    /// What an unknown name in a variable means, where it is not an error.
    pub unknown_means: Option<&'static str>,
}

impl Key {
    /// Whether the key is part of `config.yaml`. The others say where the configuration is.
    pub fn is_setting(&self) -> bool {
        self.path.starts_with("memory.")
    }

    /// The variable that every key has: `MEMORY__SECTION__KEY`.
    pub fn generic_variable(&self) -> Option<String> {
        let rest = self.path.strip_prefix("memory.")?;
        Some(format!("{GENERIC_PREFIX}{}", rest.replace('.', "__").to_ascii_uppercase()))
    }

    const fn variables(mut self, variables: &'static [&'static str]) -> Self {
        self.variables = variables;
        self
    }

    const fn fallbacks(mut self, fallbacks: &'static [&'static str]) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    const fn unknown_means(mut self, name: &'static str) -> Self {
        self.unknown_means = Some(name);
        self
    }
}

const fn key(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, doc, variables: &[], fallbacks: &[], unknown_means: None }
}

/// How the variables begin that set any key.
pub const GENERIC_PREFIX: &str = "MEMORY__";

/// The folder of everything.
pub(super) const HOME: Key = key(
    "home",
    Kind::Path,
    "The folder of everything. Without it: `memory` in `$XDG_DATA_HOME`, else `~/.local/share/memory`. Flag: `--home`.",
)
.variables(&["MEMORY_HOME"])
.fallbacks(&["XDG_DATA_HOME", "HOME"]);

/// The configuration file.
pub(super) const CONFIG: Key = key(
    "config",
    Kind::Path,
    "The configuration file. Without it: `config.yaml` in the home, then `memory/config.yaml` in `$XDG_CONFIG_HOME`, \
     else in `~/.config`. Flag: `--config`.",
)
.variables(&["MEMORY_CONFIG"])
.fallbacks(&["XDG_CONFIG_HOME", "HOME"]);

/// The switch that lets `.env` win.
pub(super) const DOTENV_FIRST: Key = key(
    "dotenv_first",
    Kind::Flag,
    "Whether `.env` in the home wins over the environment. It may stand in `.env` itself.",
)
.variables(&["MEMORY_DOTENV_FIRST"]);

/// A limit against slips of the keyboard, not worth a word in the documentation.
pub(super) const LARGEST: u64 = 1_000_000_000;
const COUNT: Kind = Kind::Integer { minimum: 0, maximum: LARGEST };
const POSITIVE: Kind = Kind::Integer { minimum: 1, maximum: LARGEST };
const SECONDS: Kind = Kind::Number { minimum: 0.001, maximum: 86_400.0 };
const SHARE: Kind = Kind::Number { minimum: 0.0, maximum: 1.0 };

/// Every key, in the order of the example file.
pub const KEYS: &[Key] = &[
    HOME,
    CONFIG,
    DOTENV_FIRST,
    key("memory.engine", Kind::Choice(EngineMode::NAMES), "Which providers are used; none switches memory off.")
        .variables(&["MEMORY_ENGINE"]),
    key(
        "memory.workspace_dir",
        Kind::Path,
        "The folder of the Markdown documents; empty means `workspace` in the home.",
    ),
    key("memory.plugin_dir", Kind::Path, "The folder of the plugins; empty means `~/.plugins/memory`.")
        .variables(&["MEMORY_PLUGIN_DIR"]),
    key(
        "memory.log",
        Kind::Text,
        "What is logged to stderr: error, warn, info, debug, trace, or a filter such as `info,tantivy=warn`.",
    )
    .variables(&["MEMORY_LOG"]),
    key("memory.inject", Kind::Flag, "Whether memories are put into the prompt of an agent."),
    key("memory.max_inject", COUNT, "At most so many memories are injected."),
    key(
        "memory.min_relevance",
        Kind::Choice(&["high", "medium", "low"]),
        "Memories below this relevance are not injected.",
    ),
    key(
        "memory.scope",
        Kind::Choice(InjectScope::NAMES),
        "Whose memories are injected: those of the workspace, of the agent (role), or both.",
    ),
    key(
        "memory.max_entries",
        POSITIVE,
        "At most so many memories are kept for each owner; the least recently used go first.",
    )
    .variables(&["ROLEBOX_MEMORY_MAX_ENTRIES"]),
    // external
    key(
        "memory.external.provider",
        Kind::Id,
        "The external provider: openjiuwen, mem0, openviking, or the name of a plugin.",
    )
    .variables(&["MEMORY_EXTERNAL_PROVIDER"]),
    key("memory.external.user_id", Kind::Id, "The user whose memories these are, where a request does not say.")
        .variables(&["MEMORY_USER_ID"]),
    key("memory.external.scope_id", Kind::Id, "The isolation partition, where a request does not say.")
        .variables(&["MEMORY_SCOPE_ID"]),
    key(
        "memory.external.timeout",
        Kind::Number { minimum: 0.001, maximum: 3600.0 },
        "Seconds to wait for an answer of the external provider.",
    ),
    key("memory.external.initialize_timeout", SECONDS, "Seconds the external provider may take to get ready."),
    key("memory.external.shutdown_timeout", SECONDS, "Seconds closing may take to hand over what waits."),
    key("memory.external.idle_timeout", SECONDS, "Seconds without a turn after which a session counts as ended."),
    key(
        "memory.external.retries",
        Kind::Integer { minimum: 0, maximum: 20 },
        "How often a call that may succeed later is tried again at once.",
    ),
    key(
        "memory.external.concurrency",
        Kind::Integer { minimum: 1, maximum: 1024 },
        "How many calls of the external provider may be under way at once.",
    ),
    key(
        "memory.external.breaker_failures",
        Kind::Integer { minimum: 1, maximum: 1000 },
        "After so many failures in a row the external provider is left alone for a while.",
    ),
    key("memory.external.breaker_cooldown", SECONDS, "Seconds of that while; then one call is tried."),
    key(
        "memory.external.allowed_plugins",
        Kind::IdList,
        "Plugins that may be used; empty means any that is trusted. In the variable, separated by commas.",
    ),
    key(
        "memory.external.require_trust",
        Kind::Flag,
        "Whether a plugin must have been trusted with `memory plugin trust` before it is loaded.",
    ),
    key(
        "memory.external.openjiuwen.kv_type",
        Kind::Choice(&["shelve", "sqlite", "memory"]),
        "The embedded key-value back-end.",
    ),
    key(
        "memory.external.openjiuwen.vector_type",
        Kind::Choice(&["chroma", "lancedb"]),
        "The embedded vector back-end.",
    ),
    key("memory.external.openjiuwen.db_type", Kind::Choice(&["sqlite"]), "The embedded relational back-end."),
    key("memory.external.mem0.api_key", Kind::Secret, "The key of Mem0.").variables(&["MEM0_API_KEY"]),
    key("memory.external.mem0.user_id", Kind::Id, "The user at Mem0; empty means the user of the request.")
        .variables(&["MEM0_USER_ID"]),
    key("memory.external.mem0.agent_id", Kind::Id, "The agent at Mem0.").variables(&["MEM0_AGENT_ID"]),
    key("memory.external.mem0.app_id", Kind::Id, "The application at Mem0."),
    key("memory.external.mem0.run_id", Kind::Id, "The run at Mem0; empty means the session of the request."),
    key(
        "memory.external.mem0.base_url",
        Kind::Url,
        "The address of a self-hosted Mem0; empty means the hosted service.",
    )
    .variables(&["MEM0_BASE_URL"]),
    key(
        "memory.external.mem0.dialect",
        Kind::Choice(Mem0Dialect::NAMES),
        "Which interface Mem0 speaks: that of the hosted platform, of the self-hosted server, or whichever answers.",
    ),
    key("memory.external.mem0.rerank", Kind::Flag, "Whether Mem0 ranks its answers once more."),
    key(
        "memory.external.mem0.infer",
        Kind::Flag,
        "Whether Mem0 extracts facts from turns of a conversation; otherwise it keeps their text.",
    ),
    key("memory.external.mem0.threshold", SHARE, "Hits of Mem0 below this score, on its scale, are left out."),
    key("memory.external.mem0.event_timeout", SECONDS, "Seconds to wait until an addition to Mem0 is real."),
    key("memory.external.openviking.endpoint", Kind::Url, "The address of the OpenViking server.")
        .variables(&["OPENVIKING_ENDPOINT"]),
    key("memory.external.openviking.api_key", Kind::Secret, "The key of the OpenViking server.")
        .variables(&["OPENVIKING_API_KEY"]),
    key("memory.external.openviking.account", Kind::Id, "The account at OpenViking.")
        .variables(&["OPENVIKING_ACCOUNT"]),
    key("memory.external.openviking.user", Kind::Id, "The user at OpenViking.").variables(&["OPENVIKING_USER"]),
    key(
        "memory.external.openviking.peer",
        Kind::Id,
        "The peer at OpenViking whose memories are kept apart; empty means none.",
    ),
    key(
        "memory.external.openviking.threshold",
        SHARE,
        "Hits of OpenViking below this score, on its scale, are left out.",
    ),
    key(
        "memory.external.openviking.commit_timeout",
        SECONDS,
        "Seconds to wait until OpenViking has extracted memories from a session.",
    ),
    // dreaming
    key("memory.dreaming.agent.enabled", Kind::Flag, "Whether conversations are consolidated in the background.")
        .variables(&["DREAMING_AGENT_ENABLED"]),
    key("memory.dreaming.agent.interval_seconds", POSITIVE, "Seconds from one run to the next, in effect at least 60.")
        .variables(&["DREAMING_INTERVAL"]),
    key("memory.dreaming.code.enabled", Kind::Flag, "Whether work on code is consolidated in the background.")
        .variables(&["DREAMING_CODE_ENABLED"]),
    key("memory.dreaming.code.interval_seconds", POSITIVE, "Seconds from one run to the next, in effect at least 60.")
        .variables(&["DREAMING_INTERVAL"]),
    // search
    key(
        "memory.search.limit",
        Kind::Integer { minimum: 1, maximum: 1000 },
        "How many hits an answer has, where a request does not say.",
    ),
    key(
        "memory.search.mode",
        Kind::Choice(&["hybrid", "text", "vector"]),
        "Which arms run, where a request does not say.",
    ),
    key("memory.search.vector_weight", SHARE, "Weight of the vector arm."),
    key("memory.search.text_weight", SHARE, "Weight of the text arm."),
    key("memory.search.late_interaction_weight", SHARE, "Weight of the token-by-token comparison."),
    key(
        "memory.search.candidates",
        Kind::Integer { minimum: 1, maximum: 100_000 },
        "How many candidates each arm brings.",
    ),
    key(
        "memory.search.rerank",
        Kind::Choice(Rerank::NAMES),
        "How candidates are compared once more: with static tokens, with the states of the transformer, or not.",
    ),
    key(
        "memory.search.neighbors",
        Kind::Integer { minimum: 0, maximum: 100 },
        "How many messages before and after a hit are shown, where a request does not say.",
    ),
    key("memory.search.min_score", SHARE, "Hits below this score are left out, where a request does not say."),
    key("memory.search.importance_weight", SHARE, "Weight of the computed importance of a memory."),
    key(
        "memory.search.documents_budget_ms",
        COUNT,
        "How many milliseconds a search may spend on taking in changed files before it answers without them.",
    ),
    // embedding
    key(
        "memory.embedding.kind",
        Kind::Choice(EmbeddingKind::NAMES),
        "What turns text into vectors: the bundled table, a local model, an OpenAI-compatible endpoint, hashes (for tests), or nothing.",
    ),
    key("memory.embedding.path", Kind::Path, "The directory of the model, for kind transformer."),
    key("memory.embedding.model", Kind::Id, "The name of the model, for kind openai.").variables(&["EMBED_MODEL"]),
    key("memory.embedding.api_base", Kind::Url, "The address of the endpoint, for kind openai.")
        .variables(&["EMBED_API_BASE"]),
    key("memory.embedding.api_key", Kind::Secret, "The key of the endpoint, for kind openai.")
        .variables(&["EMBED_API_KEY"]),
    key(
        "memory.embedding.dimensions",
        Kind::Integer { minimum: 0, maximum: 65_536 },
        "The length of the vectors; 0 means that it is detected.",
    ),
    key("memory.embedding.query_prefix", Kind::Text, "Put before a question, for models that want it."),
    key("memory.embedding.passage_prefix", Kind::Text, "Put before a stored text, for models that want it."),
    key(
        "memory.embedding.batch",
        Kind::Integer { minimum: 1, maximum: 4096 },
        "How many texts one call carries, for kind openai.",
    ),
    // llm
    key("memory.llm.api_base", Kind::Url, "The address of an OpenAI-compatible chat endpoint.")
        .variables(&["LLM_API_BASE"])
        .fallbacks(&["OPENAI_BASE_URL"]),
    key("memory.llm.api_key", Kind::Secret, "The key of the chat endpoint.")
        .variables(&["LLM_API_KEY"])
        .fallbacks(&["OPENAI_API_KEY"]),
    key("memory.llm.model", Kind::Id, "The name of the chat model; empty means that none is used.")
        .variables(&["LLM_MODEL"]),
    // documents
    key(
        "memory.documents.layout",
        Kind::Choice(DocumentLayout::NAMES),
        "Where the documents lie: `memory/` for everything (legacy), `USER.md` at the root and `daily_memory/` (daily), or whatever is there (auto).",
    ),
    key("memory.documents.watch", Kind::Flag, "Whether a long-lived process watches the files."),
    key("memory.documents.debounce_ms", COUNT, "How many milliseconds a file must be at rest before it is taken in."),
    key(
        "memory.documents.chunk_characters",
        Kind::Integer { minimum: 100, maximum: 100_000 },
        "How many characters a chunk of a document may have.",
    ),
    key("memory.documents.extra_paths", Kind::PathList, "More files and folders with documents."),
    // gateway
    key(
        "memory.gateway.secrets",
        Kind::Choice(SecretPolicy::NAMES),
        "What happens to a credential found in a text: it is replaced by a mark, the write is refused, or nothing.",
    ),
    key("memory.gateway.max_memory_bytes", POSITIVE, "The largest memory in bytes."),
    key("memory.gateway.max_message_bytes", POSITIVE, "The largest message in bytes."),
    key(
        "memory.gateway.near_duplicates",
        Kind::Flag,
        "Whether a memory that says nearly the same as another is folded into it.",
    ),
    key("memory.gateway.near_duplicate_threshold", SHARE, "How alike two memories must be for that."),
    // lifecycle
    key(
        "memory.lifecycle.preset",
        Kind::Choice(LifecyclePreset::NAMES),
        "Which upkeep runs: none (off), quality, garbage collection and decay (on), or all seven features (full).",
    )
    .variables(&["VT_MEMORY"])
    .unknown_means("off"),
    key("memory.lifecycle.quality", Kind::OptionalFlag, "Learned quality; null follows the preset.")
        .variables(&["VT_MEMORY_QUALITY"]),
    key("memory.lifecycle.gc", Kind::OptionalFlag, "Garbage collection; null follows the preset.")
        .variables(&["VT_MEMORY_GC"]),
    key("memory.lifecycle.decay", Kind::OptionalFlag, "Decay with age; null follows the preset.")
        .variables(&["VT_MEMORY_DECAY"]),
    key("memory.lifecycle.hierarchy", Kind::OptionalFlag, "Folders by topic; null follows the preset.")
        .variables(&["VT_MEMORY_HIERARCHY"]),
    key("memory.lifecycle.links", Kind::OptionalFlag, "Links between memories; null follows the preset.")
        .variables(&["VT_MEMORY_LINKS"]),
    key("memory.lifecycle.compression", Kind::OptionalFlag, "Compression of old memories; null follows the preset.")
        .variables(&["VT_MEMORY_COMPRESSION"]),
    key(
        "memory.lifecycle.fts_index",
        Kind::OptionalFlag,
        "The full-text index for duplicate checks; null follows the preset.",
    )
    .variables(&["VT_MEMORY_FTS_INDEX"]),
    // server
    key("memory.server.listen", Kind::Listen, "Where the HTTP server listens.").variables(&["MEMORY_LISTEN"]),
    key(
        "memory.server.api_keys",
        Kind::SecretList,
        "Keys that callers must show; without any, none is asked for. In the variable, separated by commas.",
    )
    .variables(&["MEMORY_API_KEYS"]),
];

/// What each section is about.
pub(super) const SECTIONS: &[(&str, &str)] = &[
    ("memory", "Long-term memory."),
    ("memory.external", "The external provider, used by the engines external and both."),
    (
        "memory.external.openjiuwen",
        "Embedded stores; shelve and chroma are the names that JiuwenSwarm uses for the key-value and the vector store.",
    ),
    ("memory.external.mem0", "Mem0, hosted or self-hosted."),
    ("memory.external.openviking", "OpenViking."),
    ("memory.dreaming", "Consolidation in the background; it needs a chat model."),
    ("memory.dreaming.agent", "Of conversations."),
    ("memory.dreaming.code", "Of work on code."),
    ("memory.search", "Retrieval. The three weights are shares of one scale."),
    ("memory.embedding", "The embedder. After a change run `memory reindex`."),
    ("memory.llm", "The chat model. Optional: without it everything works, some things are simpler."),
    ("memory.documents", "The Markdown workspace."),
    ("memory.gateway", "The write path."),
    ("memory.lifecycle", "Upkeep: the preset decides, and each switch overrides it."),
    ("memory.server", "The HTTP server."),
];

/// The settings, without what locates the configuration.
pub(super) fn settings() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.is_setting())
}

/// The key at `path`.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    settings().find(|key| key.path == path)
}

/// Whether `path` is a section.
pub(super) fn is_section(path: &str) -> bool {
    SECTIONS.iter().any(|(section, _)| *section == path)
}

/// Where the free sections of plugins are.
pub(super) const PLUGIN_PARENT: &str = "memory.external";
