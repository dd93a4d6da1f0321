//! The lock that makes one process the indexer. The system releases it when the process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use memory_core::Result;

use crate::error::from_io;

/// Holds the indexer's lock until dropped.
#[derive(Debug)]
pub(crate) struct IndexerLock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

/// Takes the lock, or says `None` when another process (or another pass of this one) has it.
pub(crate) fn try_lock(folder: &Path) -> Result<Option<IndexerLock>> {
    let operation = "lock the index folder";
    std::fs::create_dir_all(folder).map_err(|error| from_io(operation, folder, error))?;
    let path = folder.join("indexer.lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| from_io(operation, &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(IndexerLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(from_io(operation, &path, error)),
    }
}
