//! Conditions on an answer: categories, labels, kinds, times and filters. What a provider does not honour it refuses.

use memory_core::{ErrorKind, Filter, HitKind, NewMemory, Recall, SearchRequest};
use serde_json::{Value, json};

use crate::*;

async fn library(trial: &Trial) {
    let book = |text: &str, category: &str, tags: &[&str], date: &str, stars: u64| NewMemory {
        category: Some(category.into()),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        event_at: Some(time(date)),
        attrs: json!({"stars": stars, "city": "上海"}).as_object().cloned().unwrap(),
        ..memory(text)
    };
    for new in [
        book("book: the whale hunt", "sea", &["old", "long"], "2026-01-10", 5),
        book("book: the island castaway", "sea", &["old"], "2026-02-10", 3),
        book("book: the mountain hut", "land", &["old", "short"], "2026-03-10", 4),
        book("book: 三体", "space", &["新"], "2026-03-31T23:59:59.999Z", 5),
    ] {
        add_memory(trial, new).await;
    }
}

fn books(recall: &Recall) -> Vec<&str> {
    let mut found: Vec<&str> = texts(&recall.hits).iter().filter_map(|text| text.strip_prefix("book: ")).collect();
    found.sort_unstable();
    found
}

async fn expect(trial: &Trial, request: SearchRequest, expected: &[&str]) {
    let asked = format!("{request:?}");
    let recall = ask_until(trial, request, |recall| books(recall) == expected).await;
    assert_eq!(books(&recall), expected, "{asked}");
}

fn book() -> SearchRequest {
    question("book")
}

/// Categories, labels, kinds, limit and score are conditions, each and together.
pub async fn categories_and_labels_hold(trial: &Trial) {
    library(trial).await;
    for _ in 0..2 {
        expect(trial, book(), &["the island castaway", "the mountain hut", "the whale hunt", "三体"]).await;
        for (categories, tags, expected) in [
            (&["sea"][..], &[][..], &["the island castaway", "the whale hunt"][..]),
            (&["land", "space"], &[], &["the mountain hut", "三体"]),
            (&[], &["old", "long"], &["the whale hunt"]),
            (&[], &["新"], &["三体"]),
            (&["land"], &["old"], &["the mountain hut"]),
            (&["land"], &["新"], &[]),
        ] {
            let request = SearchRequest { categories: words(categories), tags: words(tags), ..book() };
            expect(trial, request, expected).await;
        }
        expect(trial, SearchRequest { kinds: vec![HitKind::Message], ..book() }, &[]).await;
        expect(trial, SearchRequest { limit: 1, ..question("whale hunt") }, &["the whale hunt"]).await;
        expect(trial, SearchRequest { min_score: 1.0, ..question("zebra crossing") }, &[]).await;
        settle(trial).await;
    }
}

/// `since` is inclusive, `until` is not.
pub async fn times_hold(trial: &Trial) {
    library(trial).await;
    for _ in 0..2 {
        for (since, until, expected) in [
            (Some("2026-02-10"), None, &["the island castaway", "the mountain hut", "三体"][..]),
            (None, Some("2026-02-10"), &["the whale hunt"]),
            (Some("2026-03-01"), Some("2026-04-01"), &["the mountain hut", "三体"]),
            (Some("2027-01-01"), None, &[]),
        ] {
            expect(trial, SearchRequest { since: since.map(time), until: until.map(time), ..book() }, expected).await;
        }
        settle(trial).await;
    }
}

fn filtered(filter: Value) -> SearchRequest {
    SearchRequest { filter: Some(Filter::parse(&filter).unwrap()), ..book() }
}

/// Filters hold: fields, attributes, comparisons, and their combinations.
pub async fn filters_hold(trial: &Trial) {
    library(trial).await;
    for _ in 0..2 {
        for (filter, expected) in [
            (
                json!({"attrs.stars": {"gte": 4}, "category": {"ne": "space"}}),
                &["the mountain hut", "the whale hunt"][..],
            ),
            (
                json!({"OR": [{"tags": {"contains": "short"}}, {"text": {"contains": "三"}}]}),
                &["the mountain hut", "三体"],
            ),
            (json!({"category": {"in": ["space", "land"]}}), &["the mountain hut", "三体"]),
            (json!({"NOT": {"category": "sea"}}), &["the mountain hut", "三体"]),
            (json!({"attrs.city": "上海", "attrs.stars": 5}), &["the whale hunt", "三体"]),
            (json!({"AND": [{"tags": {"contains": "old"}}, {"attrs.stars": {"lt": 4}}]}), &["the island castaway"]),
            (json!({"attrs.nothing": 1}), &[]),
        ] {
            expect(trial, filtered(filter), expected).await;
        }
        settle(trial).await;
    }
}

/// Filters, times, categories and labels hold together.
pub async fn conditions_hold_together(trial: &Trial) {
    library(trial).await;
    for _ in 0..2 {
        let stars = filtered(json!({"attrs.stars": {"gte": 4}}));
        let request = SearchRequest { tags: words(&["old"]), since: Some(time("2026-02-01")), ..stars.clone() };
        expect(trial, request, &["the mountain hut"]).await;
        let request = SearchRequest { categories: words(&["sea", "space"]), until: Some(time("2026-03-01")), ..stars };
        expect(trial, request, &["the whale hunt"]).await;
        settle(trial).await;
    }
}

/// A condition that a provider does not honour is refused: an answer that ignores it would be wrong.
pub async fn conditions_are_honoured_or_refused(trial: &Trial) {
    add(trial, "book: the lighthouse").await;
    must_find(trial, &viewer(), "book", "the lighthouse").await;
    for (need, request) in [
        (Need::Filters, filtered(json!({"text": {"contains": "窗户"}}))),
        (Need::Times, SearchRequest { since: Some(time("2199-01-01")), ..book() }),
        (Need::Times, SearchRequest { until: Some(time("1970-01-02")), ..book() }),
    ] {
        match trial.search(request.clone()).await {
            Ok(recall) => assert!(trial.has(need) && recall.hits.is_empty(), "{request:?}: {recall:?}"),
            Err(error) => {
                assert!(!trial.has(need), "{request:?}: {error}");
                assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidRequest), "{error}");
            }
        }
    }
}
