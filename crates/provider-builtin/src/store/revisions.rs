//! Former states of memories, and the audit trail.

use memory_core::{Memory, Result, Timestamp};
use rusqlite::{Connection, params};

use super::row::{SqliteResult, json, signed, to_json, unsigned};
use super::{MemoryRow, Store};

/// One line of the audit trail about an item.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) at: Timestamp,
    pub(crate) operation: String,
    pub(crate) revision: u64,
}

impl Store {
    /// Keeps the present state of a memory before it changes.
    pub(crate) fn keep_revision(connection: &Connection, row: &MemoryRow) -> Result<()> {
        connection
            .prepare_cached("INSERT OR REPLACE INTO revisions(memory, revision, snapshot) VALUES (?1, ?2, ?3)")
            .stored()?
            .execute(params![row.key, signed(row.memory.revision), to_json(&row.memory)?])
            .stored()?;
        Ok(())
    }

    /// The former states of a memory, oldest first.
    pub(crate) fn former_states(connection: &Connection, memory: i64) -> Result<Vec<Memory>> {
        let mut statement =
            connection.prepare_cached("SELECT snapshot FROM revisions WHERE memory = ?1 ORDER BY revision").stored()?;
        let rows = statement.query_map(params![memory], |row| row.get::<_, String>(0)).stored()?;
        rows.map(|row| json(&row.stored()?)).collect()
    }

    /// Adds a line to the audit trail. `details` never holds text of a memory.
    pub(crate) fn record_event(
        &self,
        connection: &Connection,
        operation: &str,
        item: Option<&str>,
        revision: Option<u64>,
        details: Option<&str>,
    ) -> Result<()> {
        connection
            .prepare_cached("INSERT INTO events(at, operation, item, revision, details) VALUES (?1, ?2, ?3, ?4, ?5)")
            .stored()?
            .execute(params![self.clock.now().nanoseconds(), operation, item, revision.map(signed), details])
            .stored()?;
        Ok(())
    }

    /// The audit trail of an item, oldest first.
    pub(crate) fn events_of(connection: &Connection, item: &str) -> Result<Vec<Event>> {
        let mut statement = connection
            .prepare_cached("SELECT at, operation, coalesce(revision, 0) FROM events WHERE item = ?1 ORDER BY sequence")
            .stored()?;
        let rows = statement
            .query_map(params![item], |row| {
                Ok(Event {
                    at: Timestamp::from_nanoseconds(row.get(0)?),
                    operation: row.get(1)?,
                    revision: unsigned(row.get(2)?),
                })
            })
            .stored()?;
        rows.map(SqliteResult::stored).collect()
    }
}
