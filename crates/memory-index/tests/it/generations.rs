use std::fs;

use memory_index::Generations;
use tempfile::TempDir;

use crate::support::*;

#[test]
fn generations_count_up_and_old_ones_go() {
    let directory = TempDir::new().unwrap();
    let root = directory.path().join("index/text");
    let generations = Generations::new(&root);
    assert_eq!((generations.list().unwrap(), generations.newest().unwrap()), (vec![], None));
    assert_eq!(generations.remove_except(&[]).unwrap(), Vec::<u64>::new());
    for expected in 1..=11 {
        assert_eq!(generations.create_next().unwrap(), expected);
    }
    for foreign in ["notes", "007", "-1", "removed-3"] {
        fs::create_dir(root.join(foreign)).unwrap();
    }
    assert_eq!(generations.list().unwrap(), (1..=11).collect::<Vec<_>>());
    assert_eq!(generations.newest().unwrap(), Some(11));
    assert_eq!(generations.remove_except(&[2, 11]).unwrap(), [1, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(generations.list().unwrap(), [2, 11]);
    assert!(!root.join("removed-3").exists() && root.join("notes").exists());
    assert_eq!(generations.create_next().unwrap(), 12);
}

#[test]
fn a_reader_of_a_removed_generation_gets_an_error_not_a_wrong_answer() {
    let directory = TempDir::new().unwrap();
    let generations = Generations::new(directory.path());
    let number = generations.create_next().unwrap();
    let index = memory_index::TantivyIndex::open_or_create(&generations.path(number), FINGERPRINT).unwrap();
    memory_index::TextIndex::apply(&index, &[entry(1, "word")], &[], &mark(1)).unwrap();
    generations.remove_except(&[]).unwrap();
    let error = memory_index::TextIndex::search(&index, &question("word")).unwrap_err();
    assert_eq!(error.kind(), memory_core::ErrorKind::Corrupt);
}
