//! The bundle: what `export` writes and `import` reads back to the same store.
//!
//! One header line, then one item a line. The form `json` is the same wrapped into one JSON value, still with one item
//! a line, so that it can be read back without holding it in memory.

use memory_core::Scope;
use serde::{Deserialize, Serialize};

/// What the header calls the format.
pub(super) const FORMAT: &str = "memory-bundle";

/// Counts changes of the format that older readers do not understand.
pub(super) const VERSION: u32 = 1;

/// How the first line of the form `json` ends.
pub(super) const JSON_OPENING: &str = "\"items\":[";

/// The last line of the form `json`.
pub(super) const JSON_CLOSING: &str = "]}";

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    /// Always [`FORMAT`].
    pub(super) format: String,
    /// The [`VERSION`] it was written in.
    pub(super) version: u32,
    /// When it was written.
    #[serde(default)]
    pub(super) exported_at: Option<memory_core::Timestamp>,
}

/// A Markdown file of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DocumentEntry {
    /// Always `document`.
    #[serde(rename = "type")]
    pub(super) tag: DocumentTag,
    /// Whose workspace it is in.
    #[serde(flatten)]
    pub(super) scope: Scope,
    /// The path relative to the workspace, with `/`.
    pub(super) path: String,
    /// The content.
    pub(super) text: String,
}

/// The word `document`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DocumentTag {
    /// The only value.
    Document,
}
