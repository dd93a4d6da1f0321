//! The numbered directories of an index: a new one is built beside the old, then takes its place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

/// Prefix of a directory that is being removed.
const REMOVED: &str = "removed-";

/// All generations of one index, below one directory: `1`, `2`, …
#[derive(Debug, Clone)]
pub struct Generations {
    root: PathBuf,
}

impl Generations {
    /// The generations below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory of `generation`.
    pub fn path(&self, generation: u64) -> PathBuf {
        self.root.join(generation.to_string())
    }

    /// The numbers of all generations, ascending.
    pub fn list(&self) -> Result<Vec<u64>> {
        let mut numbers: Vec<u64> = self.names()?.iter().filter_map(|name| number(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The highest number, if there is any generation.
    pub fn newest(&self) -> Result<Option<u64>> {
        Ok(self.list()?.pop())
    }

    /// Makes the directory of a new generation, with a number above all others. Two processes never get the same.
    pub fn create_next(&self) -> Result<u64> {
        fs::create_dir_all(&self.root).map_err(|error| storage(&self.root, error))?;
        let mut number = self.newest()?.unwrap_or(0) + 1;
        loop {
            let path = self.path(number);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(number),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(storage(&path, error)),
            }
        }
    }

    /// Removes every generation but those in `keep`; returns what is gone. One that the system refuses to remove, as
    /// long as somebody reads it, is left for the next time. A reader whose files have gone finds its index
    /// [`ErrorKind::Corrupt`] and opens the newest generation.
    pub fn remove_except(&self, keep: &[u64]) -> Result<Vec<u64>> {
        let mut gone = Vec::new();
        for number in self.list()?.into_iter().filter(|number| !keep.contains(number)) {
            // First out of sight in one step: nobody opens a half-removed generation.
            if fs::rename(self.path(number), self.root.join(format!("{REMOVED}{number}"))).is_ok() {
                gone.push(number);
            }
        }
        for name in self.names()?.iter().filter(|name| name.starts_with(REMOVED)) {
            if let Err(error) = fs::remove_dir_all(self.root.join(name)) {
                tracing::debug!(directory = %name, %error, "an old index is still in use and will be removed later");
            }
        }
        Ok(gone)
    }

    fn names(&self) -> Result<Vec<String>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(storage(&self.root, error)),
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<io::Result<_>>().map_err(|error| storage(&self.root, error))
    }
}

/// The number a directory is named after, in its only spelling.
fn number(name: &str) -> Option<u64> {
    name.parse::<u64>().ok().filter(|number| *number > 0 && number.to_string() == name)
}

fn storage(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Storage, "cannot read or write the directory of an index")
        .with_context("path", path.display())
        .with_source(error)
}
