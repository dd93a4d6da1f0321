//! Search by meaning: what it offers, whoever does it.

mod fault;
mod filter;
mod groups;
mod lance_index;
mod maintenance;
mod residence;
mod resident;
mod rows;
mod vectors;

use async_trait::async_trait;
use memory_core::Result;

use crate::entry::{EntryKey, IndexEntry, IndexFilter};

pub use lance_index::{LanceIndex, vector_format};

/// No search returns more entries than this; a larger limit is taken as this one.
pub const MAX_VECTOR_LIMIT: usize = 10_000;

/// An index that finds entries whose vectors point in the direction of a given one.
///
/// Vectors are normalised, so the dot product is the cosine. Every operation sees what any process has committed before
/// it began. Damaged or missing files are [`memory_core::ErrorKind::Corrupt`]: search without the index, then build a
/// new generation.
#[async_trait]
pub trait VectorIndex: Send + Sync {
    /// Removes `deletes`, then adds or replaces `upserts`. An entry without a vector is removed. An entry already
    /// there with the same or a higher revision stays, so applying the same changes again changes nothing.
    ///
    /// A vector of the wrong width is [`memory_core::ErrorKind::InvalidRequest`].
    async fn apply(&self, upserts: &[IndexEntry], deletes: &[EntryKey]) -> Result<()>;

    /// The nearest entries with their cosine, by cosine descending, then by key ascending.
    async fn search(&self, vector: &[f32], filter: &IndexFilter, limit: usize) -> Result<Vec<(EntryKey, f32)>>;

    /// The cosine of each of `keys`; nothing for an entry that has no vector here.
    async fn score(&self, vector: &[f32], keys: &[EntryKey]) -> Result<Vec<Option<f32>>>;

    /// How many entries there are.
    async fn count(&self) -> Result<u64>;

    /// The number of its newest state. It grows with every change: one smaller than a number seen before means that newer
    /// states were lost.
    async fn version(&self) -> Result<u64>;

    /// Maintenance: joins small files, drops states older than an hour, and builds or renews the search structure that
    /// larger tables need. Call it now and then, never inside a search.
    async fn optimize(&self) -> Result<()>;

    /// Rewrites the table so that no trace of deleted entries remains in its files. Only under a lock that keeps every
    /// other process from using the table: their states are removed too.
    async fn purge(&self) -> Result<()>;
}
