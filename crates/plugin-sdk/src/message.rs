//! The messages: UTF-8 JSON objects. Unknown fields are ignored and new fields are optional, on both sides.
//!
//! | method | request | reply |
//! |---|---|---|
//! | `describe` | [`DescribeRequest`] | [`Description`] |
//! | `initialize` | [`memory_core::SessionContext`] | `{}` |
//! | `write` | [`memory_core::WriteRequest`] | [`memory_core::WriteReport`] |
//! | `search` | [`memory_core::SearchRequest`] | [`memory_core::Recall`] |
//! | `get` | [`GetRequest`] | [`memory_core::GetReport`] |
//! | `list` | [`memory_core::ListRequest`] | [`memory_core::ListPage`] |
//! | `update` | [`memory_core::UpdateRequest`] | [`memory_core::WriteResult`] |
//! | `delete` | [`memory_core::DeleteRequest`] | [`memory_core::DeleteReport`] |
//! | `history` | [`HistoryRequest`] | [`HistoryReply`] |
//! | `sync_turn` | [`memory_core::Turn`] | `{}` |
//! | `prefetch` | [`PrefetchRequest`] | [`PrefetchReply`] |
//! | `end_session` | [`ViewerRequest`] | `{}` |
//! | `call_tool` | [`CallToolRequest`] | [`CallToolReply`] |
//! | `health` | `{}` | [`memory_core::Health`] |
//! | `shutdown` | `{}` | `{}` |
//!
//! To the host: `info` → [`InfoReply`], `embed` with [`EmbedRequest`] → [`EmbedReply`].

use std::collections::BTreeMap;

use memory_core::{Revision, ToolDefinition, Viewer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Asks who a plugin is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DescribeRequest {
    /// The languages to give the guidance in.
    pub languages: Vec<String>,
}

/// Who a plugin is and what it can do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// Its name, the same as in its manifest.
    pub name: String,
    /// Its version, the same as in its manifest.
    pub version: String,
    /// What it is, in one sentence.
    pub description: String,
    /// What it was built with.
    pub sdk_version: String,
    /// The fields of [`memory_core::Capability`]. Those that are missing are false; unknown ones are ignored.
    pub capability: serde_json::Map<String, Value>,
    /// The tools it offers to an agent.
    pub tools: Vec<ToolDefinition>,
    /// What an agent should know about using it, by language.
    pub guidance: BTreeMap<String, String>,
    /// The JSON Schema of its configuration, or null.
    pub config_schema: Value,
    /// Names of what it can do beyond version 1.0 of the interface.
    pub features: Vec<String>,
}

/// Looks up ids.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GetRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// Ids or unique prefixes.
    pub ids: Vec<String>,
}

/// Asks for the former states of a memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HistoryRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// An id or unique prefix.
    pub id: String,
}

/// The former states of a memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HistoryReply {
    /// Oldest first.
    pub revisions: Vec<Revision>,
}

/// Asks for what a prompt should be given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PrefetchRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// What the user said.
    pub query: String,
}

/// What a prompt should be given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PrefetchReply {
    /// The text, or null.
    #[serde(default)]
    pub text: Option<String>,
}

/// Something about a viewer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ViewerRequest {
    /// Who.
    pub viewer: Viewer,
}

/// Runs a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallToolRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// The tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// What a tool answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallToolReply {
    /// The answer.
    #[serde(default)]
    pub result: Value,
}

/// What the host says about itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InfoReply {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version of the interface it speaks.
    pub abi: String,
    /// What it offers: `embed` when it has an embedder.
    pub features: Vec<String>,
    /// The fingerprint of its embedder; vectors of two fingerprints must not be compared.
    pub embedder: Option<String>,
    /// The width of its vectors; 0 when it is not known yet.
    pub dimensions: usize,
}

/// What texts are embedded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbedPurpose {
    /// To be found.
    #[default]
    Passage,
    /// To find with.
    Query,
}

/// Asks the host for vectors.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EmbedRequest {
    /// The texts.
    pub texts: Vec<String>,
    /// What for.
    #[serde(default)]
    pub purpose: EmbedPurpose,
}

/// The vectors of texts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EmbedReply {
    /// The fingerprint of the embedder.
    pub embedder: String,
    /// One for each text, in order; null where the model does not cover the text.
    pub vectors: Vec<Option<Vec<f32>>>,
}
