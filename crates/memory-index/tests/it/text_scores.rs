//! One scale for everything: search, scores of chosen entries, and texts scored in memory.

use memory_index::*;
use tempfile::TempDir;

use crate::support::*;

/// Texts of a small vocabulary, so that terms repeat within and between them.
fn corpus(numbers: &mut Numbers, size: i64) -> Vec<IndexEntry> {
    let words =
        ["lake", "pottery", "node.js", "猫", "北京", "sunrise", "running", "책", "the", "group", "many", "thing"];
    let texts = (1..=size).map(|rowid| {
        let length = 1 + numbers.below(60);
        let text: Vec<&str> = (0..length).map(|_| words[numbers.below(words.len())]).collect();
        (rowid, text.join(" "))
    });
    texts.map(|(rowid, text)| entry(rowid, &text)).collect()
}

fn several_segments(entries: &[IndexEntry]) -> (TempDir, TantivyIndex) {
    let directory = TempDir::new().unwrap();
    let index = open(&directory);
    for batch in entries.chunks(70) {
        index.apply(batch, &[], &mark(1)).unwrap();
    }
    (directory, index)
}

#[test]
fn scores_of_chosen_entries_are_those_of_the_search() {
    let entries = corpus(&mut Numbers(1), 300);
    let (_directory, index) = several_segments(&entries);
    index.apply(&[], &[entries[3].key, entries[200].key], &mark(2)).unwrap();
    for text in
        ["lake", "pottery lakes 猫", "北京 node.js many groups sunrise run. other things? 책", "책", "volcano", "the"]
    {
        let hits = index.search(&TextQuery { limit: 1_000, ..question(text) }).unwrap();
        let keys: Vec<EntryKey> = entries.iter().rev().map(|entry| entry.key).collect();
        let scores = index.score(text, TextField::Text, &keys).unwrap();
        assert_eq!(scores.iter().filter(|score| **score > 0.0).count(), hits.len());
        for (key, score) in keys.iter().zip(scores) {
            let searched = hits.iter().find(|(hit, _)| hit == key).map_or(0.0, |(_, score)| *score);
            assert!((searched - score).abs() < 1e-4, "{text}: {searched} {score}");
        }
    }
    let absent = [EntryKey::new(EntryKind::Fact, 1), entries[3].key];
    assert_eq!(index.score("lake", TextField::Text, &absent).unwrap(), [0.0, 0.0]);
    assert!(index.score("lake", TextField::Text, &[]).unwrap().is_empty());
}

#[test]
fn texts_in_memory_score_like_indexed_ones() {
    let entries = corpus(&mut Numbers(2), 200);
    let (_directory, index) = several_segments(&entries);
    for text in ["lake", "pottery lakes 猫 volcano", "北京 node.js group sunrise run"] {
        let terms = query_terms(text);
        let statistics = index.statistics(TextField::Text, &terms).unwrap();
        assert_eq!(statistics.documents, 200);
        let keys: Vec<EntryKey> = entries.iter().map(|entry| entry.key).collect();
        for (entry, score) in entries.iter().zip(index.score(text, TextField::Text, &keys).unwrap()) {
            let in_memory = bm25(&statistics, &terms, &analyze(&entry.text, Side::Index));
            assert!((in_memory - score).abs() < 1e-4, "{in_memory} {score}");
        }
    }
}

#[test]
fn statistics_count_what_is_not_indexed() {
    let entries = corpus(&mut Numbers(3), 50);
    let (_directory, index) = several_segments(&entries);
    let terms = query_terms("lake pottery 猫");
    let mut counted = FieldStatistics::empty(terms.len());
    for entry in &entries {
        counted.include(&terms, &analyze(&entry.text, Side::Index));
    }
    assert_eq!(counted, index.statistics(TextField::Text, &terms).unwrap());
    let nothing = FieldStatistics::empty(terms.len());
    assert!(bm25(&nothing, &terms, &analyze("lake", Side::Index)).is_finite());
}

#[test]
fn a_narrow_filter_changes_no_score() {
    let mut entries = corpus(&mut Numbers(4), 400);
    for entry in entries.iter_mut().take(5) {
        entry.session = Some("rare".into());
    }
    let (_directory, index) = several_segments(&entries);
    let wide = TextQuery { limit: 1_000, ..question("lake pottery 猫 group") };
    let mut narrow = wide.clone();
    narrow.filter.sessions = vec!["rare".into()];
    let wide: Vec<_> = index.search(&wide).unwrap().into_iter().filter(|(key, _)| key.rowid() <= 5).collect();
    let narrow = index.search(&narrow).unwrap();
    assert!(!narrow.is_empty());
    assert_eq!(rows(&wide), rows(&narrow));
    for ((_, left), (_, right)) in wide.iter().zip(&narrow) {
        assert!((left - right).abs() < 1e-4);
    }
}
