//! Digests of what was forgotten, so that it does not come back by re-import. Digests are keyed with a random key of
//! the store, so that a digest alone does not let an outsider test guesses.

use memory_core::{NewMessage, Result};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::Store;
use super::row::SqliteResult;

const KEY_NAME: &str = "tombstone_key";

/// Something by which what was forgotten is known again. Only its digest is kept.
pub(crate) struct Mark {
    kind: &'static str,
    value: Vec<u8>,
}

impl Mark {
    /// Those of a memory: its text in canonical form, and its foreign id.
    pub(crate) fn of_memory(canonical_hash: &[u8], external_id: Option<&str>) -> Vec<Self> {
        let text = Self { kind: "text", value: canonical_hash.to_vec() };
        let external = external_id.map(|id| Self { kind: "external_id", value: id.as_bytes().to_vec() });
        std::iter::once(text).chain(external).collect()
    }

    /// Those of a message: its foreign id in its session, or else who said what when in it. The words alone are no mark:
    /// "ok" may be said again.
    pub(crate) fn of_message(message: &NewMessage, content: &str) -> Vec<Self> {
        let session = message.session_id.as_str();
        let mark = |kind, parts: [&str; 4]| Self { kind, value: parts.join("\u{1f}").into_bytes() };
        match (&message.external_id, message.created_at) {
            (Some(id), _) => vec![mark("message_external_id", [session, id, "", ""])],
            (None, Some(at)) => {
                let (role, at) = (format!("{:?}", message.role), at.nanoseconds().to_string());
                vec![mark("message", [session, &role, &at, content])]
            }
            (None, None) => Vec::new(),
        }
    }
}

impl Store {
    fn tombstone_key(connection: &Connection) -> Result<String> {
        let known = connection
            .prepare_cached("SELECT value FROM meta WHERE name = ?1")
            .stored()?
            .query_row(params![KEY_NAME], |row| row.get(0))
            .optional()
            .stored()?;
        match known {
            Some(key) => Ok(key),
            None => connection
                .query_row(
                    "INSERT INTO meta(name, value) VALUES (?1, hex(randomblob(32)))
                     ON CONFLICT(name) DO UPDATE SET value = value RETURNING value",
                    params![KEY_NAME],
                    |row| row.get(0),
                )
                .stored(),
        }
    }

    fn tombstone_digest(connection: &Connection, kind: &str, value: &[u8]) -> Result<Vec<u8>> {
        let key = Self::tombstone_key(connection)?;
        // Hash, then hash again under the key: length extension gives nothing.
        let inner = Sha256::new().chain_update(kind).chain_update([0]).chain_update(value).finalize();
        Ok(Sha256::new().chain_update(key.as_bytes()).chain_update(inner).finalize().to_vec())
    }

    /// Remembers that something was forgotten in a scope, by its marks. `item` is its id.
    pub(crate) fn put_tombstone(&self, connection: &Connection, scope: i64, item: &str, marks: &[Mark]) -> Result<()> {
        let mut insert = connection
            .prepare_cached("INSERT OR REPLACE INTO tombstones(scope, digest, memory, at) VALUES (?1, ?2, ?3, ?4)")
            .stored()?;
        for mark in marks {
            let digest = Self::tombstone_digest(connection, mark.kind, &mark.value)?;
            insert.execute(params![scope, digest, item, self.clock.now().nanoseconds()]).stored()?;
        }
        Ok(())
    }

    /// True when something with one of these marks was forgotten in the scope.
    pub(crate) fn has_tombstone(connection: &Connection, scope: i64, marks: &[Mark]) -> Result<bool> {
        let any: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE scope = ?1)")
            .stored()?
            .query_row(params![scope], |row| row.get(0))
            .stored()?;
        if !any {
            return Ok(false);
        }
        let mut select = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE scope = ?1 AND digest = ?2)")
            .stored()?;
        for mark in marks {
            let digest = Self::tombstone_digest(connection, mark.kind, &mark.value)?;
            if select.query_row(params![scope, digest], |row| row.get(0)).stored()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True when the item with this id was forgotten.
    pub(crate) fn has_tombstone_of(connection: &Connection, item: &str) -> Result<bool> {
        connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE memory = ?1)")
            .stored()?
            .query_row(params![item], |row| row.get(0))
            .stored()
    }

    /// Takes back the tombstones of a memory that is restored, and any of the same text.
    pub(crate) fn remove_tombstones(
        connection: &Connection,
        scope: i64,
        memory: &str,
        canonical_hash: &[u8],
    ) -> Result<()> {
        let digest = Self::tombstone_digest(connection, "text", canonical_hash)?;
        connection
            .prepare_cached("DELETE FROM tombstones WHERE scope = ?1 AND (memory = ?2 OR digest = ?3)")
            .stored()?
            .execute(params![scope, memory, digest])
            .stored()?;
        Ok(())
    }
}
