//! Who could have put a file there: every folder above a library is looked at before the library is opened.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

use super::system::effective_user;

/// The bit that keeps others from renaming and removing what is not theirs.
const STICKY: u32 = 0o1000;

/// The real path of the folder of the plugins, when nobody but this user and root could have changed anything in it.
pub(super) fn check_root(root: &Path) -> Result<PathBuf> {
    let found = look(root)?;
    if found.is_symlink() {
        return Err(symlink(root));
    }
    let real = root.canonicalize().map_err(|error| unreadable(root, error))?;
    let mut above = PathBuf::new();
    for part in real.components() {
        above.push(part);
        let metadata = look(&above)?;
        // In a folder such as /tmp others may add, but not change what this user has put there.
        let shared = above != real && metadata.mode() & STICKY != 0 && metadata.uid() == 0;
        if !shared {
            check_owner(&above, &metadata)?;
        }
    }
    Ok(real)
}

/// An error unless `path`, directly in a checked folder, is a folder of this user.
pub(super) fn check_folder(path: &Path) -> Result<()> {
    let metadata = look(path)?;
    if metadata.is_symlink() {
        return Err(symlink(path));
    }
    if !metadata.is_dir() {
        return Err(Error::new(ErrorKind::ConfigInvalid, format!("{} is not a folder", path.display())));
    }
    check_owner(path, &metadata)
}

/// Opens a file directly in a checked folder: a regular file of this user, and no larger than `most` bytes.
pub(super) fn open_file(path: &Path, most: u64) -> Result<File> {
    let before = look(path)?;
    if before.is_symlink() {
        return Err(symlink(path));
    }
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !before.is_file() {
        return Err(Error::new(ErrorKind::ConfigInvalid, format!("{} is not a regular file", path.display())));
    }
    let file = File::open(path).map_err(|error| unreadable(path, error))?;
    let opened = file.metadata().map_err(|error| unreadable(path, error))?;
    if (opened.dev(), opened.ino()) != (before.dev(), before.ino()) {
        return Err(Error::new(ErrorKind::Forbidden, format!("{} was exchanged while it was opened", path.display())));
    }
    check_owner(path, &opened)?;
    if opened.len() > most {
        let message = format!("{} has {} bytes; {most} is the most", path.display(), opened.len());
        return Err(Error::new(ErrorKind::ConfigInvalid, message));
    }
    Ok(file)
}

/// Reads a small text file under the same conditions.
pub(super) fn read_text(path: &Path, most: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let file = open_file(path, most)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, error))?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::ConfigInvalid, format!("{} has more than {most} bytes", path.display())));
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::ConfigInvalid, format!("{} is not UTF-8", path.display())))
}

fn look(path: &Path) -> Result<Metadata> {
    std::fs::symlink_metadata(path).map_err(|error| unreadable(path, error))
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<()> {
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if owner != 0 && owner != effective_user() {
        let message = format!("{} belongs to another user (id {owner})", path.display());
        return Err(Error::new(ErrorKind::Forbidden, message)
            .with_hint("plugins are loaded only from folders that belong to you or to root"));
    }
    if mode & 0o022 != 0 {
        let message = format!("{} can be changed by others (mode {:04o})", path.display(), mode & 0o7777);
        return Err(Error::new(ErrorKind::Forbidden, message).with_hint(format!("run `chmod go-w {}`", path.display())));
    }
    Ok(())
}

fn symlink(path: &Path) -> Error {
    Error::new(ErrorKind::Forbidden, format!("{} is a symbolic link", path.display()))
        .with_hint("put the real folder or file there: a link could be pointed elsewhere after it was trusted")
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        std::io::ErrorKind::PermissionDenied => ErrorKind::Forbidden,
        _ => ErrorKind::Storage,
    };
    Error::new(kind, format!("cannot open {}", path.display())).with_source(error)
}
