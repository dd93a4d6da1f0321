//! What is asked, and the honest answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Attributes, Filter, Id, Role, Scope, Timestamp, Viewer};

/// How candidates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// Words and vectors together.
    #[default]
    Hybrid,
    /// Words only.
    Text,
    /// Vectors only.
    Vector,
}

/// What sort of thing a hit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    /// A memory.
    Memory,
    /// A message of a conversation.
    Message,
    /// A passage of a document.
    Document,
    /// A fact of the knowledge graph.
    Fact,
    /// A lesson from a tool error.
    Lesson,
}

/// What hits are gathered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// One hit for each session.
    Session,
    /// One hit for each document.
    Document,
}

/// A question to the memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchRequest {
    /// Who asks.
    pub viewer: Viewer,
    /// The question, as plain text unless `raw`.
    pub query: String,
    /// Read `query` with operators, phrases and prefixes.
    pub raw: bool,
    /// The most hits (or groups) to return.
    pub limit: usize,
    /// How candidates are found.
    pub mode: SearchMode,
    /// Only these kinds; empty means all.
    pub kinds: Vec<HitKind>,
    /// Only these categories; empty means all.
    pub categories: Vec<String>,
    /// Only what has all these tags.
    pub tags: Vec<String>,
    /// Only what happened at or after this moment.
    pub since: Option<Timestamp>,
    /// Only what happened before this moment.
    pub until: Option<Timestamp>,
    /// Drop hits below this score, 0 to 1.
    pub min_score: f64,
    /// A further condition.
    pub filter: Option<Filter>,
    /// How many messages before and after a message to return with it.
    pub neighbors: usize,
    /// One hit for each session or document.
    pub group_by: Option<GroupBy>,
    /// When the question is asked, for "last week"; default now.
    pub at: Option<Timestamp>,
    /// Say how each score came about.
    pub explain: bool,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            viewer: Viewer::default(),
            query: String::new(),
            raw: false,
            limit: 10,
            mode: SearchMode::default(),
            kinds: Vec::new(),
            categories: Vec::new(),
            tags: Vec::new(),
            since: None,
            until: None,
            min_score: 0.0,
            filter: None,
            neighbors: 0,
            group_by: None,
            at: None,
            explain: false,
        }
    }
}

impl SearchRequest {
    /// A question with every setting at its default.
    pub fn new(viewer: Viewer, query: impl Into<String>) -> Self {
        Self { viewer, query: query.into(), ..Self::default() }
    }
}

/// Whether an answer is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecallOutcome {
    /// Every arm ran over everything.
    Complete,
    /// One of several providers did not answer in time.
    Partial,
    /// An arm was missing, or part of the store could not be looked at; `reason` says which.
    Degraded,
    /// Nothing; `reason` says why.
    Empty,
}

/// Why an answer is empty or not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecallReason {
    /// Nothing fits the question.
    NoMatch,
    /// The engine is switched off.
    Disabled,
    /// Nothing that this viewer may read is stored.
    NothingStored,
    /// All hits scored below `min_score`.
    BelowThreshold,
    /// Changed documents have not been taken in yet.
    DocumentsStale,
    /// The text index is being rebuilt or cannot be read.
    TextIndexUnavailable,
    /// The vector index is being rebuilt or cannot be read.
    VectorIndexUnavailable,
    /// Neither index can be read; the answer comes from a scan of the newest rows.
    IndexesUnavailable,
    /// More was written than could be looked at before it is indexed.
    IndexLag,
    /// The embedder failed; words alone answered.
    EmbedderFailed,
    /// The external provider did not answer in time.
    ProviderUnavailable,
}

/// Where a hit is from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Source {
    /// The provider.
    pub provider: String,
    /// Other providers that have the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<String>,
    /// The file, for documents.
    pub path: Option<String>,
    /// First and last line, from 1, inclusive.
    pub lines: Option<[u32; 2]>,
}

/// A message near a hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbor {
    /// Its id.
    pub id: Id,
    /// Its place relative to the hit: -1 is the one before.
    pub offset: i32,
    /// The speaker's name.
    pub speaker: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// What was said.
    pub text: String,
    /// When.
    pub created_at: Timestamp,
}

/// Something recalled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Its id.
    pub id: Id,
    /// What sort of thing it is.
    pub kind: HitKind,
    /// 0 to 1, higher is better, comparable within one answer.
    pub score: f64,
    /// What each arm gave it, on that arm's own scale.
    pub scores: BTreeMap<String, f64>,
    /// Its title.
    pub title: Option<String>,
    /// Its text.
    pub text: String,
    /// Its category.
    pub category: Option<String>,
    /// Its labels.
    pub tags: Vec<String>,
    /// Where it is kept.
    #[serde(flatten)]
    pub scope: Scope,
    /// The session it was said in.
    pub session_id: Option<String>,
    /// The speaker's name.
    pub speaker: Option<String>,
    /// Who speaks.
    pub role: Option<Role>,
    /// Its foreign id.
    pub external_id: Option<String>,
    /// When it happened.
    pub event_at: Option<Timestamp>,
    /// When it was written or said.
    pub created_at: Timestamp,
    /// Free attributes.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attrs: Attributes,
    /// Where it is from.
    pub source: Source,
    /// Messages around it.
    pub neighbors: Vec<Neighbor>,
}

/// How an answer came about, for `--explain`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Explanation {
    /// The words that were looked up.
    pub terms: Vec<String>,
    /// The time expressions that were understood.
    pub times: Vec<String>,
    /// Weights and settings that applied.
    pub weights: BTreeMap<String, f64>,
    /// For each hit, in order: what its score is made of.
    pub hits: Vec<BTreeMap<String, f64>>,
    /// Milliseconds spent in each step.
    pub steps: BTreeMap<String, f64>,
}

/// The answer to a [`SearchRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recall {
    /// Whether the answer is whole.
    pub outcome: RecallOutcome,
    /// Why it is not, or why it is empty.
    pub reason: Option<RecallReason>,
    /// Milliseconds it took.
    pub took_ms: f64,
    /// How many candidates each arm gave.
    pub arms: BTreeMap<String, usize>,
    /// How many writes the indexes have not taken in yet.
    pub index_lag: u64,
    /// How many hits were dropped by a budget.
    #[serde(default)]
    pub dropped: usize,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How the answer came about, when asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

impl Recall {
    /// An answer without hits.
    pub fn empty(reason: RecallReason) -> Self {
        Self {
            outcome: RecallOutcome::Empty,
            reason: Some(reason),
            took_ms: 0.0,
            arms: BTreeMap::new(),
            index_lag: 0,
            dropped: 0,
            hits: Vec::new(),
            explanation: None,
        }
    }
}
