//! The files behind the paths that were named. Nothing is opened here, so nothing can hang.

use std::fs::{FileType, Metadata};
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

use super::detect::{ImportFormat, is_lines, is_markdown};
use super::report::{Problem, Problems};

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// Standard input, as lines.
    StandardInput,
    /// A file of JSON lines.
    Lines(PathBuf),
    /// A Markdown file, and the path it gets among the documents.
    Markdown(PathBuf, String),
}

impl Source {
    /// The name for reports.
    pub(super) fn name(&self) -> String {
        match self {
            Self::StandardInput => STANDARD_INPUT.to_owned(),
            Self::Lines(path) | Self::Markdown(path, _) => path.display().to_string(),
        }
    }
}

/// Lists what to read, in a stable order. A named path that is missing or cannot be read is an error, before anything
/// is written; inside a folder, links and special files are left alone and reported.
pub(super) fn list(paths: &[PathBuf], format: ImportFormat, skipped: &mut Problems) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT {
            if format == ImportFormat::Markdown {
                return Err(
                    Error::invalid("Markdown cannot be read from standard input").with_hint("name a file or folder")
                );
            }
            sources.push(Source::StandardInput);
            continue;
        }
        let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
        if metadata.is_dir() {
            let before = sources.len();
            walk(path, format, &mut sources, skipped)?;
            if sources.len() == before {
                return Err(nothing_in(path, format));
            }
        } else if metadata.is_file() {
            sources.push(file(path, format, &name_of(path)));
        } else {
            let message = format!("`{}` is {}, not a file or folder", path.display(), special(&metadata));
            return Err(Error::invalid(message).with_hint("pipe it in instead: `memory import - < PATH`"));
        }
    }
    Ok(sources)
}

fn file(path: &Path, format: ImportFormat, relative: &str) -> Source {
    let markdown = match format {
        ImportFormat::Auto => is_markdown(path),
        ImportFormat::Markdown => true,
        ImportFormat::Messages | ImportFormat::Memories => false,
    };
    if markdown { Source::Markdown(path.to_owned(), relative.to_owned()) } else { Source::Lines(path.to_owned()) }
}

/// Goes through a folder without following links, so that a loop of them ends nothing and leads nowhere.
fn walk(root: &Path, format: ImportFormat, sources: &mut Vec<Source>, skipped: &mut Problems) -> Result<()> {
    let mut open = vec![(root.to_owned(), name_of(root))];
    let mut found = Vec::new();
    while let Some((folder, relative)) = open.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))? {
            let entry = entry.map_err(|error| unreadable(&folder, error))?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            if name.starts_with('.') {
                continue;
            }
            let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            if kind.is_dir() {
                open.push((path, relative));
            } else if kind.is_file() {
                if wanted(&path, format) {
                    found.push(file(&path, format, &relative));
                }
            } else {
                let reason = format!("{}; left alone", special_type(kind));
                skipped.add(Problem { source: path.display().to_string(), line: None, reason });
            }
        }
    }
    found.sort_by_key(Source::name);
    sources.append(&mut found);
    Ok(())
}

fn wanted(path: &Path, format: ImportFormat) -> bool {
    match format {
        ImportFormat::Auto => is_markdown(path) || is_lines(path),
        ImportFormat::Markdown => is_markdown(path),
        ImportFormat::Messages | ImportFormat::Memories => is_lines(path),
    }
}

/// The last part of a path, also of `.` and `..`.
fn name_of(path: &Path) -> String {
    let named = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let resolved = || path.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
    named.or_else(resolved).unwrap_or_default()
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let message = format!("cannot read `{}`", path.display());
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("there is no file or folder `{}`", path.display())),
        std::io::ErrorKind::PermissionDenied => {
            Error::new(ErrorKind::Storage, message).with_source(error).with_hint("check who may read it")
        }
        _ => Error::new(ErrorKind::Storage, message).with_source(error),
    }
}

fn nothing_in(path: &Path, format: ImportFormat) -> Error {
    let wanted = match format {
        ImportFormat::Auto => "Markdown (.md) or JSON lines (.ndjson, .jsonl, .json)",
        ImportFormat::Markdown => "Markdown (.md)",
        ImportFormat::Messages | ImportFormat::Memories => "JSON lines (.ndjson, .jsonl, .json)",
    };
    Error::not_found(format!("there is nothing to import in `{}`", path.display()))
        .with_hint(format!("files that count here: {wanted}"))
}

fn special(metadata: &Metadata) -> &'static str {
    special_type(metadata.file_type())
}

fn special_type(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_symlink() { "a symbolic link" } else { "not a regular file" }
}
