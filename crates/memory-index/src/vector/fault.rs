//! Foreign errors and panics of the vector index, in our terms.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::Path;

use futures::FutureExt;
use memory_core::{Error, ErrorKind, Result};

/// Translates an error of the engine. Its errors are many and nested; what decides is the error of the operating
/// system at the bottom, if there is one.
pub(super) fn fault(error: impl Into<lancedb::Error>) -> Error {
    let error = error.into();
    let kind = match &error {
        lancedb::Error::TableNotFound { .. } | lancedb::Error::TableCorrupted { .. } => ErrorKind::Corrupt,
        lancedb::Error::DatabaseNotFound { .. } | lancedb::Error::Schema { .. } => ErrorKind::Corrupt,
        lancedb::Error::Timeout { .. } => ErrorKind::Timeout,
        lancedb::Error::CreateDir { source, .. } => io_kind(source),
        other => io_cause(other).map_or_else(|| text_kind(&other.to_string()), io_kind),
    };
    let message = match kind {
        ErrorKind::Busy => "another process changed the vector index at the same moment",
        ErrorKind::Storage => "the vector index cannot be read or written",
        ErrorKind::Timeout => "the vector index did not answer in time",
        _ => "the vector index is damaged",
    };
    Error::new(kind, message).with_source(error)
}

pub(super) fn arrow_fault(error: arrow_schema::ArrowError) -> Error {
    fault(error)
}

/// An answer of the engine that does not have the expected form.
pub(super) fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the vector index is damaged: {what}"))
}

fn io_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a io::Error> {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(found) = current.downcast_ref::<io::Error>() {
            return Some(found);
        }
        cause = current.source();
    }
    None
}

fn io_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::AlreadyExists => ErrorKind::Storage,
        _ => ErrorKind::Corrupt,
    }
}

fn text_kind(text: &str) -> ErrorKind {
    let text = text.to_lowercase();
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if any(&["commit conflict", "concurrent", "too many writers", "retryable"]) {
        ErrorKind::Busy
    } else if any(&["permission denied", "read-only file system", "no space left", "not a directory"]) {
        ErrorKind::Storage
    } else {
        ErrorKind::Corrupt
    }
}

/// Runs `action` on the index at `directory`. The engine may panic on damaged files; that becomes
/// [`ErrorKind::Corrupt`].
pub(super) async fn guarded<T>(directory: &Path, action: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = AssertUnwindSafe(action).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(malformed(text.unwrap_or("unknown fault")))
    });
    outcome.map_err(|error| {
        let damaged = error.kind() == ErrorKind::Corrupt;
        let error = error.with_context("path", directory.display());
        if damaged { error.with_hint("run `memory reindex` to build it anew; nothing is lost") } else { error }
    })
}
