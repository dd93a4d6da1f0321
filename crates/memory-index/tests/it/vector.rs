use std::path::Path;
use std::process::Command;

use memory_core::ErrorKind;
use memory_index::*;
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::filters::{SCOPES, any_entries, any_filter, expected};
use crate::support::*;

pub(crate) const WIDTH: usize = 16;

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) async fn create(path: &Path) -> LanceIndex {
    LanceIndex::open_or_create(path, WIDTH).await.unwrap()
}

pub(crate) fn with_vector(rowid: i64, vector: Vec<f32>) -> IndexEntry {
    IndexEntry { vector: Some(vector), ..entry(rowid, "") }
}

pub(crate) fn entries(numbers: &mut Numbers, count: i64) -> Vec<IndexEntry> {
    (1..=count).map(|rowid| with_vector(rowid, numbers.unit(WIDTH))).collect()
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

/// The best by brute force over the vectors as given.
fn nearest(entries: &[IndexEntry], vector: &[f32], limit: usize) -> Vec<(EntryKey, f32)> {
    let mut all: Vec<(EntryKey, f32)> =
        entries.iter().map(|entry| (entry.key, cosine(entry.vector.as_ref().unwrap(), vector))).collect();
    all.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    all.truncate(limit);
    all
}

fn assert_close(left: &[(EntryKey, f32)], right: &[(EntryKey, f32)]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert!((left.1 - right.1).abs() < 2e-3, "{left:?} {right:?}");
    }
}

#[test]
fn finds_the_nearest_and_scores_them() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let index = create(directory.path()).await;
        let mut numbers = Numbers(5);
        let entries = entries(&mut numbers, 200);
        let question = numbers.unit(WIDTH);
        assert!(index.search(&question, &filter(), 10).await.unwrap().is_empty());
        index.apply(&entries, &[]).await.unwrap();
        let hits = index.search(&question, &filter(), 10).await.unwrap();
        assert_close(&hits, &nearest(&entries, &question, 10));
        let keys: Vec<EntryKey> = hits.iter().map(|(key, _)| *key).chain([EntryKey::new(EntryKind::Fact, 1)]).collect();
        let scores = index.score(&question, &keys).await.unwrap();
        assert_eq!(scores.last(), Some(&None));
        for ((_, hit), score) in hits.iter().zip(&scores) {
            assert_eq!(Some(*hit), *score);
        }
        assert_eq!(index.count().await.unwrap(), 200);
        assert!(index.search(&question, &IndexFilter::default(), 10).await.unwrap().is_empty());
        assert_eq!(index.search(&question, &filter(), usize::MAX).await.unwrap().len(), 200);
        assert!(index.score(&question, &[]).await.unwrap().is_empty());
    });
}

#[test]
fn equal_vectors_come_in_the_order_of_their_keys() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let index = create(directory.path()).await;
        let vector = Numbers(1).unit(WIDTH);
        for rowid in [5, 2, 9, 1, 7] {
            index.apply(&[with_vector(rowid, vector.clone())], &[]).await.unwrap();
        }
        assert_eq!(rows(&index.search(&vector, &filter(), 3).await.unwrap()), [1, 2, 5]);
    });
}

#[test]
fn changes_replace_and_repeat_without_trace() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let (index, reader) = (create(directory.path()).await, create(directory.path()).await);
        let mut numbers = Numbers(2);
        let (first, second) = (numbers.unit(WIDTH), numbers.unit(WIDTH));
        let old = with_vector(1, first.clone());
        let new = IndexEntry { revision: 2, scope: "bob".into(), ..with_vector(1, second.clone()) };
        index.apply(&[old.clone(), with_vector(2, first.clone())], &[]).await.unwrap();
        for _ in 0..2 {
            index.apply(&[old.clone(), new.clone(), old.clone()], &[]).await.unwrap();
        }
        index.apply(std::slice::from_ref(&old), &[]).await.unwrap();
        for index in [&index, &reader] {
            assert_eq!(index.count().await.unwrap(), 2);
            let hits = index.search(&second, &IndexFilter::scopes(["bob"]), 5).await.unwrap();
            assert_eq!(rows(&hits), [1]);
            assert!((hits[0].1 - 1.0).abs() < 1e-2);
            assert_eq!(rows(&index.search(&first, &filter(), 5).await.unwrap()), [2]);
        }
        let without = IndexEntry { vector: None, revision: 3, ..new.clone() };
        for _ in 0..2 {
            index.apply(std::slice::from_ref(&without), &[EntryKey::new(EntryKind::Message, 2)]).await.unwrap();
            for index in [&index, &reader] {
                assert_eq!(index.count().await.unwrap(), 0);
                assert!(index.search(&second, &IndexFilter::scopes(["bob", "ann"]), 5).await.unwrap().is_empty());
            }
        }
        index.apply(&[], &[]).await.unwrap();
    });
}

#[test]
fn several_writers_and_readers_share_a_table() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let handles = [create(directory.path()).await, create(directory.path()).await, create(directory.path()).await];
        let entries = entries(&mut Numbers(3), 60);
        let question = Numbers(4).unit(WIDTH);
        for (number, some) in entries.chunks(10).enumerate() {
            handles[number % 2].apply(some, &[]).await.unwrap();
            for handle in &handles {
                let hits = handle.search(&question, &filter(), 5).await.unwrap();
                assert_close(&hits, &nearest(&entries[..(number + 1) * 10], &question, 5));
            }
        }
        let (left, right) = entries.split_at(30);
        let newer = |entry: &IndexEntry| IndexEntry { revision: 2, ..entry.clone() };
        let (left, right): (Vec<_>, Vec<_>) = (left.iter().map(newer).collect(), right.iter().map(newer).collect());
        let both = futures::future::join(handles[0].apply(&left, &[]), handles[1].apply(&right, &[])).await;
        for outcome in [both.0, both.1] {
            assert!(outcome.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::Busy), "{outcome:?}");
        }
        assert_eq!(handles[2].count().await.unwrap(), 60);
    });
}

#[test]
fn wrong_vectors_are_refused() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let index = create(directory.path()).await;
        let mut bad = vec![0.0; WIDTH];
        bad[3] = f32::NAN;
        for vector in [vec![], vec![1.0; WIDTH + 1], bad] {
            let error = index.apply(&[with_vector(1, vector.clone())], &[]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert_eq!(index.search(&vector, &filter(), 1).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
        }
        let error = LanceIndex::open_or_create(directory.path(), WIDTH + 1).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(
            LanceIndex::open_or_create(directory.path(), 0).await.unwrap_err().kind(),
            ErrorKind::InvalidRequest
        );
    });
}

#[test]
fn any_directory_name_will_do() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        for name in ["with space", "a%20b#c?d", "数据", "db", "it's \"quoted\""] {
            let path = directory.path().join(name);
            let index = create(&path).await;
            index.apply(&entries(&mut Numbers(1), 3), &[]).await.unwrap();
            drop(index);
            let index = LanceIndex::open(&path, WIDTH).await.unwrap();
            assert_eq!(index.count().await.unwrap(), 3, "{name}");
            assert!(path.join("entries.lance").exists());
        }
    });
}

/// Very large tables are not kept in memory: the same questions go to the engine there.
fn large(numbers: &mut Numbers) -> Vec<IndexEntry> {
    let mut entries = entries(numbers, 21_000);
    for (number, entry) in entries.iter_mut().enumerate() {
        entry.scope = SCOPES[number % SCOPES.len()].into();
        entry.session = (number % 3 > 0).then(|| format!("s{}", number % 3));
        entry.category = (number % 2 > 0).then(|| "it's".to_owned());
        entry.tags = [["a", "b"].as_slice(), &["ab"], &[]][number % 3].iter().map(|tag| (*tag).to_owned()).collect();
    }
    entries
}

#[test]
fn a_large_table_answers_like_a_small_one() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let index = create(directory.path()).await.with_resident_rows(0);
        let resident = create(directory.path()).await;
        let mut numbers = Numbers(9);
        let entries = large(&mut numbers);
        index.apply(&entries, &[]).await.unwrap();
        let wide = IndexFilter::scopes(SCOPES);
        let filters = [
            wide.clone(),
            IndexFilter::scopes([SCOPES[2]]),
            IndexFilter::scopes([SCOPES[3], SCOPES[4]]),
            IndexFilter::scopes(["' OR 1=1 --", "%", "\\"]),
            IndexFilter { sessions: vec!["s1".into()], categories: vec!["it's".into()], ..wide.clone() },
            IndexFilter { tags_all: vec!["a".into(), "b".into()], ..wide.clone() },
            IndexFilter {
                tags_any: vec!["ab".into(), "none".into()],
                since: Some(500),
                until: Some(900),
                ..wide.clone()
            },
            IndexFilter { kinds: vec![EntryKind::Fact], ..wide.clone() },
            IndexFilter { kinds: vec![EntryKind::Fact, EntryKind::Message], ..wide.clone() },
        ];
        for indexed in [false, true] {
            if indexed {
                index.optimize().await.unwrap();
            }
            let mut found = 0;
            let mut missed = 0;
            for filter in &filters {
                let admitted: Vec<IndexEntry> = entries.iter().filter(|entry| filter.admits(entry)).cloned().collect();
                for _ in 0..3 {
                    let question = numbers.unit(WIDTH);
                    let hits = index.search(&question, filter, 20).await.unwrap();
                    assert!(hits.iter().all(|(key, _)| admitted.iter().any(|entry| entry.key == *key)));
                    assert_eq!(hits.len(), admitted.len().min(20));
                    let exact = resident.search(&question, filter, 20).await.unwrap();
                    assert_eq!(exact.len(), admitted.len().min(20));
                    let wanted = nearest(&admitted, &question, 20);
                    if !indexed {
                        assert_close(&hits, &wanted);
                    }
                    found += hits.len();
                    missed += wanted.iter().filter(|(key, _)| !hits.iter().any(|(hit, _)| hit == key)).count();
                    let keys: Vec<EntryKey> = wanted.iter().map(|(key, _)| *key).collect();
                    for ((_, cosine), score) in wanted.iter().zip(index.score(&question, &keys).await.unwrap()) {
                        assert!((cosine - score.unwrap()).abs() < 2e-3);
                    }
                }
            }
            assert!(missed * 20 <= found, "recall below .95 (indexed: {indexed}): {missed} of {found} missed");
        }
        index.apply(&[], &[entries[0].key]).await.unwrap();
        index.optimize().await.unwrap();
        assert_eq!(index.count().await.unwrap(), 20_999);
        assert_eq!(index.score(&numbers.unit(WIDTH), &[entries[0].key]).await.unwrap(), [None]);
    });
}

#[test]
fn purged_entries_are_gone_from_the_files() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let index = create(directory.path()).await;
        let mut all = entries(&mut Numbers(6), 40);
        all[7].scope = "zanzibarquux".into();
        all[7].tags = vec!["zanzibarquux".into()];
        for some in all.chunks(10) {
            index.apply(some, &[]).await.unwrap();
        }
        assert!(contains(&directory, "zanzibarquux"), "otherwise this test proves nothing");
        index.apply(&[], &[all[7].key]).await.unwrap();
        index.optimize().await.unwrap();
        index.purge().await.unwrap();
        assert!(!contains(&directory, "zanzibarquux"));
        let question = Numbers(8).unit(WIDTH);
        let left: Vec<IndexEntry> = all.iter().filter(|entry| entry.key != all[7].key).cloned().collect();
        for index in [&index, &create(directory.path()).await] {
            assert_eq!(index.count().await.unwrap(), 39);
            assert_close(&index.search(&question, &filter(), 5).await.unwrap(), &nearest(&left, &question, 5));
        }
    });
}

fn contains(directory: &TempDir, text: &str) -> bool {
    Command::new("grep").args(["-r", "-a", "-q", text]).arg(directory.path()).status().unwrap().success()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn vector_search_returns_what_the_filter_admits(
        entries in any_entries(),
        filters in proptest::collection::vec(any_filter(), 12),
    ) {
        runtime().block_on(async {
            let directory = TempDir::new().unwrap();
            let writer = LanceIndex::open_or_create(directory.path(), 4).await.unwrap();
            let question = [1.0, 0.0, 0.0, 0.0];
            // One handle follows its own changes in memory, the other reads them from the table.
            writer.search(&question, &filter(), 1).await.unwrap();
            for batch in entries.chunks(15) {
                writer.apply(batch, &[]).await.unwrap();
            }
            let reader = LanceIndex::open(directory.path(), 4).await.unwrap();
            for filter in filters {
                for index in [&writer, &reader] {
                    let hits = index.search(&question, &filter, 100).await.unwrap();
                    let mut keys: Vec<EntryKey> = hits.into_iter().map(|(key, _)| key).collect();
                    keys.sort_unstable();
                    prop_assert_eq!(keys, expected(&entries, &filter));
                }
            }
            Ok(())
        })?;
    }
}
