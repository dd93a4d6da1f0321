//! What each index generation has taken in, as far as truth keeps account of it.

use memory_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::row::{SqliteResult, signed, unsigned};

/// Where a generation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexPhase {
    /// It is being filled beside the one in use.
    Building,
    /// It is in use.
    Ready,
}

impl IndexPhase {
    fn name(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Ready => "ready",
        }
    }
}

/// One generation of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexState {
    /// `text` or `vector`.
    pub(crate) kind: String,
    /// Counts rebuilds.
    pub(crate) generation: u64,
    /// Tokeniser and schema, or embedder.
    pub(crate) fingerprint: String,
    /// The last change of the outbox that it has taken in.
    pub(crate) applied: u64,
    /// The number of its newest state, for an index that counts them; 0 otherwise.
    pub(crate) version: u64,
    /// Where it stands.
    pub(crate) phase: IndexPhase,
    /// While building: the last entry that was copied.
    pub(crate) cursor: Option<u64>,
}

impl Store {
    /// The generations of an index, newest first.
    pub(crate) fn index_states(connection: &Connection, kind: &str) -> Result<Vec<IndexState>> {
        let mut statement = connection
            .prepare_cached(
                "SELECT generation, fingerprint, applied, phase, cursor, version FROM index_state WHERE kind = ?1
                 ORDER BY generation DESC",
            )
            .stored()?;
        let rows = statement
            .query_map(params![kind], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?,
                    row.get::<_, String>(3)?,
                    row.get::<_, Option<String>>(4)?,
                    row.get::<_, i64>(5)?,
                ))
            })
            .stored()?;
        rows.map(|row| {
            let (generation, fingerprint, applied, phase, cursor, version) = row.stored()?;
            let phase = match phase.as_str() {
                "building" => IndexPhase::Building,
                "ready" => IndexPhase::Ready,
                _ => return Err(Error::new(ErrorKind::Corrupt, "the account of an index is damaged")),
            };
            Ok(IndexState {
                kind: kind.to_owned(),
                generation: unsigned(generation),
                fingerprint,
                applied: unsigned(applied),
                version: unsigned(version),
                phase,
                cursor: cursor.and_then(|cursor| cursor.parse().ok()),
            })
        })
        .collect()
    }

    /// Writes the account of a generation.
    pub(crate) fn put_index_state(connection: &Connection, state: &IndexState) -> Result<()> {
        connection
            .prepare_cached(
                "INSERT INTO index_state(kind, generation, fingerprint, applied, phase, cursor, version)
                 VALUES (?1,?2,?3,?4,?5,?6,?7)
                 ON CONFLICT(kind, generation) DO UPDATE SET fingerprint=excluded.fingerprint, applied=excluded.applied,
                    phase=excluded.phase, cursor=excluded.cursor, version=excluded.version",
            )
            .stored()?
            .execute(params![
                state.kind,
                signed(state.generation),
                state.fingerprint,
                signed(state.applied),
                state.phase.name(),
                state.cursor.map(|cursor| cursor.to_string()),
                signed(state.version)
            ])
            .stored()?;
        Ok(())
    }

    /// Forgets generations other than `keep`.
    pub(crate) fn drop_other_index_states(connection: &Connection, kind: &str, keep: u64) -> Result<()> {
        connection
            .prepare_cached("DELETE FROM index_state WHERE kind = ?1 AND generation <> ?2")
            .stored()?
            .execute(params![kind, signed(keep)])
            .stored()?;
        Ok(())
    }

    /// A named value of the store.
    pub(crate) fn meta(connection: &Connection, name: &str) -> Result<Option<String>> {
        connection
            .prepare_cached("SELECT value FROM meta WHERE name = ?1")
            .stored()?
            .query_row(params![name], |row| row.get(0))
            .optional()
            .stored()
    }

    /// Sets a named value of the store.
    pub(crate) fn set_meta(connection: &Connection, name: &str, value: &str) -> Result<()> {
        connection
            .prepare_cached(
                "INSERT INTO meta(name, value) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            )
            .stored()?
            .execute(params![name, value])
            .stored()?;
        Ok(())
    }
}
