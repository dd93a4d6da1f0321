//! From a path that an agent names to a file that is surely inside the workspace.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

use super::layout::{self, Layout};
use super::{MAX_DOCUMENT_BYTES, file_error, is_markdown_name};

/// Longest path an agent may name, in bytes.
const MAX_PATH_BYTES: usize = 1024;
/// Longest name of one file or directory, in bytes. The system allows 255; a temporary name needs a few more.
const MAX_NAME_BYTES: usize = 240;

/// The directory in which agents may read and write documents.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    layout: Layout,
    max_bytes: u64,
}

/// A path that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafePath {
    /// The stable key: path below the workspace with `/` between parts.
    pub relative: String,
    /// The same path from the root of the file system, through no symbolic link.
    pub absolute: PathBuf,
    /// Whether a file is there now.
    pub exists: bool,
}

impl Workspace {
    /// Opens the workspace at `root`, which must exist. `configured` overrides the layout that the files show.
    pub fn open(root: &Path, configured: Option<Layout>) -> Result<Self> {
        let canonical = fs::canonicalize(root).map_err(|error| file_error("open the workspace", root, error))?;
        if !canonical.is_dir() {
            return Err(Error::invalid(format!("the workspace `{}` is not a directory", root.display())));
        }
        let layout = Layout::choose(configured, &canonical);
        Ok(Self { root: canonical, layout, max_bytes: MAX_DOCUMENT_BYTES })
    }

    /// Sets the largest document that may be read or written, in bytes.
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// The canonical path of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The layout that decides where new files go.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The largest document that may be read or written, in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Checks a path that an agent names and finds the file it means.
    ///
    /// `MEMORY.md`, `USER.md`, `DREAMING.md` and `YYYY-MM-DD.md` mean the file at its place in the layout; any other
    /// single name means a file at the root if there is one, else in `memory/`. A path that starts with `./` is
    /// taken as it is. Fails with `forbidden` when the path leads out of the workspace or through a symbolic link, and
    /// with `invalid_request` when it is no path of a Markdown file.
    pub fn resolve(&self, path: &str) -> Result<SafePath> {
        let parts = split(path)?;
        let literal = parts.join("/");
        if path.starts_with("./") {
            return self.check(literal);
        }
        let candidates = self.candidates(&parts, literal);
        for candidate in &candidates.existing {
            let checked = self.check(candidate.clone())?;
            if checked.exists {
                return Ok(checked);
            }
        }
        self.check(candidates.new)
    }

    /// The places a path may mean, best first, and the place of a new file.
    fn candidates(&self, parts: &[&str], literal: String) -> Candidates {
        let (directory, name) = match parts {
            [name] => (None, *name),
            [directories @ .., name] => (Some(directories.join("/")), *name),
            [] => (None, ""),
        };
        let in_memory = format!("memory/{literal}");
        let may_be_short =
            matches!(directory.as_deref(), None | Some("memory" | "daily_memory" | "memory/daily_memory"));
        let places = self.layout.place(name).zip(self.layout.other().place(name)).filter(|_| may_be_short);
        match (places, directory) {
            (Some((place, other)), None) => Candidates { existing: vec![place.clone(), other, literal], new: place },
            (Some((place, other)), Some(_)) => Candidates { existing: vec![literal, place.clone(), other], new: place },
            (None, None) => Candidates { existing: vec![literal, in_memory.clone()], new: in_memory },
            (None, Some(directory)) => {
                let is_daily = directory.split('/').next() == Some("daily_memory");
                let new = if is_daily { in_memory.clone() } else { literal.clone() };
                Candidates { existing: vec![literal, in_memory], new }
            }
        }
    }

    /// Walks down from the root and refuses a symbolic link, a file in the place of a directory and a special file.
    fn check(&self, relative: String) -> Result<SafePath> {
        let mut absolute = self.root.clone();
        let mut parts = relative.split('/').peekable();
        let mut exists = true;
        while let Some(part) = parts.next() {
            absolute.push(part);
            if !exists {
                continue;
            }
            let is_last = parts.peek().is_none();
            match fs::symlink_metadata(&absolute) {
                Ok(metadata) => self.check_kind(&relative, &metadata, is_last)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => exists = false,
                Err(error) => return Err(file_error("look at", &absolute, error)),
            }
        }
        Ok(SafePath { relative, absolute, exists })
    }

    fn check_kind(&self, relative: &str, metadata: &Metadata, is_last: bool) -> Result<()> {
        let kind = metadata.file_type();
        if kind.is_symlink() {
            return Err(Error::new(
                ErrorKind::Forbidden,
                format!("the path `{relative}` leads through a symbolic link"),
            )
            .with_hint("name the file at its own place in the workspace"));
        }
        let is_expected = if is_last { kind.is_file() } else { kind.is_dir() };
        if is_expected {
            return Ok(());
        }
        let (found, wanted) = (
            if kind.is_file() { "a file" } else { layout::describe(kind) },
            if is_last { "a file" } else { "a directory" },
        );
        Err(Error::invalid(format!("part of the path `{relative}` is {found}, not {wanted}")))
    }

    /// Verifies that the directory of `path` exists and still lies inside the workspace.
    pub(super) fn check_parent(&self, path: &SafePath) -> Result<PathBuf> {
        let parent = path.absolute.parent().unwrap_or(&self.root);
        let canonical = fs::canonicalize(parent).map_err(|error| file_error("open", parent, error))?;
        if canonical == parent && canonical.starts_with(&self.root) {
            return Ok(canonical);
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            format!("the directory of `{}` has been replaced by a link", path.relative),
        ))
    }

    /// The bytes of the file, at most [`Workspace::max_bytes`].
    pub(super) fn read_bytes(&self, path: &SafePath) -> Result<Vec<u8>> {
        if !path.exists {
            return Err(Error::not_found(format!("there is no document `{}`", path.relative))
                .with_hint("search the documents or list them to find the right path"));
        }
        self.check_parent(path)?;
        read_regular(&path.absolute, self.max_bytes)
    }
}

struct Candidates {
    existing: Vec<String>,
    new: String,
}

/// Cuts a path into its parts and refuses everything that is not a plain relative path of a Markdown file.
fn split(path: &str) -> Result<Vec<&str>> {
    let refuse = |kind: ErrorKind, why: &str| {
        // A path may be long or hold control characters; the message shows a short, escaped form.
        let shown: String = path.chars().take(100).flat_map(char::escape_debug).collect();
        Err(Error::new(kind, format!("the path `{shown}` {why}"))
            .with_hint("use a path inside the workspace, such as `MEMORY.md` or `memory/notes.md`"))
    };
    if path.trim().is_empty() {
        return refuse(ErrorKind::InvalidRequest, "is empty");
    }
    if path.len() > MAX_PATH_BYTES {
        return refuse(ErrorKind::InvalidRequest, "is too long");
    }
    if path.chars().any(char::is_control) {
        return refuse(ErrorKind::InvalidRequest, "holds a control character");
    }
    let mut start = path.chars();
    let has_drive = start.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && start.next() == Some(':');
    if path.starts_with(['/', '\\']) || path.starts_with("~/") || has_drive {
        return refuse(ErrorKind::Forbidden, "is absolute");
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return refuse(ErrorKind::Forbidden, "leads out of the workspace");
    }
    if path.contains('\\') {
        return refuse(ErrorKind::InvalidRequest, "holds a backslash; parts are separated by `/`");
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.iter().any(|part| part.starts_with('.')) {
        return refuse(ErrorKind::Forbidden, "names a hidden file or directory");
    }
    if parts.iter().any(|part| part.len() > MAX_NAME_BYTES) {
        return refuse(ErrorKind::InvalidRequest, "holds a name that is too long");
    }
    if path.ends_with('/') || !parts.last().is_some_and(|name| is_markdown_name(name)) {
        return refuse(ErrorKind::InvalidRequest, "does not name a Markdown file (`.md`)");
    }
    Ok(parts)
}

/// Opens a regular file without following a link at its end, and without waiting on a pipe. The check before opening
/// keeps pipes out; the comparison after it notices a file that was exchanged in between.
pub(super) fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    let open = |path: &Path| -> io::Result<(File, Metadata)> {
        let before = fs::symlink_metadata(path)?;
        if !before.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let file = File::open(path)?;
        let after = file.metadata()?;
        if !is_same_file(&before, &after) {
            return Err(io::Error::other("it was exchanged while it was opened"));
        }
        Ok((file, after))
    };
    open(path).map_err(|error| file_error("open", path, error))
}

/// Reads a regular file of at most `max_bytes`.
pub(super) fn read_regular(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let (file, metadata) = open_regular(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(max_bytes)).unwrap_or(0));
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| file_error("read", path, error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(Error::invalid(format!("`{}` is larger than {max_bytes} bytes", path.display()))
            .with_hint("split the document into smaller files"));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    a.file_type() == b.file_type() && a.created().ok() == b.created().ok()
}

#[cfg(test)]
#[path = "safe_path_tests.rs"]
mod tests;
