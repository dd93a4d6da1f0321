//! The one write path: validate, normalise, look for secrets, check tombstones and duplicates, persist. Everything of
//! one request happens in one transaction, so items of a batch see each other.

pub mod near_duplicate;
pub mod normalise;
mod sanitise;
pub mod secrets;
mod validate;

use std::collections::HashMap;
use std::sync::Arc;

use memory_core::{
    Id, NewMemory, NewMessage, Result, Scope, WriteItem, WriteOutcome, WriteReport, WriteRequest, WriteResult,
};
use rusqlite::Connection;

use crate::config::GatewaySettings;
use crate::store::{Mark, MemoryRow, Store};
pub use sanitise::{Sanitised, sanitise};

use near_duplicate::Fingerprint;
use normalise::content_hash;
use sanitise::Cleaned;

/// Memories compared with a new one at most, when looking for near-duplicates.
const MOST_COMPARED: usize = 32;

/// The write path of one store.
#[derive(Clone)]
pub(crate) struct Gateway {
    store: Arc<Store>,
    settings: GatewaySettings,
}

/// Why something is refused that was forgotten and comes again.
pub(crate) const FORGOTTEN_BEFORE: &str = "it was forgotten before; use --force to write it all the same";

impl Gateway {
    pub(crate) fn new(store: Arc<Store>, settings: GatewaySettings) -> Self {
        Self { store, settings }
    }

    /// Writes the items of a request, in order, in one transaction.
    pub(crate) fn write(&self, request: &WriteRequest) -> Result<WriteReport> {
        self.store.write("write", |connection| {
            let mut sessions = HashMap::new();
            let mut messages = 0_u64;
            let mut items = Vec::with_capacity(request.items.len());
            for item in &request.items {
                items.push(match item {
                    WriteItem::Memory(memory) => self.write_memory(connection, memory, request.force)?,
                    WriteItem::Message(message) => {
                        let result = self.write_message(connection, message, None, request.force, &mut sessions)?;
                        messages += u64::from(result.outcome == WriteOutcome::Stored);
                        result
                    }
                });
            }
            if messages > 0 {
                let details = format!("{messages} messages");
                self.store.record_event(connection, "messages_written", None, None, Some(&details))?;
            }
            Ok(WriteReport { items })
        })
    }

    fn write_memory(&self, connection: &Connection, new: &NewMemory, force: bool) -> Result<WriteResult> {
        let (mut memory, note) = match sanitise::memory(&self.settings, new) {
            Ok(sanitised) => sanitised,
            Err(reason) => return Ok(WriteResult::rejected(reason)),
        };
        let hash = content_hash(&memory.body).into_bytes();
        let scope = Store::scope_number(connection, &memory.scope)?;
        if let Some(result) = self.refuse_or_dedupe(connection, scope, &mut memory, &hash, force)? {
            return Ok(result);
        }
        if force {
            Store::remove_tombstones(connection, scope, "", &hash)?;
        }
        let row = self.store.insert_memory(connection, &memory, &hash)?;
        self.remember_likeness(connection, scope, &row)?;
        self.store.record_event(connection, "created", Some(row.memory.id.as_str()), Some(1), None)?;
        let mut result = WriteResult::with_id(WriteOutcome::Stored, row.memory.id.to_string());
        result.reason = note;
        Ok(result)
    }

    /// What is refused or there already; `None` when the memory is to be stored.
    fn refuse_or_dedupe(
        &self,
        connection: &Connection,
        scope: i64,
        memory: &mut NewMemory,
        hash: &[u8],
        force: bool,
    ) -> Result<Option<WriteResult>> {
        if !force && Store::has_tombstone(connection, scope, &Mark::of_memory(hash, memory.external_id.as_deref()))? {
            return Ok(Some(WriteResult::rejected(FORGOTTEN_BEFORE)));
        }
        if let Some(external_id) = &memory.external_id
            && let Some(known) = Store::memory_by_external_id(connection, scope, external_id)?
        {
            return self.write_again(connection, known, memory, hash).map(Some);
        }
        if let Some(id) = &memory.id
            && Store::memory_id_exists(connection, id)?
        {
            let taken_here = Store::memory_by_canonical_hash(connection, scope, hash)?;
            if taken_here.is_some_and(|row| row.memory.id == *id) {
                return Ok(Some(WriteResult::with_id(WriteOutcome::Deduped, id.to_string())));
            }
            // Another memory has this id, perhaps one that this writer may not see: it gets a new one.
            memory.id = None;
        }
        if force {
            return Ok(None);
        }
        if let Some(known) = Store::memory_by_canonical_hash(connection, scope, hash)? {
            return Ok(Some(WriteResult::with_id(WriteOutcome::Deduped, known.memory.id.to_string())));
        }
        if self.settings.near_duplicates
            && let Some(known) = self.near_duplicate_of(connection, scope, &memory.body)?
        {
            let mut result = WriteResult::with_id(WriteOutcome::Deduped, known.memory.id.to_string());
            result.reason =
                Some("it says nearly the same as a memory that is there; use --force to keep both".to_owned());
            return Ok(Some(result));
        }
        Ok(None)
    }

    /// A foreign id that is known: the same text is the same memory, another text is its new state.
    fn write_again(
        &self,
        connection: &Connection,
        known: MemoryRow,
        memory: &NewMemory,
        hash: &[u8],
    ) -> Result<WriteResult> {
        let id = known.memory.id.to_string();
        let same = known.memory.body == memory.body && known.memory.title == memory.title;
        if known.memory.state == memory_core::State::Active && same {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, id));
        }
        let mut next = known.memory.clone();
        next.body = memory.body.clone();
        next.title = memory.title.clone();
        next.category = memory.category.clone().or(next.category);
        next.event_at = memory.event_at.or(next.event_at);
        next.state = memory_core::State::Active;
        self.replace(connection, &known, &mut next, hash, "updated")?;
        let mut result = WriteResult::with_id(WriteOutcome::Superseded, id.clone());
        result.superseded = Some(id);
        Ok(result)
    }

    /// Replaces a memory by its next state, with likeness and audit.
    pub(crate) fn replace(
        &self,
        connection: &Connection,
        former: &MemoryRow,
        next: &mut memory_core::Memory,
        hash: &[u8],
        operation: &str,
    ) -> Result<()> {
        self.store.replace_memory(connection, former, next, hash)?;
        let scope = Store::scope_number(connection, &next.scope)?;
        if next.state == memory_core::State::Active {
            self.remember_likeness(connection, scope, &MemoryRow { key: former.key, memory: next.clone() })?;
        } else {
            Store::set_near_duplicate_keys(connection, scope, former.key, &[])?;
        }
        self.store.record_event(connection, operation, Some(next.id.as_str()), Some(next.revision), None)
    }

    pub(crate) fn remember_likeness(&self, connection: &Connection, scope: i64, row: &MemoryRow) -> Result<()> {
        Store::set_near_duplicate_keys(connection, scope, row.key, &Fingerprint::new(&row.memory.body).keys())
    }

    fn near_duplicate_of(&self, connection: &Connection, scope: i64, body: &str) -> Result<Option<MemoryRow>> {
        let fingerprint = Fingerprint::new(body);
        let candidates = Store::near_duplicate_candidates(connection, scope, &fingerprint.keys(), MOST_COMPARED)?;
        let threshold = self.settings.near_duplicate_threshold;
        Ok(candidates.into_iter().find(|row| {
            let comparison = Fingerprint::new(&row.memory.body).compare(&fingerprint, threshold);
            // A text that says more is not folded into one that says less.
            comparison.is_duplicate() && !comparison.second_adds
        }))
    }

    fn write_message(
        &self,
        connection: &Connection,
        new: &NewMessage,
        id: Option<Id>,
        force: bool,
        sessions: &mut HashMap<(Scope, String), i64>,
    ) -> Result<WriteResult> {
        let (text, note) = match sanitise::message(&self.settings, new) {
            Ok(sanitised) => sanitised,
            Err(reason) => return Ok(WriteResult::rejected(reason)),
        };
        let place = (new.scope.clone(), new.session_id.clone());
        let session = match sessions.get(&place) {
            Some(session) => *session,
            None => {
                let session = self.store.session_number(connection, &new.scope, &new.session_id)?;
                sessions.insert(place, session);
                session
            }
        };
        if let Some(external_id) = &new.external_id
            && let Some(id) = Store::message_by_external_id(connection, session, external_id)?
        {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, id));
        }
        let scope = Store::scope_number(connection, &new.scope)?;
        if !force && Store::has_tombstone(connection, scope, &Mark::of_message(new, &text))? {
            return Ok(WriteResult::rejected(FORGOTTEN_BEFORE));
        }
        let id = self.store.insert_message(connection, session, new, &text, id)?;
        let mut result = WriteResult::with_id(WriteOutcome::Stored, id);
        result.reason = note;
        Ok(result)
    }

    /// Writes one message with the id it had elsewhere.
    pub(crate) fn insert_message(
        &self,
        connection: &Connection,
        new: &NewMessage,
        id: Option<Id>,
        force: bool,
    ) -> Result<WriteResult> {
        self.write_message(connection, new, id, force, &mut HashMap::new())
    }

    /// An error text when a memory as it stands may not be stored.
    pub(crate) fn check_memory(&self, memory: &memory_core::Memory) -> std::result::Result<(), String> {
        let new = NewMemory {
            scope: memory.scope.clone(),
            category: memory.category.clone(),
            title: memory.title.clone(),
            body: memory.body.clone(),
            tags: memory.tags.clone(),
            keywords: memory.keywords.clone(),
            quality: Some(memory.quality),
            attrs: memory.attrs.clone(),
            place: memory.place.clone(),
            external_id: memory.external_id.clone(),
            ..NewMemory::default()
        };
        validate::memory(&new, &self.settings)
    }

    /// Takes secrets out of a text, or refuses it, as configured.
    pub(crate) fn clean(&self, text: &str) -> std::result::Result<Cleaned, String> {
        sanitise::clean(self.settings.secrets, text)
    }
}
