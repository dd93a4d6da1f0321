//! Writing documents: whole, at the end, or one passage; always all or nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

use super::read::decode_strict;
use super::safe_path::{SafePath, Workspace};
use super::{file_error, hash_bytes};

/// What to do with what is already in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Replace it.
    Overwrite,
    /// Keep it and add after it, on a line of its own.
    Append,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Path relative to the workspace.
    pub path: String,
    /// Path from the root of the file system.
    pub absolute: PathBuf,
    /// Whether the file was there before.
    pub file_existed: bool,
    /// Whether the content was added to a file that was there.
    pub appended: bool,
    /// Size of the file now, in bytes.
    pub bytes: usize,
    /// Hash of the file now.
    pub content_hash: String,
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Path relative to the workspace.
    pub path: String,
    /// Path from the root of the file system.
    pub absolute: PathBuf,
    /// Number of the line where the replacement starts, from 1.
    pub line: usize,
    /// Hash of the file now.
    pub content_hash: String,
}

/// Writes `content` to a document, creating it and its directories when they are missing.
///
/// With `expected_hash` the write happens only if the file still has that hash (`conflict` otherwise, also when the
/// file is gone). A reader sees the old or the new file, never a part, and so does a machine that loses power.
pub fn write(
    workspace: &Workspace,
    path: &str,
    content: &str,
    mode: WriteMode,
    expected_hash: Option<&str>,
) -> Result<Written> {
    let _lock = lock(workspace)?;
    let path = workspace.resolve(path)?;
    let needs_old = path.exists && (mode == WriteMode::Append || expected_hash.is_some());
    let old = if needs_old { Some(workspace.read_bytes(&path)?) } else { None };
    check_expected(&path, old.as_deref(), expected_hash)?;
    let bytes = match (mode, old) {
        (WriteMode::Append, Some(old)) => append(old, content),
        _ => content.as_bytes().to_vec(),
    };
    replace(workspace, &path, &bytes)?;
    Ok(Written {
        file_existed: path.exists,
        appended: path.exists && mode == WriteMode::Append,
        bytes: bytes.len(),
        content_hash: hash_bytes(&bytes),
        path: path.relative,
        absolute: path.absolute,
    })
}

/// Replaces the one place where `old_text` stands by `new_text`.
///
/// Fails with `not_found` when it stands nowhere, with `conflict` when it stands at several places or the file no longer
/// has `expected_hash`. In a file with Windows line ends, `\n` in either text stands for them.
pub fn edit(
    workspace: &Workspace,
    path: &str,
    old_text: &str,
    new_text: &str,
    expected_hash: Option<&str>,
) -> Result<Edited> {
    if old_text.is_empty() {
        return Err(Error::invalid("`old_text` is empty").with_hint("append to the document to add text"));
    }
    if old_text == new_text {
        return Err(Error::invalid("`old_text` and `new_text` are the same, so nothing would change"));
    }
    let _lock = lock(workspace)?;
    let path = workspace.resolve(path)?;
    let bytes = workspace.read_bytes(&path)?;
    check_expected(&path, Some(&bytes), expected_hash)?;
    let text = decode_strict(&path, bytes)?;
    let is_windows = text.contains("\r\n") && !old_text.contains('\r');
    let adapt =
        |part: &str| if is_windows { part.replace("\r\n", "\n").replace('\n', "\r\n") } else { part.to_owned() };
    let (old_text, new_text) = (adapt(old_text), adapt(new_text));

    let position = find_once(&path, &text, &old_text)?;
    let (before, rest) = text.split_at(position);
    let after = rest.strip_prefix(old_text.as_str()).unwrap_or(rest);
    let line = before.matches('\n').count() + 1;
    let edited = [before, &new_text, after].concat();
    replace(workspace, &path, edited.as_bytes())?;
    Ok(Edited { line, content_hash: hash_bytes(edited.as_bytes()), path: path.relative, absolute: path.absolute })
}

/// The byte position of the only occurrence of `wanted`.
fn find_once(path: &SafePath, text: &str, wanted: &str) -> Result<usize> {
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut positions = Vec::new();
    let mut start = 0;
    // Occurrences that overlap are different places, too.
    while let Some(found) = text.get(start..).and_then(|rest| rest.find(wanted)) {
        positions.push(start + found);
        start += found + step;
    }
    match positions.as_slice() {
        [position] => Ok(*position),
        [] => Err(not_found(path, text, wanted)),
        many => {
            let line_of = |position: &usize| text.get(..*position).map_or(0, |before| before.matches('\n').count()) + 1;
            let lines: Vec<String> = many.iter().take(5).map(|position| line_of(position).to_string()).collect();
            let more = if many.len() > lines.len() { ", …" } else { "" };
            let message = format!("`old_text` stands {} times in `{}`", many.len(), path.relative);
            Err(Error::new(ErrorKind::Conflict, message)
                .with_context("count", many.len())
                .with_context("lines", lines.join(", ") + more)
                .with_hint("be more specific: take in more of the text around the place"))
        }
    }
}

fn not_found(path: &SafePath, text: &str, wanted: &str) -> Error {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let error = Error::not_found(format!("`old_text` does not stand in `{}`", path.relative)).with_context("count", 0);
    let squeezed = squeeze(wanted);
    if !squeezed.is_empty() && squeeze(text).contains(&squeezed) {
        return error.with_hint("it stands there with other spaces or line breaks; copy the text exactly");
    }
    error.with_hint("read the document again and copy the text exactly")
}

fn check_expected(path: &SafePath, bytes: Option<&[u8]>, expected_hash: Option<&str>) -> Result<()> {
    let Some(expected) = expected_hash else { return Ok(()) };
    let problem = match bytes {
        Some(bytes) if hash_bytes(bytes) == expected => return Ok(()),
        Some(_) => "has changed since it was read",
        None => "no longer exists",
    };
    Err(Error::new(ErrorKind::Conflict, format!("`{}` {problem}", path.relative))
        .with_hint("read the document again and repeat the change on what it says now"))
}

fn append(mut old: Vec<u8>, content: &str) -> Vec<u8> {
    if !old.is_empty() && !old.ends_with(b"\n") {
        let is_windows = old.windows(2).any(|pair| pair == b"\r\n");
        old.extend_from_slice(if is_windows { b"\r\n" } else { b"\n" });
    }
    old.extend_from_slice(content.as_bytes());
    old
}

/// Keeps other threads and processes from writing to the workspace until it is dropped: between reading a file and
/// replacing it nobody else may change it. The lock is on the directory, so no lock file lies among the documents.
fn lock(workspace: &Workspace) -> Result<Option<File>> {
    let lock = || -> io::Result<File> {
        let directory = File::open(workspace.root())?;
        directory.lock()?;
        Ok(directory)
    };
    match lock() {
        Ok(directory) => Ok(Some(directory)),
        // The workspace must be there; a system without locks on directories still has atomic replacement.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(file_error("open the workspace", workspace.root(), error))
        }
        Err(error) => {
            tracing::debug!(%error, "the workspace cannot be locked; writing without a lock");
            Ok(None)
        }
    }
}

/// Puts `bytes` in the place of the file: a new file beside it, forced to disk, then renamed over it.
fn replace(workspace: &Workspace, path: &SafePath, bytes: &[u8]) -> Result<()> {
    if bytes.len() as u64 > workspace.max_bytes() {
        let message = format!("`{}` would be larger than {} bytes", path.relative, workspace.max_bytes());
        return Err(Error::invalid(message).with_hint("split the document into smaller files"));
    }
    if let Some(parent) = path.absolute.parent() {
        fs::create_dir_all(parent).map_err(|error| file_error("create the directory", parent, error))?;
    }
    let directory = workspace.check_parent(path)?;
    let name = path.absolute.file_name().and_then(|name| name.to_str()).unwrap_or("document");
    let temporary = directory.join(format!(".{name}.tmp"));
    let written = write_and_rename(&temporary, &path.absolute, bytes).and_then(|()| sync_directory(&directory));
    written.map_err(|error| {
        // A leftover is hidden and the next write removes it; the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
        file_error("write", &path.absolute, error)
    })
}

fn write_and_rename(temporary: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    // `create_new` never follows a link. A file that is already there was left behind by a process that died.
    let create = || OpenOptions::new().write(true).create_new(true).open(temporary);
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(temporary)?;
            create()?
        }
        other => other?,
    };
    file.write_all(bytes)?;
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_file() => file.set_permissions(metadata.permissions())?,
        Ok(_) => return Err(io::Error::other("something that is not a file has taken its place")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, target)
}

/// Makes the new name survive a loss of power. Only Unix can open a directory for that.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
