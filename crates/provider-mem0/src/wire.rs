//! What Mem0 sends, in the shapes of both interfaces and of their older versions.

use memory_core::{Attributes, Timestamp};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An empty text stands for none.
fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

/// A memory there.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RemoteMemory {
    pub(crate) id: String,
    pub(crate) memory: Option<String>,
    pub(crate) text: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(crate) user_id: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(crate) agent_id: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(crate) app_id: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(crate) run_id: Option<String>,
    #[serde(deserialize_with = "non_empty")]
    pub(crate) session_id: Option<String>,
    pub(crate) metadata: Option<Attributes>,
    pub(crate) categories: Option<Vec<String>>,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) expiration_date: Option<String>,
    pub(crate) score: Option<f64>,
    pub(crate) rerank_score: Option<f64>,
    pub(crate) score_breakdown: Option<Attributes>,
    pub(crate) score_details: Option<Attributes>,
}

impl RemoteMemory {
    /// The text.
    pub(crate) fn body(&self) -> &str {
        self.memory.as_deref().or(self.text.as_deref()).unwrap_or_default()
    }

    /// The run, which has two names.
    pub(crate) fn run(&self) -> Option<&str> {
        self.run_id.as_deref().or(self.session_id.as_deref())
    }

    /// When the row was made there.
    pub(crate) fn made_at(&self) -> Timestamp {
        moment(self.created_at.as_deref()).unwrap_or(Timestamp::from_nanoseconds(0))
    }
}

/// A time as Mem0 writes it.
pub(crate) fn moment(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// A list or the answer to a search: an envelope, or from older versions a bare array.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Listed {
    /// The envelope.
    Page {
        /// The items.
        results: Vec<RemoteMemory>,
        /// The address of the next page.
        #[serde(default)]
        next: Option<String>,
    },
    /// The items alone.
    Bare(Vec<RemoteMemory>),
}

/// What an addition made.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Added {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    status: Option<String>,
    event_id: Option<String>,
}

impl Added {
    /// Its id, when a memory holds something because of this addition.
    pub(crate) fn kept(&self) -> Option<&str> {
        match self.event.as_deref() {
            None | Some("ADD" | "UPDATE") => self.id.as_deref(),
            Some(_) => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum AdditionReply {
    Envelope {
        #[serde(default)]
        status: Option<String>,
        #[serde(default)]
        event_id: Option<String>,
        #[serde(default)]
        results: Option<Vec<Added>>,
    },
    Bare(Vec<Added>),
}

/// The answer to an addition.
#[derive(Debug)]
pub(crate) enum Addition {
    /// It is real.
    Done(Vec<Added>),
    /// It will be, when these events have come about.
    Pending(Vec<String>),
}

impl Addition {
    /// Reads the answer; `None` when it is no answer to an addition.
    pub(crate) fn of(reply: Value) -> Option<Self> {
        let (status, event, results) = match serde_json::from_value(reply).ok()? {
            AdditionReply::Envelope { status, event_id, results } => (status, event_id, results),
            AdditionReply::Bare(results) => (None, None, Some(results)),
        };
        let waits = |status: &Option<String>| matches!(status.as_deref(), Some("PENDING" | "RUNNING"));
        if let Some(results) = results
            && !waits(&status)
        {
            let pending: Vec<String> = results
                .iter()
                .filter(|added| waits(&added.status))
                .filter_map(|added| added.event_id.clone())
                .collect();
            return Some(if pending.is_empty() { Self::Done(results) } else { Self::Pending(pending) });
        }
        event.map(|event| Self::Pending(vec![event]))
    }
}

/// Something the platform carries out by and by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) results: Option<Vec<Added>>,
    pub(crate) error: Option<Value>,
    metadata: Option<Value>,
    payload: Option<Value>,
}

impl Event {
    /// True when it is the addition of something with this external id.
    pub(crate) fn is_of(&self, external_id: &str) -> bool {
        let id = |value: &Option<Value>, pointer| value.as_ref().and_then(|value| value.pointer(pointer)).cloned();
        [id(&self.metadata, "/external_id"), id(&self.payload, "/metadata/external_id")]
            .iter()
            .flatten()
            .any(|id| id == external_id)
    }
}

/// A list of events.
#[derive(Debug, Deserialize)]
pub(crate) struct Events {
    pub(crate) results: Vec<Event>,
}

/// A former state.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HistoryRow {
    pub(crate) new_memory: Option<String>,
    pub(crate) event: String,
    pub(crate) metadata: Option<Attributes>,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
}

impl HistoryRow {
    /// When it was done: a change keeps the creation time of the memory beside its own.
    pub(crate) fn at(&self) -> Timestamp {
        moment(self.updated_at.as_deref())
            .or(moment(self.created_at.as_deref()))
            .unwrap_or(Timestamp::from_nanoseconds(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_answer_to_an_addition_is_understood() {
        let ids = |reply| match Addition::of(reply) {
            Some(Addition::Done(added)) => added.iter().filter_map(Added::kept).map(str::to_owned).collect::<Vec<_>>(),
            Some(Addition::Pending(events)) => events.iter().map(|event| format!("event {event}")).collect(),
            None => vec!["nonsense".into()],
        };
        for (reply, expected) in [
            (json!({"status": "PENDING", "event_id": "e"}), &["event e"][..]),
            (json!({"status": "PENDING", "event_id": "e", "results": []}), &["event e"]),
            (json!({"status": "SUCCEEDED", "event_id": "e"}), &["event e"]),
            (json!({"status": "SUCCEEDED", "event_id": "e", "results": [{"id": "a", "event": "ADD"}]}), &["a"]),
            (json!({"results": [{"status": "PENDING", "event_id": "e"}], "relations": []}), &["event e"]),
            (json!({"results": [{"id": "a", "memory": "x", "event": "ADD"}, {"id": "b", "event": "NONE"}]}), &["a"]),
            (json!([{"id": "a", "data": {"memory": "x"}}]), &["a"]),
            (json!({"results": []}), &[]),
            (json!({}), &["nonsense"]),
            (json!("ok"), &["nonsense"]),
        ] {
            assert_eq!(ids(reply.clone()), expected, "{reply}");
        }
    }
}
