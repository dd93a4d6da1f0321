//! Documents and their chunks as rows: what the index knows of the Markdown files, which are the truth themselves.

use std::collections::HashMap;

use memory_core::{Chunk, Document, Result, Scope, Timestamp};
use memory_index::{EntryKey, EntryKind};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Store;
use super::row::{SqliteResult, id, json, signed, to_json, unsigned};

/// A document with the number of its row.
#[derive(Debug, Clone)]
pub(crate) struct DocumentRow {
    pub(crate) key: i64,
    pub(crate) document: Document,
    /// The date the document is about, such as the day of a daily log.
    pub(crate) event_at: Option<i64>,
    /// When the file was last read.
    pub(crate) indexed_at: i64,
}

impl DocumentRow {
    /// Its key in the text index, where the whole file is one entry.
    pub(crate) fn entry(&self) -> EntryKey {
        EntryKey::new(EntryKind::Document, self.key)
    }
}

/// A chunk with the numbers of its row and document.
#[derive(Debug, Clone)]
pub(crate) struct ChunkRow {
    pub(crate) key: i64,
    pub(crate) document: i64,
    pub(crate) chunk: Chunk,
}

impl ChunkRow {
    /// Its key in the indexes.
    pub(crate) fn entry(&self) -> EntryKey {
        EntryKey::new(EntryKind::Chunk, self.key)
    }
}

/// What is known of a file before its chunks are stored.
#[derive(Debug, Clone)]
pub(crate) struct NewDocument {
    pub(crate) path: String,
    pub(crate) title: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) frontmatter: serde_json::Value,
    pub(crate) size: u64,
    pub(crate) modified_at: i64,
    pub(crate) event_at: Option<i64>,
    pub(crate) hash: String,
}

/// A passage to be stored.
#[derive(Debug, Clone)]
pub(crate) struct NewChunk {
    pub(crate) lines: [u32; 2],
    pub(crate) heading: Option<String>,
    pub(crate) text: String,
}

const DOCUMENT_COLUMNS: &str = "d.key, d.id, s.text, d.path, d.title, d.tags, d.size, d.modified_at, d.hash, d.event_at, \
    d.indexed_at";
const CHUNK_COLUMNS: &str = "key, document, id, ordinal, first_line, last_line, heading, text";

impl Store {
    /// Stores a document and its chunks in place of what was known of that path. A chunk whose heading and text are
    /// unchanged keeps its id and is not indexed again.
    pub(crate) fn put_document(
        &self,
        connection: &Connection,
        scope: &Scope,
        new: &NewDocument,
        chunks: &[NewChunk],
    ) -> Result<DocumentRow> {
        let scope_number = Self::scope_number(connection, scope)?;
        let key: i64 = connection
            .prepare_cached(
                "INSERT INTO documents(id, scope, path, title, tags, frontmatter, size, modified_at, event_at, hash, indexed_at)
                 VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)
                 ON CONFLICT(scope, path) DO UPDATE SET title=excluded.title, tags=excluded.tags,
                    frontmatter=excluded.frontmatter, size=excluded.size, modified_at=excluded.modified_at,
                    event_at=excluded.event_at, hash=excluded.hash, indexed_at=excluded.indexed_at
                 RETURNING key",
            )
            .stored()?
            .query_row(
                params![
                    self.next_id().to_string(),
                    scope_number,
                    new.path,
                    new.title,
                    to_json(&new.tags)?,
                    to_json(&new.frontmatter)?,
                    signed(new.size),
                    new.modified_at,
                    new.event_at,
                    new.hash,
                    self.clock.now().nanoseconds()
                ],
                |row| row.get(0),
            )
            .stored()?;
        self.replace_chunks(connection, key, chunks)?;
        let row = Self::document_by_key(connection, key)?
            .ok_or_else(|| memory_core::Error::unexpected("a document vanished while it was stored"))?;
        Self::append_outbox(connection, row.entry())?;
        Ok(row)
    }

    fn replace_chunks(&self, connection: &Connection, document: i64, chunks: &[NewChunk]) -> Result<()> {
        let mut former: HashMap<(Option<String>, String), Vec<ChunkRow>> = HashMap::new();
        for row in Self::chunks_of(connection, document)?.into_iter().rev() {
            former.entry((row.chunk.heading.clone(), row.chunk.text.clone())).or_default().push(row);
        }
        for (ordinal, chunk) in chunks.iter().enumerate() {
            let ordinal = ordinal as i64;
            let kept = former.get_mut(&(chunk.heading.clone(), chunk.text.clone())).and_then(Vec::pop);
            if let Some(row) = kept {
                connection
                    .prepare_cached("UPDATE chunks SET ordinal=?2, first_line=?3, last_line=?4 WHERE key=?1")
                    .stored()?
                    .execute(params![row.key, ordinal, chunk.lines[0], chunk.lines[1]])
                    .stored()?;
                continue;
            }
            let key: i64 = connection
                .prepare_cached(
                    "INSERT INTO chunks(id, document, ordinal, first_line, last_line, heading, text)
                     VALUES (?1,?2,?3,?4,?5,?6,?7) RETURNING key",
                )
                .stored()?
                .query_row(
                    params![
                        self.next_id().to_string(),
                        document,
                        ordinal,
                        chunk.lines[0],
                        chunk.lines[1],
                        chunk.heading,
                        chunk.text
                    ],
                    |row| row.get(0),
                )
                .stored()?;
            Self::append_outbox(connection, EntryKey::new(EntryKind::Chunk, key))?;
        }
        for row in former.into_values().flatten() {
            Self::delete_chunk(connection, &row)?;
        }
        Ok(())
    }

    fn delete_chunk(connection: &Connection, row: &ChunkRow) -> Result<()> {
        connection.prepare_cached("DELETE FROM chunks WHERE key = ?1").stored()?.execute(params![row.key]).stored()?;
        Self::append_outbox(connection, row.entry())
    }

    /// Forgets a document and its chunks. The file is not touched.
    pub(crate) fn remove_document(connection: &Connection, row: &DocumentRow) -> Result<()> {
        for chunk in Self::chunks_of(connection, row.key)? {
            Self::delete_chunk(connection, &chunk)?;
        }
        connection
            .prepare_cached("DELETE FROM documents WHERE key = ?1")
            .stored()?
            .execute(params![row.key])
            .stored()?;
        Self::append_outbox(connection, row.entry())
    }

    /// Notes that a file was read and found unchanged.
    pub(crate) fn set_document_times(
        &self,
        connection: &Connection,
        key: i64,
        size: u64,
        modified_at: i64,
    ) -> Result<()> {
        connection
            .prepare_cached("UPDATE documents SET size = ?2, modified_at = ?3, indexed_at = ?4 WHERE key = ?1")
            .stored()?
            .execute(params![key, signed(size), modified_at, self.clock.now().nanoseconds()])
            .stored()?;
        Ok(())
    }

    /// All documents of a scope.
    pub(crate) fn documents_of(connection: &Connection, scope: i64) -> Result<Vec<DocumentRow>> {
        let sql = format!(
            "SELECT {DOCUMENT_COLUMNS} FROM documents d JOIN scopes s ON s.key = d.scope WHERE d.scope = ?1 ORDER BY d.path"
        );
        let mut statement = connection.prepare_cached(&sql).stored()?;
        let rows = statement.query_map(params![scope], |row| Ok(read_document(row))).stored()?;
        rows.map(|row| row.stored()?).collect()
    }

    /// A document by the number of its row.
    pub(crate) fn document_by_key(connection: &Connection, key: i64) -> Result<Option<DocumentRow>> {
        let sql =
            format!("SELECT {DOCUMENT_COLUMNS} FROM documents d JOIN scopes s ON s.key = d.scope WHERE d.key = ?1");
        connection
            .prepare_cached(&sql)
            .stored()?
            .query_row(params![key], |row| Ok(read_document(row)))
            .optional()
            .stored()?
            .transpose()
    }

    /// The chunks of a document, in order.
    pub(crate) fn chunks_of(connection: &Connection, document: i64) -> Result<Vec<ChunkRow>> {
        let sql = format!("SELECT {CHUNK_COLUMNS} FROM chunks WHERE document = ?1 ORDER BY ordinal, key");
        let mut statement = connection.prepare_cached(&sql).stored()?;
        let rows = statement.query_map(params![document], |row| Ok(read_chunk(row))).stored()?;
        rows.map(|row| row.stored()?).collect()
    }

    /// The chunks with these keys, in any order; missing ones are left out.
    pub(crate) fn chunks_by_key(connection: &Connection, keys: &[i64]) -> Result<Vec<ChunkRow>> {
        let sql = format!("SELECT {CHUNK_COLUMNS} FROM chunks WHERE key = ?1");
        let mut statement = connection.prepare_cached(&sql).stored()?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(row) = statement.query_row(params![key], |row| Ok(read_chunk(row))).optional().stored()? {
                found.push(row?);
            }
        }
        Ok(found)
    }
}

fn read_document(row: &Row<'_>) -> Result<DocumentRow> {
    let text = |column: usize| row.get::<_, String>(column).stored();
    let document = Document {
        id: id(&text(1)?)?,
        scope: Scope::from_key(&text(2)?)?,
        path: text(3)?,
        title: row.get(4).stored()?,
        tags: json(&text(5)?)?,
        size: unsigned(row.get(6).stored()?),
        modified_at: Timestamp::from_nanoseconds(row.get(7).stored()?),
        hash: text(8)?,
    };
    Ok(DocumentRow {
        key: row.get(0).stored()?,
        document,
        event_at: row.get(9).stored()?,
        indexed_at: row.get(10).stored()?,
    })
}

fn read_chunk(row: &Row<'_>) -> Result<ChunkRow> {
    let text = |column: usize| row.get::<_, String>(column).stored();
    let chunk = Chunk {
        id: id(&text(2)?)?,
        ordinal: row.get(3).stored()?,
        lines: [row.get(4).stored()?, row.get(5).stored()?],
        heading: row.get(6).stored()?,
        text: text(7)?,
    };
    Ok(ChunkRow { key: row.get(0).stored()?, document: row.get(1).stored()?, chunk })
}
