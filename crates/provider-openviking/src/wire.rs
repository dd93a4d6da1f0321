//! What OpenViking answers, read leniently: keys come and go between versions.

use memory_core::{Result, Role};
use memory_http::{Reply, Service, of_nonsense};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// `GET /health`.
#[derive(Debug, Deserialize)]
pub(crate) struct Health {
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) auth_mode: String,
    pub(crate) user_id: Option<String>,
    pub(crate) account_id: Option<String>,
    #[serde(default)]
    pub(crate) role: String,
}

/// The `error` of a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    #[serde(default)]
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    details: Option<Value>,
}

impl Failure {
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        serde_json::from_value(reply.value()?.get("error")?.clone()).ok()
    }

    pub(crate) fn is_retryable(&self) -> bool {
        let detail = |name: &str| self.details.as_ref().and_then(|details| details.get(name)).cloned();
        detail("retryable") == Some(Value::Bool(true)) || detail("conflict_type") == Some("path_busy".into())
    }
}

/// A body of the fields that have a value: servers refuse those they do not know, and some those that are null.
pub(crate) fn body<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Map<String, Value>>()
        .into()
}

/// The `result` of a successful reply.
pub(crate) fn result<T: DeserializeOwned>(service: &Service, reply: &Reply) -> Result<T> {
    let mut envelope: Map<String, Value> = reply.json(service)?;
    let result = envelope.remove("result").ok_or_else(|| of_nonsense(service, "it has no `result`"))?;
    serde_json::from_value(result)
        .map_err(|error| of_nonsense(service, &format!("its `result` is unexpected: {error}")))
}

/// `GET /api/v1/system/status`.
#[derive(Debug, Deserialize)]
pub(crate) struct SystemStatus {
    pub(crate) user: Option<String>,
}

/// `POST /api/v1/search/find`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct FindResult {
    #[serde(default)]
    pub(crate) memories: Vec<Found>,
    #[serde(default)]
    pub(crate) resources: Vec<Found>,
}

/// One thing found.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Found {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) score: f64,
    #[serde(default)]
    pub(crate) level: Option<u8>,
    #[serde(default, rename = "abstract")]
    pub(crate) summary: Option<String>,
    #[serde(default)]
    tags: Option<Value>,
}

impl Found {
    /// How related it is, 0 to 1. Servers up to 0.4.9 give the cosine; later ones, known by the `tags` they answer, give
    /// (1 + cosine) / 2, on which 0.5 means unrelated. Opposites are as unrelated as anything else.
    pub(crate) fn relatedness(&self) -> f64 {
        let cosine = if self.tags.is_some() { 2.0 * self.score - 1.0 } else { self.score };
        cosine.clamp(0.0, 1.0)
    }

    /// True for a file, as opposed to the summary of a folder.
    pub(crate) fn is_file(&self) -> bool {
        let name = self.uri.rsplit('/').next().unwrap_or_default();
        self.level.is_none_or(|level| level == 2) && !name.starts_with('.') && !name.is_empty()
    }
}

/// One entry of a folder.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Entry {
    pub(crate) uri: String,
    #[serde(default, rename = "isDir")]
    pub(crate) is_folder: bool,
    #[serde(default, rename = "modTime")]
    pub(crate) modified: String,
}

/// `GET /api/v1/sessions/{id}/context` and `…/archives/{id}`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Messages {
    #[serde(default)]
    pub(crate) messages: Vec<StoredMessage>,
    #[serde(default)]
    stats: Option<Map<String, Value>>,
}

impl Messages {
    /// How many archives the session has.
    pub(crate) fn archives(&self) -> u64 {
        self.stats.as_ref().and_then(|stats| stats.get("totalArchives")?.as_u64()).unwrap_or(0)
    }
}

/// A message in a session.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StoredMessage {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    parts: Vec<Value>,
    #[serde(default)]
    pub(crate) created_at: String,
    #[serde(default)]
    pub(crate) turn_id: Option<String>,
}

impl StoredMessage {
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        texts.join("\n")
    }

    pub(crate) fn role(&self) -> Role {
        serde_json::from_value(Value::String(self.role.clone())).unwrap_or_default()
    }
}

/// `POST /api/v1/sessions/{id}/commit`.
#[derive(Debug, Deserialize)]
pub(crate) struct Commit {
    #[serde(default)]
    pub(crate) task_id: Option<String>,
}

/// `GET /api/v1/tasks/{id}`.
#[derive(Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) error: Option<Value>,
    #[serde(default)]
    result: Option<Value>,
}

impl Task {
    /// How many memories were extracted, all kinds together.
    pub(crate) fn memories(&self) -> u64 {
        let counts = self.result.as_ref().and_then(|result| result.get("memories_extracted")?.as_object());
        counts.map_or(0, |counts| {
            counts.iter().filter(|(kind, _)| *kind != "total").filter_map(|(_, count)| count.as_u64()).sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_both_scales_say_how_related_something_is() {
        let found = |json: &str| serde_json::from_str::<Found>(json).unwrap().relatedness();
        assert_eq!(found(r#"{"uri":"a","score":0.5,"tags":[]}"#), 0.0, "unrelated");
        assert_eq!(found(r#"{"uri":"a","score":0.75,"tags":[]}"#), 0.5);
        assert_eq!(found(r#"{"uri":"a","score":0.2,"tags":[]}"#), 0.0, "opposite");
        assert_eq!(found(r#"{"uri":"a","score":0.5,"category":""}"#), 0.5, "the older scale");
        assert_eq!(found(r#"{"uri":"a","score":1.0000001,"tags":[]}"#), 1.0);
    }

    #[test]
    fn memories_of_all_kinds_count() {
        let task = |json: &str| serde_json::from_str::<Task>(json).unwrap().memories();
        assert_eq!(
            task(r#"{"status":"completed","result":{"memories_extracted":{"events":2,"profile":1,"total":3}}}"#),
            3
        );
        assert_eq!(task(r#"{"status":"completed","result":{"memories_extracted":{}}}"#), 0);
        assert_eq!(task(r#"{"status":"failed","error":"x"}"#), 0);
    }
}
