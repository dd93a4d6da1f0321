//! What is written, and what became of it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Attributes, MemoryKind, Origin, Relevance, Role, Scope, Timestamp, Viewer};

/// A memory to be written. Everything but scope and body is optional.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewMemory {
    /// Where it is kept.
    #[serde(flatten)]
    pub scope: Scope,
    /// An id to keep, when a bundle is re-imported.
    pub id: Option<crate::Id>,
    /// What sort of record it is.
    pub kind: MemoryKind,
    /// A free category.
    pub category: Option<String>,
    /// A short title.
    pub title: Option<String>,
    /// The text.
    pub body: String,
    /// Labels to filter by.
    pub tags: Vec<String>,
    /// Further words under which it should be found.
    pub keywords: Vec<String>,
    /// Declared relevance.
    pub relevance: Relevance,
    /// Learned quality, 0 to 1; default 0.5.
    pub quality: Option<f64>,
    /// Free attributes.
    pub attrs: Attributes,
    /// Where it happened.
    pub place: Option<String>,
    /// Where it came from.
    pub origin: Origin,
    /// The sessions it was learned in.
    pub source_sessions: Vec<String>,
    /// A foreign id.
    pub external_id: Option<String>,
    /// When what it tells of happened.
    pub event_at: Option<Timestamp>,
    /// When it was heard; default now.
    pub observed_at: Option<Timestamp>,
    /// When it was first written, when a bundle is re-imported.
    pub created_at: Option<Timestamp>,
    /// When it stops being true or wanted.
    pub expires_at: Option<Timestamp>,
    /// Never archived, never evicted.
    pub pinned: bool,
}

impl NewMemory {
    /// A memory with a text in a scope.
    pub fn new(scope: Scope, body: impl Into<String>) -> Self {
        Self { scope, body: body.into(), ..Self::default() }
    }
}

/// A message to be kept verbatim.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewMessage {
    /// Whom the conversation belongs to.
    #[serde(flatten)]
    pub scope: Scope,
    /// The session it was said in.
    pub session_id: String,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name.
    pub speaker: Option<String>,
    /// What was said.
    pub content: String,
    /// When it was said; default now.
    pub created_at: Option<Timestamp>,
    /// A foreign id; a second message with the same one in the same scope and session is the same message.
    pub external_id: Option<String>,
    /// Free attributes.
    pub attrs: Attributes,
}

impl NewMessage {
    /// A message in a session.
    pub fn new(scope: Scope, session_id: impl Into<String>, role: Role, content: impl Into<String>) -> Self {
        Self { scope, session_id: session_id.into(), role, content: content.into(), ..Self::default() }
    }
}

impl From<crate::Message> for NewMessage {
    /// The message as it would be written anew, without its id and place.
    fn from(message: crate::Message) -> Self {
        Self {
            scope: message.scope,
            session_id: message.session_id,
            role: message.role,
            speaker: message.speaker,
            content: message.content,
            created_at: Some(message.created_at),
            external_id: message.external_id,
            attrs: message.attrs,
        }
    }
}

/// One thing to write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WriteItem {
    /// A memory: checked for duplicates and tombstones.
    Memory(Box<NewMemory>),
    /// A message: kept verbatim, idempotent by external id.
    Message(Box<NewMessage>),
}

/// Things to write in one transaction, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WriteRequest {
    /// The things.
    pub items: Vec<WriteItem>,
    /// Write even what a tombstone refuses or what is a near-duplicate.
    pub force: bool,
    /// The request may have been carried out before, and its answer was lost: what is there under its external id is not
    /// written again.
    pub repeated: bool,
}

/// What became of one thing written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteOutcome {
    /// It is stored; `id` names it.
    Stored,
    /// It was there already; `id` names the one that was.
    Deduped,
    /// It is stored in place of an older one; `id` names the new, `superseded` the old.
    Superseded,
    /// It is not stored; `reason` says why.
    Rejected,
    /// It is kept durably for a provider that is out of reach.
    Queued,
}

/// What became of one item of a [`WriteRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriteResult {
    /// What became of it.
    pub outcome: WriteOutcome,
    /// The id it has.
    pub id: Option<String>,
    /// Why it was rejected, or what was changed on the way in (such as a redacted secret).
    pub reason: Option<String>,
    /// The id it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded: Option<String>,
}

impl WriteResult {
    /// A result with an id and no reason.
    pub fn with_id(outcome: WriteOutcome, id: impl Into<String>) -> Self {
        Self { outcome, id: Some(id.into()), reason: None, superseded: None }
    }

    /// A rejection.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self { outcome: WriteOutcome::Rejected, id: None, reason: Some(reason.into()), superseded: None }
    }
}

/// What became of a [`WriteRequest`], item by item in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WriteReport {
    /// One result for each item.
    pub items: Vec<WriteResult>,
}

/// Changes to one memory. Fields that are `None` stay as they are; an inner `None` clears the field. In JSON a field that is
/// not there stays, and `null` clears it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryChanges {
    /// A new text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A new title.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub title: Option<Option<String>>,
    /// A new category.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub category: Option<Option<String>>,
    /// New labels, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// New keywords, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Vec<String>>,
    /// A new relevance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Relevance>,
    /// A new event time.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub event_at: Option<Option<Timestamp>>,
    /// A new expiry.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub expires_at: Option<Option<Timestamp>>,
    /// Attributes to set; `null` removes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attrs: Option<Attributes>,
    /// Pin or unpin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
}

/// Reads a field that is there: `null` clears, and only a field that is not there leaves things as they are.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Changes one memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpdateRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// An id or a unique prefix of one.
    pub id: String,
    /// What changes.
    pub changes: MemoryChanges,
    /// Refuse with a conflict unless the memory stands at this revision.
    #[serde(default)]
    pub expected_revision: Option<u64>,
}

/// Forgets memories or messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeleteRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// Ids or unique prefixes.
    pub ids: Vec<String>,
    /// Remove the text for good instead of keeping it restorable, and remember only a digest of it.
    #[serde(default)]
    pub erase: bool,
    /// Say what would happen and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a [`DeleteRequest`] did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeleteReport {
    /// The ids that were forgotten, or would be.
    pub deleted: Vec<String>,
    /// The ids and prefixes that named nothing visible.
    pub missing: Vec<String>,
    /// True when nothing was changed.
    pub dry_run: bool,
    /// What erasure did and could not do, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_survive_json_and_clearing_is_not_leaving_alone() {
        let changes = MemoryChanges { title: Some(None), category: Some(Some("c".into())), ..MemoryChanges::default() };
        let json = serde_json::to_value(&changes).unwrap();
        assert_eq!(json, serde_json::json!({"title": null, "category": "c"}));
        assert_eq!(serde_json::from_value::<MemoryChanges>(json).unwrap(), changes);
        assert_eq!(serde_json::from_str::<MemoryChanges>("{}").unwrap(), MemoryChanges::default());
    }
}
