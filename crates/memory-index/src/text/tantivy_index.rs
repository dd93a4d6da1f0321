//! The text index on tantivy: one directory, one writer at a time, any number of readers.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use memory_core::{Error, ErrorKind, Result};
use tantivy::directory::{Directory, META_LOCK, MmapDirectory};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, NoMergePolicy};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy};

use super::bm25::FieldStatistics;
use super::fault::{fault, guarded, io_kind};
use super::lookup::{locate, revision};
use super::schema::{Fields, SCHEMA_VERSION, TOKENIZER, schema};
use super::search::Snapshot;
use super::{TextField, TextIndex, TextQuery, Watermark};
use crate::entry::{EntryKey, IndexEntry};
use crate::tokenizer::{MemoryTokenizer, QueryTerm, TOKENIZER_VERSION};

const META_FILE: &str = "meta.json";
/// Memory for documents that are not written yet.
const WRITER_BYTES: usize = 50_000_000;
/// An index up to this size is checked byte by byte when it is opened: a few milliseconds.
const CHECKED_ON_OPEN: u64 = 32 << 20;
/// Share of deleted documents above which a segment is rewritten.
const DELETED_SHARE: f32 = 0.25;

/// Names the format of the text index: part of every fingerprint.
pub fn text_format() -> String {
    format!("text-{SCHEMA_VERSION}-tokenizer-{TOKENIZER_VERSION}")
}

/// A text index in a directory.
pub struct TantivyIndex {
    directory: PathBuf,
    index: Index,
    fields: Fields,
    reader: IndexReader,
    loaded: Mutex<Option<Stamp>>,
    writer: Mutex<Option<IndexWriter>>,
}

impl std::fmt::Debug for TantivyIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TantivyIndex").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl TantivyIndex {
    /// Opens the index in `directory`, or makes an empty one where there is none.
    ///
    /// An index written with another `fingerprint` or by another version is [`ErrorKind::Conflict`]: build a new
    /// generation.
    pub fn open_or_create(directory: &Path, fingerprint: &str) -> Result<Self> {
        guarded(directory, || {
            if !directory.join(META_FILE).exists() {
                fs::create_dir_all(directory).map_err(|error| {
                    Error::new(ErrorKind::Storage, "cannot create the directory of the text index").with_source(error)
                })?;
                let mapped = MmapDirectory::open(directory).map_err(|error| fault(error.into()))?;
                // Loses a race against another process gracefully: whoever comes second opens.
                Index::open_or_create(mapped, schema()).map_err(fault)?;
            }
            Self::open_existing(directory, fingerprint)
        })
    }

    /// Opens the index in `directory`. A missing one is [`ErrorKind::Corrupt`].
    pub fn open(directory: &Path, fingerprint: &str) -> Result<Self> {
        guarded(directory, || Self::open_existing(directory, fingerprint))
    }

    fn open_existing(directory: &Path, fingerprint: &str) -> Result<Self> {
        let stamp = Stamp::read(directory)?;
        let index = Index::open_in_dir(directory).map_err(fault)?;
        let foreign = |what: &str| {
            Error::new(ErrorKind::Conflict, format!("the text index was built with another {what}"))
                .with_hint("run `memory reindex` to build it anew")
        };
        if index.schema() != schema() {
            return Err(foreign("format"));
        }
        let fields = Fields::of(&index.schema())?;
        index.tokenizers().register(TOKENIZER, MemoryTokenizer);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(fault)?;
        let opened = Self {
            directory: directory.to_owned(),
            index,
            fields,
            reader,
            loaded: Mutex::new(Some(stamp)),
            writer: Mutex::new(None),
        };
        if opened.read_watermark()?.is_some_and(|watermark| watermark.fingerprint != fingerprint) {
            return Err(foreign("fingerprint"));
        }
        if opened.bytes() <= CHECKED_ON_OPEN {
            opened.check_bytes()?;
        }
        Ok(opened)
    }

    /// Size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    fn check_bytes(&self) -> Result<()> {
        let damaged = self.index.validate_checksum().map_err(fault)?;
        match damaged.iter().next() {
            None => Ok(()),
            Some(file) => Err(Error::new(ErrorKind::Corrupt, "a file of the text index is damaged")
                .with_context("file", file.display())),
        }
    }

    /// The newest state. Looks at one file's metadata; loads only what another commit has changed.
    fn snapshot(&self) -> Result<Snapshot<'_>> {
        let stamp = Stamp::read(&self.directory)?;
        let mut loaded = lock(&self.loaded);
        if *loaded != Some(stamp) {
            self.reader.reload().map_err(fault)?;
            *loaded = Some(stamp);
        }
        Ok(Snapshot { searcher: self.reader.searcher(), fields: &self.fields })
    }

    fn read_watermark(&self) -> Result<Option<Watermark>> {
        let Some(payload) = self.index.load_metas().map_err(fault)?.payload else { return Ok(None) };
        serde_json::from_str(&payload).map(Some).map_err(|error| {
            Error::new(ErrorKind::Corrupt, "the watermark of the text index is unreadable").with_source(error)
        })
    }

    fn open_writer(&self) -> Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let writer = self.index.writer_with_options(options).map_err(fault)?;
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(DELETED_SHARE);
        writer.set_merge_policy(Box::new(merging));
        Ok(writer)
    }

    /// Runs `action` with the writer. After a failure the writer is dropped, which undoes what is not committed.
    fn with_writer<T>(&self, action: impl FnOnce(&mut IndexWriter) -> Result<T>) -> Result<T> {
        let mut slot = lock(&self.writer);
        let mut writer = match slot.take() {
            Some(writer) => writer,
            None => self.open_writer()?,
        };
        let outcome = action(&mut writer)?;
        *slot = Some(writer);
        Ok(outcome)
    }

    fn write(
        &self,
        writer: &mut IndexWriter,
        upserts: &[IndexEntry],
        deletes: &[EntryKey],
        watermark: &Watermark,
    ) -> Result<()> {
        let snapshot = self.snapshot()?;
        let mut newest: HashMap<EntryKey, &IndexEntry> = HashMap::new();
        for entry in upserts {
            let kept = newest.entry(entry.key).or_insert(entry);
            if kept.revision <= entry.revision {
                *kept = entry;
            }
        }
        let mut keys: Vec<EntryKey> = newest.keys().copied().collect();
        keys.sort_unstable();
        let removed: Vec<EntryKey> = deletes.iter().copied().filter(|key| !newest.contains_key(key)).collect();
        // Deleting is not cheap, so only what is there is deleted.
        for (key, address) in removed.iter().zip(locate(&snapshot.searcher, &self.fields, &removed)?) {
            if address.is_some() {
                writer.delete_term(self.fields.key_term(*key));
            }
        }
        let deleted: HashSet<&EntryKey> = deletes.iter().collect();
        for (key, address) in keys.iter().zip(locate(&snapshot.searcher, &self.fields, &keys)?) {
            let Some(entry) = newest.get(key) else { continue };
            if let Some(address) = address {
                let present = revision(&snapshot.searcher, address)?;
                if !deleted.contains(key) && present.is_some_and(|present| present > entry.revision) {
                    continue;
                }
                writer.delete_term(self.fields.key_term(*key));
            }
            writer.add_document(self.fields.document(entry)).map_err(fault)?;
        }
        let payload = serde_json::to_string(watermark)
            .map_err(|error| Error::unexpected("cannot write the watermark of the text index").with_source(error))?;
        let mut commit = writer.prepare_commit().map_err(fault)?;
        commit.set_payload(&payload);
        commit.commit().map_err(fault)?;
        Ok(())
    }

    fn finish_writer(&self) -> Result<()> {
        match lock(&self.writer).take() {
            Some(writer) => writer.wait_merging_threads().map_err(fault),
            None => Ok(()),
        }
    }

    fn merge_all(&self, writer: &mut IndexWriter) -> Result<()> {
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let ids = {
            // The engine keeps the files of a segment as long as its description lives.
            let segments = self.index.searchable_segment_metas().map_err(fault)?;
            let clean = segments.len() <= 1 && segments.iter().all(|segment| !segment.has_deletes());
            if clean { Vec::new() } else { segments.iter().map(|segment| segment.id()).collect() }
        };
        if !ids.is_empty() {
            writer.merge(&ids).wait().map_err(fault)?;
        }
        drop(self.snapshot()?);
        writer.garbage_collect_files().wait().map_err(fault)?;
        self.remove_stale_files()
    }

    /// Removes what garbage collection has left: files of segments that are no longer part of the index, which the
    /// engine may have lost track of or which a running search still reads (that search keeps its view of them).
    fn remove_stale_files(&self) -> Result<()> {
        let directory = self.index.directory();
        let _opening = directory.acquire_lock(&META_LOCK).map_err(|error| fault(error.into()))?;
        let living: Vec<String> =
            self.index.searchable_segment_ids().map_err(fault)?.iter().map(|id| id.uuid_string()).collect();
        for file in fs::read_dir(&self.directory).map_err(|error| storage(&error))? {
            let file = file.map_err(|error| storage(&error))?;
            let name = file.file_name();
            let name = name.to_string_lossy();
            let stem = name.split('.').next().unwrap_or_default();
            let of_segment = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
            if of_segment && !living.iter().any(|id| id == stem) {
                fs::remove_file(file.path()).map_err(|error| {
                    Error::new(ErrorKind::Busy, "an old file of the text index is still in use")
                        .with_context("file", &name)
                        .with_source(error)
                })?;
            }
        }
        Ok(())
    }
}

impl TextIndex for TantivyIndex {
    fn apply(&self, upserts: &[IndexEntry], deletes: &[EntryKey], watermark: &Watermark) -> Result<()> {
        guarded(&self.directory, || self.with_writer(|writer| self.write(writer, upserts, deletes, watermark)))
    }

    fn watermark(&self) -> Result<Option<Watermark>> {
        guarded(&self.directory, || self.read_watermark())
    }

    fn search(&self, query: &TextQuery) -> Result<Vec<(EntryKey, f32)>> {
        guarded(&self.directory, || self.snapshot()?.search(query))
    }

    fn score(&self, question: &str, field: TextField, keys: &[EntryKey]) -> Result<Vec<f32>> {
        guarded(&self.directory, || self.snapshot()?.score(question, field, keys))
    }

    fn statistics(&self, field: TextField, terms: &[QueryTerm]) -> Result<FieldStatistics> {
        guarded(&self.directory, || self.snapshot()?.statistics(field, terms))
    }

    fn count(&self) -> Result<u64> {
        guarded(&self.directory, || Ok(self.snapshot()?.searcher.num_docs()))
    }

    fn verify(&self) -> Result<()> {
        guarded(&self.directory, || self.check_bytes())
    }

    fn release_writer(&self) -> Result<()> {
        guarded(&self.directory, || self.finish_writer())
    }

    fn purge(&self) -> Result<()> {
        guarded(&self.directory, || {
            self.finish_writer()?;
            self.with_writer(|writer| self.merge_all(writer))?;
            self.finish_writer()
        })
    }
}

/// What tells one commit from another: every commit replaces the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    length: u64,
    file: u64,
}

impl Stamp {
    fn read(directory: &Path) -> Result<Self> {
        let metadata = fs::metadata(directory.join(META_FILE));
        let read = metadata.and_then(|metadata| {
            Ok(Self { modified: metadata.modified()?, length: metadata.len(), file: file_number(&metadata) })
        });
        read.map_err(|error| storage(&error))
    }
}

#[cfg(unix)]
fn file_number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn file_number(_: &Metadata) -> u64 {
    0
}

fn storage(error: &io::Error) -> Error {
    let kind = io_kind(error);
    let message = match kind {
        ErrorKind::Corrupt => "the text index is missing",
        _ => "the text index cannot be read",
    };
    Error::new(kind, message).with_context("cause", error)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
