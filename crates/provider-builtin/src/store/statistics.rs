//! Counts.

use std::collections::BTreeMap;

use memory_core::{Result, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::Store;
use super::row::{SqliteResult, placeholders, unsigned};

/// How much is stored, in all or in the scopes of a viewer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoreStatistics {
    pub(crate) memories: u64,
    pub(crate) messages: u64,
    pub(crate) sessions: u64,
    pub(crate) documents: u64,
    pub(crate) chunks: u64,
    /// Memories by category, by state and by owner.
    pub(crate) by: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Store {
    /// Counts what is active, in all (`None`) or in some scopes, and there of one session.
    pub(crate) fn statistics(
        connection: &Connection,
        scopes: Option<&[i64]>,
        session: Option<&str>,
        now: Timestamp,
    ) -> Result<StoreStatistics> {
        // A memory expires by its time, whether or not that has been noted.
        let expired = format!("(state = 'expired' OR state = 'active' AND expires_at <= {})", now.nanoseconds());
        let active = format!("state = 'active' AND (expires_at IS NULL OR expires_at > {})", now.nanoseconds());
        let condition = |column: &str| match scopes {
            Some(scopes) => format!("{column} IN ({})", placeholders(scopes.len())),
            None => "1".to_owned(),
        };
        let values: Vec<Value> = scopes.unwrap_or_default().iter().copied().map(Value::from).collect();
        // A viewer in one session has no other sessions.
        let narrowed = if session.is_some() { " AND e.session_id = ?" } else { "" };
        let session = session.map(|session| Value::from(session.to_owned()));
        let count = |sql: String| -> Result<u64> {
            let values = values.iter().chain(session.iter().filter(|_| sql.ends_with(narrowed)));
            connection
                .prepare_cached(&sql)
                .stored()?
                .query_row(params_from_iter(values), |row| row.get::<_, i64>(0))
                .map(unsigned)
                .stored()
        };
        let group = |column: &str, state: &str| -> Result<BTreeMap<String, u64>> {
            let sql = format!(
                "SELECT {column}, count(*) FROM memories m JOIN scopes s ON s.key = m.scope WHERE {} {state} GROUP BY 1",
                condition("m.scope")
            );
            let mut statement = connection.prepare_cached(&sql).stored()?;
            let rows = statement
                .query_map(params_from_iter(values.iter()), |row| {
                    Ok((row.get::<_, Option<String>>(0)?, row.get::<_, i64>(1)?))
                })
                .stored()?;
            rows.map(|row| {
                let (name, number) = row.stored()?;
                Ok((name.unwrap_or_else(|| "none".to_owned()), unsigned(number)))
            })
            .collect()
        };
        let scope = condition("scope");
        let mut by = BTreeMap::new();
        by.insert("category".to_owned(), group("m.category", &format!("AND {active}"))?);
        by.insert("state".to_owned(), group(&format!("CASE WHEN {expired} THEN 'expired' ELSE m.state END"), "")?);
        by.insert("kind".to_owned(), group("m.kind", &format!("AND {active}"))?);
        Ok(StoreStatistics {
            memories: count(format!("SELECT count(*) FROM memories WHERE {scope} AND {active}"))?,
            messages: count(format!(
                "SELECT count(*) FROM messages m JOIN sessions e ON e.key = m.session WHERE {} AND m.state = 'active'{narrowed}",
                condition("e.scope")
            ))?,
            sessions: count(format!("SELECT count(*) FROM sessions e WHERE {scope}{narrowed}"))?,
            documents: count(format!("SELECT count(*) FROM documents WHERE {scope}"))?,
            chunks: count(format!(
                "SELECT count(*) FROM chunks c JOIN documents d ON d.key = c.document WHERE {}",
                condition("d.scope")
            ))?,
            by,
        })
    }

    /// True when something that may be recalled is stored in one of the scopes.
    pub(crate) fn anything_stored(connection: &Connection, scopes: &[i64]) -> Result<bool> {
        for scope in scopes {
            let found: bool = connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM memories WHERE scope = ?1 AND state = 'active')
                        OR EXISTS (SELECT 1 FROM sessions WHERE scope = ?1)
                        OR EXISTS (SELECT 1 FROM documents WHERE scope = ?1)",
                )
                .stored()?
                .query_row([scope], |row| row.get(0))
                .stored()?;
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
