//! Scopes by number.

use memory_core::{Result, Scope};
use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::row::SqliteResult;

impl Store {
    /// The number of a scope, made when it is new.
    pub(crate) fn scope_number(connection: &Connection, scope: &Scope) -> Result<i64> {
        if let Some(number) = Self::known_scope_number(connection, &scope.key())? {
            return Ok(number);
        }
        scope.check()?;
        connection
            .prepare_cached("INSERT INTO scopes(text) VALUES (?1) RETURNING key")
            .stored()?
            .query_row(params![scope.key()], |row| row.get(0))
            .stored()
    }

    /// The number of a scope that has been written to.
    pub(crate) fn known_scope_number(connection: &Connection, scope_key: &str) -> Result<Option<i64>> {
        connection
            .prepare_cached("SELECT key FROM scopes WHERE text = ?1")
            .stored()?
            .query_row(params![scope_key], |row| row.get(0))
            .optional()
            .stored()
    }

    /// The numbers of those of `scope_keys` that have been written to.
    pub(crate) fn known_scope_numbers(connection: &Connection, scope_keys: &[String]) -> Result<Vec<i64>> {
        let mut numbers = Vec::with_capacity(scope_keys.len());
        for key in scope_keys {
            numbers.extend(Self::known_scope_number(connection, key)?);
        }
        Ok(numbers)
    }

    /// Every scope that has been written to.
    pub(crate) fn all_scopes(connection: &Connection) -> Result<Vec<Scope>> {
        let mut statement = connection.prepare_cached("SELECT text FROM scopes ORDER BY key").stored()?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).stored()?;
        rows.map(|row| Scope::from_key(&row.stored()?)).collect()
    }
}
