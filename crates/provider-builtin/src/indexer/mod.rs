//! The indexer: takes what changed out of the outbox and into the indexes. One process at a time, whoever holds the
//! lock; truth is never locked for it.

mod generations;
mod lock;
mod purge;
mod rebuild;
mod text_pass;
mod vector_pass;

use std::sync::Arc;

use memory_core::{ErrorKind, Progress, Result};
use serde::Serialize;

use crate::blocking::blocking;
use crate::store::Store;

pub(crate) use generations::Indexes;
pub use rebuild::ReindexTarget;

/// The names of the two indexes in accounts and folders.
pub(crate) const TEXT: &str = "text";
pub(crate) const VECTOR: &str = "vector";

/// What an index pass did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct IndexReport {
    /// How many changes were taken in.
    pub applied: u64,
    /// How many changes still wait.
    pub lag: u64,
    /// Why the pass, or a part of it, did not run.
    pub skipped: Option<String>,
}

/// Takes changes into the indexes.
#[derive(Clone)]
pub(crate) struct Indexer {
    store: Arc<Store>,
    indexes: Arc<Indexes>,
}

impl Indexer {
    pub(crate) fn new(store: Arc<Store>, indexes: Arc<Indexes>) -> Self {
        Self { store, indexes }
    }

    /// Takes in everything that waits. Returns at once when another process is at it.
    pub(crate) async fn drain(&self, progress: &dyn Progress) -> Result<IndexReport> {
        let mut report = IndexReport::default();
        self.embed_ahead().await?;
        match lock::try_lock(self.indexes.folder())? {
            Some(_guard) => {
                let (text, vector) = tokio::join!(self.text_pass(progress), self.vector_pass());
                let ((text_applied, text_skipped), (vector_applied, vector_skipped)) = (text?, vector?);
                report.applied = text_applied.max(vector_applied);
                report.skipped = text_skipped.or(vector_skipped);
                self.trim().await?;
            }
            None => report.skipped = Some("another process is indexing".to_owned()),
        }
        report.lag = self.lag().await?;
        Ok(report)
    }

    /// How many changes the slower index has not taken in.
    pub(crate) async fn lag(&self) -> Result<u64> {
        let this = self.clone();
        blocking(move || {
            this.store.read("measure the index lag", |connection| {
                Store::outbox_length(connection, this.indexes.applied(connection)?)
            })
        })
        .await
    }

    async fn trim(&self) -> Result<()> {
        let this = self.clone();
        blocking(move || {
            this.store.write("trim the outbox", |connection| {
                Store::trim_outbox(connection, this.indexes.oldest_needed(connection)?)
            })
        })
        .await
    }
}

/// True for damage that a new generation mends.
fn is_damage(error: &memory_core::Error) -> bool {
    error.kind() == ErrorKind::Corrupt
}
