//! The external providers: three known ones, and a free section for each plugin.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::Mem0Dialect;
use crate::{SafeUrl, Secret};

/// Section `memory.external`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExternalConfig {
    /// `openjiuwen`, `mem0`, `openviking` or the name of a plugin; empty means none.
    pub provider: String,
    /// The user whose memories these are, where a request does not say.
    pub user_id: String,
    /// The isolation partition, where a request does not say.
    pub scope_id: String,
    /// Seconds to wait for an answer.
    pub timeout: f64,
    /// Seconds the provider may take to get ready.
    pub initialize_timeout: f64,
    /// Seconds closing may take to hand over what waits.
    pub shutdown_timeout: f64,
    /// Seconds without a turn after which a session counts as ended.
    pub idle_timeout: f64,
    /// How often a call that may succeed later is tried again at once.
    pub retries: u32,
    /// How many calls may be under way at once.
    pub concurrency: u32,
    /// How many failures in a row open the circuit.
    pub breaker_failures: u32,
    /// Seconds the circuit stays open before one call is tried.
    pub breaker_cooldown: f64,
    /// Plugins that may be used; empty means any that is trusted.
    pub allowed_plugins: Vec<String>,
    /// Whether a plugin must have been trusted with `memory plugin trust`.
    pub require_trust: bool,
    /// The embedded stores under the names the documents use.
    pub openjiuwen: OpenJiuwenConfig,
    /// Mem0.
    pub mem0: Mem0Config,
    /// OpenViking.
    pub openviking: OpenVikingConfig,
    /// Sections that belong to plugins, by provider name. The loader has already refused misspelt keys, so whatever is
    /// left over here is such a section.
    #[serde(flatten)]
    pub plugins: BTreeMap<String, PluginSection>,
}

impl Default for ExternalConfig {
    fn default() -> Self {
        Self {
            provider: String::new(),
            user_id: "__default__".into(),
            scope_id: "__default__".into(),
            timeout: 5.0,
            initialize_timeout: 30.0,
            shutdown_timeout: 10.0,
            idle_timeout: 1800.0,
            retries: 2,
            concurrency: 8,
            breaker_failures: 5,
            breaker_cooldown: 120.0,
            allowed_plugins: Vec::new(),
            require_trust: true,
            openjiuwen: OpenJiuwenConfig::default(),
            mem0: Mem0Config::default(),
            openviking: OpenVikingConfig::default(),
            plugins: BTreeMap::new(),
        }
    }
}

/// Section `memory.external.openjiuwen`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenJiuwenConfig {
    /// The key-value back-end.
    pub kv_type: String,
    /// The vector back-end.
    pub vector_type: String,
    /// The relational back-end.
    pub db_type: String,
}

impl Default for OpenJiuwenConfig {
    fn default() -> Self {
        Self { kv_type: "shelve".into(), vector_type: "chroma".into(), db_type: "sqlite".into() }
    }
}

/// Section `memory.external.mem0`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mem0Config {
    /// The key of the service.
    pub api_key: Secret,
    /// The user there; empty means the user of the request.
    pub user_id: String,
    /// The agent there.
    pub agent_id: String,
    /// The application there.
    pub app_id: String,
    /// The run there.
    pub run_id: String,
    /// The address of the service; empty means the hosted one.
    pub base_url: SafeUrl,
    /// Which of its two interfaces the service speaks.
    pub dialect: Mem0Dialect,
    /// Whether the service ranks its answers once more.
    pub rerank: bool,
    /// Whether the service extracts facts from turns; otherwise it keeps the text.
    pub infer: bool,
    /// Hits below this score, on the scale of the service, are left out.
    pub threshold: f64,
    /// Seconds to wait until an asynchronous addition is real.
    pub event_timeout: f64,
}

impl Default for Mem0Config {
    fn default() -> Self {
        Self {
            api_key: Secret::default(),
            user_id: String::new(),
            agent_id: String::new(),
            app_id: String::new(),
            run_id: String::new(),
            base_url: SafeUrl::default(),
            dialect: Mem0Dialect::default(),
            rerank: true,
            infer: true,
            threshold: 0.1,
            event_timeout: 60.0,
        }
    }
}

/// Section `memory.external.openviking`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenVikingConfig {
    /// The address of the server.
    pub endpoint: SafeUrl,
    /// The key of the server.
    pub api_key: Secret,
    /// The account there.
    pub account: String,
    /// The user there.
    pub user: String,
    /// The peer whose memories are kept apart; empty means none.
    pub peer: String,
    /// Hits below this score, on the scale of the server, are left out.
    pub threshold: f64,
    /// Seconds to wait until the server has extracted memories from a session.
    pub commit_timeout: f64,
}

impl Default for OpenVikingConfig {
    fn default() -> Self {
        Self {
            endpoint: SafeUrl::new("http://127.0.0.1:1933"),
            api_key: Secret::default(),
            account: "root".into(),
            user: "default".into(),
            peer: String::new(),
            threshold: 0.0,
            commit_timeout: 60.0,
        }
    }
}

/// The settings of a plugin, which only the plugin understands. Printed and serialised, it hides what may be a
/// credential.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct PluginSection(Map<String, Value>);

impl PluginSection {
    /// The settings with the credentials in them, for the plugin.
    pub fn expose(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl fmt::Debug for PluginSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PluginSection({})", Value::Object(masked_map(&self.0)))
    }
}

impl Serialize for PluginSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        masked_map(&self.0).serialize(serializer)
    }
}

fn masked_map(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter().map(|(name, value)| (name.clone(), masked(value, names_a_secret(name)))).collect()
}

fn masked(value: &Value, secret: bool) -> Value {
    match value {
        Value::Object(map) if !secret => Value::Object(masked_map(map)),
        Value::Array(items) => Value::Array(items.iter().map(|item| masked(item, secret)).collect()),
        Value::Null => Value::Null,
        Value::String(text) if text.is_empty() => Value::String(String::new()),
        _ if secret => Value::String("****".into()),
        Value::String(text) if text.contains("://") => Value::String(SafeUrl::new(text.as_str()).to_string()),
        other => other.clone(),
    }
}

/// Words that tell a credential by its name. Masking one value too many does no harm.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["key", "token", "secret", "pass", "credential", "auth", "cookie", "dsn", "private"]
        .iter()
        .any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_sections_are_kept_and_their_credentials_hidden() {
        let external: ExternalConfig = serde_json::from_value(serde_json::json!({
            "provider": "acme", "acme": {"apiToken": "canary", "url": "https://u:canary@h/?k=canary", "limit": 3,
                "auth": {"a": "canary"}, "headers": [{"password": "canary"}], "名": "值"}
        }))
        .unwrap();
        let section = &external.plugins["acme"];
        assert_eq!(section.expose()["apiToken"], "canary");
        let printed = format!("{external:?} {}", serde_json::to_string(&external).unwrap());
        assert!(!printed.contains("canary"), "{printed}");
        assert!(printed.contains("\"limit\":3") && printed.contains("值"), "{printed}");
    }
}
