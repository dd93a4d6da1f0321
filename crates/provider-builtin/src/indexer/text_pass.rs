//! Takes changes into the text index. Its mark lives in the commit itself, so it is exact.

use std::collections::BTreeSet;
use std::sync::Arc;

use memory_core::{Progress, Result};
use memory_index::{EntryKey, TantivyIndex, TextIndex, Watermark};

use super::{Indexer, TEXT, is_damage};
use crate::blocking::blocking;
use crate::projection::{Projection, project, touched_entries};
use crate::store::{IndexPhase, IndexState, Store};

/// Changes taken in with one commit.
const BATCH: usize = 4_000;

impl Indexer {
    /// Drains the outbox into the text index; a missing, foreign or damaged index is built anew. Answers how many
    /// changes were taken in and why the pass was skipped, if it was.
    pub(super) async fn text_pass(&self, progress: &dyn Progress) -> Result<(u64, Option<String>)> {
        let state = match self.usable_text_state().await? {
            Some(state) => state,
            None => return Ok((self.rebuild_text(progress).await?, None)),
        };
        match self.drain_text(state, progress).await {
            Err(error) if is_damage(&error) => {
                tracing::warn!(%error, "the text index is damaged and is built anew");
                self.indexes.close().await;
                Ok((self.rebuild_text(progress).await?, None))
            }
            Err(error) if error.kind() == memory_core::ErrorKind::Busy => Ok((0, Some(error.to_string()))),
            applied => Ok((applied?, None)),
        }
    }

    /// The account of the text generation in use, if it can be continued.
    async fn usable_text_state(&self) -> Result<Option<IndexState>> {
        let this = self.clone();
        blocking(move || {
            let (state, last) = this.store.read("find the text index", |connection| {
                Ok((super::Indexes::current(connection, TEXT)?, Store::last_sequence(connection)?))
            })?;
            let Some(state) = state else { return Ok(None) };
            let fits = state.fingerprint == this.indexes.fingerprint(TEXT)
                // A store restored from a backup knows fewer changes than the index has seen.
                && state.applied <= last
                && this.indexes.generation_folder(TEXT, state.generation).is_dir();
            Ok(fits.then_some(state))
        })
        .await
    }

    pub(super) async fn drain_text(&self, mut state: IndexState, progress: &dyn Progress) -> Result<u64> {
        let mut applied = 0;
        let this = self.clone();
        let generation = state.generation;
        let index = blocking(move || this.indexes.open_text(generation)).await?;
        let marked = index.clone();
        let mark = blocking(move || marked.watermark()).await?;
        // The index itself knows best how far it came: a crash between its commit and our account changes nothing.
        state.applied = match mark {
            Some(mark) => mark.sequence,
            None if state.applied == 0 => 0,
            None => {
                return Err(memory_core::Error::new(
                    memory_core::ErrorKind::Corrupt,
                    "the text index is empty, but it should not be",
                ));
            }
        };
        progress.start("index text", None);
        loop {
            let this = self.clone();
            let shared = index.clone();
            let from = state.clone();
            match blocking(move || this.apply_text_batch(&shared, from)).await? {
                Some((next, count)) => {
                    state = next;
                    applied += count;
                    progress.advance(count);
                }
                None => break,
            }
        }
        progress.finish();
        blocking(move || index.release_writer()).await?;
        Ok(applied)
    }

    fn apply_text_batch(&self, index: &Arc<TantivyIndex>, mut state: IndexState) -> Result<Option<(IndexState, u64)>> {
        let (changes, projection) = self.store.read("read changes", |connection| {
            let changes = Store::outbox_after(connection, state.applied, BATCH)?;
            let changed: BTreeSet<EntryKey> = changes.iter().map(|(_, entry)| *entry).collect();
            let projection = project(connection, &touched_entries(connection, &changed)?, true)?;
            Ok((changes, projection))
        })?;
        let Some((sequence, _)) = changes.last() else { return Ok(None) };
        state.applied = *sequence;
        let Projection { upserts, deletes } = projection;
        let watermark = Watermark { sequence: *sequence, fingerprint: state.fingerprint.clone() };
        index.apply(&upserts, &deletes, &watermark)?;
        crate::failpoint::reach("after_text_commit");
        state.phase = IndexPhase::Ready;
        self.store.write("note the text index", |connection| Store::put_index_state(connection, &state))?;
        Ok(Some((state, changes.len() as u64)))
    }
}
