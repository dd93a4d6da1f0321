//! Foreign errors and panics of the text index, in our terms.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use memory_core::{Error, ErrorKind, Result};
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

/// Translates an error of the engine.
pub(super) fn fault(error: TantivyError) -> Error {
    let kind = match &error {
        TantivyError::LockFailure(LockError::LockBusy, _) => ErrorKind::Busy,
        TantivyError::LockFailure(LockError::IoError(cause), _) => io_kind(cause),
        TantivyError::IoError(cause)
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error: cause, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: cause, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: cause, .. }) => io_kind(cause),
        TantivyError::OpenDirectoryError(OpenDirectoryError::NotADirectory(_)) => ErrorKind::Storage,
        TantivyError::OpenReadError(_)
        | TantivyError::OpenDirectoryError(_)
        | TantivyError::DataCorruption(_)
        | TantivyError::SchemaError(_)
        | TantivyError::FieldNotFound(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::ErrorInThread(_)
        | TantivyError::InternalError(_)
        | TantivyError::DeserializeError(_) => ErrorKind::Corrupt,
        TantivyError::InvalidArgument(_) => ErrorKind::InvalidRequest,
        _ => ErrorKind::Unexpected,
    };
    let message = match kind {
        ErrorKind::Busy => "another process is writing the text index",
        ErrorKind::Storage => "the text index cannot be read or written",
        ErrorKind::Corrupt => "the text index is damaged",
        _ => "the text index failed",
    };
    Error::new(kind, message).with_source(error)
}

/// What an error of the operating system means for an index that ought to be there.
pub(super) fn io_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => ErrorKind::Corrupt,
        io::ErrorKind::InvalidInput | io::ErrorKind::Other => ErrorKind::Corrupt,
        _ => ErrorKind::Storage,
    }
}

pub(super) fn io_fault(error: io::Error) -> Error {
    fault(TantivyError::from(error))
}

/// Runs `action` on the index at `directory`. The engine panics on some kinds of damaged files; that becomes
/// [`ErrorKind::Corrupt`].
pub(super) fn guarded<T>(directory: &Path, action: impl FnOnce() -> Result<T>) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Error::new(ErrorKind::Corrupt, "the text index is damaged")
            .with_context("fault", text.unwrap_or("unknown")))
    });
    outcome.map_err(|error| {
        let damaged = error.kind() == ErrorKind::Corrupt;
        let error = error.with_context("path", directory.display());
        if damaged { error.with_hint("run `memory reindex` to build it anew; nothing is lost") } else { error }
    })
}
