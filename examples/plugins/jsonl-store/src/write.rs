//! Writing: what is stored, what is known already, what is refused.

use plugin_sdk::memory_core::{
    Error, ErrorKind, Memory, MemoryChanges, Message, NewMemory, NewMessage, Result, State, Timestamp, UpdateRequest,
    WriteItem, WriteOutcome, WriteRequest, WriteResult,
};

use crate::journal::Record;
use crate::records::Contents;
use crate::text::{is_blank, normal_form};

/// The longest text, in bytes.
pub(crate) const LONGEST_TEXT: usize = 256 * 1024;

/// Writes the items of a request, each for itself.
pub(crate) fn write(contents: &mut Contents, request: WriteRequest, now: Timestamp) -> Vec<WriteResult> {
    let force = request.force;
    let items = request.items.into_iter();
    items
        .map(|item| match item {
            WriteItem::Memory(new) => write_memory(contents, *new, force, now),
            WriteItem::Message(new) => write_message(contents, *new, now),
        })
        .collect()
}

fn write_memory(contents: &mut Contents, new: NewMemory, force: bool, now: Timestamp) -> WriteResult {
    if let Some(reason) = fault(&new.body).or_else(|| fault_of_fields(&new)) {
        return WriteResult::rejected(reason);
    }
    let form = normal_form(&new.body);
    let same_text = |memory: &&Memory| normal_form(&memory.body) == form;
    let in_scope = || contents.memories().filter(|memory| memory.scope == new.scope);
    let in_force = || in_scope().filter(|memory| memory.state == State::Active);
    let mut superseded = None;
    if let Some(id) = &new.external_id
        && let Some(known) = in_force().find(|memory| memory.external_id.as_ref() == Some(id))
    {
        if same_text(&known) {
            return WriteResult::with_id(WriteOutcome::Deduped, known.id.to_string());
        }
        superseded = Some(known.clone());
    } else if !force {
        if let Some(known) = in_force().find(same_text) {
            return WriteResult::with_id(WriteOutcome::Deduped, known.id.to_string());
        }
        if in_scope().any(|memory| memory.state == State::Deleted && same_text(&memory)) {
            return WriteResult::rejected("it was forgotten; write it with force to bring it back");
        }
    }
    let memory = memory(new, contents.ids.next(now), now);
    let mut result = WriteResult::with_id(WriteOutcome::Stored, memory.id.to_string());
    if let Some(old) = superseded {
        result = WriteResult { outcome: WriteOutcome::Superseded, superseded: Some(old.id.to_string()), ..result };
        contents.change(Record::Memory { operation: "superseded".into(), memory: Box::new(forgotten(old, now)) });
    }
    contents.change(Record::Memory { operation: "created".into(), memory: Box::new(memory) });
    result
}

fn fault(text: &str) -> Option<String> {
    if is_blank(text) {
        Some("the text is empty".to_owned())
    } else if text.len() > LONGEST_TEXT {
        Some(format!("the text is longer than {LONGEST_TEXT} bytes"))
    } else {
        None
    }
}

fn fault_of_fields(new: &NewMemory) -> Option<String> {
    if new.quality.is_some_and(|quality| !(0.0..=1.0).contains(&quality)) {
        Some("quality is a number from 0 to 1".to_owned())
    } else if new.tags.iter().any(|tag| is_blank(tag)) {
        Some("a tag is empty".to_owned())
    } else {
        new.scope.check().err().map(|error| error.message().to_owned())
    }
}

fn memory(new: NewMemory, fresh: plugin_sdk::memory_core::Id, now: Timestamp) -> Memory {
    Memory {
        id: new.id.unwrap_or(fresh),
        scope: new.scope,
        kind: new.kind,
        category: new.category,
        title: new.title,
        body: new.body.trim().to_owned(),
        tags: new.tags,
        keywords: new.keywords,
        relevance: new.relevance,
        quality: new.quality.unwrap_or(0.5),
        attrs: new.attrs,
        place: new.place,
        origin: new.origin,
        source_sessions: new.source_sessions,
        external_id: new.external_id,
        event_at: new.event_at,
        observed_at: new.observed_at.unwrap_or(now),
        created_at: new.created_at.unwrap_or(now),
        updated_at: now,
        accessed_at: None,
        access_count: 0,
        expires_at: new.expires_at,
        state: State::Active,
        compression: Default::default(),
        pinned: new.pinned,
        revision: 1,
    }
}

/// Stores a message; one with the same foreign id in the same scope and session is the same message.
pub(crate) fn write_message(contents: &mut Contents, new: NewMessage, now: Timestamp) -> WriteResult {
    let faulty = fault(&new.content).or_else(|| new.scope.check().err().map(|error| error.message().to_owned()));
    if let Some(reason) = faulty {
        return WriteResult::rejected(reason);
    }
    let in_session =
        || contents.all_messages().filter(|message| message.scope == new.scope && message.session_id == new.session_id);
    if new.external_id.is_some()
        && let Some(known) = in_session().find(|message| message.external_id == new.external_id)
    {
        return WriteResult::with_id(WriteOutcome::Deduped, known.id.to_string());
    }
    let position = in_session().map(|message| message.position + 1).max().unwrap_or(0);
    let message = Message {
        id: contents.ids.next(now),
        scope: new.scope,
        session_id: new.session_id,
        position,
        role: new.role,
        speaker: new.speaker,
        content: new.content,
        created_at: new.created_at.unwrap_or(now),
        external_id: new.external_id,
        attrs: new.attrs,
    };
    let result = WriteResult::with_id(WriteOutcome::Stored, message.id.to_string());
    contents.change(Record::Message { message: Box::new(message) });
    result
}

/// Changes the fields that are given.
pub(crate) fn update(contents: &mut Contents, request: UpdateRequest, now: Timestamp) -> Result<WriteResult> {
    let mut memory = contents.changeable(&request.viewer, &request.id)?;
    if let Some(expected) = request.expected_revision.filter(|expected| *expected != memory.revision) {
        let message = format!("the memory {} stands at revision {}, not {expected}", memory.id, memory.revision);
        return Err(Error::new(ErrorKind::Conflict, message).with_hint("read it again and repeat the change"));
    }
    apply(&mut memory, request.changes)?;
    memory.revision += 1;
    memory.updated_at = now;
    let result = WriteResult::with_id(WriteOutcome::Stored, memory.id.to_string());
    contents.change(Record::Memory { operation: "updated".into(), memory: Box::new(memory) });
    Ok(result)
}

fn apply(memory: &mut Memory, changes: MemoryChanges) -> Result<()> {
    if let Some(body) = changes.body {
        if let Some(reason) = fault(&body) {
            return Err(Error::invalid(reason));
        }
        memory.body = body.trim().to_owned();
    }
    set(&mut memory.title, changes.title);
    set(&mut memory.category, changes.category);
    set(&mut memory.tags, changes.tags);
    set(&mut memory.keywords, changes.keywords);
    set(&mut memory.relevance, changes.relevance);
    set(&mut memory.event_at, changes.event_at);
    set(&mut memory.expires_at, changes.expires_at);
    set(&mut memory.pinned, changes.pinned);
    for (name, value) in changes.attrs.into_iter().flatten() {
        if value.is_null() {
            memory.attrs.remove(&name);
        } else {
            memory.attrs.insert(name, value);
        }
    }
    Ok(())
}

fn set<T>(field: &mut T, change: Option<T>) {
    if let Some(value) = change {
        *field = value;
    }
}

/// The memory as it stands once it is forgotten.
pub(crate) fn forgotten(memory: Memory, now: Timestamp) -> Memory {
    Memory { state: State::Deleted, revision: memory.revision + 1, updated_at: now, ..memory }
}
