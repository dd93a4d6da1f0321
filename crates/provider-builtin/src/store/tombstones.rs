//! Digests of what was forgotten, so that it does not come back by re-import. Digests are keyed with a random key of
//! the store, so that a digest alone does not let an outsider test guesses.

use memory_core::Result;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::Store;
use super::row::SqliteResult;

const KEY_NAME: &str = "tombstone_key";

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

    /// Remembers that a text, and a foreign id, were forgotten in a scope.
    pub(crate) fn put_tombstone(
        &self,
        connection: &Connection,
        scope: i64,
        memory: &str,
        canonical_hash: &[u8],
        external_id: Option<&str>,
    ) -> Result<()> {
        let mut digests = vec![Self::tombstone_digest(connection, "text", canonical_hash)?];
        if let Some(external_id) = external_id {
            digests.push(Self::tombstone_digest(connection, "external_id", external_id.as_bytes())?);
        }
        let mut insert = connection
            .prepare_cached("INSERT OR REPLACE INTO tombstones(scope, digest, memory, at) VALUES (?1, ?2, ?3, ?4)")
            .stored()?;
        for digest in digests {
            insert.execute(params![scope, digest, memory, self.clock.now().nanoseconds()]).stored()?;
        }
        Ok(())
    }

    /// True when this text or foreign id was forgotten in the scope.
    pub(crate) fn has_tombstone(
        connection: &Connection,
        scope: i64,
        canonical_hash: &[u8],
        external_id: Option<&str>,
    ) -> Result<bool> {
        let any: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE scope = ?1)")
            .stored()?
            .query_row(params![scope], |row| row.get(0))
            .stored()?;
        if !any {
            return Ok(false);
        }
        let mut digests = vec![Self::tombstone_digest(connection, "text", canonical_hash)?];
        if let Some(external_id) = external_id {
            digests.push(Self::tombstone_digest(connection, "external_id", external_id.as_bytes())?);
        }
        let mut select = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM tombstones WHERE scope = ?1 AND digest = ?2)")
            .stored()?;
        for digest in digests {
            if select.query_row(params![scope, digest], |row| row.get(0)).stored()? {
                return Ok(true);
            }
        }
        Ok(false)
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
