//! Where the files of a JiuwenSwarm workspace lie, and which of them are documents.
//!
//! Two layouts exist. The legacy one keeps everything in `memory/`; the later one keeps `USER.md` at the root of the
//! workspace and the daily files in `memory/daily_memory/`. Reading understands both at once; the layout only decides
//! where new files go.

use std::fs::{self, FileType, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use chrono::NaiveDate;
use memory_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{file_error, is_markdown_name};

/// The two generations of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// `memory/USER.md` and `memory/YYYY-MM-DD.md`.
    Legacy,
    /// `USER.md` and `memory/daily_memory/YYYY-MM-DD.md`.
    Later,
}

impl Layout {
    /// The layout that the files of `workspace` show, or `None` when they show none (a fresh workspace). A workspace
    /// in between counts as [`Layout::Later`]: migration only goes that way.
    pub fn detect(workspace: &Path) -> Option<Self> {
        let memory = workspace.join("memory");
        if workspace.join("USER.md").is_file() || memory.join("daily_memory").is_dir() {
            return Some(Self::Later);
        }
        let has_daily_file = || {
            fs::read_dir(&memory).is_ok_and(|entries| {
                entries.flatten().any(|entry| entry.file_name().to_str().and_then(date_of_name).is_some())
            })
        };
        (memory.join("USER.md").is_file() || has_daily_file()).then_some(Self::Legacy)
    }

    /// The layout to use: what the configuration says, else what the files show, else [`Layout::Legacy`].
    pub fn choose(configured: Option<Self>, workspace: &Path) -> Self {
        configured.or_else(|| Self::detect(workspace)).unwrap_or(Self::Legacy)
    }

    /// Path of the user profile, relative to the workspace.
    pub fn profile(self) -> &'static str {
        match self {
            Self::Legacy => "memory/USER.md",
            Self::Later => "USER.md",
        }
    }

    /// Path of the file of one day, relative to the workspace.
    pub fn daily(self, date: NaiveDate) -> String {
        match self {
            Self::Legacy => format!("memory/{date}.md"),
            Self::Later => format!("memory/daily_memory/{date}.md"),
        }
    }

    /// Path of a file by its short name (`MEMORY.md`, `USER.md`, `DREAMING.md`, `YYYY-MM-DD.md`), relative to the
    /// workspace, or `None` when the name is none of these.
    pub fn place(self, name: &str) -> Option<String> {
        match name {
            "MEMORY.md" | "DREAMING.md" => Some(format!("memory/{name}")),
            "USER.md" => Some(self.profile().to_owned()),
            _ => date_of_name(name).map(|date| self.daily(date)),
        }
    }

    /// The other layout.
    pub fn other(self) -> Self {
        match self {
            Self::Legacy => Self::Later,
            Self::Later => Self::Legacy,
        }
    }
}

/// What a document is to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentClass {
    /// `MEMORY.md`.
    LongTerm,
    /// `USER.md`.
    Profile,
    /// `YYYY-MM-DD.md`, wherever it lies.
    Daily(NaiveDate),
    /// `DREAMING.md`.
    Dreaming,
    /// Any other Markdown.
    Other,
}

impl DocumentClass {
    /// The class of a file by its path relative to the workspace.
    pub fn of(relative_path: &str) -> Self {
        match relative_path {
            "memory/MEMORY.md" | "memory/memory.md" | "MEMORY.md" | "memory.md" => return Self::LongTerm,
            "memory/USER.md" | "USER.md" => return Self::Profile,
            "memory/DREAMING.md" => return Self::Dreaming,
            _ => {}
        }
        let name = relative_path.rsplit('/').next().unwrap_or(relative_path);
        date_of_name(name).map_or(Self::Other, Self::Daily)
    }
}

/// The date in a name of the exact form `YYYY-MM-DD.md`.
pub fn date_of_name(name: &str) -> Option<NaiveDate> {
    let stem = name.strip_suffix(".md")?;
    let has_form = stem.len() == 10 && stem.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if has_form { NaiveDate::parse_from_str(stem, "%Y-%m-%d").ok() } else { None }
}

/// A document found by [`scan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The stable key: path below the workspace with `/` between parts.
    pub relative_path: String,
    /// Where to open it.
    pub absolute: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970 UTC.
    pub modified_ns: i64,
    /// What the document is.
    pub class: DocumentClass,
}

/// Why something that could have been a document was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// A symbolic link that leads back into itself or to a directory above it.
    SymbolicLinkLoop,
    /// A symbolic link that leads out of the workspace.
    SymbolicLinkOutside,
    /// A symbolic link to something inside the workspace, which is found at its own place.
    SymbolicLinkInside,
    /// A symbolic link to nothing.
    SymbolicLinkBroken,
    /// A named pipe, socket or device: reading it may never end.
    NotRegular(&'static str),
    /// Larger than the limit, in bytes.
    TooLarge(u64),
    /// The name is not valid UTF-8, so it cannot be a stable key.
    NameNotUtf8,
    /// The operating system refused; what it said. Files below such a directory are unknown, not gone.
    Unreadable(String),
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SymbolicLinkLoop => f.write_str("the symbolic link leads into a loop"),
            Self::SymbolicLinkOutside => f.write_str("the symbolic link leads out of the workspace"),
            Self::SymbolicLinkInside => f.write_str("the symbolic link leads to a file that is found at its own place"),
            Self::SymbolicLinkBroken => f.write_str("the symbolic link leads to nothing"),
            Self::NotRegular(what) => write!(f, "it is {what}, not a file"),
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes"),
            Self::NameNotUtf8 => f.write_str("its name is not valid UTF-8"),
            Self::Unreadable(message) => write!(f, "it cannot be read: {message}"),
        }
    }
}

/// Something left out by [`scan`], with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Path below the workspace with `/` between parts; empty for the workspace itself.
    pub relative_path: String,
    /// Why.
    pub reason: SkipReason,
}

/// What a workspace holds at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The documents, ordered by relative path.
    pub files: Vec<FoundFile>,
    /// What was left out and why, ordered by relative path. Hidden entries and files that are not Markdown are left
    /// out without a word.
    pub skipped: Vec<Skipped>,
}

/// Finds every Markdown file below `workspace`. Links are never followed, so every file has one key and a loop cannot
/// hold up the scan; hidden files and directories (`.dreams`, `.git`) are passed over.
///
/// Fails with `not_found` when the workspace does not exist; anything wrong below it is reported in
/// [`Scan::skipped`] and the rest is still found.
pub fn scan(workspace: &Path, max_bytes: u64) -> Result<Scan> {
    let root = fs::canonicalize(workspace).map_err(|error| file_error("open the workspace", workspace, error))?;
    if !root.is_dir() {
        return Err(Error::invalid(format!("the workspace `{}` is not a directory", workspace.display())));
    }
    let mut scan = Scan::default();
    let mut pending = vec![(root.clone(), String::new())];
    while let Some((directory, relative)) = pending.pop() {
        let listing = fs::read_dir(&directory).and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>());
        let entries = match listing {
            Ok(entries) => entries,
            Err(error) => {
                scan.skip(relative, SkipReason::Unreadable(error.to_string()));
                continue;
            }
        };
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                scan.skip(join(&relative, &name.to_string_lossy()), SkipReason::NameNotUtf8);
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let relative_path = join(&relative, name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push((entry.path(), relative_path)),
                Ok(kind) if kind.is_symlink() => scan.skip_link(&root, &entry.path(), relative_path),
                Ok(_) if !is_markdown_name(name) => {}
                Ok(kind) if kind.is_file() => scan.add(entry.path(), relative_path, entry.metadata(), max_bytes),
                Ok(kind) => scan.skip(relative_path, SkipReason::NotRegular(describe(kind))),
                Err(error) => scan.skip(relative_path, SkipReason::Unreadable(error.to_string())),
            }
        }
    }
    scan.files.sort_by(|a, b| a.relative_path.cmp(&b.relative_path));
    scan.skipped.sort_by(|a, b| a.relative_path.cmp(&b.relative_path));
    Ok(scan)
}

impl Scan {
    fn skip(&mut self, relative_path: String, reason: SkipReason) {
        self.skipped.push(Skipped { relative_path, reason });
    }

    fn add(&mut self, path: PathBuf, relative: String, metadata: std::io::Result<Metadata>, max_bytes: u64) {
        match metadata {
            Ok(metadata) if metadata.len() > max_bytes => self.skip(relative, SkipReason::TooLarge(max_bytes)),
            Ok(metadata) => self.files.push(FoundFile {
                class: DocumentClass::of(&relative),
                relative_path: relative,
                absolute: path,
                size: metadata.len(),
                modified_ns: modified_ns(&metadata),
            }),
            // Deleted between listing and asking: it is simply gone.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => self.skip(relative, SkipReason::Unreadable(error.to_string())),
        }
    }

    /// Reports a link to a directory, or one that is named like a document.
    fn skip_link(&mut self, root: &Path, path: &Path, relative: String) {
        let reason = match fs::canonicalize(path) {
            Ok(target) if !target.is_dir() && !is_markdown_name(&relative) => return,
            Ok(target) if path.starts_with(&target) => SkipReason::SymbolicLinkLoop,
            Ok(target) if target.starts_with(root) => SkipReason::SymbolicLinkInside,
            Ok(_) => SkipReason::SymbolicLinkOutside,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if !is_markdown_name(&relative) {
                    return;
                }
                SkipReason::SymbolicLinkBroken
            }
            Err(error) if is_loop(&error) => SkipReason::SymbolicLinkLoop,
            Err(error) => SkipReason::Unreadable(error.to_string()),
        };
        self.skip(relative, reason);
    }
}

/// True for the error of a link that resolves to itself. The standard library has no stable name for it, so it is
/// known by the system's number: 40 on Linux, 62 on the BSD family.
fn is_loop(error: &std::io::Error) -> bool {
    let number = if cfg!(any(target_os = "linux", target_os = "android")) { 40 } else { 62 };
    cfg!(unix) && error.raw_os_error() == Some(number)
}

/// Time of the last change in nanoseconds since 1970 UTC, 0 where the system does not tell.
pub(super) fn modified_ns(metadata: &Metadata) -> i64 {
    let Ok(modified) = metadata.modified() else { return 0 };
    match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanoseconds| -nanoseconds),
    }
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(unix)]
pub(super) fn describe(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
pub(super) fn describe(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a special file"
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
