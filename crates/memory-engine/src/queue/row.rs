//! Small conversions between columns and types.

use memory_core::{Delivery, Id, Link, Scope, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Error, Result, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The columns that [`delivery`] reads, in order.
pub(super) const DELIVERY: &str = "number, scope, key, local_id, work, state, attempts, created_at, due_at, last_error";

/// A delivery from the columns of [`DELIVERY`].
pub(super) fn delivery(row: &Row<'_>) -> Result<Delivery> {
    let scope: String = row.get(1)?;
    let state: String = row.get(5)?;
    Ok(Delivery {
        number: row.get(0)?,
        scope: Scope::from_key(&scope).map_err(|error| damaged(1, error))?,
        key: row.get(2)?,
        local_id: row.get::<_, Option<String>>(3)?.map(|text| id(3, &text)).transpose()?,
        work: json(4, &row.get::<_, String>(4)?)?,
        state: json(5, &format!("\"{state}\""))?,
        attempts: row.get(6)?,
        created_at: Timestamp::from_nanoseconds(row.get(7)?),
        due_at: Timestamp::from_nanoseconds(row.get(8)?),
        last_error: row.get(9)?,
    })
}

/// A link from the columns local, remote, forgotten.
pub(super) fn link(row: &Row<'_>) -> Result<Link> {
    Ok(Link {
        local: id(0, &row.get::<_, String>(0)?)?,
        remote: id(1, &row.get::<_, String>(1)?)?,
        forgotten: row.get(2)?,
    })
}

/// A value to be stored as JSON.
pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))
}

/// The snake_case name of an enum value.
pub(super) fn name<T: Serialize>(value: &T) -> Result<String> {
    to_json(value).map(|json| json.trim_matches('"').to_owned())
}

fn id(column: usize, text: &str) -> Result<Id> {
    text.parse().map_err(|error: memory_core::Error| damaged(column, error))
}

fn json<T: DeserializeOwned>(column: usize, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| damaged(column, error))
}

fn damaged(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
