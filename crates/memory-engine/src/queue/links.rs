//! The tables of links and of what was forgotten. Everything here is synchronous and runs inside a write transaction.

use memory_core::{Id, Link};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::row::link;

const LINK: &str = "SELECT l.local, l.remote, f.local IS NOT NULL FROM links l
     LEFT JOIN forgotten f ON f.provider = l.provider AND f.local = l.local";

/// Keeps links, each in place of an older one of the same local id. What was forgotten stays so, whatever comes later.
pub(super) fn keep(connection: &Connection, provider: &str, links: &[Link]) -> Result<()> {
    for link in links {
        connection
            .prepare_cached("INSERT OR REPLACE INTO links(provider, local, remote) VALUES (?1, ?2, ?3)")?
            .execute(params![provider, link.local.as_str(), link.remote.as_str()])?;
        if link.forgotten {
            forget(connection, provider, &link.local)?;
        }
    }
    Ok(())
}

pub(super) fn forget(connection: &Connection, provider: &str, local: &Id) -> Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO forgotten(provider, local) VALUES (?1, ?2)")?
        .execute(params![provider, local.as_str()])?;
    Ok(())
}

pub(super) fn remember(connection: &Connection, provider: &str, local: &Id) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM forgotten WHERE provider = ?1 AND local = ?2")?
        .execute(params![provider, local.as_str()])?;
    Ok(())
}

pub(super) fn remote_of(connection: &Connection, provider: &str, local: &Id) -> Result<Option<Link>> {
    let sql = format!("{LINK} WHERE l.provider = ?1 AND l.local = ?2");
    connection.prepare_cached(&sql)?.query_row(params![provider, local.as_str()], link).optional()
}

pub(super) fn local_of(connection: &Connection, provider: &str, remote: &Id) -> Result<Option<Link>> {
    let sql = format!("{LINK} WHERE l.provider = ?1 AND l.remote = ?2 ORDER BY l.number DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row(params![provider, remote.as_str()], link).optional()
}

/// Ids are made of digits and capital letters, so what begins with a prefix lies between it and the prefix with a `~`.
pub(super) fn with_prefix(connection: &Connection, provider: &str, prefix: &str) -> Result<Vec<Link>> {
    let end = format!("{prefix}~");
    let sql = format!(
        "{LINK} WHERE l.provider = ?1 AND l.number IN (
           SELECT number FROM links WHERE provider = ?1 AND local >= ?2 AND local < ?3
           UNION SELECT number FROM links WHERE provider = ?1 AND remote >= ?2 AND remote < ?3) ORDER BY l.number"
    );
    connection.prepare_cached(&sql)?.query_map(params![provider, prefix, end], link)?.collect()
}

pub(super) fn all(connection: &Connection, provider: &str) -> Result<Vec<Link>> {
    let sql = format!("{LINK} WHERE l.provider = ?1 ORDER BY l.number");
    connection.prepare_cached(&sql)?.query_map([provider], link)?.collect()
}
