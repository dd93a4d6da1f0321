//! Memories, messages and passages, on one line or in full.

use std::fmt::Write;

use memory_core::{Item, Memory, Message, State, Timestamp};
use serde::Serialize;

use super::layout::{clean, one_line, shorten};
use super::style::Style;

/// Id, date, labels and the beginning of the text on one line of `width` columns.
pub(crate) fn item_line(item: &Item, width: usize, style: Style) -> String {
    let (id, at, label, text) = match item {
        Item::Memory(memory) => {
            let mut labels: Vec<String> = memory.category.iter().cloned().collect();
            labels.extend(memory.tags.iter().map(|tag| format!("#{tag}")));
            if memory.state != State::Active {
                labels.push(word(&memory.state));
            }
            let text = match &memory.title {
                Some(title) => format!("{title}: {}", memory.body),
                None => memory.body.clone(),
            };
            (&memory.id, memory.event_at.unwrap_or(memory.created_at), labels.join(" "), text)
        }
        Item::Message(message) => {
            let who = message.speaker.clone().unwrap_or_else(|| word(&message.role));
            (&message.id, message.created_at, format!("{} {who}", message.session_id), message.content.clone())
        }
        Item::Chunk(chunk) => {
            (&chunk.chunk.id, chunk.document.modified_at, chunk.document.path.clone(), chunk.chunk.text.clone())
        }
    };
    let label = if label.is_empty() { String::new() } else { format!("{}  ", shorten(&one_line(&label), 30)) };
    let used = id.as_str().len() + 2 + 10 + 2 + unicode_width::UnicodeWidthStr::width(label.as_str());
    let text = shorten(&one_line(&text), width.saturating_sub(used).max(20));
    format!("{}  {}  {}{text}", style.faint(id.as_str()), day(at), style.label(&label))
}

/// Everything about an item.
pub(crate) fn item_details(item: &Item, style: Style) -> String {
    match item {
        Item::Memory(memory) => memory_details(memory, style),
        Item::Message(message) => message_details(message, style),
        Item::Chunk(chunk) => {
            let [first, last] = chunk.chunk.lines;
            let mut details = Details::new("passage", chunk.chunk.id.as_str(), style);
            details.add("document", &format!("{}:{first}-{last}", chunk.document.path));
            details.add_some("heading", chunk.chunk.heading.as_deref());
            details.with_text(&chunk.chunk.text)
        }
    }
}

fn memory_details(memory: &Memory, style: Style) -> String {
    let mut details = Details::new("memory", memory.id.as_str(), style);
    details.add_some("title", memory.title.as_deref());
    details.add_some("category", memory.category.as_deref());
    details.add_list("tags", &memory.tags);
    details.add_list("keywords", &memory.keywords);
    details.add("belongs to", &scope(&memory.scope));
    details.add("relevance", &word(&memory.relevance));
    if memory.state != State::Active {
        details.add("state", &word(&memory.state));
    }
    details.add_some("external id", memory.external_id.as_deref());
    details.add_some("happened", memory.event_at.map(moment).as_deref());
    details.add("created", &moment(memory.created_at));
    if memory.revision > 1 {
        details.add("changed", &format!("{} (revision {})", moment(memory.updated_at), memory.revision));
    }
    details.add_some("expires", memory.expires_at.map(moment).as_deref());
    if memory.pinned {
        details.add("pinned", "yes");
    }
    if !memory.attrs.is_empty() {
        details.add("attributes", &serde_json::Value::Object(memory.attrs.clone()).to_string());
    }
    details.with_text(&memory.body)
}

fn message_details(message: &Message, style: Style) -> String {
    let mut details = Details::new("message", message.id.as_str(), style);
    details.add("session", &format!("{}, message {}", message.session_id, message.position));
    details.add_some("speaker", message.speaker.as_deref());
    details.add("role", &word(&message.role));
    details.add("said", &moment(message.created_at));
    details.add("belongs to", &scope(&message.scope));
    details.add_some("external id", message.external_id.as_deref());
    if !message.attrs.is_empty() {
        details.add("attributes", &serde_json::Value::Object(message.attrs.clone()).to_string());
    }
    details.with_text(&message.content)
}

struct Details {
    style: Style,
    text: String,
}

impl Details {
    fn new(kind: &str, id: &str, style: Style) -> Self {
        Self { style, text: format!("{kind} {}\n", style.strong(id)) }
    }

    fn add(&mut self, label: &str, value: &str) {
        let padding = " ".repeat(12usize.saturating_sub(label.len()));
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "  {}{padding} {}", self.style.label(label), one_line(value));
    }

    fn add_some(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(label, value);
        }
    }

    fn add_list(&mut self, label: &str, values: &[String]) {
        if !values.is_empty() {
            self.add(label, &values.join(", "));
        }
    }

    fn with_text(mut self, text: &str) -> String {
        let _ = writeln!(self.text, "\n{}", clean(text).trim_end());
        self.text
    }
}

/// Who it belongs to, without names that are the default.
fn scope(scope: &memory_core::Scope) -> String {
    let mut text = scope.owner.to_string();
    if scope.user != memory_core::DEFAULT_NAME {
        let _ = write!(text, " of {}", scope.user);
    }
    if scope.space != memory_core::DEFAULT_NAME {
        let _ = write!(text, " in {}", scope.space);
    }
    text
}

/// The name a value has in JSON.
pub(super) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn day(at: Timestamp) -> String {
    at.to_datetime().format("%Y-%m-%d").to_string()
}

fn moment(at: Timestamp) -> String {
    at.to_datetime().format("%Y-%m-%d %H:%M:%S %:z").to_string().replace(" +00:00", " UTC")
}
