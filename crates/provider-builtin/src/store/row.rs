//! Small conversions between columns and types.

use memory_core::{Error, ErrorKind, Result, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{from_sqlite, from_stored_json};

/// Maps SQLite errors of reading and writing rows.
pub(super) trait SqliteResult<T> {
    fn stored(self) -> Result<T>;
}

impl<T> SqliteResult<T> for rusqlite::Result<T> {
    fn stored(self) -> Result<T> {
        self.map_err(|error| from_sqlite("access the store", error))
    }
}

/// A time column and its offset column.
pub(super) fn time(nanoseconds: i64, offset: i64) -> Timestamp {
    Timestamp::from_nanoseconds(nanoseconds).with_offset(i16::try_from(offset).unwrap_or(0))
}

/// A field stored as JSON.
pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| from_stored_json("access the store", error))
}

/// A field to be stored as JSON.
pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| from_stored_json("access the store", error))
}

/// The snake_case name of an enum value.
pub(super) fn name<T: Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => Ok(name),
        _ => Err(Error::unexpected("a value has no name to be stored by")),
    }
}

/// An enum value by its snake_case name.
pub(super) fn named<T: DeserializeOwned>(name: String) -> Result<T> {
    serde_json::from_value(serde_json::Value::String(name)).map_err(|error| from_stored_json("access the store", error))
}

/// An id column.
pub(super) fn id(text: &str) -> Result<memory_core::Id> {
    text.parse().map_err(|_| Error::new(ErrorKind::Corrupt, "a stored id is damaged"))
}

/// A non-negative column.
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A number for a column; SQLite's integers are signed.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// `?,?,?` for `count` values.
pub(super) fn placeholders(count: usize) -> String {
    let mut text = "?,".repeat(count);
    text.pop();
    text
}
