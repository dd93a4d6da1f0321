//! Truth: the SQLite store. Everything here is synchronous; callers run it on blocking threads.

mod documents;
mod embedding_cache;
mod index_state;
mod memories;
mod messages;
mod migrations;
mod outbox;
mod resolve;
mod revisions;
mod row;
mod scopes;
mod statistics;
mod tombstones;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory_core::{Clock, Error, IdGenerator, Result};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{from_io, from_sqlite};

pub(crate) use documents::{ChunkRow, DocumentRow, NewChunk, NewDocument};
pub(crate) use embedding_cache::SqliteEmbeddingCache;
pub(crate) use index_state::{IndexPhase, IndexState};
pub(crate) use memories::MemoryRow;
pub(crate) use messages::{MessageRow, segment_entry, segment_parts};
pub(crate) use migrations::apply as apply_migrations;
pub(crate) use resolve::ResolvedItem;
pub(crate) use tombstones::Mark;

/// How long a statement waits for another process's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// Connections kept for readers; more are opened when all are in use, and closed afterwards.
const IDLE_READERS: usize = 4;

/// The store of one home: one writing connection, a few reading ones.
pub(crate) struct Store {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    ids: IdGenerator,
    clock: Arc<dyn Clock>,
}

impl Store {
    /// Opens the store at `path`, making or migrating it where needed.
    pub(crate) fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let mut writer = open_private(path)?;
        migrations::migrate(&mut writer)?;
        Ok(Self {
            path: path.to_owned(),
            writer: Mutex::new(writer),
            readers: Mutex::new(Vec::new()),
            ids: IdGenerator::default(),
            clock,
        })
    }

    /// The file it lives in.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The clock it stamps with.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// A fresh id for something made now.
    pub(crate) fn next_id(&self) -> memory_core::Id {
        self.ids.next(self.clock.now())
    }

    /// Runs `work` in one write transaction. It is committed, durably, exactly when `work` succeeds.
    pub(crate) fn write<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut writer = self.lock_writer();
        let transaction = writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| from_sqlite(operation, error))?;
        let answer = work(&transaction).map_err(|error| error.with_operation(operation))?;
        crate::failpoint::reach("before_commit");
        transaction.commit().map_err(|error| from_sqlite(operation, error))?;
        crate::failpoint::reach("after_commit");
        Ok(answer)
    }

    /// Runs `work` on one consistent view of the store.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let pooled = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = match pooled {
            Some(reader) => reader,
            None => connect(&self.path)?,
        };
        let answer = {
            let transaction = reader.transaction().map_err(|error| from_sqlite(operation, error))?;
            work(&transaction).map_err(|error| error.with_operation(operation))
        };
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(reader);
        }
        answer
    }

    /// Runs `work` outside a transaction on the writing connection, for VACUUM and checkpoints.
    pub(crate) fn maintain<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(&self.lock_writer()).map_err(|error| from_sqlite(operation, error))
    }

    fn lock_writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a database that only its owner may read, making file and folder where needed.
pub(crate) fn open_private(path: &Path) -> Result<Connection> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| from_io("create the home directory", folder, error))?;
    }
    let connection = connect(path)?;
    restrict_access(path)?;
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| opening(path, error))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| opening(path, error))?;
    // FULL: an acknowledged write survives a power cut. secure_delete: removed text is overwritten in the file.
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
             PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192; PRAGMA mmap_size = 268435456;",
        )
        .map_err(|error| opening(path, error))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn opening(path: &Path, error: rusqlite::Error) -> Error {
    from_sqlite("open the store", error).with_context("path", path.display())
}

/// Memories are private: only their owner may read the file.
#[cfg(unix)]
fn restrict_access(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).map_err(|error| from_io("open the store", path, error))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        // A foreign owner's file stays as it is; opening it already succeeded.
        if let Err(error) = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)) {
            tracing::warn!(%error, path = %path.display(), "the store is readable by others");
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict_access(_path: &Path) -> Result<()> {
    Ok(())
}
