//! Which tables are kept in memory, and since when: the rows, the rule for loading them and the limits.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use futures::TryStreamExt;
use lancedb::Table;
use lancedb::query::{ExecutableQuery, QueryBase, Select};
use memory_core::{Error, Result};

use super::fault::{fault, guarded};
use super::resident::Resident;
use super::rows::{AT, CATEGORY, KEY, REVISION, SCOPE, SESSION, TAGS, VECTOR};
use super::vectors::Form;
use crate::entry::{EntryKey, IndexEntry, IndexFilter};

/// A table of up to this many rows is loaded by the first search: that is faster than asking the engine.
const LOADED_AT_ONCE: usize = 20_000;
/// A table of up to this many rows keeps its vectors as they are, unless they take too much memory.
const EXACT_ROWS: usize = 131_072;
const EXACT_BYTES: usize = 64 << 20;
/// A larger one, up to this many rows, keeps one byte of every component, unless even that is too much memory.
const RESIDENT_ROWS: usize = 2_000_000;
const CODED_BYTES: usize = 256 << 20;

/// The rows of one table in memory, if they are there.
pub(super) struct Residence {
    dimensions: usize,
    /// The most rows that are kept in memory, and the most that are kept as they are.
    resident_rows: usize,
    exact_rows: usize,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// All rows and the version of the table they are the state of.
    held: RwLock<Option<(u64, Resident)>>,
    /// The newest version of the table that a search saw.
    seen: AtomicU64,
    /// The last version that was loaded in the background, or is being loaded.
    tried: AtomicU64,
    /// The number of rows held, to be read without waiting.
    rows: AtomicUsize,
}

impl Shared {
    fn ask<T>(&self, version: u64, ask: impl FnOnce(&Resident) -> T) -> Option<T> {
        match &*self.held.read().unwrap_or_else(PoisonError::into_inner) {
            Some((held, resident)) if *held == version => Some(ask(resident)),
            _ => None,
        }
    }

    fn change(&self, change: impl FnOnce(&mut Option<(u64, Resident)>)) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut held);
        self.rows.store(held.as_ref().map_or(0, |(_, resident)| resident.rows()), Ordering::Relaxed);
    }
}

impl Residence {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, resident_rows: RESIDENT_ROWS, exact_rows: EXACT_ROWS, shared: Arc::default() }
    }

    pub(super) fn limit(&mut self, resident_rows: usize) {
        self.resident_rows = resident_rows;
    }

    pub(super) fn limit_exact(&mut self, exact_rows: usize) {
        self.exact_rows = exact_rows;
    }

    /// How many rows are held.
    pub(super) fn rows(&self) -> usize {
        self.shared.rows.load(Ordering::Relaxed)
    }

    /// The form in which a table of `rows` rows is kept; none when it is too large.
    fn form(&self, rows: usize) -> Option<Form> {
        let components = rows.saturating_mul(self.dimensions);
        if rows > self.resident_rows {
            None
        } else if rows <= self.exact_rows && components.saturating_mul(size_of::<f32>()) <= EXACT_BYTES {
            Some(Form::Exact)
        } else {
            (components <= CODED_BYTES).then_some(Form::Coded)
        }
    }

    /// The answer from memory, if the table at `version` is there.
    pub(super) async fn search(
        &self,
        version: u64,
        vector: &[f32],
        filter: &IndexFilter,
        limit: usize,
    ) -> Result<Option<Vec<(EntryKey, f32)>>> {
        let small = |rows: &Resident| match rows.form() {
            Form::Exact => Some(rows.search(vector, filter, limit)),
            Form::Coded => None,
        };
        match self.shared.ask(version, small) {
            Some(None) => {}
            answer => return Ok(answer.flatten()),
        }
        // A large table takes long enough to keep others waiting.
        let (shared, vector, filter) = (self.shared.clone(), vector.to_vec(), filter.clone());
        let search = move || shared.ask(version, |rows| rows.search(&vector, &filter, limit));
        tokio::task::spawn_blocking(search)
            .await
            .map_err(|error| Error::unexpected("the search in memory stopped before it answered").with_source(error))
    }

    /// The scores from memory, if the table at `version` is there.
    pub(super) fn score(&self, version: u64, vector: &[f32], keys: &[EntryKey]) -> Option<Vec<Option<f32>>> {
        self.shared.ask(version, |rows| rows.score(vector, keys))
    }

    /// Loads the table at `version`, if that is worth it; says whether it is there now. A table of which only codes are
    /// kept is loaded in the background: that takes longer than a search.
    pub(super) async fn load(&self, directory: &Path, table: &Table, version: u64) -> Result<bool> {
        let rows = table.count_rows(None).await.map_err(fault)?;
        let quiet = self.shared.seen.fetch_max(version, Ordering::Relaxed) == version;
        self.shared.change(|held| *held = held.take().filter(|(held, _)| *held >= version));
        match self.form(rows) {
            Some(Form::Exact) if quiet || rows <= LOADED_AT_ONCE => {
                let mut resident = Resident::new(Form::Exact, self.dimensions, rows);
                read(table, &mut resident, || true).await?;
                self.shared.change(|held| *held = Some((version, resident)));
                Ok(true)
            }
            Some(Form::Coded) if quiet && self.shared.tried.swap(version, Ordering::Relaxed) != version => {
                let resident = Resident::new(Form::Coded, self.dimensions, rows);
                let load = load_codes(self.shared.clone(), table.clone(), version, resident);
                let directory = directory.to_owned();
                tokio::spawn(async move {
                    if let Err(error) = guarded(&directory, load).await {
                        tracing::warn!(%error, "the vectors cannot be loaded into memory");
                    }
                });
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Keeps the rows up to date after own changes, unless another process changed something in between.
    pub(super) fn follow(&self, before: u64, commits: &[u64], rows: &[&IndexEntry], deletes: &[EntryKey]) {
        let alone = commits.iter().zip(before + 1..).all(|(commit, expected)| *commit == expected);
        self.shared.change(|held| match held {
            Some((version, resident)) if *version == before && alone => {
                resident.apply(rows, deletes);
                *version = before + commits.len() as u64;
                // What has outgrown its form is loaded anew, or not at all.
                if self.form(resident.rows()) != Some(resident.form()) {
                    *held = None;
                }
            }
            _ => *held = None,
        });
    }
}

/// Loads codes for as long as somebody may want them: until the index is closed or the table changes.
async fn load_codes(shared: Arc<Shared>, table: Table, version: u64, mut resident: Resident) -> Result<()> {
    let wanted = || Arc::strong_count(&shared) > 1 && shared.seen.load(Ordering::Relaxed) == version;
    if read(&table, &mut resident, wanted).await? {
        shared.change(|held| *held = Some((version, resident)));
    }
    Ok(())
}

/// Reads the whole table, unless it is no longer `wanted`: answers false then.
async fn read(table: &Table, resident: &mut Resident, wanted: impl Fn() -> bool) -> Result<bool> {
    let columns = [KEY, REVISION, AT, SCOPE, SESSION, CATEGORY, TAGS, VECTOR];
    let mut stream = table.query().select(Select::columns(&columns)).execute().await.map_err(fault)?;
    while let Some(batch) = stream.try_next().await.map_err(fault)? {
        if !wanted() {
            return Ok(false);
        }
        resident.load(&batch)?;
        tokio::task::yield_now().await;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_width_decide_the_form() {
        let form = |dimensions, rows| Residence::new(dimensions).form(rows);
        assert_eq!(form(128, 131_072), Some(Form::Exact));
        assert_eq!(form(128, 131_073), Some(Form::Coded));
        assert_eq!(form(128, 2_000_000), Some(Form::Coded));
        assert_eq!(form(128, 2_000_001), None);
        // 64 MiB of vectors as they are, 256 MiB of codes.
        assert_eq!(form(1_024, 16_384), Some(Form::Exact));
        assert_eq!(form(1_024, 16_385), Some(Form::Coded));
        assert_eq!(form(1_024, 262_144), Some(Form::Coded));
        assert_eq!(form(1_024, 262_145), None);
        assert_eq!(form(1_024, usize::MAX), None);
    }
}
