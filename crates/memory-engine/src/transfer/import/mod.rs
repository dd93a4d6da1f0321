//! Import of conversations, memories, bundles and Markdown.

mod detect;
mod fields;
mod lines;
mod read;
mod record;
mod report;
mod sources;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use memory_core::{Error, Item, Progress, Result, Viewer, WriteItem, WriteReport, WriteRequest, WriteResult};

pub use detect::ImportFormat;
pub use report::{ImportReport, Problem, Problems};

use self::read::Batch;
use self::sources::Source;
use super::target::ImportTarget;

/// The largest Markdown file that is taken in, in bytes.
const LARGEST_DOCUMENT: u64 = 64 << 20;

/// What to import, and for whom.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Files, folders, and `-` for standard input.
    pub paths: Vec<PathBuf>,
    /// What they are read as.
    pub format: ImportFormat,
    /// Whose the items are that do not say.
    pub viewer: Viewer,
    /// Read and count, write nothing.
    pub dry_run: bool,
    /// Write even what was forgotten before.
    pub force: bool,
}

/// Imports. Bad lines and unreadable files are in the report and do not stop it; a path that does not exist and a store
/// that fails do. What was written before a failure stays, and importing again adds only the rest.
pub async fn import(
    target: &dyn ImportTarget,
    options: &ImportOptions,
    progress: &dyn Progress,
) -> Result<ImportReport> {
    let mut report = ImportReport { dry_run: options.dry_run, ..ImportReport::default() };
    let sources = {
        let (paths, format) = (options.paths.clone(), options.format);
        let mut skipped = Problems::default();
        let listed = tokio::task::spawn_blocking(move || {
            sources::list(&paths, format, &mut skipped).map(|list| (list, skipped))
        });
        let (list, skipped) = listed.await.map_err(stopped)??;
        report.skipped = skipped;
        list
    };
    let mut importer = Importer { target, options, progress, report };
    let (documents, files): (Vec<Source>, Vec<Source>) =
        sources.into_iter().partition(|source| matches!(source, Source::Markdown(..)));
    for source in files {
        importer.lines(source).await?;
    }
    if !documents.is_empty() {
        importer.documents(documents).await?;
    }
    Ok(importer.report)
}

struct Importer<'a> {
    target: &'a dyn ImportTarget,
    options: &'a ImportOptions,
    progress: &'a dyn Progress,
    report: ImportReport,
}

impl Importer<'_> {
    async fn lines(&mut self, source: Source) -> Result<()> {
        let name = source.name();
        let total = match &source {
            Source::Lines(path) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || read::count_lines(&path)).await.map_err(stopped)?
            }
            _ => None,
        };
        self.progress.start(&format!("importing {name}"), total);
        let mut batches = read::start(source, self.options.format, self.options.viewer.clone());
        while let Some(batch) = batches.recv().await {
            match batch {
                Ok(batch) => {
                    let lines = batch.lines;
                    self.write(&name, batch).await?;
                    self.progress.advance(lines);
                }
                Err(error) => {
                    self.report.errors.add(Problem { source: name.clone(), line: None, reason: explain(&error) })
                }
            }
        }
        self.report.files += 1;
        self.progress.finish();
        Ok(())
    }

    async fn write(&mut self, name: &str, batch: Batch) -> Result<()> {
        for problem in batch.problems {
            self.report.errors.add(problem);
        }
        for (_, item) in &batch.writes {
            match item {
                WriteItem::Memory(_) => self.report.memories += 1,
                WriteItem::Message(_) => self.report.messages += 1,
            }
        }
        for (_, item) in &batch.inserts {
            match item {
                Item::Message(_) => self.report.messages += 1,
                Item::Memory(_) | Item::Chunk(_) => self.report.memories += 1,
            }
        }
        self.report.documents += batch.documents.len() as u64;
        if self.options.dry_run {
            return Ok(());
        }
        if !batch.writes.is_empty() {
            let (numbers, items): (Vec<u64>, Vec<WriteItem>) = batch.writes.into_iter().unzip();
            let written = self.target.write(WriteRequest { items, force: self.options.force, repeated: false }).await?;
            self.count(name, &numbers, written)?;
        }
        if !batch.inserts.is_empty() {
            let (numbers, items): (Vec<u64>, Vec<Item>) = batch.inserts.into_iter().unzip();
            let written = self.target.insert(items, self.options.force).await?;
            self.count(name, &numbers, written)?;
        }
        for (number, document) in batch.documents {
            let written = self.target.restore_document(&document.scope, &document.path, document.text.as_bytes()).await;
            self.count_document(name, Some(number), written)?;
        }
        Ok(())
    }

    fn count(&mut self, name: &str, numbers: &[u64], written: WriteReport) -> Result<()> {
        if written.items.len() != numbers.len() {
            let message = format!("the store answered {} results for {} items", written.items.len(), numbers.len());
            return Err(Error::unexpected(message));
        }
        for (number, result) in numbers.iter().zip(written.items) {
            self.report.count(result, || (name.to_owned(), Some(*number)));
        }
        Ok(())
    }

    /// A document that the store finds wrong is a problem of that document; a store that fails ends the import.
    fn count_document(&mut self, name: &str, line: Option<u64>, written: Result<WriteResult>) -> Result<()> {
        use memory_core::ErrorKind::{Conflict, Forbidden, InvalidRequest, NotFound};
        let result = match written {
            Err(error) if matches!(error.kind(), InvalidRequest | Forbidden | Conflict | NotFound) => {
                WriteResult::rejected(error.to_string())
            }
            other => other?,
        };
        self.report.count(result, || (name.to_owned(), line));
        Ok(())
    }

    async fn documents(&mut self, sources: Vec<Source>) -> Result<()> {
        let scope = self.options.viewer.conversation()?;
        self.progress.start("importing documents", Some(sources.len() as u64));
        for source in sources {
            let name = source.name();
            let Source::Markdown(path, relative) = source else { continue };
            match tokio::task::spawn_blocking(move || read_document(&path)).await.map_err(stopped)? {
                Err(reason) => self.report.errors.add(Problem { source: name, line: None, reason }),
                Ok(content) => {
                    self.report.documents += 1;
                    if !self.options.dry_run {
                        let written = self.target.import_document(&scope, &relative, &content).await;
                        self.count_document(&name, None, written)?;
                    }
                }
            }
            self.report.files += 1;
            self.progress.advance(1);
        }
        self.progress.finish();
        Ok(())
    }
}

fn read_document(path: &std::path::Path) -> std::result::Result<Vec<u8>, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > LARGEST_DOCUMENT {
        return Err(format!("the file has {size} bytes; a document may have {LARGEST_DOCUMENT}"));
    }
    let content = std::fs::read(path).map_err(|error| error.to_string())?;
    match std::str::from_utf8(&content) {
        Ok(_) => Ok(content),
        Err(error) => Err(format!("not valid UTF-8 (byte {})", error.valid_up_to().saturating_add(1))),
    }
}

/// An error and what to do about it on one line.
fn explain(error: &Error) -> String {
    match error.hints() {
        [] => error.to_string(),
        hints => format!("{error}; {}", hints.join("; ")),
    }
}

fn stopped(error: tokio::task::JoinError) -> Error {
    Error::unexpected("a reading thread stopped").with_source(error)
}
