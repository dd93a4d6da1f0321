//! Changing, forgetting and restoring. Forgetting keeps what is needed to restore; erasing removes the text for good
//! and says what it could not reach.

use memory_core::{
    DeleteReport, DeleteRequest, Error, ErrorKind, Memory, MemoryChanges, NewMessage, Result, State, UpdateRequest,
    Viewer, WriteOutcome, WriteResult,
};
use memory_models::TextHash;
use rusqlite::Connection;
use serde::Serialize;

use crate::gateway::normalise::{canonical, content_hash, normalise};
use crate::projection::{memory_text, message_text};
use crate::provider::BuiltinProvider;
use crate::store::{Mark, MemoryRow, MessageRow, ResolvedItem, Store};

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RestoreReport {
    /// The ids that are back, or would be.
    pub restored: Vec<String>,
    /// The ids and prefixes that name nothing that can be restored.
    pub missing: Vec<String>,
    /// True when nothing was changed.
    pub dry_run: bool,
}

impl BuiltinProvider {
    pub(crate) async fn update_memory(&self, request: UpdateRequest) -> Result<WriteResult> {
        request.viewer.check()?;
        let this = self.clone();
        self.write_store("update", move |connection| {
            let former = match Store::resolve(connection, &request.viewer, &request.id)? {
                Some(ResolvedItem::Memory(row)) if row.memory.state != State::Deleted => row,
                Some(ResolvedItem::Message(_)) => {
                    return Err(Error::new(ErrorKind::Unsupported, "a message is kept as it was said")
                        .with_hint("forget it, or write a memory that corrects it"));
                }
                _ => return Err(not_found(&request.id)),
            };
            require_write(&request.viewer, &former.memory)?;
            if request.expected_revision.is_some_and(|expected| expected != former.memory.revision) {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!("the memory has changed: it stands at revision {}", former.memory.revision),
                )
                .with_context("id", &former.memory.id)
                .with_hint("read it again and repeat the change"));
            }
            let mut next = former.memory.clone();
            let note = this.apply(&mut next, &request.changes)?;
            if next == former.memory {
                return Ok(WriteResult::with_id(WriteOutcome::Deduped, next.id.to_string()));
            }
            let hash = content_hash(&next.body).into_bytes();
            this.gateway().replace(connection, &former, &mut next, &hash, "updated")?;
            let mut result = WriteResult::with_id(WriteOutcome::Stored, next.id.to_string());
            result.reason = note;
            Ok(result)
        })
        .await
    }

    fn apply(&self, memory: &mut Memory, changes: &MemoryChanges) -> Result<Option<String>> {
        let mut note = None;
        if let Some(body) = &changes.body {
            let cleaned = self.gateway().clean(&normalise(body)).map_err(Error::invalid)?;
            if canonical(&cleaned.text).is_empty() {
                return Err(Error::invalid("the new text is empty").with_hint("`memory forget` removes a memory"));
            }
            memory.body = cleaned.text;
            note = cleaned.note;
        }
        if let Some(title) = &changes.title {
            memory.title = title.as_deref().map(normalise).filter(|title| !title.is_empty());
        }
        if let Some(category) = &changes.category {
            memory.category = category.clone();
        }
        if let Some(tags) = &changes.tags {
            memory.tags = tags.clone();
        }
        if let Some(keywords) = &changes.keywords {
            memory.keywords = keywords.clone();
        }
        if let Some(relevance) = changes.relevance {
            memory.relevance = relevance;
        }
        if let Some(event_at) = changes.event_at {
            memory.event_at = event_at;
        }
        if let Some(expires_at) = changes.expires_at {
            memory.expires_at = expires_at;
        }
        if let Some(pinned) = changes.pinned {
            memory.pinned = pinned;
        }
        for (name, value) in changes.attrs.iter().flatten() {
            if value.is_null() {
                memory.attrs.remove(name);
            } else {
                memory.attrs.insert(name.clone(), value.clone());
            }
        }
        self.gateway().check_memory(memory).map_err(Error::invalid)?;
        Ok(note)
    }

    pub(crate) async fn delete_items(&self, request: DeleteRequest) -> Result<DeleteReport> {
        request.viewer.check()?;
        let (this, erase, dry_run) = (self.clone(), request.erase, request.dry_run);
        let mut report = self
            .write_store("forget", move |connection| {
                let mut report = DeleteReport { dry_run: request.dry_run, ..DeleteReport::default() };
                for id in &request.ids {
                    match this.delete_one(connection, &request, id)? {
                        Some(deleted) => report.deleted.push(deleted),
                        None => report.missing.push(id.clone()),
                    }
                }
                report.deleted.dedup();
                Ok(report)
            })
            .await?;
        if erase && !dry_run && !report.deleted.is_empty() {
            report.notes = self.erase_traces().await?;
        }
        Ok(report)
    }

    fn delete_one(&self, connection: &Connection, request: &DeleteRequest, id: &str) -> Result<Option<String>> {
        match Store::resolve(connection, &request.viewer, id)? {
            Some(ResolvedItem::Memory(row)) => {
                // A memory that was forgotten before can still be erased.
                if row.memory.state == State::Deleted && !request.erase {
                    return Ok(None);
                }
                require_write(&request.viewer, &row.memory)?;
                if !request.dry_run {
                    self.forget_memory(connection, &row, request.erase)?;
                }
                Ok(Some(row.memory.id.to_string()))
            }
            Some(ResolvedItem::Message(row)) => {
                if row.state == State::Deleted && !request.erase {
                    return Ok(None);
                }
                if !request.viewer.may_write(&row.message.scope) {
                    return Err(forbidden());
                }
                if !request.dry_run {
                    self.forget_message(connection, &row, request.erase)?;
                }
                Ok(Some(row.message.id.to_string()))
            }
            Some(ResolvedItem::Chunk(_, document) | ResolvedItem::Document(document)) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("`{id}` is a passage of the document {}", document.document.path),
            )
            .with_hint("edit or remove the file; the index follows")),
            None => Ok(None),
        }
    }

    fn forget_memory(&self, connection: &Connection, row: &MemoryRow, erase: bool) -> Result<()> {
        let scope = Store::scope_number(connection, &row.memory.scope)?;
        let hash = content_hash(&row.memory.body).into_bytes();
        let marks = Mark::of_memory(&hash, row.memory.external_id.as_deref());
        self.store().put_tombstone(connection, scope, row.memory.id.as_str(), &marks)?;
        if erase {
            let mut texts = vec![TextHash::of(&memory_text(&row.memory))];
            texts.extend(Store::former_states(connection, row.key)?.iter().map(|m| TextHash::of(&memory_text(m))));
            Store::forget_embeddings(connection, &texts)?;
            Store::erase_memory(connection, row)?;
            return self.store().record_event(connection, "erased", Some(row.memory.id.as_str()), None, None);
        }
        let mut next = row.memory.clone();
        next.state = State::Deleted;
        self.gateway().replace(connection, row, &mut next, &hash, "deleted")
    }

    fn forget_message(&self, connection: &Connection, row: &MessageRow, erase: bool) -> Result<()> {
        let operation = if erase { "erased" } else { "deleted" };
        if erase {
            // One that is merely forgotten stays in its place and is known again by that.
            let scope = Store::scope_number(connection, &row.message.scope)?;
            let marks = Mark::of_message(&NewMessage::from(row.message.clone()), &row.message.content);
            self.store().put_tombstone(connection, scope, row.message.id.as_str(), &marks)?;
            Store::forget_embeddings(connection, &[TextHash::of(&message_text(&row.message))])?;
            Store::erase_message(connection, row)?;
        } else {
            Store::set_message_state(connection, row, State::Deleted)?;
        }
        self.store().record_event(connection, operation, Some(row.message.id.as_str()), None, None)
    }

    /// Brings back what was forgotten or put aside.
    pub async fn restore(&self, viewer: &Viewer, ids: &[String], dry_run: bool) -> Result<RestoreReport> {
        viewer.check()?;
        let (this, viewer, ids) = (self.clone(), viewer.clone(), ids.to_vec());
        self.write_store("restore", move |connection| {
            let mut report = RestoreReport { dry_run, ..RestoreReport::default() };
            for id in ids {
                match Store::resolve(connection, &viewer, &id)? {
                    Some(ResolvedItem::Memory(row)) if row.memory.state != State::Active => {
                        require_write(&viewer, &row.memory)?;
                        if !dry_run {
                            this.restore_memory(connection, &row)?;
                        }
                        report.restored.push(row.memory.id.to_string());
                    }
                    Some(ResolvedItem::Message(row))
                        if row.state != State::Active && !row.message.content.is_empty() =>
                    {
                        if !viewer.may_write(&row.message.scope) {
                            return Err(forbidden());
                        }
                        if !dry_run {
                            Store::set_message_state(connection, &row, State::Active)?;
                            let id = Some(row.message.id.as_str());
                            this.store().record_event(connection, "restored", id, None, None)?;
                        }
                        report.restored.push(row.message.id.to_string());
                    }
                    _ => report.missing.push(id),
                }
            }
            Ok(report)
        })
        .await
    }

    fn restore_memory(&self, connection: &Connection, row: &MemoryRow) -> Result<()> {
        let scope = Store::scope_number(connection, &row.memory.scope)?;
        let hash = content_hash(&row.memory.body).into_bytes();
        Store::remove_tombstones(connection, scope, row.memory.id.as_str(), &hash)?;
        let mut next = row.memory.clone();
        next.state = State::Active;
        self.gateway().replace(connection, row, &mut next, &hash, "restored")
    }

    /// After the rows are gone: rewrites store and indexes so that no byte of the text is left in their files.
    async fn erase_traces(&self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        let report = self.index_pending(&memory_core::NoProgress).await?;
        if let Some(reason) = report.skipped {
            notes.push(format!("the indexes still hold the text until the next index pass: {reason}"));
        } else {
            notes.extend(self.indexer().purge().await?);
        }
        let this = self.clone();
        crate::blocking::blocking(move || {
            this.store().maintain("erase", |connection| {
                connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
            })
        })
        .await?;
        notes.push("the store was rewritten without the text".to_owned());
        Ok(notes)
    }
}

fn require_write(viewer: &Viewer, memory: &Memory) -> Result<()> {
    if viewer.may_write(&memory.scope) { Ok(()) } else { Err(forbidden()) }
}

fn forbidden() -> Error {
    Error::new(ErrorKind::Forbidden, "this viewer may read it, but not change it")
        .with_hint("memories of a team are its leader's")
}

fn not_found(id: &str) -> Error {
    Error::not_found(format!("there is no memory `{id}` here"))
        .with_hint("`memory list` shows what this viewer may read; `memory restore` brings back what was forgotten")
}
