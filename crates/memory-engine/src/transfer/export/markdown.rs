//! An export for people: memories, conversations and documents as one Markdown text.

use std::fmt::Write;

use memory_core::{Item, Memory, Message, State, Timestamp};

/// Remembers which heading stands above the next item.
#[derive(Debug, Default)]
pub(super) struct MarkdownWriter {
    heading: Option<String>,
}

impl MarkdownWriter {
    /// The head of the text.
    pub(super) fn opening(now: Timestamp) -> String {
        format!("# Memory\n\nExported {now}.\n")
    }

    /// A memory or message, under a new heading where it needs one.
    pub(super) fn item(&mut self, item: &Item) -> String {
        match item {
            Item::Memory(memory) => {
                let heading = format!("## Memories of {}", scope(&memory.scope));
                self.under(heading, &memory_text(memory))
            }
            Item::Message(message) => {
                let heading = format!("## Session {} of {}", message.session_id, scope(&message.scope));
                self.under(heading, &message_text(message))
            }
            Item::Chunk(_) => String::new(),
        }
    }

    /// A document, each under its own heading.
    pub(super) fn document(&mut self, path: &str, text: &str) -> String {
        self.heading = None;
        format!("\n## Document {path}\n\n{}\n", quote(text))
    }

    fn under(&mut self, heading: String, text: &str) -> String {
        if self.heading.as_ref() == Some(&heading) {
            return format!("\n{text}");
        }
        let section = format!("\n{heading}\n\n{text}");
        self.heading = Some(heading);
        section
    }
}

fn scope(scope: &memory_core::Scope) -> String {
    let default = memory_core::DEFAULT_NAME;
    let mut text = scope.owner.to_string();
    if scope.user != default {
        text = format!("{} ({text})", scope.user);
    }
    if scope.space != default {
        let _ = write!(text, " in {}", scope.space);
    }
    text
}

fn memory_text(memory: &Memory) -> String {
    let mut details = vec![day(memory.event_at.unwrap_or(memory.created_at))];
    details.extend(memory.category.clone());
    details.extend(memory.tags.iter().map(|tag| format!("#{tag}")));
    if memory.state != State::Active {
        details.push(format!("{:?}", memory.state).to_lowercase());
    }
    details.push(memory.id.to_string());
    let title = memory.title.as_ref().map(|title| format!("**{title}** ")).unwrap_or_default();
    format!("- {title}{}\n  <sub>{}</sub>\n", memory.body.trim_end().replace('\n', "\n  "), details.join(" · "))
}

fn message_text(message: &Message) -> String {
    let role = format!("{:?}", message.role).to_lowercase();
    let who = message.speaker.clone().unwrap_or(role);
    format!("**{who}** · {}\n\n{}\n", message.created_at, quote(&message.content))
}

/// As a block quote, so that no heading inside it mixes with ours.
fn quote(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

fn day(at: Timestamp) -> String {
    at.to_datetime().format("%Y-%m-%d").to_string()
}
