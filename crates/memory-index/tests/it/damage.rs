//! Damaged, truncated and missing files: an answer or an error, never a panic.

use std::fs;
use std::path::PathBuf;

use memory_core::{ErrorKind, Result};
use memory_index::*;
use tempfile::TempDir;

use crate::support::*;

const TEXTS: [&str; 4] = ["red apple pie", "green apple", "我在北京", "node.js server"];

fn files(directory: &TempDir) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_none_or(|extension| extension != "lock"))
        .collect();
    files.sort();
    files
}

/// Everything a caller does, after the files were damaged.
fn use_it(directory: &TempDir) -> Result<Vec<i64>> {
    let index = TantivyIndex::open(directory.path(), FINGERPRINT)?;
    index.watermark()?;
    let hits = index.search(&question("apple"))?;
    index.search(&expression("\"red apple\""))?;
    index.score("apple", TextField::Text, &[EntryKey::new(EntryKind::Message, 1)])?;
    index.verify()?;
    index.apply(&[entry(9, "apple nine")], &[EntryKey::new(EntryKind::Message, 2)], &mark(9))?;
    index.purge()?;
    Ok(rows(&hits))
}

fn check(damage: &str, file: &str, outcome: Result<Vec<i64>>) {
    match outcome {
        Ok(rows) => assert_eq!(rows, [2, 1], "{damage} {file}"),
        Err(error) => {
            let expected = [ErrorKind::Corrupt, ErrorKind::Conflict];
            assert!(expected.contains(&error.kind()), "{damage} {file}: {:?} {error}", error.kind());
            assert!(!error.hints().is_empty(), "{damage} {file}: {error}");
        }
    }
}

fn with_each_file_damaged(name: &str, damage: impl Fn(&PathBuf)) {
    let (directory, index) = index_of(&TEXTS);
    index.release_writer().unwrap();
    drop(index);
    for file in files(&directory) {
        let copy = TempDir::new().unwrap();
        for file in files(&directory) {
            fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
        let target = copy.path().join(file.file_name().unwrap());
        damage(&target);
        check(name, &target.display().to_string(), use_it(&copy));
    }
}

#[test]
fn missing_files() {
    with_each_file_damaged("missing", |file| fs::remove_file(file).unwrap());
}

#[test]
fn emptied_files() {
    with_each_file_damaged("emptied", |file| fs::write(file, b"").unwrap());
}

#[test]
fn truncated_files() {
    with_each_file_damaged("truncated", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    });
}

#[test]
fn flipped_bits() {
    for place in 0..6 {
        with_each_file_damaged("flipped", |file| {
            let mut bytes = fs::read(file).unwrap();
            let at = bytes.len() * place / 6;
            bytes[at] ^= 0x10;
            fs::write(file, bytes).unwrap();
        });
    }
}

#[test]
fn a_directory_that_vanishes_is_reported() {
    let (directory, index) = index_of(&TEXTS);
    index.release_writer().unwrap();
    fs::remove_dir_all(directory.path()).unwrap();
    assert_eq!(index.search(&question("apple")).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(TantivyIndex::open(directory.path(), FINGERPRINT).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(open(&directory).search(&question("apple")).unwrap().is_empty(), "a new one begins empty");
}

#[test]
fn a_file_in_the_way_is_a_storage_error() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, b"x").unwrap();
    assert_eq!(TantivyIndex::open_or_create(&path, FINGERPRINT).unwrap_err().kind(), ErrorKind::Storage);
}
