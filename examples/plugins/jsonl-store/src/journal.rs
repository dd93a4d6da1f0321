//! The file: one line for each transaction, appended and synced. A line that was cut off by a crash was never acknowledged
//! and is dropped.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use plugin_sdk::memory_core::{Error, ErrorKind, Id, Memory, Message, Result};
use serde::{Deserialize, Serialize};

/// One change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Record {
    /// A memory as it stands after `operation`.
    Memory { operation: String, memory: Box<Memory> },
    /// A message.
    Message { message: Box<Message> },
    /// A message is forgotten. Its text stays in the file until something is erased.
    Forgotten { message: Id },
}

#[derive(Serialize, Deserialize)]
struct Line {
    records: Vec<Record>,
}

/// The open file, read up to `position`.
pub(crate) struct Journal {
    path: PathBuf,
    lock: File,
    file: File,
    position: u64,
}

/// What was found in the file since it was read last.
pub(crate) struct News {
    /// The file was written anew: forget what was read from the former one.
    pub(crate) from_the_start: bool,
    pub(crate) records: Vec<Record>,
}

impl Journal {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let lock_path = path.with_extension("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.map_err(|error| storage("cannot open", &lock_path, error))?;
        let file = open_file(&path)?;
        Ok(Self { path, lock, file, position: 0 })
    }

    /// Keeps other processes out while `work` runs.
    pub(crate) fn exclusively<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.lock.lock().map_err(|error| storage("cannot lock", &self.path, error))?;
        let result = work(self);
        self.lock.unlock().map_err(|error| storage("cannot unlock", &self.path, error))?;
        result
    }

    /// What others wrote since the last time. Call it inside of [`Journal::exclusively`].
    pub(crate) fn news(&mut self) -> Result<News> {
        let failed = |error| storage("cannot read", &self.path, error);
        let mut from_the_start = self.position == 0;
        let current = std::fs::metadata(&self.path).map_err(failed)?;
        if !is_same_file(&current, &self.file.metadata().map_err(failed)?) {
            self.file = open_file(&self.path)?;
            self.position = 0;
            from_the_start = true;
        }
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(self.position)).map_err(failed)?;
        self.file.read_to_end(&mut text).map_err(failed)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let mut records = Vec::new();
        let mut offset = self.position;
        for line in text.get(..whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            let parsed: Line = serde_json::from_slice(line).map_err(|error| {
                Error::new(ErrorKind::Corrupt, format!("{} is damaged at byte {offset}", self.path.display()))
                    .with_source(error)
                    .with_hint("repair or remove the line, or restore the file from a backup")
            })?;
            records.extend(parsed.records);
            offset += line.len() as u64;
        }
        if whole < text.len() {
            // The end of a transaction that died before it was acknowledged.
            self.file.set_len(offset).map_err(failed)?;
        }
        self.position = offset;
        Ok(News { from_the_start, records })
    }

    /// Reads everything again the next time.
    pub(crate) fn forget(&mut self) {
        self.position = 0;
    }

    /// Adds one transaction. On return it is durable; on an error nothing was added.
    pub(crate) fn append(&mut self, records: &[Record]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let line = line(records)?;
        let written = self
            .file
            .seek(SeekFrom::Start(self.position))
            .and_then(|_| self.file.write_all(&line))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Best effort: the next reader drops a cut line all the same.
            let _ = self.file.set_len(self.position);
            return Err(storage("cannot write", &self.path, error));
        }
        self.position += line.len() as u64;
        Ok(())
    }

    /// Puts a new file in the place of the old one, whole or not at all.
    pub(crate) fn replace(&mut self, records: &[Record]) -> Result<()> {
        let new = self.path.with_extension("new");
        let failed = |error| storage("cannot write", &new, error);
        let mut file = File::create(&new).map_err(failed)?;
        let mut length = 0;
        for record in records {
            let line = line(std::slice::from_ref(record))?;
            file.write_all(&line).map_err(failed)?;
            length += line.len() as u64;
        }
        file.sync_all().map_err(failed)?;
        std::fs::rename(&new, &self.path).map_err(failed)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        self.file = open_file(&self.path)?;
        self.position = length;
        Ok(())
    }
}

fn line(records: &[Record]) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Line { records: records.to_vec() })
        .map_err(|error| Error::unexpected("a record cannot be written as JSON").with_source(error))?;
    line.push(b'\n');
    Ok(line)
}

fn open_file(path: &PathBuf) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| storage("cannot open", path, error))
}

#[cfg(unix)]
fn is_same_file(one: &std::fs::Metadata, two: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

#[cfg(not(unix))]
fn is_same_file(one: &std::fs::Metadata, two: &std::fs::Metadata) -> bool {
    one.created().ok() == two.created().ok()
}

fn storage(what: &str, path: &std::path::Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("{what} {}", path.display())).with_source(error)
}
