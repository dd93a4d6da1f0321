//! Reads the present truth of entries and makes what the indexes hold of it.

use std::collections::{BTreeSet, HashMap, HashSet};

use memory_core::{Result, State};
use memory_index::{EntryKey, EntryKind, IndexEntry};
use rusqlite::Connection;

use super::render::{chunk_text, document_text, is_short, memory_text, message_text, segment_text, window_text};
use crate::store::{MessageRow, Store, segment_parts};

/// What a batch of changes makes of the indexes.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    /// Entries as they stand now. No vectors yet.
    pub(crate) upserts: Vec<IndexEntry>,
    /// Entries that are gone.
    pub(crate) deletes: Vec<EntryKey>,
}

/// All text entries that a change of `changed` touches: a message also changes the windows of its neighbours and its
/// segment.
pub(crate) fn touched_entries(connection: &Connection, changed: &BTreeSet<EntryKey>) -> Result<BTreeSet<EntryKey>> {
    let mut touched = changed.clone();
    let rows = Store::messages_by_key(connection, &rows_of(changed, EntryKind::Message))?;
    let places: HashSet<(i64, u64)> = rows.iter().map(|row| (row.session, row.message.position)).collect();
    for row in &rows {
        touched.insert(row.segment_entry());
        let position = row.message.position;
        // In a bulk import both neighbours are part of the batch anyway.
        let surrounded = position.checked_sub(1).is_none_or(|before| places.contains(&(row.session, before)))
            && places.contains(&(row.session, position + 1));
        if surrounded || !is_short(&row.message) {
            continue;
        }
        for neighbour in neighbours(connection, row)? {
            if is_short(&neighbour.message) {
                touched.insert(neighbour.entry());
            }
        }
    }
    Ok(touched)
}

fn neighbours(connection: &Connection, row: &MessageRow) -> Result<Vec<MessageRow>> {
    let position = row.message.position;
    Ok(Store::messages_between(connection, row.session, position.saturating_sub(1), position + 1)?
        .into_iter()
        .filter(|neighbour| neighbour.key != row.key)
        .collect())
}

/// The present truth of `entries` as the indexes hold it. Windows are made only when `with_windows`, since only the
/// text index has them.
///
/// The revision of every entry is the number of the last change that this view of the store contains: an entry may
/// change without its own row changing, as windows and segments do.
pub(crate) fn project(connection: &Connection, entries: &BTreeSet<EntryKey>, with_windows: bool) -> Result<Projection> {
    let revision = Store::last_sequence(connection)?;
    let mut projection = Projection::default();
    project_memories(connection, entries, revision, &mut projection)?;
    project_messages(connection, entries, with_windows, revision, &mut projection)?;
    project_segments(connection, entries, revision, &mut projection)?;
    project_chunks(connection, entries, revision, &mut projection)?;
    project_documents(connection, entries, revision, &mut projection)?;
    let present: BTreeSet<EntryKey> = projection.upserts.iter().map(|entry| entry.key).collect();
    projection.deletes = entries.difference(&present).copied().collect();
    Ok(projection)
}

fn rows_of(entries: &BTreeSet<EntryKey>, kind: EntryKind) -> Vec<i64> {
    entries.iter().filter(|entry| entry.kind() == kind).map(|entry| entry.rowid()).collect()
}

fn seconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000_000_000)
}

fn project_memories(
    connection: &Connection,
    entries: &BTreeSet<EntryKey>,
    revision: u64,
    projection: &mut Projection,
) -> Result<()> {
    for row in Store::memories_by_key(connection, &rows_of(entries, EntryKind::Memory))? {
        let memory = &row.memory;
        if memory.state != State::Active {
            continue;
        }
        projection.upserts.push(IndexEntry {
            key: row.entry(),
            revision,
            scope: memory.scope.key(),
            session: None,
            category: memory.category.clone(),
            tags: memory.tags.clone(),
            at: seconds(memory.event_at.unwrap_or(memory.created_at).nanoseconds()),
            text: memory_text(memory),
            window: None,
            vector: None,
        });
    }
    Ok(())
}

fn project_messages(
    connection: &Connection,
    entries: &BTreeSet<EntryKey>,
    with_windows: bool,
    revision: u64,
    projection: &mut Projection,
) -> Result<()> {
    let rows = Store::messages_by_key(connection, &rows_of(entries, EntryKind::Message))?;
    let by_place: HashMap<(i64, u64), &MessageRow> = rows
        .iter()
        .filter(|row| row.state == State::Active)
        .map(|row| ((row.session, row.message.position), row))
        .collect();
    for row in by_place.values() {
        let message = &row.message;
        let mut window = None;
        if with_windows && is_short(message) {
            let (before, after) = (message.position.checked_sub(1), message.position + 1);
            // Neighbours are usually in the same batch; only those at its edge are read one by one.
            let known = |position: u64| by_place.get(&(row.session, position)).map(|row| &row.message);
            let fetched = if before.is_none_or(|before| known(before).is_some()) && known(after).is_some() {
                Vec::new()
            } else {
                neighbours(connection, row)?
            };
            let find = |position: u64| {
                known(position)
                    .or_else(|| fetched.iter().map(|row| &row.message).find(|message| message.position == position))
            };
            window = window_text(before.and_then(find), message, find(after));
        }
        projection.upserts.push(IndexEntry {
            key: row.entry(),
            revision,
            scope: message.scope.key(),
            session: Some(message.session_id.clone()),
            category: None,
            tags: Vec::new(),
            at: seconds(message.created_at.nanoseconds()),
            text: message_text(message),
            window,
            vector: None,
        });
    }
    Ok(())
}

fn project_segments(
    connection: &Connection,
    entries: &BTreeSet<EntryKey>,
    revision: u64,
    projection: &mut Projection,
) -> Result<()> {
    for entry in entries.iter().filter(|entry| entry.kind() == EntryKind::Segment) {
        let (session, segment) = segment_parts(*entry);
        let rows = Store::messages_of_segment(connection, session, segment)?;
        let Some(last) = rows.last() else { continue };
        projection.upserts.push(IndexEntry {
            key: *entry,
            revision,
            scope: last.message.scope.key(),
            session: Some(last.message.session_id.clone()),
            category: None,
            tags: Vec::new(),
            at: seconds(last.message.created_at.nanoseconds()),
            text: segment_text(rows.iter().map(|row| &row.message)),
            window: None,
            vector: None,
        });
    }
    Ok(())
}

fn project_chunks(
    connection: &Connection,
    entries: &BTreeSet<EntryKey>,
    revision: u64,
    projection: &mut Projection,
) -> Result<()> {
    let mut documents = HashMap::new();
    for row in Store::chunks_by_key(connection, &rows_of(entries, EntryKind::Chunk))? {
        if !documents.contains_key(&row.document)
            && let Some(document) = Store::document_by_key(connection, row.document)?
        {
            documents.insert(row.document, document);
        }
        let Some(document) = documents.get(&row.document) else { continue };
        projection.upserts.push(IndexEntry {
            key: row.entry(),
            revision,
            scope: document.document.scope.key(),
            session: None,
            category: None,
            tags: document.document.tags.clone(),
            at: seconds(document.event_at.unwrap_or_else(|| document.document.modified_at.nanoseconds())),
            text: chunk_text(document, &row),
            window: None,
            vector: None,
        });
    }
    Ok(())
}

fn project_documents(
    connection: &Connection,
    entries: &BTreeSet<EntryKey>,
    revision: u64,
    projection: &mut Projection,
) -> Result<()> {
    for key in rows_of(entries, EntryKind::Document) {
        let Some(row) = Store::document_by_key(connection, key)? else { continue };
        let chunks = Store::chunks_of(connection, key)?;
        projection.upserts.push(IndexEntry {
            key: row.entry(),
            revision,
            scope: row.document.scope.key(),
            session: None,
            category: None,
            tags: row.document.tags.clone(),
            at: seconds(row.event_at.unwrap_or_else(|| row.document.modified_at.nanoseconds())),
            text: document_text(&row, chunks.iter()),
            window: None,
            vector: None,
        });
    }
    Ok(())
}
