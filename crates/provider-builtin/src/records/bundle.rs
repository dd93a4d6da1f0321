//! Carrying memories to another home: out as they stand, in as they stood.

use memory_core::{Item, Memory, Message, Result, Viewer, WriteOutcome, WriteReport, WriteResult};

use crate::gateway::FORGOTTEN_BEFORE;
use crate::gateway::normalise::content_hash;
use crate::provider::BuiltinProvider;
use crate::store::{Mark, MessageRow, Store};

/// Rows read at a time.
const BATCH: usize = 1_000;

impl BuiltinProvider {
    /// Hands every memory and message that `viewer` may read (everything, when `None`) to `sink`, in the order they
    /// were written. Answers how many there were.
    pub async fn export(
        &self,
        viewer: Option<&Viewer>,
        sink: &mut (dyn FnMut(Item) -> Result<()> + Send),
    ) -> Result<u64> {
        let scopes = self.export_scopes(viewer).await?;
        let mut count = 0;
        let mut key = 0;
        loop {
            let scopes = scopes.clone();
            let rows = self
                .read("export", move |connection| Store::memories_after(connection, scopes.as_deref(), key, BATCH))
                .await?;
            let Some(last) = rows.last() else { break };
            key = last.key;
            for row in rows {
                sink(Item::Memory(Box::new(row.memory)))?;
                count += 1;
            }
        }
        key = 0;
        loop {
            let scopes = scopes.clone();
            let rows = self
                .read("export", move |connection| Store::messages_after(connection, scopes.as_deref(), key, BATCH))
                .await?;
            let Some(last) = rows.last() else { break };
            key = last.key;
            let session = viewer.and_then(|viewer| viewer.session.as_ref());
            let in_view = |row: &MessageRow| session.is_none_or(|session| *session == row.message.session_id);
            for row in rows.into_iter().filter(|row| row.state == memory_core::State::Active && in_view(row)) {
                sink(Item::Message(Box::new(row.message)))?;
                count += 1;
            }
        }
        Ok(count)
    }

    async fn export_scopes(&self, viewer: Option<&Viewer>) -> Result<Option<Vec<i64>>> {
        let Some(viewer) = viewer.cloned() else { return Ok(None) };
        viewer.check()?;
        self.read("export", move |connection| {
            Ok(Some(Store::known_scope_numbers(connection, &viewer.readable_keys())?))
        })
        .await
    }

    /// Writes items of a bundle as they stand: ids, times, states and revisions are kept. Idempotent by id; what was
    /// forgotten here stays forgotten, unless `force`.
    pub async fn insert_items(&self, items: Vec<Item>, force: bool) -> Result<WriteReport> {
        let this = self.clone();
        self.write_store("import", move |connection| {
            let mut report = WriteReport::default();
            for item in items {
                report.items.push(match item {
                    Item::Memory(memory) => this.insert_memory_as_is(connection, *memory, force)?,
                    Item::Message(message) => this.insert_message_as_is(connection, *message, force)?,
                    Item::Chunk(_) => WriteResult::rejected("passages come with their documents"),
                });
            }
            Ok(report)
        })
        .await
    }

    fn insert_memory_as_is(
        &self,
        connection: &rusqlite::Connection,
        memory: Memory,
        force: bool,
    ) -> Result<WriteResult> {
        if let Err(reason) = self.gateway().check_memory(&memory) {
            return Ok(WriteResult::rejected(reason));
        }
        let id = memory.id.to_string();
        let scope = Store::scope_number(connection, &memory.scope)?;
        let hash = content_hash(&memory.body).into_bytes();
        if Store::memory_id_exists(connection, &memory.id)? {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, id));
        }
        if let Some(external_id) = &memory.external_id
            && let Some(known) = Store::memory_by_external_id(connection, scope, external_id)?
        {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, known.memory.id.to_string()));
        }
        let active = memory.state == memory_core::State::Active;
        let marks = Mark::of_memory(&hash, memory.external_id.as_deref());
        if active && !force && Store::has_tombstone(connection, scope, &marks)? {
            return Ok(WriteResult::rejected(FORGOTTEN_BEFORE));
        }
        let row = self.store().insert_memory_as_is(connection, memory, &hash)?;
        if active {
            self.gateway().remember_likeness(connection, scope, &row)?;
        } else if row.memory.state == memory_core::State::Deleted {
            self.store().put_tombstone(connection, scope, &id, &marks)?;
        }
        self.store().record_event(connection, "imported", Some(&id), Some(row.memory.revision), None)?;
        Ok(WriteResult::with_id(WriteOutcome::Stored, id))
    }

    fn insert_message_as_is(
        &self,
        connection: &rusqlite::Connection,
        message: Message,
        force: bool,
    ) -> Result<WriteResult> {
        let id = message.id.to_string();
        if Store::message_id_exists(connection, &message.id)? {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, id));
        }
        let kept = message.id.clone();
        let new = memory_core::NewMessage::from(message);
        self.gateway().insert_message(connection, &new, Some(kept), force)
    }
}
