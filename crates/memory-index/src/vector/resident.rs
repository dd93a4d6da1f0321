//! All rows of a table in memory, where every search looks at all of them: ten thousand take about a millisecond, a
//! million about twenty.

use std::collections::HashMap;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use arrow_array::{Array, RecordBatch, StringArray};
use memory_core::Result;

use super::groups::{Admission, Groups};
use super::rows::{AT, CATEGORY, REVISION, SCOPE, SESSION, TAGS, components, integers, keys, strings, tags};
use super::vectors::{Form, Query, Vectors};
use crate::entry::{EntryKey, IndexEntry, IndexFilter};
use crate::ranking::Best;

/// So many rows make a thread of their own worth starting.
const ROWS_OF_THREAD: usize = 200_000;
/// More threads than this wait for memory, and leave nothing to the rest of the program.
const MOST_THREADS: usize = 4;

/// Every row of one state of the table, column by column.
pub(super) struct Resident {
    dimensions: usize,
    keys: Vec<EntryKey>,
    revisions: Vec<u64>,
    moments: Vec<i64>,
    groups: Vec<u32>,
    vectors: Vectors,
    places: HashMap<EntryKey, usize>,
    known: Groups,
}

/// What is kept of a row besides its vector.
struct Row {
    key: EntryKey,
    revision: u64,
    at: i64,
    group: u32,
}

impl Resident {
    /// Nothing yet, with room for `rows` rows.
    pub(super) fn new(form: Form, dimensions: usize, rows: usize) -> Self {
        Self {
            dimensions,
            keys: Vec::with_capacity(rows),
            revisions: Vec::with_capacity(rows),
            moments: Vec::with_capacity(rows),
            groups: Vec::with_capacity(rows),
            vectors: Vectors::with_capacity(form, dimensions, rows),
            places: HashMap::with_capacity(rows),
            known: Groups::default(),
        }
    }

    pub(super) fn form(&self) -> Form {
        self.vectors.form()
    }

    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// Adds the rows of a batch read from the table.
    pub(super) fn load(&mut self, batch: &RecordBatch) -> Result<()> {
        fn text(column: &StringArray, at: usize) -> Option<&str> {
            column.is_valid(at).then(|| column.value(at))
        }
        let (revisions, moments) = (integers(batch, REVISION)?.values(), integers(batch, AT)?.values());
        let (scopes, sessions) = (strings(batch, SCOPE)?, strings(batch, SESSION)?);
        let (categories, tag_columns) = (strings(batch, CATEGORY)?, strings(batch, TAGS)?);
        let components = components(batch, self.dimensions)?;
        let numbers = revisions.iter().zip(moments);
        for (at, ((key, (revision, moment)), vector)) in
            keys(batch)?.into_iter().zip(numbers).zip(components.chunks_exact(self.dimensions)).enumerate()
        {
            let group = self.known.number(
                key.kind(),
                text(scopes, at),
                text(sessions, at),
                text(categories, at),
                text(tag_columns, at).into_iter().flat_map(tags),
            );
            self.put(Row { key, revision: revision.cast_unsigned(), at: *moment, group }, vector);
        }
        Ok(())
    }

    /// Applies to memory what has just been applied to the table.
    pub(super) fn apply(&mut self, upserts: &[&IndexEntry], deletes: &[EntryKey]) {
        for key in deletes {
            self.remove(*key);
        }
        for entry in upserts {
            let Some(vector) = &entry.vector else { continue };
            let present = self.places.get(&entry.key).and_then(|place| self.revisions.get(*place));
            if present.is_some_and(|revision| *revision >= entry.revision) {
                continue;
            }
            let group = self.known.number(
                entry.kind(),
                Some(&entry.scope),
                entry.session.as_deref(),
                entry.category.as_deref(),
                entry.tags.iter().map(String::as_str),
            );
            self.put(Row { key: entry.key, revision: entry.revision, at: entry.at, group }, vector);
        }
    }

    fn put(&mut self, row: Row, vector: &[f32]) {
        self.remove(row.key);
        self.places.insert(row.key, self.keys.len());
        self.keys.push(row.key);
        self.revisions.push(row.revision);
        self.moments.push(row.at);
        self.groups.push(row.group);
        self.vectors.push(vector);
    }

    /// Puts the last row in the place of the removed one.
    fn remove(&mut self, key: EntryKey) {
        let Some(place) = self.places.remove(&key) else { return };
        self.keys.swap_remove(place);
        self.revisions.swap_remove(place);
        self.moments.swap_remove(place);
        self.groups.swap_remove(place);
        self.vectors.swap_remove(self.dimensions, place);
        if let Some(moved) = self.keys.get(place) {
            self.places.insert(*moved, place);
        }
    }

    /// The nearest rows that the filter admits, best first. Takes several threads for very many rows.
    pub(super) fn search(&self, vector: &[f32], filter: &IndexFilter, limit: usize) -> Vec<(EntryKey, f32)> {
        let (query, admission) = (Query::new(vector), self.known.admission(filter));
        let rows = self.rows();
        let threads = (rows / ROWS_OF_THREAD).min(MOST_THREADS);
        let threads = match threads {
            0 | 1 => 1,
            several => thread::available_parallelism().map_or(1, NonZero::get).min(several),
        };
        let length = rows.div_ceil(threads).max(1);
        let mut parts = (0..rows).step_by(length).map(|start| start..(start + length).min(rows));
        let first = parts.next().unwrap_or(0..0);
        let scan = |part| self.scan(&query, &admission, part, limit);
        let best = thread::scope(|scope| {
            // Where the system gives no thread, this one does the work.
            let others: Vec<_> = parts
                .map(|part| {
                    let (scan, range) = (&scan, part.clone());
                    (thread::Builder::new().spawn_scoped(scope, move || scan(range)), part)
                })
                .collect();
            let mut best = scan(first);
            for (other, part) in others {
                best.merge(match other {
                    Ok(running) => running.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    Err(_) => scan(part),
                });
            }
            best
        });
        best.into_sorted().filter_map(|(key, score)| Some((EntryKey::from_u64(key).ok()?, score))).collect()
    }

    fn scan(&self, query: &Query<'_>, admission: &Admission, part: Range<usize>, limit: usize) -> Best {
        let mut best = Best::new(limit);
        let groups = self.groups.get(part.clone()).unwrap_or_default().iter();
        let moments = self.moments.get(part.clone()).unwrap_or_default();
        let keys = self.keys.get(part.clone()).unwrap_or_default();
        let admitted =
            groups.zip(moments).zip(keys).map(|((group, at), key)| admission.admits(*group, *at).then(|| key.as_u64()));
        self.vectors.scan(query, part, admitted, &mut best);
        best
    }

    pub(super) fn score(&self, vector: &[f32], keys: &[EntryKey]) -> Vec<Option<f32>> {
        let query = Query::new(vector);
        keys.iter().map(|key| self.vectors.score(&query, *self.places.get(key)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryKind;

    /// As many rows as several threads share, of a width that keeps the test quick.
    fn many(form: Form) -> Resident {
        let rows = 3 * ROWS_OF_THREAD + 5;
        let mut resident = Resident::new(form, 2, rows);
        for number in 0..rows {
            let angle = number as f32;
            let key = EntryKey::new(EntryKind::Message, number as i64 + 1);
            let scope = ["ann", "bob"][number % 2];
            let group = resident.known.number(key.kind(), Some(scope), None, None, std::iter::empty());
            resident.put(Row { key, revision: 1, at: number as i64, group }, &[angle.cos(), angle.sin()]);
        }
        resident
    }

    #[test]
    fn threads_find_what_one_finds() {
        for form in [Form::Exact, Form::Coded] {
            let resident = many(form);
            let filter = IndexFilter { since: Some(10), until: Some(500_000), ..IndexFilter::scopes(["bob"]) };
            let vector = [0.6, 0.8];
            let (query, admission) = (Query::new(&vector), resident.known.admission(&filter));
            let alone: Vec<(u64, f32)> =
                resident.scan(&query, &admission, 0..resident.rows(), 40).into_sorted().collect();
            let hits = resident.search(&vector, &filter, 40);
            assert_eq!(hits.iter().map(|(key, score)| (key.as_u64(), *score)).collect::<Vec<_>>(), alone);
            assert!(hits.iter().all(|(key, _)| key.rowid() % 2 == 0 && (11..=500_000).contains(&key.rowid())));
            assert_eq!(resident.score(&vector, &[hits[0].0]), [Some(hits[0].1)]);
        }
    }

    #[test]
    fn removing_rows_leaves_the_others_as_they_were() {
        for form in [Form::Exact, Form::Coded] {
            let mut resident = Resident::new(form, 2, 0);
            let key = |number: i64| EntryKey::new(EntryKind::Memory, number);
            let group = resident.known.number(EntryKind::Memory, Some("ann"), None, None, std::iter::empty());
            for number in 0..20 {
                let angle = number as f32;
                resident.put(Row { key: key(number), revision: 1, at: number, group }, &[angle.cos(), angle.sin()]);
            }
            let before = resident.score(&[1.0, 0.0], &(0..20).map(key).collect::<Vec<_>>());
            for number in [19, 0, 7, 18, 7] {
                resident.apply(&[], &[key(number)]);
            }
            assert_eq!(resident.rows(), 16);
            for number in 0..20 {
                let gone = [19, 0, 7, 18].contains(&number);
                let expected = if gone { None } else { before[number as usize] };
                assert_eq!(resident.score(&[1.0, 0.0], &[key(number)]), [expected], "{number}");
            }
            let filter = IndexFilter::scopes(["ann"]);
            assert_eq!(resident.search(&[1.0, 0.0], &filter, 50).len(), 16);
        }
    }
}
