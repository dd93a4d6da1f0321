//! What is remembered: memories, messages, documents and their chunks.

use serde::{Deserialize, Serialize};

use crate::{Id, Scope, Timestamp};

/// Free attributes of a memory or message.
pub type Attributes = serde_json::Map<String, serde_json::Value>;

/// What sort of record a memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryKind {
    /// Something worth keeping.
    #[default]
    Note,
    /// Something about the user.
    Profile,
    /// A summary of a session.
    Summary,
    /// A lesson from a tool error.
    Lesson,
    /// A diary or log entry.
    Log,
}

/// How relevant the writer declared a memory to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relevance {
    /// Nice to know.
    Low,
    /// Useful.
    #[default]
    Medium,
    /// Must not be missed.
    High,
}

/// Where a memory came from. Promotion and erasure rules depend on it, so the gateway stamps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// A person wrote it.
    #[default]
    User,
    /// An agent wrote it through a tool.
    Agent,
    /// It was imported.
    Import,
    /// It was made from older memories.
    Consolidation,
    /// The system made it.
    System,
}

/// Where a memory stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Found by recall.
    #[default]
    Active,
    /// Put aside; `restore` brings it back.
    Archived,
    /// Past its expiry.
    Expired,
    /// Forgotten; `restore` brings it back until it is erased.
    Deleted,
}

/// How far a memory has been condensed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// As written.
    #[default]
    Raw,
    /// Condensed to a day.
    Daily,
    /// Condensed to a digest.
    Digest,
}

/// One memory: a row of truth.
///
/// `relevance` is declared, `quality` (0 to 1) is learned; importance is computed from them and never stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Its id.
    pub id: Id,
    /// Where it is kept.
    #[serde(flatten)]
    pub scope: Scope,
    /// What sort of record it is.
    #[serde(default)]
    pub kind: MemoryKind,
    /// A free category such as `fact`, `preference`, `decision`, `lesson` or `note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// A short title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    pub body: String,
    /// Labels to filter by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Further words under which it should be found.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Declared relevance.
    #[serde(default)]
    pub relevance: Relevance,
    /// Learned quality, 0 to 1.
    pub quality: f64,
    /// Free attributes.
    #[serde(default)]
    pub attrs: Attributes,
    /// Where it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Where it came from.
    #[serde(default)]
    pub origin: Origin,
    /// The sessions it was learned in.
    #[serde(default)]
    pub source_sessions: Vec<String>,
    /// A foreign id; writing the same one again in one scope is the same memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// When what it tells of happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_at: Option<Timestamp>,
    /// When it was heard.
    pub observed_at: Timestamp,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When the row was last changed.
    pub updated_at: Timestamp,
    /// When recall last returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accessed_at: Option<Timestamp>,
    /// How often recall returned it.
    #[serde(default)]
    pub access_count: u64,
    /// When it stops being true or wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Where it stands in its life.
    #[serde(default)]
    pub state: State,
    /// How far it has been condensed.
    #[serde(default)]
    pub compression: Compression,
    /// Never archived, never evicted.
    #[serde(default)]
    pub pinned: bool,
    /// Counts changes, from 1.
    pub revision: u64,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    #[default]
    User,
    /// The agent.
    Assistant,
    /// Instructions.
    System,
    /// The result of a tool.
    Tool,
}

/// One message of a conversation, kept verbatim. `session_id` says where it was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: Id,
    /// Whom the conversation belongs to.
    #[serde(flatten)]
    pub scope: Scope,
    /// The session it was said in.
    pub session_id: String,
    /// Its place in the session, from 0.
    pub position: u64,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// What was said.
    pub content: String,
    /// When it was said.
    pub created_at: Timestamp,
    /// A foreign id; messages are idempotent by it within a scope and session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Free attributes.
    #[serde(default)]
    pub attrs: Attributes,
}

/// One Markdown file of a workspace, as far as the index knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its id.
    pub id: Id,
    /// Where it is kept.
    #[serde(flatten)]
    pub scope: Scope,
    /// The path relative to the workspace, with `/`.
    pub path: String,
    /// The title from its frontmatter or first heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Bytes.
    pub size: u64,
    /// Modification time of the file.
    pub modified_at: Timestamp,
    /// SHA-256 of the content, hexadecimal.
    pub hash: String,
}

/// A passage of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Its id.
    pub id: Id,
    /// Its place in the document, from 0.
    pub ordinal: u32,
    /// First and last line, from 1, inclusive.
    pub lines: [u32; 2],
    /// The headings above it, joined by ` > `.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// The passage.
    pub text: String,
}
