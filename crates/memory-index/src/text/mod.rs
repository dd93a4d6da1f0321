//! Full-text search: what it offers, whoever does it.

mod bm25;
mod fault;
mod filter;
mod lookup;
mod schema;
mod search;
mod tantivy_index;

use memory_core::Result;
use serde::{Deserialize, Serialize};

use crate::entry::{EntryKey, IndexEntry, IndexFilter};
use crate::tokenizer::QueryTerm;

pub use bm25::{FieldStatistics, bm25};
pub use tantivy_index::{TantivyIndex, text_format};

/// No search returns more entries than this; a larger limit is taken as this one.
pub const MAX_TEXT_LIMIT: usize = 10_000;

/// How far an index has followed the truth. Stored together with the data it describes, in one atomic step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// The last change of the truth that is contained.
    pub sequence: u64,
    /// What the index was built with: format, tokeniser, whatever makes it incomparable with others.
    pub fingerprint: String,
}

/// Which text of an entry is searched. Each field has statistics of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextField {
    /// The text of every entry that is neither a segment nor a document.
    Text,
    /// The text with its neighbours, where an entry has one.
    Window,
    /// The text of segments and documents: far longer than the others, so that they need statistics of their own.
    Segment,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What a person wrote. Every character is content; nothing in it is an operator.
    Plain(String),
    /// An expression with operators: `a AND b`, `-word`, `"a phrase"`, `"a phr"*`, `(…)`, `word^2`.
    Raw(String),
}

/// A full-text search.
#[derive(Debug, Clone)]
pub struct TextQuery {
    /// What is asked for.
    pub question: Question,
    /// Where to look.
    pub field: TextField,
    /// What may be returned.
    pub filter: IndexFilter,
    /// How many entries at most.
    pub limit: usize,
}

/// An index that finds entries by their words.
///
/// Every operation blocks: call it from a thread that may. Every operation sees what any process has committed before
/// it began. Damaged or missing files are [`memory_core::ErrorKind::Corrupt`]: search without the index, then build a
/// new generation.
pub trait TextIndex: Send + Sync {
    /// Removes `deletes`, then adds or replaces `upserts`, and moves the watermark, all in one atomic step. An entry
    /// already there with a higher revision stays. Applying the same changes again changes nothing.
    ///
    /// Fails with [`memory_core::ErrorKind::Busy`] while another process writes.
    fn apply(&self, upserts: &[IndexEntry], deletes: &[EntryKey], watermark: &Watermark) -> Result<()>;

    /// How far the index has come, or nothing when it was never written. Read it *before* searching: what is beyond
    /// it may be missing from the answer, what is up to it is not.
    fn watermark(&self) -> Result<Option<Watermark>>;

    /// The best entries, by score descending, then by key ascending. A question without any word finds nothing.
    ///
    /// A raw expression that makes no sense is [`memory_core::ErrorKind::InvalidRequest`].
    fn search(&self, query: &TextQuery) -> Result<Vec<(EntryKey, f32)>>;

    /// The score that a plain `question` gives to each of `keys`: what [`TextIndex::search`] would say, 0 for an
    /// entry without any of the words or not in the index.
    fn score(&self, question: &str, field: TextField, keys: &[EntryKey]) -> Result<Vec<f32>>;

    /// What is needed to score a text that is not indexed yet on the same scale, with [`bm25()`].
    fn statistics(&self, field: TextField, terms: &[QueryTerm]) -> Result<FieldStatistics>;

    /// How many entries there are.
    fn count(&self) -> Result<u64>;

    /// Checks every stored byte. An index that was damaged on disk is [`memory_core::ErrorKind::Corrupt`].
    fn verify(&self) -> Result<()>;

    /// Ends writing: finishes pending merges and lets other processes write.
    fn release_writer(&self) -> Result<()>;

    /// Rewrites the index so that no trace of deleted entries remains in its files.
    ///
    /// Fails with [`memory_core::ErrorKind::Busy`] while another process writes.
    fn purge(&self) -> Result<()>;
}
