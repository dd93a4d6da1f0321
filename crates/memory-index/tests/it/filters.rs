//! Filters work inside the indexes and mean what `IndexFilter::admits` says.

use memory_index::*;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::*;

pub(crate) const SCOPES: [&str; 5] = ["ann", "bob\u{1F}s\u{1F}user", "o'brien\"\\%_", "用户\0", ""];

fn pick(values: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(proptest::sample::select(values).prop_map(str::to_owned), 0..3)
}

fn any_entry(rowid: i64) -> impl Strategy<Value = IndexEntry> {
    let optional = |values: &'static [&'static str]| {
        proptest::option::of(proptest::sample::select(values).prop_map(str::to_owned))
    };
    (
        proptest::sample::select(&EntryKind::ALL[..]),
        proptest::sample::select(&SCOPES[..]),
        optional(&["s1", "s2", "会话"]),
        optional(&["work", "home"]),
        pick(&["a", "b", "ab", "标签"]),
        -3_i64..8,
    )
        .prop_map(move |(kind, scope, session, category, tags, at)| IndexEntry {
            key: EntryKey::new(kind, rowid),
            scope: scope.into(),
            session,
            category,
            tags,
            at,
            vector: Some(vec![1.0, 0.0, 0.0, 0.0]),
            ..entry(rowid, "word")
        })
}

pub(crate) fn any_entries() -> impl Strategy<Value = Vec<IndexEntry>> {
    (1_i64..40).prop_flat_map(|count| (1..=count).map(any_entry).collect::<Vec<_>>())
}

pub(crate) fn any_filter() -> impl Strategy<Value = IndexFilter> {
    (
        proptest::collection::vec(proptest::sample::select(&SCOPES[..]).prop_map(str::to_owned), 0..4),
        proptest::collection::vec(proptest::sample::select(&EntryKind::ALL[..]), 0..3),
        pick(&["s1", "s2", "会话", "none"]),
        pick(&["work", "home", "none"]),
        pick(&["a", "b", "ab", "标签"]),
        pick(&["a", "b", "ab", "none"]),
        proptest::option::of(-3_i64..8),
        proptest::option::of(-3_i64..8),
    )
        .prop_map(|(scopes, kinds, sessions, categories, tags_all, tags_any, since, until)| {
            let mut filter = IndexFilter { scopes, kinds, sessions, since, until, ..IndexFilter::default() };
            // All conditions at once would leave nothing to compare.
            match filter.scopes.len() % 3 {
                0 => filter.categories = categories,
                1 => filter.tags_all = tags_all,
                _ => filter.tags_any = tags_any,
            }
            filter
        })
}

pub(crate) fn expected(entries: &[IndexEntry], filter: &IndexFilter) -> Vec<EntryKey> {
    let mut keys: Vec<EntryKey> = entries.iter().filter(|entry| filter.admits(entry)).map(|entry| entry.key).collect();
    keys.sort_unstable();
    keys
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn text_search_returns_what_the_filter_admits(
        entries in any_entries(),
        filters in proptest::collection::vec(any_filter(), 12),
    ) {
        let directory = TempDir::new().unwrap();
        let index = open(&directory);
        for batch in entries.chunks(15) {
            index.apply(batch, &[], &mark(1)).unwrap();
        }
        for filter in filters {
            for field in [TextField::Text, TextField::Segment] {
                let query = TextQuery { filter: filter.clone(), field, limit: 100, ..question("word") };
                let mut keys: Vec<EntryKey> = index.search(&query).unwrap().into_iter().map(|(key, _)| key).collect();
                keys.sort_unstable();
                let mut wanted = expected(&entries, &filter);
                let long = |key: &EntryKey| matches!(key.kind(), EntryKind::Segment | EntryKind::Document);
                wanted.retain(|key| long(key) == (field == TextField::Segment));
                prop_assert_eq!(keys, wanted);
            }
        }
    }
}

#[test]
fn who_may_read_nothing_gets_nothing() {
    let (_directory, index) = index_of(&["word"]);
    let query = TextQuery { filter: IndexFilter::default(), ..question("word") };
    assert!(index.search(&query).unwrap().is_empty());
    let query = TextQuery { question: Question::Raw("*".into()), ..query };
    assert!(index.search(&query).unwrap().is_empty());
}
