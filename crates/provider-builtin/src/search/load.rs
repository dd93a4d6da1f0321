//! Rows of truth for candidates. Scope, state and every condition of the request are checked here again, on truth,
//! whatever an index said.

use std::collections::{BTreeSet, HashMap, HashSet};

use memory_core::{Result, SearchRequest, State, Timestamp};
use memory_index::{EntryKey, EntryKind};
use rusqlite::Connection;

use super::answer::hit_of;
use super::candidate::{Candidate, Row};
use crate::store::Store;

/// What a row must fulfil to be seen.
pub(crate) struct Admission<'a> {
    pub(crate) request: &'a SearchRequest,
    pub(crate) scopes: HashSet<String>,
    pub(crate) kinds: &'a [EntryKind],
    pub(crate) now: Timestamp,
}

impl Admission<'_> {
    /// True when the viewer may see the row at all.
    fn is_visible(&self, candidate: &Candidate) -> bool {
        let (scope, state) = match &candidate.row {
            Row::Memory(row) => (&row.memory.scope, row.memory.state),
            Row::Message(row) => (&row.message.scope, row.state),
            Row::Chunk(_, document) => (&document.document.scope, State::Active),
        };
        let expired = match &candidate.row {
            Row::Memory(row) => row.memory.expires_at.is_some_and(|at| at <= self.now),
            _ => false,
        };
        let other_session = match (&candidate.row, &self.request.viewer.session) {
            (Row::Message(row), Some(session)) => row.message.session_id != *session,
            _ => false,
        };
        state == State::Active && !expired && !other_session && self.scopes.contains(&scope.key())
    }

    /// True when the row may be part of the answer.
    fn is_wanted(&self, candidate: &Candidate) -> bool {
        let request = self.request;
        let at = candidate.at();
        let (category, tags): (Option<&String>, &[String]) = match &candidate.row {
            Row::Memory(row) => (row.memory.category.as_ref(), &row.memory.tags),
            Row::Message(_) => (None, &[]),
            Row::Chunk(_, document) => (None, &document.document.tags),
        };
        self.kinds.contains(&candidate.entry.kind())
            && (request.categories.is_empty() || category.is_some_and(|it| request.categories.contains(it)))
            && request.tags.iter().all(|tag| tags.contains(tag))
            && request.since.is_none_or(|since| at >= since.nanoseconds())
            && request.until.is_none_or(|until| at < until.nanoseconds())
            && request.filter.as_ref().is_none_or(|filter| filter.matches(&hit_of(candidate)))
    }

    fn admits(&self, candidate: &Candidate) -> bool {
        self.is_visible(candidate) && self.is_wanted(candidate)
    }
}

/// The admitted rows behind `entries`, in the order of their keys.
pub(crate) fn load(
    connection: &Connection,
    entries: impl IntoIterator<Item = EntryKey>,
    admission: &Admission<'_>,
) -> Result<Vec<Candidate>> {
    let entries: BTreeSet<EntryKey> = entries.into_iter().collect();
    let rows = |kind: EntryKind| -> Vec<i64> {
        entries.iter().filter(|entry| entry.kind() == kind).map(|entry| entry.rowid()).collect()
    };
    let mut candidates = Vec::with_capacity(entries.len());
    candidates.extend(Store::memories_by_key(connection, &rows(EntryKind::Memory))?.into_iter().map(Candidate::memory));
    candidates
        .extend(Store::messages_by_key(connection, &rows(EntryKind::Message))?.into_iter().map(Candidate::message));
    let mut documents = HashMap::new();
    for row in Store::chunks_by_key(connection, &rows(EntryKind::Chunk))? {
        if !documents.contains_key(&row.document)
            && let Some(document) = Store::document_by_key(connection, row.document)?
        {
            documents.insert(row.document, document);
        }
        if let Some(document) = documents.get(&row.document) {
            candidates.push(Candidate::chunk(row, document.clone()));
        }
    }
    candidates.retain(|candidate| admission.admits(candidate));
    Ok(candidates)
}

/// The admitted members of the wholes `entries`: messages of segments, chunks of documents.
pub(crate) fn load_members(
    connection: &Connection,
    entries: &[EntryKey],
    admission: &Admission<'_>,
) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for entry in entries {
        match entry.kind() {
            EntryKind::Segment => {
                let (session, segment) = crate::store::segment_parts(*entry);
                let rows = Store::messages_of_segment(connection, session, segment)?;
                candidates.extend(rows.into_iter().map(Candidate::message));
            }
            EntryKind::Document => {
                if let Some(document) = Store::document_by_key(connection, entry.rowid())? {
                    let rows = Store::chunks_of(connection, entry.rowid())?.into_iter().take(MOST_MEMBERS);
                    candidates.extend(rows.map(|row| Candidate::chunk(row, document.clone())));
                }
            }
            _ => {}
        }
    }
    candidates.retain(|candidate| admission.admits(candidate));
    Ok(candidates)
}

/// The most chunks of one document that become candidates because the document as a whole fits.
const MOST_MEMBERS: usize = 60;

/// The admitted messages right before and after the message candidates, as far as they are not candidates yet.
pub(crate) fn load_neighbours(
    connection: &Connection,
    candidates: &[Candidate],
    admission: &Admission<'_>,
) -> Result<Vec<Candidate>> {
    let mut known: HashSet<(i64, u64)> = HashSet::with_capacity(candidates.len() * 2);
    let mut places: Vec<(i64, u64)> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        if let Row::Message(row) = &candidate.row {
            known.insert((row.session, row.message.position));
            places.push((row.session, row.message.position));
        }
    }
    let mut found = Vec::new();
    for (session, position) in places {
        for near in [position.checked_sub(1), position.checked_add(1)].into_iter().flatten() {
            if known.insert((session, near)) {
                let rows = Store::messages_between(connection, session, near, near)?;
                found.extend(rows.into_iter().map(Candidate::message));
            }
        }
    }
    found.retain(|candidate| admission.admits(candidate));
    Ok(found)
}

/// The newest rows of every kind, when no index can be asked.
pub(crate) fn newest_entries(connection: &Connection, limit: usize) -> Result<Vec<EntryKey>> {
    let mut entries = Vec::new();
    for (kind, table) in
        [(EntryKind::Memory, "memories"), (EntryKind::Chunk, "chunks"), (EntryKind::Message, "messages")]
    {
        let rows = Store::newest_keys(connection, table, limit.saturating_sub(entries.len()))?;
        entries.extend(rows.into_iter().map(|row| EntryKey::new(kind, row)));
    }
    Ok(entries)
}
