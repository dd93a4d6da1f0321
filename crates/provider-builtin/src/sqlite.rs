//! How a database of a home is opened, migrated and used, for every crate that keeps one there.

use std::path::Path;

use memory_core::Result;
use rusqlite::Connection;

pub use crate::blocking::blocking;
pub use crate::error::from_sqlite;

/// Opens the database at `path` and brings it up to the last of `migrations`: write-ahead log, every commit on disk when it
/// returns, deleted text overwritten, readable by its owner alone. A database of a newer program is refused, untouched.
pub fn open(path: &Path, migrations: &[&str]) -> Result<Connection> {
    let mut connection = crate::store::open_private(path)?;
    crate::store::apply_migrations(&mut connection, migrations)?;
    Ok(connection)
}
