//! What is kept beside a text: the fields of a memory or message that Mem0 has no place for. Only what is set is written.
//!
//! The self-hosted server keeps metadata beside its own fields, so none of these names may be one of its own: `data`, `hash`,
//! `role`, `id`, `created_at`, `updated_at` and `expiration_date` are taken.

use memory_core::{Attributes, NewMemory, NewMessage, Origin, Relevance, Timestamp};
use serde_json::{Value, json};

pub(crate) const ITEM: &str = "item";
pub(crate) const EXTERNAL_ID: &str = "external_id";
pub(crate) const KIND: &str = "kind";
pub(crate) const CATEGORY: &str = "category";
pub(crate) const TITLE: &str = "title";
pub(crate) const TAGS: &str = "tags";
pub(crate) const KEYWORDS: &str = "keywords";
pub(crate) const RELEVANCE: &str = "relevance";
pub(crate) const QUALITY: &str = "quality";
pub(crate) const ATTRS: &str = "attrs";
pub(crate) const PLACE: &str = "place";
pub(crate) const ORIGIN: &str = "origin";
pub(crate) const SESSIONS: &str = "source_sessions";
pub(crate) const SESSION: &str = "source_session";
pub(crate) const EVENT_AT: &str = "event_at";
pub(crate) const OBSERVED_AT: &str = "observed_at";
pub(crate) const WRITTEN_AT: &str = "written_at";
pub(crate) const EXPIRES_AT: &str = "expires_at";
pub(crate) const PINNED: &str = "pinned";
pub(crate) const REVISION: &str = "revision";
pub(crate) const SPEAKER: &str = "speaker";
pub(crate) const SPEAKER_ROLE: &str = "speaker_role";
/// Set on a text that was kept because the extraction gave nothing.
pub(crate) const RAW: &str = "raw";

/// The value of [`ITEM`] for a message that is kept as it was said.
pub(crate) const MESSAGE: &str = "message";
/// The value of [`ITEM`] for what was extracted from a conversation.
pub(crate) const EXTRACT: &str = "extract";

/// Every name above and those of `scope`: what else stands in metadata was written by somebody else.
pub(crate) fn is_ours(key: &str) -> bool {
    const NAMES: [&str; 23] = [
        ITEM,
        EXTERNAL_ID,
        KIND,
        CATEGORY,
        TITLE,
        TAGS,
        KEYWORDS,
        RELEVANCE,
        QUALITY,
        ATTRS,
        PLACE,
        ORIGIN,
        SESSIONS,
        SESSION,
        EVENT_AT,
        OBSERVED_AT,
        WRITTEN_AT,
        EXPIRES_AT,
        PINNED,
        REVISION,
        SPEAKER,
        SPEAKER_ROLE,
        RAW,
    ];
    NAMES.contains(&key) || key.starts_with("memory_")
}

/// Collects what is set.
struct Fields(Attributes);

impl Fields {
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        let nothing = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        if !nothing {
            self.0.insert(key.to_owned(), value);
        }
    }

    fn time(&mut self, key: &str, time: Option<Timestamp>) {
        self.set(key, time.map(|time| time.to_string()));
    }
}

/// The metadata of a memory, beside `marks`, which say whose it is.
pub(crate) fn of_memory(new: &NewMemory, marks: Attributes) -> Attributes {
    let mut fields = Fields(marks);
    fields.set(EXTERNAL_ID, new.external_id.clone());
    if new.kind != memory_core::MemoryKind::Note {
        fields.set(KIND, json!(new.kind));
    }
    fields.set(CATEGORY, new.category.clone());
    fields.set(TITLE, new.title.clone());
    fields.set(TAGS, new.tags.clone());
    fields.set(KEYWORDS, new.keywords.clone());
    if new.relevance != Relevance::Medium {
        fields.set(RELEVANCE, json!(new.relevance));
    }
    fields.set(QUALITY, new.quality);
    fields.set(ATTRS, Value::Object(new.attrs.clone()));
    fields.set(PLACE, new.place.clone());
    if new.origin != Origin::User {
        fields.set(ORIGIN, json!(new.origin));
    }
    fields.set(SESSIONS, new.source_sessions.clone());
    fields.time(EVENT_AT, new.event_at);
    fields.time(OBSERVED_AT, new.observed_at);
    fields.time(WRITTEN_AT, new.created_at);
    fields.time(EXPIRES_AT, new.expires_at);
    if new.pinned {
        fields.set(PINNED, true);
    }
    fields.0
}

/// The metadata of a message that is kept as it was said.
pub(crate) fn of_message(new: &NewMessage, marks: Attributes, raw: bool) -> Attributes {
    let mut fields = Fields(marks);
    fields.set(ITEM, MESSAGE);
    fields.set(EXTERNAL_ID, new.external_id.clone());
    fields.set(SESSION, new.session_id.clone());
    fields.set(SPEAKER, new.speaker.clone());
    fields.set(SPEAKER_ROLE, json!(new.role));
    fields.time(WRITTEN_AT, new.created_at);
    fields.set(ATTRS, Value::Object(new.attrs.clone()));
    if raw {
        fields.set(RAW, true);
    }
    fields.0
}

/// The metadata of what is extracted from a conversation.
pub(crate) fn of_extract(
    external_id: Option<&str>,
    session: &str,
    at: Option<Timestamp>,
    marks: Attributes,
) -> Attributes {
    let mut fields = Fields(marks);
    fields.set(ITEM, EXTRACT);
    fields.set(EXTERNAL_ID, external_id);
    fields.set(SESSION, session);
    fields.time(WRITTEN_AT, at);
    fields.0
}

/// The last day of something, as Mem0 wants it.
pub(crate) fn day(time: Timestamp) -> String {
    time.to_datetime().naive_utc().date().format("%Y-%m-%d").to_string()
}
