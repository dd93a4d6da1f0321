//! The filter of a search, prepared for one segment: a few array look-ups for each document that matches the words.

use memory_core::Result;
use tantivy::columnar::{Cardinality, Column};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED, Term};

use super::fault::{fault, io_fault};
use super::lookup::{is_alive, keys_of};
use super::schema::{AT, CATEGORY, Fields, SCOPE, SESSION, TAGS};
use crate::entry::{EntryKey, IndexFilter};

/// Below this share of a segment it is cheaper to look at each document that passes than at each that matches.
const FEW: u64 = 16;

/// What a document's values have to be.
enum Condition {
    /// At least one value is among these.
    Any(Column<u64>, Vec<u64>),
    /// All of these are among the values.
    All(Column<u64>, Vec<u64>),
}

impl Condition {
    fn holds(&self, doc: DocId) -> bool {
        match self {
            Self::Any(column, wanted) => column.values_for_doc(doc).any(|value| wanted.contains(&value)),
            Self::All(column, wanted) => {
                wanted.iter().all(|wanted| column.values_for_doc(doc).any(|value| value == *wanted))
            }
        }
    }
}

/// Decides for one segment which documents may be returned.
pub(super) struct SegmentFilter<'a> {
    reader: &'a SegmentReader,
    keys: Column<u64>,
    kinds: Vec<u8>,
    conditions: Vec<Condition>,
    time: Option<(Column<i64>, IndexFilter)>,
}

impl<'a> SegmentFilter<'a> {
    /// Prepares `filter`; nothing when no document of the segment can pass.
    pub(super) fn open(reader: &'a SegmentReader, filter: &IndexFilter) -> Result<Option<Self>> {
        if filter.admits_nothing() {
            return Ok(None);
        }
        let mut conditions = Vec::new();
        for (name, values) in [
            (SCOPE, &filter.scopes),
            (SESSION, &filter.sessions),
            (CATEGORY, &filter.categories),
            (TAGS, &filter.tags_any),
            (TAGS, &filter.tags_all),
        ] {
            if values.is_empty() {
                continue;
            }
            let Some(strings) = reader.fast_fields().str(name).map_err(fault)? else { return Ok(None) };
            let mut wanted = Vec::with_capacity(values.len());
            for value in values {
                wanted.extend(strings.dictionary().term_ord(value).map_err(io_fault)?);
            }
            wanted.sort_unstable();
            wanted.dedup();
            let all = std::ptr::eq(values, &filter.tags_all);
            if wanted.is_empty() || (all && values.iter().any(|value| !has(strings.dictionary().term_ord(value)))) {
                return Ok(None);
            }
            let column = strings.ords().clone();
            let every_document = column.get_cardinality() == Cardinality::Full && wanted.len() == strings.num_terms();
            match (all, every_document) {
                (true, _) => conditions.push(Condition::All(column, wanted)),
                (false, true) => {}
                (false, false) => conditions.push(Condition::Any(column, wanted)),
            }
        }
        let timed = filter.since.is_some() || filter.until.is_some();
        let time = match timed {
            true => Some((reader.fast_fields().i64(AT).map_err(fault)?, filter.clone())),
            false => None,
        };
        let kinds = filter.kinds.iter().map(|kind| *kind as u8).collect();
        Ok(Some(Self { reader, keys: keys_of(reader)?, kinds, conditions, time }))
    }

    /// The key of `doc` if it may be returned.
    pub(super) fn admitted(&self, doc: DocId) -> Option<u64> {
        let key = self.keys.first(doc)?;
        let admitted = is_alive(self.reader, doc)
            && (self.kinds.is_empty()
                || EntryKey::from_u64(key).is_ok_and(|key| self.kinds.contains(&(key.kind() as u8))))
            && self.conditions.iter().all(|condition| condition.holds(doc))
            && self.time.as_ref().is_none_or(|(column, filter)| {
                column.first(doc).is_some_and(|at| {
                    filter.since.is_none_or(|since| at >= since) && filter.until.is_none_or(|until| at < until)
                })
            });
        admitted.then_some(key)
    }

    /// The documents that may be returned, ascending, where scope or session leave but few of the segment.
    pub(super) fn few(&self, fields: &Fields, filter: &IndexFilter) -> Result<Option<Vec<DocId>>> {
        let limit = u64::from(self.reader.max_doc()) / FEW;
        for (field, values) in [(fields.session, &filter.sessions), (fields.scope, &filter.scopes)] {
            if let Some(documents) = self.listed(field, values, limit)? {
                return Ok(Some(documents.into_iter().filter(|doc| self.admitted(*doc).is_some()).collect()));
            }
        }
        Ok(None)
    }

    /// The documents with one of `values` in `field`, if there are values and no more documents than `limit`.
    fn listed(&self, field: Field, values: &[String], limit: u64) -> Result<Option<Vec<DocId>>> {
        if values.is_empty() {
            return Ok(None);
        }
        let index = self.reader.inverted_index(field).map_err(fault)?;
        let mut documents = Vec::new();
        for value in values {
            let term = Term::from_field_text(field, value);
            let Some(info) = index.get_term_info(&term).map_err(io_fault)? else { continue };
            if documents.len() as u64 + u64::from(info.doc_freq) > limit {
                return Ok(None);
            }
            let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic).map_err(io_fault)?;
            while postings.doc() != TERMINATED {
                documents.push(postings.doc());
                postings.advance();
            }
        }
        documents.sort_unstable();
        documents.dedup();
        Ok(Some(documents))
    }
}

fn has(ordinal: std::io::Result<Option<u64>>) -> bool {
    matches!(ordinal, Ok(Some(_)))
}
