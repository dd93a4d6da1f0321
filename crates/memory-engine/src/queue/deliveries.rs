//! The table of deliveries. Everything here is synchronous and runs inside a write transaction.

use memory_core::{Delivery, DeliveryState, Id, NewDelivery, Timestamp};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::Chosen;
use super::row::{DELIVERY, delivery, name, to_json};

/// The first waiting delivery of each scope, found by leaping from scope to scope in the index: a scope with ten thousand
/// deliveries costs as much as one with a single one.
const HEADS: &str = "WITH RECURSIVE scopes(scope) AS (
       SELECT min(scope) FROM deliveries WHERE provider = ?1 AND state = 'waiting'
       UNION ALL
       SELECT (SELECT min(d.scope) FROM deliveries d
               WHERE d.provider = ?1 AND d.state = 'waiting' AND d.scope > scopes.scope)
       FROM scopes WHERE scopes.scope IS NOT NULL),
     heads(number, scope) AS (
       SELECT (SELECT min(d.number) FROM deliveries d
               WHERE d.provider = ?1 AND d.state = 'waiting' AND d.scope = scopes.scope), scope
       FROM scopes WHERE scope IS NOT NULL),
     ready(number, scope, due_at) AS (
       SELECT heads.number, heads.scope, max(d.due_at, coalesce(
         (SELECT max(t.taken_until) FROM deliveries t
          WHERE t.provider = ?1 AND t.scope = heads.scope AND t.taken_until IS NOT NULL), 0))
       FROM heads JOIN deliveries d ON d.number = heads.number)";

/// Keeps a delivery and answers its number. A key that is there already is the same delivery.
pub(super) fn put(
    connection: &Connection,
    provider: &str,
    state: DeliveryState,
    new: &NewDelivery,
    now: Timestamp,
) -> Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO deliveries(provider, scope, key, local_id, work, state, created_at, due_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT (provider, key) DO NOTHING",
        )?
        .execute(params![
            provider,
            new.scope.key(),
            new.key,
            new.local_id.as_ref().map(Id::as_str),
            to_json(&new.work)?,
            name(&state)?,
            now.nanoseconds()
        ])?;
    connection
        .prepare_cached("SELECT number FROM deliveries WHERE provider = ?1 AND key = ?2")?
        .query_row(params![provider, new.key], |row| row.get(0))
}

pub(super) fn release(connection: &Connection, number: i64, local_id: Option<&Id>) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE deliveries SET state = 'waiting', local_id = coalesce(?2, local_id)
             WHERE number = ?1 AND state = 'prepared'",
        )?
        .execute(params![number, local_id.map(Id::as_str)])?;
    Ok(())
}

pub(super) fn pending(connection: &Connection, provider: &str, local: &Id) -> Result<Option<Delivery>> {
    let sql =
        format!("SELECT {DELIVERY} FROM deliveries WHERE provider = ?1 AND local_id = ?2 ORDER BY number LIMIT 1");
    connection.prepare_cached(&sql)?.query_row(params![provider, local.as_str()], delivery).optional()
}

pub(super) fn abandoned(connection: &Connection, provider: &str, before: Timestamp) -> Result<Vec<Delivery>> {
    let sql = format!(
        "SELECT {DELIVERY} FROM deliveries WHERE provider = ?1 AND state = 'prepared' AND created_at < ?2 ORDER BY number"
    );
    connection.prepare_cached(&sql)?.query_map(params![provider, before.nanoseconds()], delivery)?.collect()
}

pub(super) fn take(
    connection: &Connection,
    provider: &str,
    scope: Option<&str>,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<Delivery>> {
    let now = now.nanoseconds();
    // `ready` counts the lease of any delivery of the scope, also of one that is not its first any more.
    let number: Option<i64> = match scope {
        Some(scope) => connection
            .prepare_cached(
                "SELECT d.number FROM deliveries d WHERE d.due_at <= ?3 AND d.number =
                   (SELECT min(number) FROM deliveries WHERE provider = ?1 AND state = 'waiting' AND scope = ?2)
                 AND NOT EXISTS (SELECT 1 FROM deliveries t
                   WHERE t.provider = ?1 AND t.scope = ?2 AND t.taken_until IS NOT NULL AND t.taken_until > ?3)",
            )?
            .query_row(params![provider, scope, now], |row| row.get(0))
            .optional()?,
        None => connection
            .prepare_cached(&format!("{HEADS} SELECT number FROM ready WHERE due_at <= ?2 ORDER BY number LIMIT 1"))?
            .query_row(params![provider, now], |row| row.get(0))
            .optional()?,
    };
    let Some(number) = number else { return Ok(None) };
    connection
        .prepare_cached("UPDATE deliveries SET taken_until = ?2, attempts = attempts + 1 WHERE number = ?1")?
        .execute(params![number, until.nanoseconds()])?;
    connection
        .prepare_cached(&format!("SELECT {DELIVERY} FROM deliveries WHERE number = ?1"))?
        .query_row([number], delivery)
        .optional()
}

pub(super) fn postpone(connection: &Connection, number: i64, due_at: Timestamp, error: &str) -> Result<()> {
    connection
        .prepare_cached("UPDATE deliveries SET due_at = ?2, taken_until = NULL, last_error = ?3 WHERE number = ?1")?
        .execute(params![number, due_at.nanoseconds(), error])?;
    Ok(())
}

pub(super) fn refuse(connection: &Connection, number: i64, error: &str) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE deliveries SET state = 'refused', taken_until = NULL, last_error = ?2 WHERE number = ?1",
        )?
        .execute(params![number, error])?;
    Ok(())
}

/// How many wait, prepared ones included, and how many stand aside.
pub(super) fn count(connection: &Connection, provider: &str) -> Result<(u64, u64)> {
    connection
        .prepare_cached(
            "SELECT count(*) FILTER (WHERE state <> 'refused'), count(*) FILTER (WHERE state = 'refused')
             FROM deliveries WHERE provider = ?1",
        )?
        .query_row([provider], |row| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs())))
}

/// Every provider that has deliveries, with the counts of [`count`].
pub(super) fn providers(connection: &Connection) -> Result<Vec<(String, u64, u64)>> {
    connection
        .prepare_cached(
            "SELECT provider, count(*) FILTER (WHERE state <> 'refused'), count(*) FILTER (WHERE state = 'refused')
             FROM deliveries GROUP BY provider ORDER BY provider",
        )?
        .query_map([], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs(), row.get::<_, i64>(2)?.unsigned_abs()))
        })?
        .collect()
}

pub(super) fn next_due(connection: &Connection, provider: &str) -> Result<Option<Timestamp>> {
    connection
        .prepare_cached(&format!("{HEADS} SELECT min(due_at) FROM ready"))?
        .query_row([provider], |row| row.get::<_, Option<i64>>(0))
        .map(|due_at| due_at.map(Timestamp::from_nanoseconds))
}

pub(super) fn list(connection: &Connection, provider: &str, after: i64, limit: usize) -> Result<Vec<Delivery>> {
    let sql = format!("SELECT {DELIVERY} FROM deliveries WHERE provider = ?1 AND number > ?2 ORDER BY number LIMIT ?3");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection.prepare_cached(&sql)?.query_map(params![provider, after, limit], delivery)?.collect()
}

/// The lease of a delivery that someone is at stays.
pub(super) fn retry(connection: &Connection, provider: &str, chosen: Chosen, now: Timestamp) -> Result<u64> {
    connection
        .prepare_cached(
            "UPDATE deliveries SET state = 'waiting', due_at = min(due_at, ?3)
             WHERE provider = ?1 AND (?2 IS NULL OR number = ?2) AND state <> 'prepared'",
        )?
        .execute(params![provider, number(chosen), now.nanoseconds()])
        .map(|count| count as u64)
}

pub(super) fn remove(connection: &Connection, provider: &str, chosen: Chosen) -> Result<u64> {
    connection
        .prepare_cached("DELETE FROM deliveries WHERE provider = ?1 AND (?2 IS NULL OR number = ?2)")?
        .execute(params![provider, number(chosen)])
        .map(|count| count as u64)
}

fn number(chosen: Chosen) -> Option<i64> {
    match chosen {
        Chosen::Number(number) => Some(number),
        Chosen::All => None,
    }
}
