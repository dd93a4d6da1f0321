//! From an id, or a unique beginning of one, to what it names. Only what the viewer may read can be named.

use memory_core::{Error, ErrorKind, Id, IdPrefix, Result, Viewer};
use rusqlite::{Connection, params};

use super::row::SqliteResult;
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
        let mut found: Vec<(Id, ResolvedItem)> = Vec::new();
        for key in Self::keys_with_prefix(connection, "memories", &prefix)? {
            for row in Self::memories_by_key(connection, &[key])? {
                if viewer.may_read(&row.memory.scope) {
                    found.push((row.memory.id.clone(), ResolvedItem::Memory(Box::new(row))));
                }
            }
        }
        for key in Self::keys_with_prefix(connection, "messages", &prefix)? {
            for row in Self::messages_by_key(connection, &[key])? {
                if viewer.may_read(&row.message.scope) {
                    found.push((row.message.id.clone(), ResolvedItem::Message(Box::new(row))));
                }
            }
        }
        for key in Self::keys_with_prefix(connection, "chunks", &prefix)? {
            for row in Self::chunks_by_key(connection, &[key])? {
                if let Some(document) = Self::document_by_key(connection, row.document)?
                    && viewer.may_read(&document.document.scope)
                {
                    found.push((row.chunk.id.clone(), ResolvedItem::Chunk(Box::new(row), Box::new(document))));
                }
            }
        }
        for key in Self::keys_with_prefix(connection, "documents", &prefix)? {
            if let Some(document) = Self::document_by_key(connection, key)?
                && viewer.may_read(&document.document.scope)
            {
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

    fn keys_with_prefix(connection: &Connection, table: &str, prefix: &IdPrefix) -> Result<Vec<i64>> {
        // `~` sorts after every character of an id.
        let (first, last) = (prefix.as_str(), format!("{}~", prefix.as_str()));
        let mut statement = connection
            .prepare_cached(&format!(
                "SELECT key FROM {table} WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT {MOST_MATCHES}"
            ))
            .stored()?;
        let rows = statement.query_map(params![first, last], |row| row.get(0)).stored()?;
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
