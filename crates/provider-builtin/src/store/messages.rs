//! Sessions and messages as rows. Messages are kept verbatim; a session gives each its position.

use memory_core::{Message, NewMessage, Result, Scope, State};
use memory_index::{EntryKey, EntryKind};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::Store;
use super::row::{SqliteResult, id, json, name, named, placeholders, signed, time, to_json, unsigned};

/// A message with the numbers of its row and session.
#[derive(Debug, Clone)]
pub(crate) struct MessageRow {
    pub(crate) key: i64,
    pub(crate) session: i64,
    pub(crate) segment: i64,
    pub(crate) message: Message,
    pub(crate) state: State,
}

impl MessageRow {
    /// Its key in the indexes.
    pub(crate) fn entry(&self) -> EntryKey {
        EntryKey::new(EntryKind::Message, self.key)
    }

    /// The key of its segment in the text index.
    pub(crate) fn segment_entry(&self) -> EntryKey {
        segment_entry(self.session, self.segment)
    }
}

const SEGMENT_BITS: u32 = 20;

/// The key of a segment: the session's number, and below it the segment's.
pub(crate) fn segment_entry(session: i64, segment: i64) -> EntryKey {
    EntryKey::new(EntryKind::Segment, session << SEGMENT_BITS | segment)
}

/// The session's and the segment's number of a segment's key.
pub(crate) fn segment_parts(entry: EntryKey) -> (i64, i64) {
    (entry.rowid() >> SEGMENT_BITS, entry.rowid() & ((1 << SEGMENT_BITS) - 1))
}

/// A segment takes no more messages than this.
const SEGMENT_MESSAGES: i64 = 40;

/// A segment takes no further message when it would grow beyond this, unless it is empty.
const SEGMENT_CHARACTERS: i64 = 8_000;

const COLUMNS: &str = "m.key, m.session, m.id, s.text, e.session_id, m.position, m.role, m.speaker, m.content, m.created_at, \
    m.created_offset, m.external_id, m.attrs, m.state, m.segment";

impl Store {
    /// The number of a session, made when it is new.
    pub(crate) fn session_number(&self, connection: &Connection, scope: &Scope, session_id: &str) -> Result<i64> {
        let scope_number = Self::scope_number(connection, scope)?;
        let known = connection
            .prepare_cached("SELECT key FROM sessions WHERE scope = ?1 AND session_id = ?2")
            .stored()?
            .query_row(params![scope_number, session_id], |row| row.get(0))
            .optional()
            .stored()?;
        match known {
            Some(key) => Ok(key),
            None => connection
                .prepare_cached(
                    "INSERT INTO sessions(scope, session_id, created_at, updated_at) VALUES (?1, ?2, ?3, ?3) RETURNING key",
                )
                .stored()?
                .query_row(params![scope_number, session_id, self.clock.now().nanoseconds()], |row| row.get(0))
                .stored(),
        }
    }

    /// The id of the message that has a foreign id in a session.
    pub(crate) fn message_by_external_id(
        connection: &Connection,
        session: i64,
        external_id: &str,
    ) -> Result<Option<String>> {
        connection
            .prepare_cached("SELECT id FROM messages WHERE session = ?1 AND external_id = ?2")
            .stored()?
            .query_row(params![session, external_id], |row| row.get(0))
            .optional()
            .stored()
    }

    /// Appends a message to its session and tells the indexes. Returns its id.
    pub(crate) fn insert_message(
        &self,
        connection: &Connection,
        session: i64,
        new: &NewMessage,
        content: &str,
        id: Option<memory_core::Id>,
    ) -> Result<String> {
        let now = self.clock.now();
        let created_at = new.created_at.unwrap_or(now);
        let (position, segment) = Self::next_place(connection, session, content, now.nanoseconds())?;
        let id = id.unwrap_or_else(|| self.next_id()).to_string();
        let attrs = if new.attrs.is_empty() { None } else { Some(to_json(&new.attrs)?) };
        let key: i64 = connection
            .prepare_cached(
                "INSERT INTO messages(id, session, position, segment, role, speaker, content, created_at, created_offset,
                    external_id, attrs) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11) RETURNING key",
            )
            .stored()?
            .query_row(
                params![
                    id,
                    session,
                    position,
                    segment,
                    name(&new.role)?,
                    new.speaker,
                    content,
                    created_at.nanoseconds(),
                    created_at.offset_minutes(),
                    new.external_id,
                    attrs
                ],
                |row| row.get(0),
            )
            .stored()?;
        Self::append_outbox(connection, EntryKey::new(EntryKind::Message, key))?;
        Ok(id)
    }

    /// Gives the next message of a session its position and its segment. A segment ends at 40 messages or 8,000
    /// characters, so what one message costs to index is bounded however long the session grows.
    fn next_place(connection: &Connection, session: i64, content: &str, now: i64) -> Result<(i64, i64)> {
        let characters = content.chars().count() as i64;
        connection
            .prepare_cached(
                "UPDATE sessions SET
                    segment = segment + full, next_position = next_position + 1, updated_at = ?3,
                    segment_messages = CASE full WHEN 1 THEN 1 ELSE segment_messages + 1 END,
                    segment_characters = CASE full WHEN 1 THEN ?2 ELSE segment_characters + ?2 END
                 FROM (SELECT key AS session, segment_messages > 0
                        AND (segment_messages >= ?4 OR segment_characters + ?2 > ?5) AS full
                       FROM sessions WHERE key = ?1) AS place
                 WHERE key = ?1 RETURNING next_position - 1, segment",
            )
            .stored()?
            .query_row(params![session, characters, now, SEGMENT_MESSAGES, SEGMENT_CHARACTERS], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .stored()
    }

    /// The active messages of one segment of a session, in order.
    pub(crate) fn messages_of_segment(connection: &Connection, session: i64, segment: i64) -> Result<Vec<MessageRow>> {
        let sql =
            format!("{} ORDER BY m.position", select_where("m.session = ? AND m.segment = ? AND m.state = 'active'"));
        collect(connection, &sql, vec![Value::from(session), Value::from(segment)])
    }

    /// Changes the state of a message and tells the indexes.
    pub(crate) fn set_message_state(connection: &Connection, row: &MessageRow, state: State) -> Result<()> {
        connection
            .prepare_cached("UPDATE messages SET state = ?2 WHERE key = ?1")
            .stored()?
            .execute(params![row.key, name(&state)?])
            .stored()?;
        Self::append_outbox(connection, row.entry())
    }

    /// Overwrites the text of a message for good.
    pub(crate) fn erase_message(connection: &Connection, row: &MessageRow) -> Result<()> {
        connection
            .prepare_cached(
                "UPDATE messages SET content = '', speaker = NULL, attrs = NULL, external_id = NULL, state = 'deleted'
                 WHERE key = ?1",
            )
            .stored()?
            .execute(params![row.key])
            .stored()?;
        Self::append_outbox(connection, row.entry())
    }

    /// True when some message has this very id.
    pub(crate) fn message_id_exists(connection: &Connection, id: &memory_core::Id) -> Result<bool> {
        connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM messages WHERE id = ?1)")
            .stored()?
            .query_row(params![id.as_str()], |row| row.get(0))
            .stored()
    }

    /// The messages with these keys, in any order; missing ones are left out.
    pub(crate) fn messages_by_key(connection: &Connection, keys: &[i64]) -> Result<Vec<MessageRow>> {
        let mut statement = connection.prepare_cached(&select_where("m.key = ?1")).stored()?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(row) = statement.query_row(params![key], |row| Ok(read(row))).optional().stored()? {
                found.push(row?);
            }
        }
        Ok(found)
    }

    /// The active messages of a session from one position to another, inclusive, in order.
    pub(crate) fn messages_between(
        connection: &Connection,
        session: i64,
        first: u64,
        last: u64,
    ) -> Result<Vec<MessageRow>> {
        let sql = format!(
            "{} ORDER BY m.position",
            select_where("m.session = ? AND m.position BETWEEN ? AND ? AND m.state = 'active'")
        );
        collect(connection, &sql, vec![Value::from(session), Value::from(signed(first)), Value::from(signed(last))])
    }

    /// A page of messages of the given scopes, newest first.
    pub(crate) fn list_messages(
        connection: &Connection,
        scopes: &[i64],
        session_id: Option<&str>,
        state: State,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<MessageRow>> {
        let mut condition = format!("e.scope IN ({}) AND m.state = ?", placeholders(scopes.len()));
        let mut values: Vec<Value> = scopes.iter().copied().map(Value::from).collect();
        values.push(Value::from(name(&state)?));
        if let Some(session_id) = session_id {
            condition.push_str(" AND e.session_id = ?");
            values.push(Value::from(session_id.to_owned()));
        }
        values.push(Value::from(limit as i64));
        values.push(Value::from(offset as i64));
        collect(connection, &format!("{} ORDER BY m.key DESC LIMIT ? OFFSET ?", select_where(&condition)), values)
    }

    /// Up to `limit` messages after `key`, in the order they were written.
    pub(crate) fn messages_after(
        connection: &Connection,
        scopes: Option<&[i64]>,
        key: i64,
        limit: usize,
    ) -> Result<Vec<MessageRow>> {
        let (condition, mut values) = match scopes {
            Some(scopes) => (
                format!("e.scope IN ({}) AND m.key > ?", placeholders(scopes.len())),
                scopes.iter().copied().map(Value::from).collect(),
            ),
            None => ("m.key > ?".to_owned(), Vec::new()),
        };
        values.push(Value::from(key));
        values.push(Value::from(limit as i64));
        collect(connection, &format!("{} ORDER BY m.key LIMIT ?", select_where(&condition)), values)
    }
}

fn select_where(condition: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM messages m JOIN sessions e ON e.key = m.session JOIN scopes s ON s.key = e.scope
         WHERE {condition}"
    )
}

fn collect(connection: &Connection, sql: &str, values: Vec<Value>) -> Result<Vec<MessageRow>> {
    let mut statement = connection.prepare_cached(sql).stored()?;
    let rows = statement.query_map(params_from_iter(values), |row| Ok(read(row))).stored()?;
    rows.map(|row| row.stored()?).collect()
}

fn read(row: &Row<'_>) -> Result<MessageRow> {
    let text = |column: usize| row.get::<_, String>(column).stored();
    let optional = |column: usize| row.get::<_, Option<String>>(column).stored();
    let number = |column: usize| row.get::<_, i64>(column).stored();
    let message = Message {
        id: id(&text(2)?)?,
        scope: Scope::from_key(&text(3)?)?,
        session_id: text(4)?,
        position: unsigned(number(5)?),
        role: named(text(6)?)?,
        speaker: optional(7)?,
        content: text(8)?,
        created_at: time(number(9)?, number(10)?),
        external_id: optional(11)?,
        attrs: match optional(12)? {
            Some(attrs) => json(&attrs)?,
            None => memory_core::Attributes::new(),
        },
    };
    Ok(MessageRow { key: number(0)?, session: number(1)?, segment: number(14)?, message, state: named(text(13)?)? })
}
