//! The contract that every provider fulfils: builtin, external or plugin.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    DeleteReport, DeleteRequest, HitKind, Memory, Message, Recall, Result, SearchRequest, State, UpdateRequest, Viewer,
    WriteReport, WriteRequest, WriteResult,
};

/// Who a provider is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The name that configuration uses.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in one sentence.
    pub description: String,
}

/// What a provider can do. Flags are named after the operation; a limit of `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capability {
    /// Keeps memories.
    pub write: bool,
    /// Keeps messages verbatim.
    pub write_messages: bool,
    /// Answers questions.
    pub search: bool,
    /// Honours [`SearchRequest::filter`].
    pub search_with_filter: bool,
    /// Honours `since` and `until`.
    pub search_by_time: bool,
    /// Returns single memories by id.
    pub get: bool,
    /// Lists memories.
    pub list: bool,
    /// Changes memories in place.
    pub update: bool,
    /// Forgets memories.
    pub delete: bool,
    /// Removes forgotten text for good.
    pub erase: bool,
    /// Returns former states.
    pub history: bool,
    /// Takes whole turns of a conversation.
    pub sync_turn: bool,
    /// Writes what a request marked as repeated has under one external id only once.
    pub idempotent: bool,
    /// Works without a network.
    pub offline: bool,
    /// The most items in one write.
    pub max_batch: Option<usize>,
    /// The longest text of one memory, in bytes.
    pub max_text_bytes: Option<usize>,
}

/// The session a provider is initialised for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionContext {
    /// Who asks.
    pub viewer: Viewer,
    /// The language of prompts, such as `en` or `zh`.
    pub language: Option<String>,
}

/// One turn of a conversation: what the user said and what the agent answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// Whose conversation it is, and the session it is part of.
    pub viewer: Viewer,
    /// The raw text of the user.
    pub user_text: String,
    /// The answer.
    pub assistant_text: String,
    /// When the user spoke; default now.
    #[serde(default)]
    pub at: Option<crate::Timestamp>,
    /// A foreign id; a second turn with the same one in the same session is the same turn.
    #[serde(default)]
    pub external_id: Option<String>,
    /// The turn may have been taken before, and the answer was lost: it is looked for before it is written again.
    #[serde(default)]
    pub repeated: bool,
}

/// A tool that a provider offers to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name the agent calls it by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// Something a viewer looked up by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// A memory.
    Memory(Box<Memory>),
    /// A message.
    Message(Box<Message>),
    /// A passage of a document.
    Chunk(Box<ChunkItem>),
}

/// A passage together with the document it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkItem {
    /// The document.
    pub document: crate::Document,
    /// The passage.
    #[serde(flatten)]
    pub chunk: crate::Chunk,
}

/// The answer to a look-up by ids.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GetReport {
    /// What was found, in the order asked.
    pub items: Vec<Item>,
    /// The ids and prefixes that name nothing this viewer may read.
    pub missing: Vec<String>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListSort {
    /// Last changed first.
    #[default]
    Recent,
    /// Last made first.
    Created,
    /// Most relevant first.
    Relevance,
    /// Last recalled first.
    Accessed,
    /// Most important first.
    Importance,
}

/// Asks for a page of memories or messages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// Memories or messages; default memories.
    pub kind: Option<HitKind>,
    /// Only these categories.
    pub categories: Vec<String>,
    /// Only what has all these tags.
    pub tags: Vec<String>,
    /// Only this state; default active.
    pub state: Option<State>,
    /// The order.
    pub sort: ListSort,
    /// The most items to return; 0 means 50.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ListPage {
    /// The items.
    pub items: Vec<Item>,
    /// Pass it as `cursor` to get the next page.
    pub next: Option<String>,
}

/// A former state of a memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Revision {
    /// Counts changes, from 1.
    pub revision: u64,
    /// What was done: `created`, `updated`, `deleted`, `restored`, …
    pub operation: String,
    /// When.
    pub at: crate::Timestamp,
    /// The memory as it stood after that.
    pub memory: Option<Memory>,
}

/// How a provider is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// True when it can serve.
    pub ok: bool,
    /// One line about it.
    pub message: String,
    /// Details by name.
    #[serde(default)]
    pub details: Value,
}

/// A memory system. Object-safe; an operation that a provider lacks answers [`crate::Error::unsupported`] in its own words,
/// there are no default bodies that would hide the gap.
#[async_trait]
pub trait MemoryProvider: Send + Sync {
    /// Who it is.
    fn descriptor(&self) -> Descriptor;
    /// What it can do.
    fn capability(&self) -> Capability;
    /// Prepares it for a session. May be called again after a failure.
    async fn initialize(&self, context: &SessionContext) -> Result<()>;
    /// Writes items; acknowledged means durable.
    async fn write(&self, request: WriteRequest) -> Result<WriteReport>;
    /// Answers a question.
    async fn search(&self, request: SearchRequest) -> Result<Recall>;
    /// Looks up ids or unique prefixes.
    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport>;
    /// Lists memories or messages.
    async fn list(&self, request: ListRequest) -> Result<ListPage>;
    /// Changes one memory.
    async fn update(&self, request: UpdateRequest) -> Result<WriteResult>;
    /// Forgets memories or messages.
    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport>;
    /// The former states of one memory, oldest first.
    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>>;
    /// Takes one turn of a conversation.
    async fn sync_turn(&self, turn: Turn) -> Result<()>;
    /// Recalls for a prompt: unfenced text, or `None` when there is nothing.
    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>>;
    /// Ends a session.
    async fn end_session(&self, viewer: &Viewer) -> Result<()>;
    /// The tools it offers to an agent.
    fn tools(&self) -> Vec<ToolDefinition>;
    /// Runs one of its tools.
    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value>;
    /// What an agent should know about using it, in `language`.
    fn guidance(&self, language: &str) -> String;
    /// How it is doing, now.
    async fn health(&self) -> Health;
    /// Finishes what is under way and closes.
    async fn shutdown(&self) -> Result<()>;
}
