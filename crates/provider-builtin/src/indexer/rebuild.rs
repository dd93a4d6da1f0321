//! Builds a new generation of an index beside the one in use, then switches. Resumable: what has been copied is noted
//! after each batch.

use std::collections::BTreeSet;

use memory_core::{Error, ErrorKind, Progress, Result};
use memory_index::{EntryKey, EntryKind, TextIndex, VectorIndex, Watermark};
use rusqlite::Connection;

use super::vector_pass::has_vector;
use super::{IndexReport, Indexer, Indexes, TEXT, VECTOR, lock};
use crate::blocking::blocking;
use crate::projection::{Projection, project};
use crate::store::{IndexPhase, IndexState, Store, segment_entry};

/// Entries copied with one commit.
const BATCH: usize = 4_000;

/// What `reindex` builds anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReindexTarget {
    /// Both indexes.
    #[default]
    All,
    /// The text index.
    Text,
    /// The vector index.
    Vector,
}

impl Indexer {
    /// Builds new generations from truth while the old ones serve, then switches to them.
    pub(crate) async fn reindex(&self, target: ReindexTarget, progress: &dyn Progress) -> Result<IndexReport> {
        let Some(_guard) = lock::try_lock(self.indexes.folder())? else {
            return Err(Error::new(ErrorKind::Busy, "another process is indexing")
                .with_operation("reindex")
                .with_hint("try again when it is done"));
        };
        let mut applied = 0;
        if matches!(target, ReindexTarget::All | ReindexTarget::Text) {
            applied = self.rebuild_text(progress).await?;
        }
        if matches!(target, ReindexTarget::All | ReindexTarget::Vector) && self.indexes.embedder().id() != "none" {
            applied = applied.max(self.rebuild_vectors(progress).await?);
        }
        self.trim().await?;
        Ok(IndexReport { applied, lag: self.lag().await?, skipped: None })
    }

    pub(super) async fn rebuild_text(&self, progress: &dyn Progress) -> Result<u64> {
        let mut state = self.start_generation(TEXT).await?;
        progress.start("build the text index", Some(self.remaining(state.cursor, false).await?));
        let this = self.clone();
        let generation = state.generation;
        let index = blocking(move || this.indexes.open_text(generation)).await?;
        let mut copied = 0;
        loop {
            let this = self.clone();
            let cursor = state.cursor;
            let (keys, projection) = blocking(move || this.next_entries(cursor, false)).await?;
            let Some(last) = keys.last() else { break };
            state.cursor = Some(last.as_u64());
            let shared = index.clone();
            let watermark = Watermark { sequence: state.applied, fingerprint: state.fingerprint.clone() };
            let Projection { upserts, deletes } = projection;
            blocking(move || shared.apply(&upserts, &deletes, &watermark)).await?;
            crate::failpoint::reach("reindex_text_batch");
            self.note(&state).await?;
            copied += keys.len() as u64;
            progress.advance(keys.len() as u64);
        }
        if copied == 0 {
            let watermark = Watermark { sequence: state.applied, fingerprint: state.fingerprint.clone() };
            let shared = index.clone();
            blocking(move || shared.apply(&[], &[], &watermark)).await?;
        }
        progress.finish();
        self.switch(&mut state).await?;
        self.drain_text(state, progress).await?;
        Ok(copied)
    }

    pub(super) async fn rebuild_vectors(&self, progress: &dyn Progress) -> Result<u64> {
        let mut state = self.start_generation(VECTOR).await?;
        progress.start("build the vector index", Some(self.remaining(state.cursor, true).await?));
        let index = self.indexes.make_vector(state.generation).await?;
        let mut copied = 0;
        loop {
            let this = self.clone();
            let cursor = state.cursor;
            let (keys, projection) = blocking(move || this.next_entries(cursor, true)).await?;
            let Some(last) = keys.last() else { break };
            state.cursor = Some(last.as_u64());
            self.apply_vectors(&index, projection).await?;
            crate::failpoint::reach("reindex_vector_batch");
            self.note(&state).await?;
            copied += keys.len() as u64;
            progress.advance(keys.len() as u64);
        }
        progress.finish();
        index.optimize().await?;
        state.version = index.version().await?;
        self.switch(&mut state).await?;
        self.drain_vectors(state).await?;
        Ok(copied)
    }

    /// Continues an unfinished generation of the right fingerprint, or begins the next one.
    async fn start_generation(&self, kind: &'static str) -> Result<IndexState> {
        let this = self.clone();
        blocking(move || {
            this.store.write("begin an index generation", |connection| {
                let fingerprint = this.indexes.fingerprint(kind);
                let states = Store::index_states(connection, kind)?;
                let last = Store::last_sequence(connection)?;
                let unfinished = states.iter().find(|state| {
                    state.phase == IndexPhase::Building
                        && state.fingerprint == fingerprint
                        && state.applied <= last
                        && this.indexes.generation_folder(kind, state.generation).is_dir()
                });
                if let Some(state) = unfinished {
                    return Ok(state.clone());
                }
                let newest = states.iter().map(|state| state.generation).max().unwrap_or(0);
                let state = IndexState {
                    kind: kind.to_owned(),
                    generation: newest + 1,
                    fingerprint,
                    applied: last,
                    version: 0,
                    phase: IndexPhase::Building,
                    cursor: None,
                };
                let folder = this.indexes.generation_folder(kind, state.generation);
                if folder.exists() {
                    std::fs::remove_dir_all(&folder)
                        .map_err(|error| crate::error::from_io("remove an unfinished index", &folder, error))?;
                }
                Store::put_index_state(connection, &state)?;
                Ok(state)
            })
        })
        .await
    }

    async fn note(&self, state: &IndexState) -> Result<()> {
        let (this, state) = (self.clone(), state.clone());
        blocking(move || {
            this.store.write("note an index generation", |connection| Store::put_index_state(connection, &state))
        })
        .await
    }

    /// Puts a finished generation in use and drops the others.
    async fn switch(&self, state: &mut IndexState) -> Result<()> {
        state.phase = IndexPhase::Ready;
        state.cursor = None;
        let (this, state) = (self.clone(), state.clone());
        blocking(move || {
            this.store.write("switch the index generation", |connection| {
                Store::put_index_state(connection, &state)?;
                Store::drop_other_index_states(connection, &state.kind, state.generation)
            })?;
            crate::failpoint::reach("after_switch");
            this.indexes.remove_other_generations(&state.kind, state.generation);
            Ok(())
        })
        .await
    }

    async fn remaining(&self, cursor: Option<u64>, vectors: bool) -> Result<u64> {
        let this = self.clone();
        blocking(move || {
            this.store.read("count what is stored", |connection| {
                let all = Store::statistics(connection, None, None, this.store.clock().now())?;
                let extra = if vectors { 0 } else { all.documents };
                // A resumed build has done an unknown part; the bar then ends early rather than late.
                Ok(if cursor.is_some() { 0 } else { all.memories + all.messages + all.chunks + extra })
            })
        })
        .await
    }

    /// The next entries after `cursor`, in the order of their keys, as they stand now.
    fn next_entries(&self, cursor: Option<u64>, vectors: bool) -> Result<(Vec<EntryKey>, Projection)> {
        self.store.read("read entries", |connection| {
            let keys = keys_after(connection, cursor)?;
            let keys: Vec<EntryKey> = keys.into_iter().filter(|entry| !vectors || has_vector(*entry)).collect();
            let mut entries: BTreeSet<EntryKey> = keys.iter().copied().collect();
            if !vectors {
                let messages: Vec<i64> =
                    keys.iter().filter(|key| key.kind() == EntryKind::Message).map(|key| key.rowid()).collect();
                for row in Store::messages_by_key(connection, &messages)? {
                    entries.insert(segment_entry(row.session, row.segment));
                }
            }
            Ok((keys, project(connection, &entries, !vectors)?))
        })
    }
}

/// Up to a batch of keys after `cursor`: memories, then messages, then chunks, then documents.
fn keys_after(connection: &Connection, cursor: Option<u64>) -> Result<Vec<EntryKey>> {
    let after = match cursor {
        Some(cursor) => EntryKey::from_u64(cursor)?,
        None => EntryKey::new(EntryKind::Memory, 0),
    };
    for kind in [EntryKind::Memory, EntryKind::Message, EntryKind::Chunk, EntryKind::Document] {
        if kind < after.kind() {
            continue;
        }
        let row = if kind == after.kind() { after.rowid() } else { 0 };
        let rows: Vec<i64> = match kind {
            EntryKind::Memory => Store::keys_after(connection, "memories", row, BATCH)?,
            EntryKind::Message => Store::keys_after(connection, "messages", row, BATCH)?,
            EntryKind::Chunk => Store::keys_after(connection, "chunks", row, BATCH)?,
            _ => Store::keys_after(connection, "documents", row, BATCH)?,
        };
        if !rows.is_empty() {
            return Ok(rows.into_iter().map(|row| EntryKey::new(kind, row)).collect());
        }
    }
    Ok(Vec::new())
}

impl Indexes {
    /// What each generation has taken in, for `status`.
    pub(crate) fn accounts(connection: &Connection) -> Result<Vec<IndexState>> {
        let mut states = Store::index_states(connection, TEXT)?;
        states.extend(Store::index_states(connection, VECTOR)?);
        Ok(states)
    }
}
