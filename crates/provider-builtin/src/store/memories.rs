//! Memories as rows.

use memory_core::{ListRequest, ListSort, Memory, NewMemory, Relevance, Result, Scope, State, Timestamp};
use memory_index::{EntryKey, EntryKind};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::Store;
use super::row::{SqliteResult, id, json, name, named, placeholders, signed, time, to_json, unsigned};

/// A memory with the number of its row.
#[derive(Debug, Clone)]
pub(crate) struct MemoryRow {
    pub(crate) key: i64,
    pub(crate) memory: Memory,
}

impl MemoryRow {
    /// Its key in the indexes.
    pub(crate) fn entry(&self) -> EntryKey {
        EntryKey::new(EntryKind::Memory, self.key)
    }
}

const COLUMNS: &str = "m.key, m.id, s.text, m.kind, m.category, m.title, m.body, m.tags, m.keywords, m.relevance, \
    m.quality, m.attrs, m.place, m.origin, m.source_sessions, m.external_id, m.event_at, m.event_offset, m.observed_at, \
    m.observed_offset, m.created_at, m.created_offset, m.updated_at, m.accessed_at, m.access_count, m.expires_at, m.state, \
    m.compression, m.pinned, m.revision";

impl Store {
    /// Writes a new memory and tells the indexes.
    pub(crate) fn insert_memory(
        &self,
        connection: &Connection,
        new: &NewMemory,
        canonical_hash: &[u8],
    ) -> Result<MemoryRow> {
        let now = self.clock.now();
        let memory = Memory {
            id: new.id.clone().unwrap_or_else(|| self.next_id()),
            scope: new.scope.clone(),
            kind: new.kind,
            category: new.category.clone(),
            title: new.title.clone(),
            body: new.body.clone(),
            tags: new.tags.clone(),
            keywords: new.keywords.clone(),
            relevance: new.relevance,
            quality: new.quality.unwrap_or(0.5),
            attrs: new.attrs.clone(),
            place: new.place.clone(),
            origin: new.origin,
            source_sessions: new.source_sessions.clone(),
            external_id: new.external_id.clone(),
            event_at: new.event_at,
            observed_at: new.observed_at.unwrap_or(now),
            created_at: new.created_at.unwrap_or(now),
            updated_at: now,
            accessed_at: None,
            access_count: 0,
            expires_at: new.expires_at,
            state: State::Active,
            compression: memory_core::Compression::Raw,
            pinned: new.pinned,
            revision: 1,
        };
        self.insert_memory_as_is(connection, memory, canonical_hash)
    }

    /// Writes a memory with every field as it stands and tells the indexes.
    pub(crate) fn insert_memory_as_is(
        &self,
        connection: &Connection,
        memory: Memory,
        canonical_hash: &[u8],
    ) -> Result<MemoryRow> {
        let mut columns =
            vec![Value::from(memory.id.to_string()), Value::from(Self::scope_number(connection, &memory.scope)?)];
        columns.extend(changeable_columns(&memory)?);
        columns.push(Value::from(canonical_hash.to_vec()));
        let key = connection
            .prepare_cached(
                "INSERT INTO memories(id, scope, kind, category, title, body, tags, keywords, relevance, quality, attrs,
                    place, origin, source_sessions, external_id, event_at, event_offset, observed_at, observed_offset,
                    created_at, created_offset, updated_at, accessed_at, access_count, expires_at, state, compression,
                    pinned, revision, canonical_hash)
                 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) RETURNING key",
            )
            .stored()?
            .query_row(params_from_iter(columns), |row| row.get(0))
            .stored()?;
        let row = MemoryRow { key, memory };
        Self::append_outbox(connection, row.entry())?;
        Ok(row)
    }

    /// Replaces a memory by its next state: keeps the former one as a revision and tells the indexes.
    pub(crate) fn replace_memory(
        &self,
        connection: &Connection,
        former: &MemoryRow,
        next: &mut Memory,
        canonical_hash: &[u8],
    ) -> Result<()> {
        Self::keep_revision(connection, former)?;
        next.revision = former.memory.revision + 1;
        next.updated_at = self.clock.now();
        let mut columns = changeable_columns(next)?;
        columns.push(Value::from(canonical_hash.to_vec()));
        columns.push(Value::from(former.key));
        connection
            .prepare_cached(
                "UPDATE memories SET kind=?, category=?, title=?, body=?, tags=?, keywords=?, relevance=?, quality=?, attrs=?,
                    place=?, origin=?, source_sessions=?, external_id=?, event_at=?, event_offset=?, observed_at=?,
                    observed_offset=?, created_at=?, created_offset=?, updated_at=?, accessed_at=?, access_count=?,
                    expires_at=?, state=?, compression=?, pinned=?, revision=?, canonical_hash=? WHERE key=?",
            )
            .stored()?
            .execute(params_from_iter(columns))
            .stored()?;
        Self::append_outbox(connection, former.entry())
    }

    /// Removes a memory, its former states and its likeness keys for good, and tells the indexes.
    pub(crate) fn erase_memory(connection: &Connection, row: &MemoryRow) -> Result<()> {
        connection
            .prepare_cached("DELETE FROM memories WHERE key = ?1")
            .stored()?
            .execute(params![row.key])
            .stored()?;
        Self::append_outbox(connection, row.entry())
    }

    /// The memories with these keys, in any order; missing ones are left out.
    pub(crate) fn memories_by_key(connection: &Connection, keys: &[i64]) -> Result<Vec<MemoryRow>> {
        let mut statement = connection.prepare_cached(&select_where("m.key = ?1")).stored()?;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(row) = statement.query_row(params![key], |row| Ok(read(row))).optional().stored()? {
                found.push(row?);
            }
        }
        Ok(found)
    }

    /// The memory of a scope with a foreign id, whatever its state.
    pub(crate) fn memory_by_external_id(
        connection: &Connection,
        scope: i64,
        external_id: &str,
    ) -> Result<Option<MemoryRow>> {
        connection
            .prepare_cached(&select_where("m.scope = ?1 AND m.external_id = ?2"))
            .stored()?
            .query_row(params![scope, external_id], |row| Ok(read(row)))
            .optional()
            .stored()?
            .transpose()
    }

    /// An active memory of a scope with the same canonical text.
    pub(crate) fn memory_by_canonical_hash(
        connection: &Connection,
        scope: i64,
        canonical_hash: &[u8],
    ) -> Result<Option<MemoryRow>> {
        connection
            .prepare_cached(&format!(
                "{} ORDER BY m.key LIMIT 1",
                select_where("m.scope = ?1 AND m.canonical_hash = ?2 AND m.state = 'active'")
            ))
            .stored()?
            .query_row(params![scope, canonical_hash], |row| Ok(read(row)))
            .optional()
            .stored()?
            .transpose()
    }

    /// Remembers the likeness keys of an active memory, replacing those it had.
    pub(crate) fn set_near_duplicate_keys(
        connection: &Connection,
        scope: i64,
        memory: i64,
        keys: &[i64],
    ) -> Result<()> {
        connection
            .prepare_cached("DELETE FROM near_duplicate_keys WHERE memory = ?1")
            .stored()?
            .execute(params![memory])
            .stored()?;
        let mut insert = connection
            .prepare_cached("INSERT OR IGNORE INTO near_duplicate_keys(scope, likeness, memory) VALUES (?1, ?2, ?3)")
            .stored()?;
        for key in keys {
            insert.execute(params![scope, key, memory]).stored()?;
        }
        Ok(())
    }

    /// Active memories of a scope that share a likeness key, newest first, at most `limit`.
    pub(crate) fn near_duplicate_candidates(
        connection: &Connection,
        scope: i64,
        keys: &[i64],
        limit: usize,
    ) -> Result<Vec<MemoryRow>> {
        let mut found: Vec<i64> = Vec::new();
        let mut statement = connection
            .prepare_cached(
                "SELECT memory FROM near_duplicate_keys WHERE scope = ?1 AND likeness = ?2 ORDER BY memory DESC LIMIT ?3",
            )
            .stored()?;
        for key in keys {
            let rows = statement.query_map(params![scope, key, limit as i64], |row| row.get::<_, i64>(0)).stored()?;
            for memory in rows {
                found.push(memory.stored()?);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        found.truncate(limit);
        Self::memories_by_key(connection, &found)
    }

    /// A page of memories of the given scopes, and the offset where the next page begins.
    pub(crate) fn list_memories(
        connection: &Connection,
        scopes: &[i64],
        request: &ListRequest,
        offset: usize,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<MemoryRow>> {
        let state = request.state.unwrap_or(State::Active);
        let mut values: Vec<Value> = scopes.iter().copied().map(Value::from).collect();
        values.push(Value::from(name(&state)?));
        // A memory expires by its time, whether or not that has been noted.
        let state_condition = match state {
            State::Active => "m.state = ? AND (m.expires_at IS NULL OR m.expires_at > ?)",
            State::Expired => "(m.state = ? OR (m.state = 'active' AND m.expires_at <= ?))",
            State::Archived | State::Deleted => "m.state = ?",
        };
        if matches!(state, State::Active | State::Expired) {
            values.push(Value::from(now.nanoseconds()));
        }
        let mut condition = format!("m.scope IN ({}) AND {state_condition}", placeholders(scopes.len()));
        if !request.categories.is_empty() {
            condition.push_str(&format!(" AND m.category IN ({})", placeholders(request.categories.len())));
            values.extend(request.categories.iter().cloned().map(Value::from));
        }
        for tag in &request.tags {
            condition.push_str(" AND EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)");
            values.push(Value::from(tag.clone()));
        }
        let order = match request.sort {
            ListSort::Recent => "m.updated_at DESC",
            ListSort::Created => "m.created_at DESC",
            ListSort::Relevance => "m.relevance DESC, m.updated_at DESC",
            ListSort::Accessed => "m.accessed_at DESC NULLS LAST, m.updated_at DESC",
            // Declared relevance, learned quality and use; the exact importance formula belongs to the lifecycle.
            ListSort::Importance => {
                "m.pinned DESC, m.relevance DESC, m.quality DESC, m.access_count DESC, m.updated_at DESC"
            }
        };
        values.push(Value::from(limit as i64));
        values.push(Value::from(offset as i64));
        let sql = format!("{} ORDER BY {order}, m.key DESC LIMIT ? OFFSET ?", select_where(&condition));
        collect(connection, &sql, values)
    }

    /// Up to `limit` memories after `key`, in the order they were written.
    pub(crate) fn memories_after(
        connection: &Connection,
        scopes: Option<&[i64]>,
        key: i64,
        limit: usize,
    ) -> Result<Vec<MemoryRow>> {
        let (condition, mut values) = match scopes {
            Some(scopes) => (
                format!("m.scope IN ({}) AND m.key > ?", placeholders(scopes.len())),
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
    format!("SELECT {COLUMNS} FROM memories m JOIN scopes s ON s.key = m.scope WHERE {condition}")
}

fn collect(connection: &Connection, sql: &str, values: Vec<Value>) -> Result<Vec<MemoryRow>> {
    let mut statement = connection.prepare_cached(sql).stored()?;
    let rows = statement.query_map(params_from_iter(values), |row| Ok(read(row))).stored()?;
    rows.map(|row| row.stored()?).collect()
}

/// The columns after id and scope, in the order of the table.
fn changeable_columns(memory: &Memory) -> Result<Vec<Value>> {
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::from);
    let moment = |value: Option<Timestamp>| value.map_or(Value::Null, |time| Value::from(time.nanoseconds()));
    let offset = |value: Option<Timestamp>| Value::from(value.map_or(0, |time| i64::from(time.offset_minutes())));
    Ok(vec![
        Value::from(name(&memory.kind)?),
        text(&memory.category),
        text(&memory.title),
        Value::from(memory.body.clone()),
        Value::from(to_json(&memory.tags)?),
        Value::from(to_json(&memory.keywords)?),
        Value::from(relevance_number(memory.relevance)),
        Value::from(memory.quality),
        Value::from(to_json(&memory.attrs)?),
        text(&memory.place),
        Value::from(name(&memory.origin)?),
        Value::from(to_json(&memory.source_sessions)?),
        text(&memory.external_id),
        moment(memory.event_at),
        offset(memory.event_at),
        moment(Some(memory.observed_at)),
        offset(Some(memory.observed_at)),
        moment(Some(memory.created_at)),
        offset(Some(memory.created_at)),
        moment(Some(memory.updated_at)),
        moment(memory.accessed_at),
        Value::from(signed(memory.access_count)),
        moment(memory.expires_at),
        Value::from(name(&memory.state)?),
        Value::from(name(&memory.compression)?),
        Value::from(i64::from(memory.pinned)),
        Value::from(signed(memory.revision)),
    ])
}

fn relevance_number(relevance: Relevance) -> i64 {
    match relevance {
        Relevance::Low => 0,
        Relevance::Medium => 1,
        Relevance::High => 2,
    }
}

fn relevance_from(number: i64) -> Relevance {
    match number {
        0 => Relevance::Low,
        1 => Relevance::Medium,
        _ => Relevance::High,
    }
}

fn read(row: &Row<'_>) -> Result<MemoryRow> {
    let text = |column: usize| row.get::<_, String>(column).stored();
    let optional = |column: usize| row.get::<_, Option<String>>(column).stored();
    let number = |column: usize| row.get::<_, i64>(column).stored();
    let moment = |column: usize| -> Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(column).stored()?.map(Timestamp::from_nanoseconds))
    };
    let event_offset = number(17)?;
    let memory = Memory {
        id: id(&text(1)?)?,
        scope: Scope::from_key(&text(2)?)?,
        kind: named(text(3)?)?,
        category: optional(4)?,
        title: optional(5)?,
        body: text(6)?,
        tags: json(&text(7)?)?,
        keywords: json(&text(8)?)?,
        relevance: relevance_from(number(9)?),
        quality: row.get(10).stored()?,
        attrs: json(&text(11)?)?,
        place: optional(12)?,
        origin: named(text(13)?)?,
        source_sessions: json(&text(14)?)?,
        external_id: optional(15)?,
        event_at: moment(16)?.map(|at| time(at.nanoseconds(), event_offset)),
        observed_at: time(number(18)?, number(19)?),
        created_at: time(number(20)?, number(21)?),
        updated_at: time(number(22)?, 0),
        accessed_at: moment(23)?,
        access_count: unsigned(number(24)?),
        expires_at: moment(25)?,
        state: named(text(26)?)?,
        compression: named(text(27)?)?,
        pinned: number(28)? != 0,
        revision: unsigned(number(29)?),
    };
    Ok(MemoryRow { key: number(0)?, memory })
}
