//! Numbered migrations. `PRAGMA user_version` is the number of the last one applied; each runs in one transaction.

use memory_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::from_sqlite;

/// Every migration, in order. Never change one that has been released; add another.
pub(super) const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_foundation.sql"), include_str!("migrations/0002_index_version.sql")];

/// Brings the store to the newest version. A store from a newer program is refused, untouched.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    apply(connection, MIGRATIONS)
}

/// Applies those of `migrations` that the database does not have yet.
pub(crate) fn apply(connection: &mut Connection, migrations: &[&str]) -> Result<()> {
    let operation = "migrate the store";
    if version(connection)? == migrations.len() {
        return Ok(());
    }
    // Another process may be migrating at this moment: the version is read again inside the write transaction.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| from_sqlite(operation, error))?;
    let from = version(&transaction)?;
    if from > migrations.len() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the store has version {from}, this program knows versions up to {}", migrations.len()),
        )
        .with_operation(operation)
        .with_hint("use a newer `memory`, or another home"));
    }
    for (number, migration) in migrations.iter().enumerate().skip(from) {
        transaction.execute_batch(migration).map_err(|error| from_sqlite(operation, error))?;
        transaction
            .pragma_update(None, "user_version", (number + 1) as i64)
            .map_err(|error| from_sqlite(operation, error))?;
        crate::failpoint::reach("migration_step");
    }
    transaction.commit().map_err(|error| from_sqlite(operation, error))
}

fn version(connection: &Connection) -> Result<usize> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        .map(|version| usize::try_from(version).unwrap_or(usize::MAX))
        .map_err(|error| from_sqlite("migrate the store", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_version(number: usize) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for migration in &MIGRATIONS[..number] {
            connection.execute_batch(migration).unwrap();
        }
        connection.pragma_update(None, "user_version", number as i64).unwrap();
        connection
    }

    #[test]
    fn every_earlier_version_reaches_the_newest_with_the_same_schema() {
        let schema = |connection: &Connection| -> Vec<String> {
            let mut statement = connection
                .prepare("SELECT coalesce(sql, name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
                .unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let mut fresh = at_version(0);
        migrate(&mut fresh).unwrap();
        for number in 0..=MIGRATIONS.len() {
            let mut connection = at_version(number);
            migrate(&mut connection).unwrap();
            assert_eq!(version(&connection).unwrap(), MIGRATIONS.len());
            assert_eq!(schema(&connection), schema(&fresh));
        }
    }

    #[test]
    fn a_newer_store_is_refused_untouched() {
        let mut connection = at_version(MIGRATIONS.len());
        connection.pragma_update(None, "user_version", (MIGRATIONS.len() + 1) as i64).unwrap();
        let error = migrate(&mut connection).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(version(&connection).unwrap(), MIGRATIONS.len() + 1);
    }

    #[test]
    fn all_tables_are_strict() {
        let mut connection = at_version(0);
        migrate(&mut connection).unwrap();
        let loose: Vec<String> = connection
            .prepare("SELECT name FROM pragma_table_list WHERE schema='main' AND type='table' AND strict=0 AND name NOT LIKE 'sqlite_%'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(loose.is_empty(), "{loose:?}");
    }
}
