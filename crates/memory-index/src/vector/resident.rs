//! All rows of a small table in memory: an exact scan of ten thousand vectors takes about a millisecond.

use std::collections::HashMap;

use arrow_array::{Array, RecordBatch, StringArray};
use half::f16;
use memory_core::Result;

use super::rows::{AT, CATEGORY, REVISION, SCOPE, SESSION, TAGS, components, integers, keys, strings, tags};
use crate::entry::{EntryKey, IndexEntry, IndexFilter};
use crate::ranking::Best;

/// A name that occurs in rows, by number; 0 stands for none.
type Name = u32;

/// What the filter looks at, and the revision.
struct Row {
    key: EntryKey,
    revision: u64,
    at: i64,
    scope: Name,
    session: Name,
    category: Name,
    tags: Box<[Name]>,
}

/// Every row of one state of the table.
pub(super) struct Resident {
    dimensions: usize,
    rows: Vec<Row>,
    components: Vec<f32>,
    places: HashMap<EntryKey, usize>,
    names: HashMap<Box<str>, Name>,
}

impl Resident {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, rows: Vec::new(), components: Vec::new(), places: HashMap::new(), names: HashMap::new() }
    }

    /// Adds the rows of a batch read from the table.
    pub(super) fn load(&mut self, batch: &RecordBatch) -> Result<()> {
        let (revisions, moments) = (integers(batch, REVISION)?.values(), integers(batch, AT)?.values());
        let (scopes, sessions) = (strings(batch, SCOPE)?, strings(batch, SESSION)?);
        let (categories, tag_columns) = (strings(batch, CATEGORY)?, strings(batch, TAGS)?);
        let text = |column: &StringArray, at: usize| column.is_valid(at).then(|| column.value(at).to_owned());
        let components = components(batch, self.dimensions)?;
        let numbers = revisions.iter().zip(moments);
        for (at, ((key, (revision, moment)), vector)) in
            keys(batch)?.into_iter().zip(numbers).zip(components.chunks_exact(self.dimensions)).enumerate()
        {
            let row = Row {
                key,
                revision: revision.cast_unsigned(),
                at: *moment,
                scope: self.name(text(scopes, at).as_deref()),
                session: self.name(text(sessions, at).as_deref()),
                category: self.name(text(categories, at).as_deref()),
                tags: text(tag_columns, at)
                    .iter()
                    .flat_map(|column| tags(column))
                    .map(|tag| self.name(Some(tag)))
                    .collect(),
            };
            self.put(row, vector);
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
            let present = self.places.get(&entry.key).and_then(|place| self.rows.get(*place));
            if present.is_some_and(|row| row.revision >= entry.revision) {
                continue;
            }
            let row = Row {
                key: entry.key,
                revision: entry.revision,
                at: entry.at,
                scope: self.name(Some(&entry.scope)),
                session: self.name(entry.session.as_deref()),
                category: self.name(entry.category.as_deref()),
                tags: entry.tags.iter().map(|tag| self.name(Some(tag))).collect(),
            };
            self.put(row, &stored(vector));
        }
    }

    fn name(&mut self, text: Option<&str>) -> Name {
        let Some(text) = text else { return 0 };
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = Name::try_from(self.names.len() + 1).unwrap_or(Name::MAX);
        self.names.insert(text.into(), name);
        name
    }

    fn put(&mut self, row: Row, vector: &[f32]) {
        self.remove(row.key);
        self.places.insert(row.key, self.rows.len());
        self.rows.push(row);
        self.components.extend_from_slice(vector);
    }

    /// Puts the last row in the place of the removed one.
    fn remove(&mut self, key: EntryKey) {
        let Some(place) = self.places.remove(&key) else { return };
        let last = self.rows.len() - 1;
        self.rows.swap_remove(place);
        let (from, to) = (last * self.dimensions, place * self.dimensions);
        self.components.copy_within(from..from + self.dimensions, to);
        self.components.truncate(from);
        if let Some(moved) = self.rows.get(place) {
            self.places.insert(moved.key, place);
        }
    }

    pub(super) fn search(&self, vector: &[f32], filter: &IndexFilter, limit: usize) -> Vec<(EntryKey, f32)> {
        let filter = Numbered::new(self, filter);
        let mut best = Best::new(limit);
        for (row, candidate) in self.rows.iter().zip(self.components.chunks_exact(self.dimensions)) {
            if filter.admits(row) {
                best.offer(dot(vector, candidate), row.key.as_u64());
            }
        }
        best.into_sorted().filter_map(|(key, score)| Some((EntryKey::from_u64(key).ok()?, score))).collect()
    }

    pub(super) fn score(&self, vector: &[f32], keys: &[EntryKey]) -> Vec<Option<f32>> {
        let score = |key: &EntryKey| {
            let start = self.places.get(key)? * self.dimensions;
            Some(dot(vector, self.components.get(start..start + self.dimensions)?))
        };
        keys.iter().map(score).collect()
    }
}

/// A filter whose names are numbers. A name that no row has is [`Name::MAX`], which no row carries.
struct Numbered<'a> {
    filter: &'a IndexFilter,
    scopes: Vec<Name>,
    sessions: Vec<Name>,
    categories: Vec<Name>,
    tags_all: Vec<Name>,
    tags_any: Vec<Name>,
}

impl<'a> Numbered<'a> {
    fn new(resident: &Resident, filter: &'a IndexFilter) -> Self {
        let numbers = |names: &[String]| {
            names.iter().map(|name| resident.names.get(name.as_str()).copied().unwrap_or(Name::MAX)).collect()
        };
        Self {
            filter,
            scopes: numbers(&filter.scopes),
            sessions: numbers(&filter.sessions),
            categories: numbers(&filter.categories),
            tags_all: numbers(&filter.tags_all),
            tags_any: numbers(&filter.tags_any),
        }
    }

    fn admits(&self, row: &Row) -> bool {
        let wanted = |list: &[Name], name: Name| list.is_empty() || list.contains(&name);
        self.scopes.contains(&row.scope)
            && (self.filter.kinds.is_empty() || self.filter.kinds.contains(&row.key.kind()))
            && wanted(&self.sessions, row.session)
            && wanted(&self.categories, row.category)
            && self.tags_all.iter().all(|tag| row.tags.contains(tag))
            && (self.tags_any.is_empty() || self.tags_any.iter().any(|tag| row.tags.contains(tag)))
            && self.filter.since.is_none_or(|since| row.at >= since)
            && self.filter.until.is_none_or(|until| row.at < until)
    }
}

/// The vector as it comes back from the table.
fn stored(vector: &[f32]) -> Vec<f32> {
    vector.iter().map(|value| f16::from_f32(*value).to_f32()).collect()
}

/// The dot product, in eight independent sums so that the processor can work on several at once.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (left, right) in left.zip(right) {
        for ((sum, a), b) in sums.iter_mut().zip(left).zip(right) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}
