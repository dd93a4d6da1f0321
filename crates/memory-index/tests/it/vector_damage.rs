//! Damaged, truncated and missing files of the vector index: an answer or an error, never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use memory_core::{ErrorKind, Result};
use memory_index::*;
use tempfile::TempDir;

use crate::support::*;
use crate::vector::{WIDTH, create, entries, runtime};

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

async fn use_it(directory: &Path) -> Result<Vec<i64>> {
    let index = LanceIndex::open(directory, WIDTH).await?;
    let question = Numbers(4).unit(WIDTH);
    let hits = index.search(&question, &filter(), 3).await?;
    index.score(&question, &[EntryKey::new(EntryKind::Message, 1)]).await?;
    index.count().await?;
    index.apply(&entries(&mut Numbers(5), 3), &[EntryKey::new(EntryKind::Message, 9)]).await?;
    index.optimize().await?;
    Ok(rows(&hits))
}

fn with_each_file_damaged(name: &str, damage: impl Fn(&Path)) {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let index = create(directory.path()).await;
        for some in entries(&mut Numbers(3), 30).chunks(10) {
            index.apply(some, &[some[0].key]).await.unwrap();
        }
        index.apply(&[], &[EntryKey::new(EntryKind::Message, 3)]).await.unwrap();
        for file in files(directory.path()) {
            let copy = TempDir::new().unwrap();
            let place = |file: &Path| copy.path().join(file.strip_prefix(directory.path()).unwrap());
            for file in files(directory.path()) {
                fs::create_dir_all(place(&file).parent().unwrap()).unwrap();
                fs::copy(&file, place(&file)).unwrap();
            }
            damage(&place(&file));
            match use_it(copy.path()).await {
                // Without its newest manifest a table is what it was before, and a flipped bit may move a vector; but
                // only entries that were written once come back.
                Ok(rows) => {
                    assert!(rows.len() <= 3 && rows.iter().all(|row| (1..=30).contains(row)), "{name}: {rows:?}")
                }
                Err(error) => {
                    let expected = [ErrorKind::Corrupt, ErrorKind::Conflict, ErrorKind::Busy];
                    assert!(expected.contains(&error.kind()), "{name} {}: {:?} {error}", file.display(), error.kind());
                    assert!(error.kind() == ErrorKind::Busy || !error.hints().is_empty(), "{error}");
                }
            }
        }
    });
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
    for place in 0..4 {
        with_each_file_damaged("flipped", |file| {
            let mut bytes = fs::read(file).unwrap();
            let at = bytes.len() * place / 4;
            bytes[at] ^= 0x10;
            fs::write(file, bytes).unwrap();
        });
    }
}

#[test]
fn a_missing_index_is_corrupt() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        assert_eq!(LanceIndex::open(directory.path(), WIDTH).await.unwrap_err().kind(), ErrorKind::Corrupt);
        let index = create(directory.path()).await;
        index.apply(&entries(&mut Numbers(3), 5), &[]).await.unwrap();
        fs::remove_dir_all(directory.path()).unwrap();
        let error = index.search(&Numbers(4).unit(WIDTH), &filter(), 3).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    });
}

#[test]
fn a_file_in_the_way_is_a_storage_error() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, b"x").unwrap();
        assert_eq!(LanceIndex::open_or_create(&path, WIDTH).await.unwrap_err().kind(), ErrorKind::Storage);
    });
}
