//! One line of a file becomes one thing to write.

use std::collections::HashMap;

use memory_core::{Attributes, Item, NewMemory, NewMessage, Scope, Viewer, WriteItem};
use sha2::{Digest, Sha256};

use super::detect::LineFormat;
use super::fields::{Fields, Refusal};
use crate::transfer::bundle::{self, DocumentEntry, Header};

/// What a line holds.
#[derive(Debug, PartialEq)]
pub(super) enum Record {
    /// Something new.
    Write(WriteItem),
    /// A memory or message of a bundle.
    Insert(Item),
    /// A file of a bundle.
    Document(DocumentEntry),
    /// A line that holds no item: the frame of a bundle.
    Nothing,
}

/// Reads the lines of one file.
pub(super) struct RecordReader<'a> {
    format: LineFormat,
    viewer: &'a Viewer,
    seen: HashMap<[u8; 16], u32>,
}

impl<'a> RecordReader<'a> {
    pub(super) fn new(format: LineFormat, viewer: &'a Viewer) -> Self {
        Self { format, viewer, seen: HashMap::new() }
    }

    /// Reads one line that is not blank.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<Record, Refusal> {
        match self.format {
            LineFormat::Messages => self.message(Fields::parse(line)?),
            LineFormat::Memories => memory(Fields::parse(line)?, self.viewer),
            LineFormat::Bundle => bundle_line(line),
        }
    }

    fn message(&mut self, mut fields: Fields) -> Result<Record, Refusal> {
        let scope = fields.scope(self.viewer, Viewer::conversation)?;
        let mut message = NewMessage {
            scope,
            session_id: fields.required("session_id")?,
            role: fields.required("role")?,
            speaker: fields.optional("speaker")?,
            content: fields.required("content")?,
            created_at: fields.optional("created_at")?,
            external_id: fields.optional("external_id")?,
            attrs: fields.optional::<Attributes>("attrs")?.unwrap_or_default(),
        };
        if message.session_id.trim().is_empty() {
            return Err("`session_id` is empty".into());
        }
        if message.external_id.is_none() {
            message.external_id = Some(self.derived_id(&message));
        }
        Ok(Record::Write(WriteItem::Message(Box::new(message))))
    }

    /// An id for a message that brings none, so that importing the file again adds nothing. It depends on what the
    /// message says and on how often the same was said before it in the file: "ok" said twice is two messages.
    fn derived_id(&mut self, message: &NewMessage) -> String {
        let created_at = message.created_at.map(|at| at.to_string()).unwrap_or_default();
        let speaker = message.speaker.as_deref().unwrap_or_default();
        let role = format!("{:?}", message.role);
        let mut hash = Sha256::new();
        for part in [&message.scope.key(), &message.session_id, &role, speaker, &created_at, &message.content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let mut digest = [0; 16];
        digest.iter_mut().zip(hash.finalize()).for_each(|(byte, source)| *byte = source);
        let occurrence = self.seen.entry(digest).and_modify(|times| *times += 1).or_insert(0);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if *occurrence == 0 { format!("import:{digest}") } else { format!("import:{digest}:{occurrence}") }
    }
}

/// The fields of a memory that an import keeps, whoever wrote them.
fn memory(mut fields: Fields, viewer: &Viewer) -> Result<Record, Refusal> {
    if fields.text("type").is_some_and(|kind| kind != "memory") {
        return Err("this line is not a memory".into());
    }
    let memory = NewMemory {
        scope: fields.scope(viewer, Viewer::writable)?,
        id: fields.optional("id")?,
        body: fields.required("body")?,
        kind: fields.optional("kind")?.unwrap_or_default(),
        category: fields.optional("category")?,
        title: fields.optional("title")?,
        tags: fields.optional("tags")?.unwrap_or_default(),
        keywords: fields.optional("keywords")?.unwrap_or_default(),
        relevance: fields.optional("relevance")?.unwrap_or_default(),
        quality: fields.optional("quality")?,
        attrs: fields.optional("attrs")?.unwrap_or_default(),
        place: fields.optional("place")?,
        origin: fields.optional("origin")?.unwrap_or(memory_core::Origin::Import),
        source_sessions: fields.optional("source_sessions")?.unwrap_or_default(),
        external_id: fields.optional("external_id")?,
        event_at: fields.optional("event_at")?,
        observed_at: fields.optional("observed_at")?,
        created_at: fields.optional("created_at")?,
        expires_at: fields.optional("expires_at")?,
        pinned: fields.optional("pinned")?.unwrap_or_default(),
    };
    if memory.body.trim().is_empty() {
        return Err("`body` is empty".into());
    }
    if memory.quality.is_some_and(|quality| !(0.0..=1.0).contains(&quality)) {
        return Err("`quality` is not between 0 and 1".into());
    }
    Ok(Record::Write(WriteItem::Memory(Box::new(memory))))
}

fn bundle_line(line: &[u8]) -> Result<Record, Refusal> {
    let line = line.trim_ascii();
    if line == bundle::JSON_CLOSING.as_bytes() {
        return Ok(Record::Nothing);
    }
    // Also in the middle: bundles that were put together with `cat` read as one.
    if line.starts_with(b"{\"format\"")
        && let Some(header) = header(line)
    {
        return match header.version {
            1..=bundle::VERSION => Ok(Record::Nothing),
            version => Err(format!("the bundle has version {version}; this program reads up to {}", bundle::VERSION)),
        };
    }
    let fields = Fields::parse(line.strip_suffix(b",").unwrap_or(line))?;
    let kind = fields.text("type").map(str::to_owned).ok_or("`type` is missing")?;
    let value = fields.into_value();
    let wrong = |error: serde_json::Error| format!("not a {kind} of a bundle: {error}");
    let (record, scope) = match kind.as_str() {
        "memory" | "message" => {
            let item: Item = serde_json::from_value(value).map_err(wrong)?;
            let scope = item_scope(&item);
            (Record::Insert(item), scope)
        }
        "document" => {
            let document: DocumentEntry = serde_json::from_value(value).map_err(wrong)?;
            let scope = document.scope.clone();
            (Record::Document(document), Some(scope))
        }
        _ => return Err("`type` is none of memory, message, document".into()),
    };
    if let Some(scope) = scope {
        scope.check().map_err(|error| error.message().to_owned())?;
    }
    Ok(record)
}

fn item_scope(item: &Item) -> Option<Scope> {
    match item {
        Item::Memory(memory) => Some(memory.scope.clone()),
        Item::Message(message) => Some(message.scope.clone()),
        Item::Chunk(_) => None,
    }
}

/// Reads the first line of a bundle, in the form `ndjson` or `json`.
pub(super) fn header(line: &[u8]) -> Option<Header> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let closed;
    let text = if text.ends_with(bundle::JSON_OPENING) {
        closed = format!("{text}{}", bundle::JSON_CLOSING);
        &closed
    } else {
        text
    };
    serde_json::from_str::<Header>(text).ok().filter(|header| header.format == bundle::FORMAT)
}
