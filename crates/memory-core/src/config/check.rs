//! What is readable but does not make sense. Each finding says what to do.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use super::load::Loaded;
use super::nearest::nearest_name;
use super::types::{EmbeddingKind, EngineMode, Rerank, SHORTEST_DREAMING_INTERVAL_SECONDS};
use super::{SettingOrigin, keys};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It works, but perhaps not as meant.
    Warning,
    /// It cannot work.
    Error,
}

/// One thing that does not make sense.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The key it is about, or empty.
    pub path: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
}

const KNOWN_PROVIDERS: [&str; 3] = ["openjiuwen", "mem0", "openviking"];

/// Everything that does not make sense, errors first. Nothing is connected to; folders are only looked at.
pub fn check(loaded: &Loaded) -> Vec<Finding> {
    let mut checker = Checker { loaded, findings: loaded.notes.clone() };
    checker.external();
    checker.plugin_sections();
    checker.embedding();
    checker.llm();
    checker.search();
    checker.lifecycle();
    checker.server();
    checker.readable_by_others();
    checker.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    checker.findings
}

struct Checker<'a> {
    loaded: &'a Loaded,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn error(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Error, path, message.into(), hint.into());
    }

    fn warning(&mut self, path: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Warning, path, message.into(), hint.into());
    }

    fn add(&mut self, severity: Severity, path: &str, message: String, hint: String) {
        self.findings.push(Finding { severity, path: path.to_owned(), message, hint });
    }

    fn external(&mut self) {
        let memory = &self.loaded.config.memory;
        let external = &memory.external;
        if !matches!(memory.engine, EngineMode::External | EngineMode::Both) {
            if self.loaded.origin("memory.external.provider") != SettingOrigin::Default && !external.provider.is_empty()
            {
                self.warning(
                    "memory.external.provider",
                    format!("a provider is named, but the engine is {} and does not use it", memory.engine),
                    "set memory.engine to external or both (MEMORY_ENGINE)",
                );
            }
            return;
        }
        match external.provider.as_str() {
            "" => self.error(
                "memory.external.provider",
                format!("the engine is {}, but no external provider is named", memory.engine),
                "name one: openjiuwen, mem0, openviking or a plugin (MEMORY_EXTERNAL_PROVIDER); or set memory.engine to builtin",
            ),
            "mem0" if external.mem0.api_key.is_empty() && external.mem0.base_url.is_empty() => self.error(
                "memory.external.mem0.api_key",
                "the hosted Mem0 needs a key",
                "set MEM0_API_KEY in the environment or in .env; for a server of your own set memory.external.mem0.base_url (MEM0_BASE_URL)",
            ),
            "openviking" if external.openviking.endpoint.is_empty() => self.error(
                "memory.external.openviking.endpoint",
                "OpenViking needs an address",
                "set memory.external.openviking.endpoint (OPENVIKING_ENDPOINT)",
            ),
            name if KNOWN_PROVIDERS.contains(&name) => {}
            name => {
                if let Some(near) = nearest_name(KNOWN_PROVIDERS.into_iter(), name, 2) {
                    self.warning(
                        "memory.external.provider",
                        "the provider is none of the known ones, so a plugin of that name is looked for",
                        format!("did you mean {near}?"),
                    );
                }
            }
        }
    }

    fn plugin_sections(&mut self) {
        let external = &self.loaded.config.memory.external;
        for name in external.plugins.keys().filter(|name| **name != external.provider) {
            let near = nearest_name(KNOWN_PROVIDERS.into_iter().chain([external.provider.as_str()]), name, 2);
            let hint = match near.filter(|near| !near.is_empty()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("set memory.external.provider to {name}, or remove the section"),
            };
            self.warning(
                &format!("{}.{name}", keys::PLUGIN_PARENT),
                "this section belongs to a provider that is not in use",
                hint,
            );
        }
    }

    fn embedding(&mut self) {
        let embedding = &self.loaded.config.memory.embedding;
        match embedding.kind {
            EmbeddingKind::Transformer if embedding.path.as_os_str().is_empty() => self.error(
                "memory.embedding.path",
                "the embedding kind is transformer, but no model is named",
                "set memory.embedding.path to the directory of the model",
            ),
            EmbeddingKind::Transformer if !embedding.path.exists() => self.error(
                "memory.embedding.path",
                format!("there is no model at {}", embedding.path.display()),
                "check the path; a relative one starts at the folder of the configuration file",
            ),
            EmbeddingKind::OpenAi => {
                if embedding.api_base.is_empty() && embedding.api_key.is_empty() {
                    self.error(
                        "memory.embedding.api_base",
                        "the embedding kind is openai, but neither an address nor a key is set",
                        "set EMBED_API_BASE, and EMBED_API_KEY where the endpoint asks for one",
                    );
                }
                if embedding.model.is_empty() {
                    self.error(
                        "memory.embedding.model",
                        "the embedding kind is openai, but no model is named",
                        "set memory.embedding.model (EMBED_MODEL)",
                    );
                }
            }
            kind if kind != EmbeddingKind::Transformer && !embedding.api_base.is_empty() => self.warning(
                "memory.embedding.api_base",
                format!("an embedding endpoint is set, but the embedding kind is {kind} and does not use it"),
                "set memory.embedding.kind to openai (MEMORY__EMBEDDING__KIND), or remove the address",
            ),
            _ => {}
        }
    }

    fn llm(&mut self) {
        let memory = &self.loaded.config.memory;
        let dreaming = &memory.dreaming;
        for (name, mode) in [("agent", &dreaming.agent), ("code", &dreaming.code)] {
            if mode.enabled && !memory.llm.is_configured() {
                self.warning(
                    &format!("memory.dreaming.{name}.enabled"),
                    "dreaming is on, but no chat model is configured; it will do its simpler work only",
                    "set LLM_API_BASE, LLM_API_KEY and LLM_MODEL",
                );
            }
            if mode.interval_seconds < SHORTEST_DREAMING_INTERVAL_SECONDS {
                self.warning(
                    &format!("memory.dreaming.{name}.interval_seconds"),
                    format!("the interval is shorter than the least, {SHORTEST_DREAMING_INTERVAL_SECONDS} seconds, which is used instead"),
                    "set a longer interval",
                );
            }
        }
        if !memory.llm.api_base.is_empty() && memory.llm.model.is_empty() {
            self.warning(
                "memory.llm.model",
                "a chat endpoint is set, but no model is named, so it is not used",
                "set memory.llm.model (LLM_MODEL)",
            );
        }
    }

    fn search(&mut self) {
        let memory = &self.loaded.config.memory;
        let search = &memory.search;
        if search.vector_weight + search.text_weight + search.late_interaction_weight <= 0.0 {
            self.error(
                "memory.search.text_weight",
                "all three weights are 0, so no hit has a score",
                "set at least one weight",
            );
        }
        if search.rerank == Rerank::Contextual && memory.embedding.kind != EmbeddingKind::Transformer {
            self.error(
                "memory.search.rerank",
                "contextual re-ranking needs a transformer",
                "set memory.embedding.kind to transformer, or memory.search.rerank to static",
            );
        }
        if memory.engine != EngineMode::None && search.candidates < search.limit {
            self.warning(
                "memory.search.candidates",
                "each arm brings fewer candidates than an answer has hits",
                "set memory.search.candidates to several times memory.search.limit",
            );
        }
    }

    fn lifecycle(&mut self) {
        let flags = self.loaded.config.memory.lifecycle.flags();
        if flags.compression && !flags.gc {
            self.warning(
                "memory.lifecycle.compression",
                "compression is part of garbage collection, which is off, so nothing is compressed",
                "set memory.lifecycle.gc to true (VT_MEMORY_GC)",
            );
        }
    }

    fn server(&mut self) {
        let server = &self.loaded.config.memory.server;
        if !is_loopback(&server.listen) && server.api_keys.is_empty() {
            self.error(
                "memory.server.api_keys",
                format!("the server would listen at {} for other machines without asking for a key", server.listen),
                "set MEMORY_API_KEYS, or memory.server.listen to 127.0.0.1 (MEMORY_LISTEN)",
            );
        }
    }

    /// Files with credentials that every user of the machine can read.
    fn readable_by_others(&mut self) {
        let mut files = BTreeSet::new();
        for (path, origin) in &self.loaded.origins {
            let secret = keys::find(path).is_none_or(|key| key.kind.is_secret());
            if let (true, SettingOrigin::File { path, .. } | SettingOrigin::Dotenv { path, .. }) = (secret, origin) {
                files.insert(path.clone());
            }
        }
        for file in files.iter().filter(|file| others_may_read(file)) {
            self.warning(
                "",
                format!("{} holds a key and can be read by other users of this machine", file.display()),
                format!("run `chmod 600 {}`", file.display()),
            );
        }
    }
}

fn is_loopback(listen: &str) -> bool {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(unix)]
fn others_may_read(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn others_may_read(_file: &Path) -> bool {
    false
}
