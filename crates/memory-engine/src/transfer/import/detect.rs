//! Which format a file has, from its name and its first lines.

use std::path::Path;

use memory_core::{Error, Result};

use super::fields::Fields;
use super::record::header;

/// What a path is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportFormat {
    /// Whatever it is, found out file by file.
    #[default]
    Auto,
    /// One message of a conversation a line.
    Messages,
    /// One memory a line, or an export bundle.
    Memories,
    /// Markdown files.
    Markdown,
}

/// What the lines of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineFormat {
    /// Messages.
    Messages,
    /// Memories.
    Memories,
    /// An export bundle.
    Bundle,
}

/// Whether the name is that of a Markdown file.
pub(super) fn is_markdown(path: &Path) -> bool {
    has_extension(path, &["md", "markdown", "mdown", "mkd"])
}

/// Whether the name is that of a file of JSON lines.
pub(super) fn is_lines(path: &Path) -> bool {
    has_extension(path, &["ndjson", "jsonl", "json"])
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    extensions.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Decides by the first lines of a file; broken ones among them do not matter as long as one can be read.
pub(super) fn detect<'a>(source: &str, lines: impl IntoIterator<Item = &'a [u8]>) -> Result<LineFormat> {
    for (position, line) in lines.into_iter().enumerate() {
        if position == 0 && header(line).is_some() {
            return Ok(LineFormat::Bundle);
        }
        let Ok(fields) = Fields::parse(line) else { continue };
        if fields.has("session_id") && fields.has("content") || fields.has("role") && fields.has("content") {
            return Ok(LineFormat::Messages);
        }
        if fields.has("body") {
            return Ok(LineFormat::Memories);
        }
    }
    Err(Error::invalid(format!("`{source}` has none of the formats that import reads"))
        .with_hint("messages: one JSON object a line with session_id, role and content")
        .with_hint("memories: one JSON object a line with body, or a bundle made by `memory export`")
        .with_hint("markdown: a file that ends in .md, or any text with `--format markdown`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(lines: &[&str]) -> Option<LineFormat> {
        detect("x", lines.iter().map(|line| line.as_bytes())).ok()
    }

    #[test]
    fn a_file_is_known_by_its_first_readable_line() {
        assert_eq!(
            format(&["{broken", r#"{"session_id":"s","role":"user","content":"你好"}"#]),
            Some(LineFormat::Messages)
        );
        assert_eq!(format(&[r#"{"body":"likes tea"}"#]), Some(LineFormat::Memories));
        assert_eq!(format(&[r#"{"format":"memory-bundle","version":1}"#]), Some(LineFormat::Bundle));
        assert_eq!(format(&[r#"{"format":"memory-bundle","version":1,"items":["#]), Some(LineFormat::Bundle));
        assert_eq!(format(&["# Notes", "hello"]), None);
        assert_eq!(format(&[]), None);
    }

    #[test]
    fn names_are_known_in_any_case() {
        assert!(is_markdown(Path::new("笔记/周记.MD")));
        assert!(is_lines(Path::new("a.JSONL")));
        assert!(!is_markdown(Path::new("md")) && !is_lines(Path::new("a.txt")));
    }
}
