//! Where an export goes: a stream, or a file that appears whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

/// A stream or a file.
pub(super) struct Destination {
    writer: Option<BufWriter<Box<dyn Write + Send>>>,
    name: String,
    unfinished: Option<Unfinished>,
}

/// A file under a temporary name; removed when it is not put in its place.
struct Unfinished {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove; after a failure the first error is the one to tell.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

impl Destination {
    pub(super) fn stream(writer: Box<dyn Write + Send>) -> Self {
        Self { writer: Some(BufWriter::new(writer)), name: "the output".into(), unfinished: None }
    }

    pub(super) fn file(path: &Path) -> Result<Self> {
        let name = path
            .file_name()
            .ok_or_else(|| Error::invalid(format!("`{}` is not the name of a file", path.display())))?;
        if path.is_dir() {
            return Err(Error::invalid(format!("`{}` is a folder", path.display())).with_hint("name a file in it"));
        }
        let temporary = path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
        let shown = format!("`{}`", path.display());
        let file = private_file(&temporary).map_err(|error| failed(&shown, error))?;
        let unfinished = Unfinished { file, temporary, path: path.to_owned() };
        let writer = unfinished.file.try_clone().map_err(|error| failed(&shown, error))?;
        Ok(Self { writer: Some(BufWriter::new(Box::new(writer))), name: shown, unfinished: Some(unfinished) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write_all(bytes).map_err(|error| failed(&self.name, error)),
            None => Err(Error::unexpected("the export has ended")),
        }
    }

    pub(super) fn line(&mut self, line: &str) -> Result<()> {
        self.write(line.as_bytes())?;
        self.write(b"\n")
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        let written = match self.writer.take() {
            Some(mut writer) => writer.flush(),
            None => Ok(()),
        };
        written.map_err(|error| failed(&self.name, error))?;
        let Some(unfinished) = self.unfinished.take() else { return Ok(()) };
        unfinished.file.sync_all().map_err(|error| failed(&self.name, error))?;
        std::fs::rename(&unfinished.temporary, &unfinished.path).map_err(|error| failed(&self.name, error))
    }
}

/// An export holds everything a person told: only its owner may read it.
fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

fn failed(name: &str, error: std::io::Error) -> Error {
    let kind = if error.kind() == std::io::ErrorKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Storage };
    Error::new(kind, format!("cannot write {name}")).with_source(error)
}
