//! The text that stands for a row in the indexes. Who said it and when belongs to it: questions ask for both.

use memory_core::{Memory, Message, Role, Timestamp};

use crate::store::{ChunkRow, DocumentRow};

/// Messages up to this many characters borrow evidence from their neighbours; longer ones stand for themselves.
/// Measured on chat turns and on long assistant answers: see docs/retrieval.md.
pub(crate) const SHORT_MESSAGE: usize = 300;

/// The most characters of a whole document that are indexed as one text; its chunks hold all of it.
const DOCUMENT_CHARACTERS: usize = 20_000;

/// True for a message that borrows evidence from its neighbours.
pub(crate) fn is_short(message: &Message) -> bool {
    message.content.chars().nth(SHORT_MESSAGE).is_none()
}

/// `[8 May 2023] Ann: words`
pub(crate) fn message_text(message: &Message) -> String {
    format!("[{}] {}: {}", date(message.created_at), speaker(message), message.content)
}

/// Who speaks: the name, else the role.
pub(crate) fn speaker(message: &Message) -> &str {
    match &message.speaker {
        Some(name) => name,
        None => match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Tool => "tool",
        },
    }
}

/// A short message together with its short neighbours; `None` for a long one.
pub(crate) fn window_text(previous: Option<&Message>, message: &Message, next: Option<&Message>) -> Option<String> {
    if !is_short(message) {
        return None;
    }
    let around = [Some(message), previous.filter(|m| is_short(m)), next.filter(|m| is_short(m))];
    Some(around.into_iter().flatten().map(message_text).collect::<Vec<_>>().join("\n"))
}

/// The messages of a segment as one text.
pub(crate) fn segment_text<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    messages.map(message_text).collect::<Vec<_>>().join("\n")
}

/// Date, place, title, body and keywords of a memory.
pub(crate) fn memory_text(memory: &Memory) -> String {
    let mut text = format!("[{}] ", date(memory.event_at.unwrap_or(memory.created_at)));
    if let Some(title) = &memory.title {
        text.push_str(title);
        text.push_str(": ");
    }
    text.push_str(&memory.body);
    for more in memory.place.iter().chain(&memory.keywords) {
        text.push('\n');
        text.push_str(more);
    }
    text
}

/// Title and headings of a document before the passage.
pub(crate) fn chunk_text(document: &DocumentRow, chunk: &ChunkRow) -> String {
    let mut header = String::new();
    if let Some(at) = document.event_at {
        header.push_str(&format!("[{}] ", date(Timestamp::from_nanoseconds(at))));
    }
    let title = document.document.title.as_deref().unwrap_or(&document.document.path);
    let heading = chunk.chunk.heading.as_deref().unwrap_or_default();
    if !heading.starts_with(title) {
        header.push_str(title);
        header.push_str(if heading.is_empty() { "" } else { " > " });
    }
    format!("{header}{heading}: {}", chunk.chunk.text)
}

/// A whole document as one text, up to a limit.
pub(crate) fn document_text<'a>(document: &DocumentRow, chunks: impl Iterator<Item = &'a ChunkRow>) -> String {
    let mut text = document.document.title.clone().unwrap_or_default();
    let mut left = DOCUMENT_CHARACTERS;
    for chunk in chunks {
        if left == 0 {
            break;
        }
        text.push('\n');
        let passage: String = chunk.chunk.text.chars().take(left).collect();
        left = left.saturating_sub(passage.chars().count());
        text.push_str(&passage);
    }
    text
}

fn date(at: Timestamp) -> String {
    at.to_datetime().format("%-d %B %Y").to_string()
}
