//! The outbox: keys of entries that changed and that the indexes have not taken in yet.

use memory_core::Result;
use memory_index::EntryKey;
use rusqlite::{Connection, params};

use super::Store;
use super::row::{SqliteResult, signed, unsigned};

impl Store {
    /// Tells the indexes that an entry changed. Part of the transaction that changed it.
    pub(crate) fn append_outbox(connection: &Connection, entry: EntryKey) -> Result<()> {
        connection
            .prepare_cached("INSERT INTO outbox(entry) VALUES (?1)")
            .stored()?
            .execute(params![entry.as_u64().cast_signed()])
            .stored()?;
        Ok(())
    }

    /// Up to `limit` changes after `sequence`, oldest first.
    pub(crate) fn outbox_after(connection: &Connection, sequence: u64, limit: usize) -> Result<Vec<(u64, EntryKey)>> {
        let mut statement = connection
            .prepare_cached("SELECT sequence, entry FROM outbox WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")
            .stored()?;
        let rows = statement
            .query_map(params![signed(sequence), limit as i64], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })
            .stored()?;
        rows.map(|row| {
            let (sequence, entry) = row.stored()?;
            Ok((unsigned(sequence), EntryKey::from_u64(entry.cast_unsigned())?))
        })
        .collect()
    }

    /// The newest `limit` changes that wait, newest first.
    pub(crate) fn newest_outbox(connection: &Connection, limit: usize) -> Result<Vec<(u64, EntryKey)>> {
        let mut statement =
            connection.prepare_cached("SELECT sequence, entry FROM outbox ORDER BY sequence DESC LIMIT ?1").stored()?;
        let rows = statement
            .query_map(params![limit as i64], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
            .stored()?;
        rows.map(|row| {
            let (sequence, entry) = row.stored()?;
            Ok((unsigned(sequence), EntryKey::from_u64(entry.cast_unsigned())?))
        })
        .collect()
    }

    /// The sequence number of the last change ever made, also when it has been trimmed.
    pub(crate) fn last_sequence(connection: &Connection) -> Result<u64> {
        connection
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox'")
            .stored()?
            .query_row([], |row| row.get::<_, i64>(0))
            .map(unsigned)
            .stored()
    }

    /// How many changes after `sequence` wait.
    pub(crate) fn outbox_length(connection: &Connection, sequence: u64) -> Result<u64> {
        connection
            .prepare_cached("SELECT count(*) FROM outbox WHERE sequence > ?1")
            .stored()?
            .query_row(params![signed(sequence)], |row| row.get::<_, i64>(0))
            .map(unsigned)
            .stored()
    }

    /// Removes the changes that every index has taken in.
    pub(crate) fn trim_outbox(connection: &Connection, up_to: u64) -> Result<()> {
        connection
            .prepare_cached("DELETE FROM outbox WHERE sequence <= ?1")
            .stored()?
            .execute(params![signed(up_to)])
            .stored()?;
        Ok(())
    }

    /// Up to `limit` row numbers of a table of entries after `key`, in order.
    pub(crate) fn keys_after(connection: &Connection, table: &'static str, key: i64, limit: usize) -> Result<Vec<i64>> {
        let mut statement = connection
            .prepare_cached(&format!("SELECT key FROM {table} WHERE key > ?1 ORDER BY key LIMIT ?2"))
            .stored()?;
        let rows = statement.query_map(params![key, limit as i64], |row| row.get(0)).stored()?;
        rows.map(SqliteResult::stored).collect()
    }

    /// The newest `limit` row numbers of a table of entries.
    pub(crate) fn newest_keys(connection: &Connection, table: &'static str, limit: usize) -> Result<Vec<i64>> {
        let mut statement =
            connection.prepare_cached(&format!("SELECT key FROM {table} ORDER BY key DESC LIMIT ?1")).stored()?;
        let rows = statement.query_map(params![limit as i64], |row| row.get(0)).stored()?;
        rows.map(SqliteResult::stored).collect()
    }
}
