//! Takes changed files into the store: scan, compare by size, time and then hash, read, cut into chunks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::NaiveTime;
use memory_core::{Progress, Result, Scope, Viewer};
use serde::Serialize;

use crate::blocking::blocking;
use crate::documents::MAX_DOCUMENT_BYTES;
use crate::documents::change::{Budget, Changes, HashedFile, Known, compare};
use crate::documents::chunk::{ChunkOptions, chunk};
use crate::documents::frontmatter::{FrontMatter, parse};
use crate::documents::layout::{DocumentClass, scan};
use crate::documents::read::read_for_index;
use crate::provider::BuiltinProvider;
use crate::store::{DocumentRow, NewChunk, NewDocument, Store};

/// What taking in changed files did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DocumentReport {
    /// New files.
    pub added: u64,
    /// Files with another content.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that were left out, with the reason.
    pub skipped: Vec<(String, String)>,
    /// True when the budget ran out before everything was read.
    pub more_remaining: bool,
}

impl BuiltinProvider {
    /// Takes in all changed files of every workspace.
    pub async fn sync_documents(&self, progress: &dyn Progress) -> Result<DocumentReport> {
        let mut report = DocumentReport::default();
        let workspaces = self.all_workspaces().await?;
        progress.start("read documents", Some(workspaces.len() as u64));
        for (scope, folder) in workspaces {
            report.add(self.sync_workspace(scope, folder, Budget::UNLIMITED).await?);
            progress.advance(1);
        }
        progress.finish();
        Ok(report)
    }

    /// Takes in changed files that `viewer` may read, within the budget of a search. True when some are left.
    pub(crate) async fn sync_within_budget(&self, viewer: &Viewer) -> Result<bool> {
        let mut left = false;
        let budget = Budget { time: Duration::from_millis(self.config().documents_budget_ms), bytes: 4 << 20 };
        for (scope, folder) in self.workspaces().existing(viewer) {
            left |= self.sync_workspace(scope, folder, budget).await?.more_remaining;
        }
        Ok(left)
    }

    pub(crate) async fn all_workspaces(&self) -> Result<Vec<(Scope, PathBuf)>> {
        let this = self.clone();
        self.read("find workspaces", move |connection| {
            let mut scopes = Store::all_scopes(connection)?;
            let owner = this.workspaces().default_scope();
            if !scopes.contains(owner) {
                scopes.push(owner.clone());
            }
            Ok(scopes
                .into_iter()
                .map(|scope| {
                    let folder = this.workspaces().folder(&scope);
                    (scope, folder)
                })
                .filter(|(_, folder)| folder.is_dir())
                .collect())
        })
        .await
    }

    async fn sync_workspace(&self, scope: Scope, folder: PathBuf, budget: Budget) -> Result<DocumentReport> {
        let this = self.clone();
        blocking(move || this.sync_folder(&scope, &folder, budget)).await
    }

    fn sync_folder(&self, scope: &Scope, folder: &Path, budget: Budget) -> Result<DocumentReport> {
        let begin = Instant::now();
        let found = scan(folder, MAX_DOCUMENT_BYTES)?;
        let rows: BTreeMap<String, DocumentRow> = self
            .store()
            .read("read known documents", |connection| match Store::known_scope_number(connection, &scope.key())? {
                Some(number) => Store::documents_of(connection, number),
                None => Ok(Vec::new()),
            })?
            .into_iter()
            .map(|row| (row.document.path.clone(), row))
            .collect();
        let known: BTreeMap<String, Known> = rows.iter().map(|(path, row)| (path.clone(), known(row))).collect();
        let changes = compare(&found, &known, budget, &mut || begin.elapsed());
        let mut report = DocumentReport {
            added: changes.added.len() as u64,
            changed: changes.changed.len() as u64,
            removed: changes.removed.len() as u64,
            more_remaining: changes.more_remaining,
            skipped: found
                .skipped
                .iter()
                .chain(&changes.failed)
                .map(|skipped| (skipped.relative_path.clone(), skipped.reason.to_string()))
                .collect(),
        };
        self.take_in(scope, &rows, &changes, &mut report)?;
        Ok(report)
    }

    fn take_in(
        &self,
        scope: &Scope,
        rows: &BTreeMap<String, DocumentRow>,
        changes: &Changes,
        report: &mut DocumentReport,
    ) -> Result<()> {
        // Each file is a transaction of its own: a large folder does not keep other writers waiting.
        for file in changes.added.iter().chain(&changes.changed) {
            match self.read_document(file) {
                Ok((document, chunks, problem)) => {
                    report.skipped.extend(problem.map(|problem| (file.file.relative_path.clone(), problem)));
                    self.store().write("store a document", |connection| {
                        self.store().put_document(connection, scope, &document, &chunks).map(|_| ())
                    })?;
                }
                Err(error) => report.skipped.push((file.file.relative_path.clone(), error.to_string())),
            }
        }
        if changes.touched.is_empty() && changes.removed.is_empty() {
            return Ok(());
        }
        self.store().write("note documents", |connection| {
            for file in &changes.touched {
                if let Some(row) = rows.get(&file.file.relative_path) {
                    let (size, modified) = (file.file.size, file.file.modified_ns);
                    self.store().set_document_times(connection, row.key, size, modified)?;
                }
            }
            for path in &changes.removed {
                if let Some(row) = rows.get(path) {
                    Store::remove_document(connection, row)?;
                }
            }
            Ok(())
        })
    }

    fn read_document(&self, file: &HashedFile) -> Result<(NewDocument, Vec<NewChunk>, Option<String>)> {
        let read = read_for_index(&file.file.absolute, MAX_DOCUMENT_BYTES)?;
        let parsed = parse(&read.text);
        let options = ChunkOptions { max_characters: self.config().chunk_characters, ..ChunkOptions::default() };
        let chunks: Vec<NewChunk> = chunk(parsed.body, parsed.body_line, &options)
            .into_iter()
            .map(|piece| NewChunk {
                lines: [line(piece.start_line), line(piece.end_line)],
                heading: (!piece.heading_path.is_empty()).then_some(piece.heading_path),
                text: piece.text,
            })
            .collect();
        let front = parsed.front_matter.as_ref();
        let document = NewDocument {
            path: file.file.relative_path.clone(),
            title: front.and_then(|front| front.title.clone()).or_else(|| first_heading(parsed.body)),
            tags: front.map(|front| front.tags.clone()).unwrap_or_default(),
            frontmatter: front.map_or(serde_json::Value::Null, |front| front.attributes.clone().into()),
            size: file.file.size,
            modified_at: file.file.modified_ns,
            event_at: event_time(&file.file.class, front),
            hash: read.content_hash,
        };
        Ok((document, chunks, read.problem.or(parsed.problem)))
    }
}

impl DocumentReport {
    fn add(&mut self, other: Self) {
        self.added += other.added;
        self.changed += other.changed;
        self.removed += other.removed;
        self.skipped.extend(other.skipped);
        self.more_remaining |= other.more_remaining;
    }
}

fn known(row: &DocumentRow) -> Known {
    Known {
        size: row.document.size,
        modified_ns: row.document.modified_at.nanoseconds(),
        checked_ns: row.indexed_at,
        hash: row.document.hash.clone(),
    }
}

fn line(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn first_heading(text: &str) -> Option<String> {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "))?;
    let heading = heading.trim().trim_end_matches('#').trim();
    (!heading.is_empty()).then(|| heading.to_owned())
}

/// The day a document is about: the date of its frontmatter, else the day of a daily log.
fn event_time(class: &DocumentClass, front: Option<&FrontMatter>) -> Option<i64> {
    if let Some(date) = front.and_then(|front| front.date.as_ref()) {
        let utc = date.local - chrono::Duration::minutes(i64::from(date.offset_minutes.unwrap_or(0)));
        return utc.and_utc().timestamp_nanos_opt();
    }
    match class {
        DocumentClass::Daily(date) => date.and_time(NaiveTime::MIN).and_utc().timestamp_nanos_opt(),
        _ => None,
    }
}
