//! Tables of which one byte a component is kept in memory.

use std::path::Path;

use memory_index::*;
use tempfile::TempDir;

use crate::filters::SCOPES;
use crate::support::*;
use crate::vector::runtime;

const WIDTH: usize = 128;

fn with_vector(rowid: i64, vector: Vec<f32>) -> IndexEntry {
    IndexEntry { vector: Some(vector), ..entry(rowid, "") }
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

/// Clusters of vectors that differ little from their centre: many near ties.
fn clustered(numbers: &mut Numbers, count: i64) -> Vec<IndexEntry> {
    let centres: Vec<Vec<f32>> = (0..25).map(|_| numbers.unit(WIDTH)).collect();
    (1..=count)
        .map(|rowid| {
            let noise = numbers.unit(WIDTH);
            let centre = &centres[numbers.below(centres.len())];
            with_vector(rowid, unit(centre.iter().zip(&noise).map(|(centre, noise)| centre + 0.4 * noise).collect()))
        })
        .collect()
}

/// Two handles on one table: one keeps vectors as they are, the other only codes.
async fn exact_and_coded(path: &Path) -> (LanceIndex, LanceIndex) {
    let exact = LanceIndex::open_or_create(path, WIDTH).await.unwrap();
    let coded = LanceIndex::open_or_create(path, WIDTH).await.unwrap().with_exact_rows(0);
    (exact, coded)
}

/// Searches until the table is in memory: the second search has it loaded in the background.
async fn load(index: &LanceIndex) {
    let question = Numbers(1).unit(WIDTH);
    let rows = index.count().await.unwrap() as usize;
    for _ in 0..2 {
        assert_ne!(index.rows_in_memory(), rows, "loaded too early");
        index.search(&question, &filter(), 1).await.unwrap();
    }
    while index.rows_in_memory() != rows {
        tokio::task::yield_now().await;
    }
}

fn keys(hits: &[(EntryKey, f32)]) -> Vec<EntryKey> {
    hits.iter().map(|(key, _)| *key).collect()
}

fn recalled(hits: &[(EntryKey, f32)], wanted: &[(EntryKey, f32)]) -> usize {
    wanted.iter().filter(|(key, _)| hits.iter().any(|(hit, _)| hit == key)).count()
}

/// Both answer with rows of nearly the same score, place by place.
async fn assert_same_answers(exact: &LanceIndex, coded: &LanceIndex, question: &[f32], filter: &IndexFilter) {
    let wanted = exact.search(question, filter, 50).await.unwrap();
    let hits = coded.search(question, filter, 50).await.unwrap();
    assert_eq!(hits.len(), wanted.len());
    let scores = coded.score(question, &keys(&wanted)).await.unwrap();
    for (((_, wanted), (_, hit)), score) in wanted.iter().zip(&hits).zip(scores) {
        assert!((wanted - hit).abs() < 4e-3 && (wanted - score.unwrap()).abs() < 4e-3, "{wanted} {hit} {score:?}");
    }
}

#[test]
fn codes_find_what_the_vectors_find() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let (exact, coded) = exact_and_coded(directory.path()).await;
        let mut numbers = Numbers(31);
        let entries = clustered(&mut numbers, 4_000);
        exact.apply(&entries, &[]).await.unwrap();
        load(&coded).await;
        let (mut found, mut all) = (0, 0);
        for _ in 0..20 {
            // Near one cluster, so that a hundred and sixty rows come close.
            let near = entries[numbers.below(entries.len())].vector.clone().unwrap();
            let question = unit(near.iter().zip(numbers.unit(WIDTH)).map(|(near, noise)| near + 0.3 * noise).collect());
            let wanted = exact.search(&question, &filter(), 50).await.unwrap();
            let hits = coded.search(&question, &filter(), 50).await.unwrap();
            assert!(hits.is_sorted_by(|left, right| left.1 >= right.1));
            found += recalled(&hits, &wanted);
            all += wanted.len();
            assert_eq!(
                coded.score(&question, &keys(&hits)).await.unwrap(),
                hits.iter().map(|(_, score)| Some(*score)).collect::<Vec<_>>()
            );
        }
        assert_eq!(all, 1_000);
        assert!(found >= 980, "recall {found} of {all}");
        assert!(found < all, "codes that lose nothing are no codes: this compares vectors with themselves");
    });
}

#[test]
fn equal_codes_come_in_the_order_of_their_keys() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let (exact, coded) = exact_and_coded(directory.path()).await;
        let vector = Numbers(1).unit(WIDTH);
        for rowid in [5, 2, 9, 1, 7] {
            exact.apply(&[with_vector(rowid, vector.clone())], &[]).await.unwrap();
        }
        load(&coded).await;
        assert_eq!(rows(&coded.search(&vector, &filter(), 3).await.unwrap()), [1, 2, 5]);
    });
}

#[test]
fn filters_admit_the_same_rows() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let (exact, coded) = exact_and_coded(directory.path()).await;
        let mut numbers = Numbers(32);
        let mut entries = clustered(&mut numbers, 1_200);
        for (number, entry) in entries.iter_mut().enumerate() {
            entry.scope = SCOPES[number % SCOPES.len()].into();
            entry.session = (number % 3 > 0).then(|| format!("会话{}", number % 3));
            entry.category = (number % 2 > 0).then(|| "it's".to_owned());
            entry.tags =
                [["a", "б"].as_slice(), &["aб"], &[]][number % 3].iter().map(|tag| (*tag).to_owned()).collect();
            if number % 5 == 0 {
                entry.key = EntryKey::new(EntryKind::Memory, entry.key.rowid());
            }
        }
        exact.apply(&entries, &[]).await.unwrap();
        load(&coded).await;
        let wide = IndexFilter::scopes(SCOPES);
        let question = numbers.unit(WIDTH);
        for filter in [
            wide.clone(),
            IndexFilter::scopes([SCOPES[2], "nobody"]),
            IndexFilter::scopes(["nobody"]),
            IndexFilter { kinds: vec![EntryKind::Memory], ..wide.clone() },
            IndexFilter { sessions: vec!["会话1".into()], categories: vec!["it's".into()], ..wide.clone() },
            IndexFilter { tags_all: vec!["a".into(), "б".into()], ..wide.clone() },
            IndexFilter { tags_any: vec!["aб".into(), "none".into()], since: Some(500), until: Some(900), ..wide },
        ] {
            let mut wanted: Vec<EntryKey> =
                entries.iter().filter(|entry| filter.admits(entry)).map(|entry| entry.key).collect();
            wanted.sort_unstable();
            let mut found = keys(&coded.search(&question, &filter, 2_000).await.unwrap());
            found.sort_unstable();
            assert_eq!(found, wanted, "{filter:?}");
        }
        assert_eq!(coded.rows_in_memory(), 1_200);
    });
}

#[test]
fn own_changes_are_followed_and_those_of_others_are_noticed() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let (exact, coded) = exact_and_coded(directory.path()).await;
        let mut numbers = Numbers(33);
        let entries = clustered(&mut numbers, 300);
        exact.apply(&entries, &[]).await.unwrap();
        load(&coded).await;
        let question = numbers.unit(WIDTH);
        let everything = IndexFilter::scopes(["ann", "bob"]);

        // Own changes: a new row, a moved one, a removed one, one that lost its vector, an older revision.
        let moved = IndexEntry { revision: 2, scope: "bob".into(), ..with_vector(2, question.clone()) };
        let without = IndexEntry { vector: None, revision: 2, ..entries[3].clone() };
        let changes = [with_vector(301, numbers.unit(WIDTH)), moved, without];
        coded.apply(&changes, &[entries[0].key]).await.unwrap();
        coded.apply(&[with_vector(2, numbers.unit(WIDTH))], &[entries[299].key]).await.unwrap();
        assert_eq!(coded.rows_in_memory(), 298, "followed, not loaded anew");
        assert_eq!(rows(&coded.search(&question, &IndexFilter::scopes(["bob"]), 5).await.unwrap()), [2]);
        assert_same_answers(&exact, &coded, &question, &everything).await;
        assert_eq!(coded.rows_in_memory(), 298);
        let gone = [entries[0].key, entries[3].key, entries[299].key];
        assert_eq!(coded.score(&question, &gone).await.unwrap(), [None; 3]);

        // A change of somebody else: seen at once from the files, and in memory from the second search on.
        exact.apply(&[with_vector(302, question.clone())], &[entries[5].key]).await.unwrap();
        assert_eq!(coded.score(&question, &[entries[5].key]).await.unwrap(), [None]);
        let hits = coded.search(&question, &everything, 2).await.unwrap();
        assert_eq!(
            {
                let mut rows = rows(&hits);
                rows.sort_unstable();
                rows
            },
            [2, 302]
        );
        assert_eq!(coded.rows_in_memory(), 0, "an old state takes no memory");
        coded.search(&question, &everything, 2).await.unwrap();
        while coded.rows_in_memory() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(coded.rows_in_memory(), 298);
        assert_same_answers(&exact, &coded, &question, &everything).await;

        // Own and foreign changes in turn: what is in memory cannot be followed.
        exact.apply(&[with_vector(303, numbers.unit(WIDTH))], &[]).await.unwrap();
        coded.apply(&[with_vector(304, numbers.unit(WIDTH))], &[]).await.unwrap();
        assert_eq!(coded.rows_in_memory(), 0);
        assert_same_answers(&exact, &coded, &question, &everything).await;
    });
}

#[test]
fn a_table_that_changes_while_it_is_loaded_is_not_kept() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let (exact, coded) = exact_and_coded(directory.path()).await;
        let mut numbers = Numbers(34);
        exact.apply(&clustered(&mut numbers, 300), &[]).await.unwrap();
        let question = numbers.unit(WIDTH);
        for round in 0..3 {
            coded.search(&question, &filter(), 1).await.unwrap();
            coded.search(&question, &filter(), 1).await.unwrap();
            let new = 1_000 + round;
            exact.apply(&[with_vector(new, question.clone())], &[]).await.unwrap();
            let found = rows(&coded.search(&question, &filter(), 1 + round as usize).await.unwrap());
            assert!(found.contains(&new), "{found:?}");
        }
        let new = EntryKey::new(EntryKind::Message, 1_002);
        assert!(coded.score(&question, &[new]).await.unwrap()[0].is_some_and(|score| score > 0.99));
    });
}

#[test]
fn limits_decide_what_is_kept() {
    runtime().block_on(async {
        let directory = TempDir::new().unwrap();
        let open = || async { LanceIndex::open_or_create(directory.path(), WIDTH).await.unwrap() };
        let mut numbers = Numbers(35);
        let entries = clustered(&mut numbers, 200);
        open().await.apply(&entries, &[]).await.unwrap();
        let question = numbers.unit(WIDTH);

        let never = open().await.with_exact_rows(0).with_resident_rows(199);
        let exact = open().await.with_exact_rows(200);
        for _ in 0..3 {
            never.search(&question, &filter(), 1).await.unwrap();
            exact.search(&question, &filter(), 1).await.unwrap();
        }
        assert_eq!((never.rows_in_memory(), exact.rows_in_memory()), (0, 200));

        // One row more than may be kept as they are: only codes are kept from now on.
        exact.apply(&[with_vector(201, question.clone())], &[]).await.unwrap();
        assert_eq!(exact.rows_in_memory(), 0);
        load(&exact).await;
        let hits = exact.search(&question, &filter(), 1).await.unwrap();
        assert_eq!(rows(&hits), [201]);

        // One row more than may be kept at all.
        let coded = open().await.with_exact_rows(0).with_resident_rows(201);
        load(&coded).await;
        coded.apply(&[with_vector(202, numbers.unit(WIDTH))], &[]).await.unwrap();
        for _ in 0..3 {
            assert_eq!(rows(&coded.search(&question, &filter(), 1).await.unwrap()), [201]);
            assert_eq!(coded.rows_in_memory(), 0);
        }
    });
}
