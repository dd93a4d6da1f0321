//! Export to a bundle or to Markdown.

mod destination;
mod markdown;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use memory_core::{Error, ErrorKind, Item, Result, Scope, Timestamp};
use serde::Serialize;

use self::destination::Destination;
use self::markdown::MarkdownWriter;
use super::bundle::{self, DocumentEntry, DocumentTag, Header};

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportFormat {
    /// A bundle: a header and one item a line. It imports to the same store.
    #[default]
    Ndjson,
    /// The bundle as one JSON value.
    Json,
    /// One Markdown text, for people.
    Markdown,
}

/// What an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ExportReport {
    /// How many memories.
    pub memories: u64,
    /// How many messages.
    pub messages: u64,
    /// How many documents.
    pub documents: u64,
}

/// Writes items one by one as they come; nothing is held back.
///
/// To a file it is all or nothing: the text is written beside it and takes its name at the end, so a reader never sees
/// half of an export, and a failure leaves what was there before.
pub struct Exporter {
    format: ExportFormat,
    destination: Destination,
    markdown: MarkdownWriter,
    report: ExportReport,
    any: bool,
}

/// Starts an export to a file, or to a writer such as standard output.
pub fn export(
    format: ExportFormat,
    path: Option<&Path>,
    fallback: Box<dyn Write + Send>,
    now: Timestamp,
) -> Result<Exporter> {
    let destination = match path {
        Some(path) => Destination::file(path)?,
        None => Destination::stream(fallback),
    };
    let mut exporter = Exporter {
        format,
        destination,
        markdown: MarkdownWriter::default(),
        report: ExportReport::default(),
        any: false,
    };
    exporter.open(now)?;
    Ok(exporter)
}

impl Exporter {
    fn open(&mut self, now: Timestamp) -> Result<()> {
        let header = Header { format: bundle::FORMAT.to_owned(), version: bundle::VERSION, exported_at: Some(now) };
        let header = serialise(&header)?;
        match self.format {
            ExportFormat::Ndjson => self.destination.line(&header),
            ExportFormat::Json => {
                let open = header.strip_suffix('}').unwrap_or(&header);
                self.destination.write(format!("{open},{}", bundle::JSON_OPENING).as_bytes())
            }
            ExportFormat::Markdown => self.destination.write(MarkdownWriter::opening(now).as_bytes()),
        }
    }

    /// Writes a memory or a message. A passage of a document is left out: its document holds it.
    pub fn item(&mut self, item: &Item) -> Result<()> {
        match item {
            Item::Memory(_) => self.report.memories += 1,
            Item::Message(_) => self.report.messages += 1,
            Item::Chunk(_) => return Ok(()),
        }
        match self.format {
            ExportFormat::Markdown => self.destination.write(self.markdown.item(item).as_bytes()),
            ExportFormat::Ndjson | ExportFormat::Json => self.entry(item),
        }
    }

    /// Writes a Markdown file of the workspace. What is not UTF-8 is an error that names it.
    pub fn document(&mut self, scope: &Scope, path: &str, content: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(content).map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("the document `{path}` is not UTF-8 text")).with_source(error)
        })?;
        self.report.documents += 1;
        match self.format {
            ExportFormat::Markdown => self.destination.write(self.markdown.document(path, text).as_bytes()),
            ExportFormat::Ndjson | ExportFormat::Json => self.entry(&DocumentEntry {
                tag: DocumentTag::Document,
                scope: scope.clone(),
                path: path.to_owned(),
                text: text.to_owned(),
            }),
        }
    }

    /// Ends the export and puts the file in its place.
    pub fn finish(mut self) -> Result<ExportReport> {
        if self.format == ExportFormat::Json {
            self.destination.write(format!("\n{}\n", bundle::JSON_CLOSING).as_bytes())?;
        }
        self.destination.finish()?;
        Ok(self.report)
    }

    fn entry(&mut self, entry: &impl Serialize) -> Result<()> {
        let line = serialise(entry)?;
        if self.format == ExportFormat::Ndjson {
            return self.destination.line(&line);
        }
        let separator = if std::mem::replace(&mut self.any, true) { ",\n" } else { "\n" };
        self.destination.write(separator.as_bytes())?;
        self.destination.write(line.as_bytes())
    }
}

fn serialise(entry: &impl Serialize) -> Result<String> {
    serde_json::to_string(entry)
        .map_err(|error| Error::unexpected("an item cannot be written as JSON").with_source(error))
}
