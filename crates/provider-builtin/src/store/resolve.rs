//! From an id, or a unique beginning of one, to what it names. Only what the viewer may read can be named.

use memory_core::{Error, ErrorKind, Id, IdPrefix, Result, Viewer};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::row::{SqliteResult, placeholders};
use super::{ChunkRow, DocumentRow, MemoryRow, MessageRow, Store};

/// What an id names.
#[derive(Debug, Clone)]
pub(crate) enum ResolvedItem {
    Memory(Box<MemoryRow>),
    Message(Box<MessageRow>),
    Chunk(Box<ChunkRow>, Box<DocumentRow>),
    Document(Box<DocumentRow>),
}

/// The most things one prefix is compared with before it is called ambiguous.
const MOST_MATCHES: i64 = 50;

impl Store {
    /// What `text` names among what `viewer` may read: `None` when nothing, a conflict when several.
    pub(crate) fn resolve(connection: &Connection, viewer: &Viewer, text: &str) -> Result<Option<ResolvedItem>> {
        let prefix: IdPrefix = text.parse()?;
        let scopes = Self::known_scope_numbers(connection, &viewer.readable_keys())?;
        let keys = |entries: &'static str| Self::keys_with_prefix(connection, entries, &prefix, &scopes);
        let mut found: Vec<(Id, ResolvedItem)> = Vec::new();
        for row in Self::memories_by_key(connection, &keys("memories x")?)? {
            found.push((row.memory.id.clone(), ResolvedItem::Memory(Box::new(row))));
        }
        for row in Self::messages_by_key(connection, &keys("messages x JOIN sessions owner ON owner.key = x.session")?)?
        {
            // A viewer in one session has no other sessions.
            if viewer.session.as_ref().is_none_or(|session| *session == row.message.session_id) {
                found.push((row.message.id.clone(), ResolvedItem::Message(Box::new(row))));
            }
        }
        for row in Self::chunks_by_key(connection, &keys("chunks x JOIN documents owner ON owner.key = x.document")?)? {
            if let Some(document) = Self::document_by_key(connection, row.document)? {
                found.push((row.chunk.id.clone(), ResolvedItem::Chunk(Box::new(row), Box::new(document))));
            }
        }
        for key in keys("documents x")? {
            if let Some(document) = Self::document_by_key(connection, key)? {
                found.push((document.document.id.clone(), ResolvedItem::Document(Box::new(document))));
            }
        }
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().take(5).map(|(id, _)| id.to_string()).collect();
            return Err(Error::new(ErrorKind::Conflict, format!("`{text}` is the beginning of several ids"))
                .with_context("ids", ids.join(", "))
                .with_hint("type more characters of the id"));
        }
        Ok(found.pop().map(|(_, item)| item))
    }

    /// The rows of `entries` whose id begins so, among those of `scopes`: what others have makes no prefix ambiguous.
    fn keys_with_prefix(
        connection: &Connection,
        entries: &'static str,
        prefix: &IdPrefix,
        scopes: &[i64],
    ) -> Result<Vec<i64>> {
        // `~` sorts after every character of an id.
        let (first, last) = (prefix.as_str().to_owned(), format!("{}~", prefix.as_str()));
        let sql = format!(
            "SELECT x.key FROM {entries} WHERE x.id >= ? AND x.id < ? AND scope IN ({}) ORDER BY x.id LIMIT {MOST_MATCHES}",
            placeholders(scopes.len())
        );
        let values = [Value::from(first), Value::from(last)].into_iter().chain(scopes.iter().copied().map(Value::from));
        let mut statement = connection.prepare_cached(&sql).stored()?;
        let rows = statement.query_map(params_from_iter(values), |row| row.get(0)).stored()?;
        rows.map(SqliteResult::stored).collect()
    }

    /// True when some memory has this very id.
    pub(crate) fn memory_id_exists(connection: &Connection, wanted: &Id) -> Result<bool> {
        connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?1)")
            .stored()?
            .query_row(params![wanted.as_str()], |row| row.get(0))
            .stored()
    }
}
