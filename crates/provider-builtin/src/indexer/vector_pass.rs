//! Takes changes into the vector index. Its mark lives in truth and is written after the index's own commit: a change
//! may be applied twice, which changes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use memory_core::{ErrorKind, Result};
use memory_index::{EntryKey, EntryKind, IndexEntry, LanceIndex, VectorIndex};
use memory_models::{EmbedCost, Purpose};

use super::{Indexer, VECTOR, is_damage};
use crate::blocking::blocking;
use crate::projection::{Projection, project};
use crate::store::{IndexPhase, IndexState, Store};

/// Changes taken in with one commit. Larger than the text index's: a commit of the vector index costs more.
const BATCH: usize = 8_000;

/// Changes embedded ahead of a pass in one go, when embedding is slow.
const AHEAD: usize = 256;

/// True for entries that have a vector.
pub(crate) fn has_vector(entry: EntryKey) -> bool {
    matches!(entry.kind(), EntryKind::Memory | EntryKind::Message | EntryKind::Chunk)
}

impl Indexer {
    /// Drains the outbox into the vector index. Answers how many changes were taken in and why the pass was skipped,
    /// if it was.
    pub(super) async fn vector_pass(&self) -> Result<(u64, Option<String>)> {
        let embedder = self.indexes.embedder();
        if embedder.id() == "none" {
            return Ok((0, None));
        }
        let this = self.clone();
        let (state, last) = blocking(move || {
            this.store.read("find the vector index", |connection| {
                Ok((super::Indexes::current(connection, VECTOR)?, Store::last_sequence(connection)?))
            })
        })
        .await?;
        let fingerprint = self.indexes.fingerprint(VECTOR);
        let cheap = embedder.cost() == EmbedCost::Cheap;
        let outcome = match state {
            Some(state) if state.fingerprint != fingerprint && !cheap => {
                let message = "the embedder changed: run `memory reindex` to embed everything anew";
                return Ok((0, Some(message.to_owned())));
            }
            Some(state)
                if state.fingerprint == fingerprint
                    && state.applied <= last
                    && (state.applied == 0 || self.indexes.generation_folder(VECTOR, state.generation).is_dir()) =>
            {
                self.drain_vectors(state).await
            }
            // A first generation starts from the beginning of the outbox; nothing has been trimmed before it exists.
            _ => return Ok((self.rebuild_vectors(&memory_core::NoProgress).await?, None)),
        };
        match outcome {
            Err(error) if is_damage(&error) => {
                tracing::warn!(%error, "the vector index is damaged and is built anew");
                self.indexes.close().await;
                Ok((self.rebuild_vectors(&memory_core::NoProgress).await?, None))
            }
            Err(error) if error.is_retryable() || error.kind() == ErrorKind::Unauthorized => {
                Ok((0, Some(error.to_string())))
            }
            applied => Ok((applied?, None)),
        }
    }

    pub(super) async fn drain_vectors(&self, mut state: IndexState) -> Result<u64> {
        let index = self.indexes.open_vector(&state).await?;
        let mut applied = 0;
        loop {
            let this = self.clone();
            let mark = state.applied;
            let (changes, projection) = blocking(move || this.changes_for_vectors(mark, BATCH)).await?;
            let Some((sequence, _)) = changes.last() else { break };
            state.applied = *sequence;
            state.phase = IndexPhase::Ready;
            self.apply_vectors(&index, projection).await?;
            state.version = index.version().await?;
            crate::failpoint::reach("after_vector_commit");
            let this = self.clone();
            let account = state.clone();
            blocking(move || {
                this.store.write("note the vector index", |connection| Store::put_index_state(connection, &account))
            })
            .await?;
            applied += changes.len() as u64;
        }
        if applied > 0 {
            index.optimize().await?;
        }
        Ok(applied)
    }

    /// Embeds what waits before the indexer's lock is taken, so that no lock is held across a slow model or a network
    /// call. The vectors wait in the cache.
    pub(super) async fn embed_ahead(&self) -> Result<()> {
        let embedder = self.indexes.embedder();
        if embedder.cost() == EmbedCost::Cheap {
            return Ok(());
        }
        let this = self.clone();
        let mut mark = blocking(move || {
            this.store.read("find the vector index", |connection| {
                Ok(super::Indexes::current(connection, VECTOR)?.map_or(0, |state| state.applied))
            })
        })
        .await?;
        loop {
            let this = self.clone();
            let (changes, projection) = blocking(move || this.changes_for_vectors(mark, AHEAD)).await?;
            let Some((sequence, _)) = changes.last() else { return Ok(()) };
            mark = *sequence;
            let texts: Vec<String> = projection.upserts.into_iter().map(|entry| entry.text).collect();
            if let Err(error) = embedder.embed(&texts, Purpose::Passage).await {
                // Text search goes on without vectors; the next pass tries again.
                tracing::warn!(%error, "embedding failed, vectors wait");
                return Ok(());
            }
        }
    }

    fn changes_for_vectors(&self, mark: u64, limit: usize) -> Result<(Vec<(u64, EntryKey)>, Projection)> {
        self.store.read("read changes", |connection| {
            let changes = Store::outbox_after(connection, mark, limit)?;
            let entries: BTreeSet<EntryKey> =
                changes.iter().map(|(_, entry)| *entry).filter(|entry| has_vector(*entry)).collect();
            let projection = project(connection, &entries, false)?;
            Ok((changes, projection))
        })
    }

    /// Embeds and applies entries; one that the embedder does not cover has no row.
    pub(super) async fn apply_vectors(&self, index: &Arc<LanceIndex>, projection: Projection) -> Result<()> {
        let Projection { mut upserts, mut deletes } = projection;
        let texts: Vec<String> = upserts.iter_mut().map(|entry| std::mem::take(&mut entry.text)).collect();
        let vectors = self.indexes.embedder().embed(&texts, Purpose::Passage).await?;
        let mut with_vector: Vec<IndexEntry> = Vec::with_capacity(upserts.len());
        for (mut entry, vector) in upserts.into_iter().zip(vectors) {
            match vector {
                Some(vector) => {
                    entry.vector = Some(vector);
                    with_vector.push(entry);
                }
                None => deletes.push(entry.key),
            }
        }
        index.apply(&with_vector, &deletes).await
    }
}
