//! Folders as tests need them: copied, listed, searched for bytes.

use std::fs;
use std::path::{Path, PathBuf};

/// Copies a folder and everything below it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// All files below a folder, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The first file below a folder that holds the bytes.
pub fn any_file_holds(folder: &Path, needle: &[u8]) -> Option<PathBuf> {
    let holds = |bytes: Vec<u8>| bytes.windows(needle.len()).any(|window| window == needle);
    files_below(folder).into_iter().find(|path| fs::read(path).is_ok_and(holds))
}
