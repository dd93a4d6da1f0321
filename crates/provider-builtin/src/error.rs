//! The one place that turns foreign errors into the project's error.

use memory_core::{Error, ErrorKind};

/// Maps an error of SQLite met while doing `operation`.
pub fn from_sqlite(operation: &'static str, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let code = error.sqlite_error_code();
    let (kind, message, hint) = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (ErrorKind::Busy, "the store is busy", "another process holds it for long: see `memory doctor`")
        }
        Some(ErrorCode::DiskFull) => {
            (ErrorKind::Storage, "the disk is full, nothing was written", "make room and try again")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => (
            ErrorKind::Storage,
            "the store is read-only, nothing was written",
            "check the owner and mode of the home directory",
        ),
        Some(ErrorCode::CannotOpen) => {
            (ErrorKind::Storage, "the store cannot be opened", "check that the home directory exists and is yours")
        }
        Some(ErrorCode::SystemIoFailure) => {
            (ErrorKind::Storage, "reading or writing the store failed", "check the disk; nothing half-written is kept")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
            ErrorKind::Corrupt,
            "the store is damaged",
            "run `memory doctor`; restore store.db from a backup or `memory export` bundle",
        ),
        _ => (
            ErrorKind::Unexpected,
            "the store refused an operation",
            "run `memory doctor`, and report this if it persists",
        ),
    };
    Error::new(kind, message).with_operation(operation).with_source(error).with_hint(hint)
}

/// Maps an error of the file system met on `path`.
pub(crate) fn from_io(operation: &'static str, path: &std::path::Path, error: std::io::Error) -> Error {
    let hint = match error.kind() {
        std::io::ErrorKind::StorageFull => "the disk is full: make room and try again",
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            "check the owner and mode of the path"
        }
        std::io::ErrorKind::NotFound => "check the path",
        _ => "check the disk",
    };
    Error::new(ErrorKind::Storage, format!("cannot {operation}"))
        .with_operation(operation)
        .with_context("path", path.display())
        .with_source(error)
        .with_hint(hint)
}

/// Maps an error of JSON that the store itself wrote.
pub(crate) fn from_stored_json(operation: &'static str, error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored field is damaged")
        .with_operation(operation)
        .with_source(error)
        .with_hint("run `memory doctor`")
}
