//! The Markdown workspace: both layouts, changes on disk, budgets.

use std::fs;

use memory_core::{GroupBy, HitKind, MemoryProvider, NoProgress, RecallOutcome, RecallReason, SearchRequest};

use crate::support::{Home, ask, clock, texts, viewer};

/// Documents of a layout: path and a word that only it has.
const LEGACY: [(&str, &str); 4] = [
    ("memory/MEMORY.md", "albatross"),
    ("memory/USER.md", "buzzard"),
    ("memory/2026-03-02.md", "chough"),
    ("memory/notes/deep/idea.md", "dunnock"),
];
const LATER: [(&str, &str); 4] = [
    ("memory/MEMORY.md", "albatross"),
    ("USER.md", "buzzard"),
    ("memory/daily_memory/2026-03-02.md", "chough"),
    ("memory/笔记.md", "dunnock"),
];

#[tokio::test(flavor = "multi_thread")]
async fn both_layouts_are_read() {
    for layout in [LEGACY, LATER] {
        let home = Home::new();
        for (path, word) in layout {
            home.document(path, format!("# A page\n\nIntro.\n\n## Birds 鸟\n\nThe {word} was seen here.\n"));
        }
        let provider = home.open().await;
        for _ in 0..2 {
            for (path, word) in layout {
                let recall = ask(&provider, &format!("Where was the {word} seen?")).await;
                let hit = &recall.hits[0];
                assert_eq!(
                    (hit.kind, hit.source.path.as_deref()),
                    (HitKind::Document, Some(path)),
                    "{word}: {recall:?}"
                );
                assert_eq!(recall.outcome, RecallOutcome::Complete);
                let [first, last] = hit.source.lines.unwrap();
                let file = fs::read_to_string(home.workspace().join(path)).unwrap();
                let cited: Vec<&str> =
                    file.lines().skip(first as usize - 1).take((last + 1 - first) as usize).collect();
                assert!(cited.join("\n").contains(word), "the cited lines hold it: {first}-{last}");
            }
            provider.index_pending(&NoProgress).await.unwrap();
        }
        let daily = ask(&provider, "chough").await;
        assert_eq!(daily.hits[0].event_at.unwrap().to_string(), "2026-03-02T00:00:00Z", "a daily log is about its day");
        let request =
            SearchRequest { group_by: Some(GroupBy::Document), ..SearchRequest::new(viewer(), "Birds was seen here") };
        let grouped = provider.search(request).await.unwrap();
        let mut paths: Vec<String> = grouped.hits.iter().filter_map(|hit| hit.source.path.clone()).collect();
        paths.sort();
        paths.dedup();
        assert_eq!((grouped.hits.len(), paths.len()), (4, 4), "each document once");
        assert_eq!(provider.statistics(None).await.unwrap().documents, 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frontmatter_gives_title_tags_and_date() {
    let home = Home::new();
    home.document(
        "memory/trip.md",
        "---\ntitle: 去杭州\ntags: [travel, 旅行]\ndate: 2026-05-06\n---\n\nWe rented bicycles by the lake.\n",
    );
    let provider = home.open().await;
    let request = SearchRequest { tags: vec!["旅行".into()], ..SearchRequest::new(viewer(), "bicycles") };
    let recall = provider.search(request).await.unwrap();
    let hit = &recall.hits[0];
    assert_eq!(
        (hit.title.as_deref(), hit.event_at.unwrap().to_string().as_str()),
        (Some("去杭州"), "2026-05-06T00:00:00Z")
    );
    assert!(!hit.text.contains("tags:"), "frontmatter is no text: {}", hit.text);
    let other = SearchRequest { tags: vec!["home".into()], ..SearchRequest::new(viewer(), "bicycles") };
    assert!(provider.search(other).await.unwrap().hits.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_search_sees_what_changed_on_disk() {
    let home = Home::new();
    let provider = home.open().await;
    assert!(ask(&provider, "gooseberry").await.hits.is_empty());
    let path = home.document("memory/garden.md", "# Garden\n\nThe gooseberry is by the fence.\n");
    assert_eq!(ask(&provider, "gooseberry").await.hits.len(), 1, "a new file");
    provider.index_pending(&NoProgress).await.unwrap();

    // The same length, within the same second: size and time alone do not tell.
    fs::write(&path, "# Garden\n\nThe rosehips!! is by the fence.\n").unwrap();
    assert_eq!(texts(&ask(&provider, "rosehips").await).len(), 1, "an edited file");
    assert!(!texts(&ask(&provider, "gooseberry").await).iter().any(|text| text.contains("gooseberry")));
    provider.index_pending(&NoProgress).await.unwrap();
    assert!(!texts(&ask(&provider, "gooseberry").await).iter().any(|text| text.contains("gooseberry")));

    fs::rename(&path, home.workspace().join("memory/yard.md")).unwrap();
    let moved = ask(&provider, "rosehips").await;
    assert_eq!((moved.hits.len(), moved.hits[0].source.path.as_deref()), (1, Some("memory/yard.md")), "a moved file");
    fs::remove_file(home.workspace().join("memory/yard.md")).unwrap();
    for _ in 0..2 {
        assert!(ask(&provider, "rosehips").await.hits.is_empty(), "a removed file");
        provider.index_pending(&NoProgress).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn past_its_budget_a_search_says_that_documents_are_stale() {
    let home = Home::new();
    for number in 0..20 {
        home.document(
            &format!("memory/page{number}.md"),
            format!("# Page {number}\n\nHere is marker{number}q and nothing else.\n"),
        );
    }
    // By this clock the files are old: one that has just changed would be looked at again and again.
    let clock = clock("2100-01-01T00:00:00Z");
    let provider = home.open_at(|config| config.memory.search.documents_budget_ms = 0, clock).await;
    let recall = ask(&provider, "marker7q").await;
    assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Degraded, Some(RecallReason::DocumentsStale)));
    // Each search takes in a little, so asking again comes to an end.
    let mut searches = 1;
    while ask(&provider, "marker7q").await.outcome == RecallOutcome::Degraded {
        searches += 1;
        assert!(searches <= 20, "it never ends");
    }
    assert!(texts(&ask(&provider, "marker7q").await)[0].contains("marker7q"));
    let only_memories = SearchRequest { kinds: vec![HitKind::Memory], ..SearchRequest::new(viewer(), "marker7q") };
    assert_eq!(provider.search(only_memories).await.unwrap().reason, Some(RecallReason::NoMatch));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_workspace_is_taken_in_at_once() {
    let home = Home::new();
    for number in 0..12 {
        home.document(&format!("memory/page{number}.md"), format!("# Page {number}\n\nsome text {number}\n"));
    }
    let provider = home.open().await;
    let report = provider.sync_documents(&NoProgress).await.unwrap();
    assert_eq!((report.added, report.changed, report.removed, report.more_remaining), (12, 0, 0, false));
    home.document("memory/page3.md", "# Page 3\n\nanother text\n");
    fs::remove_file(home.workspace().join("memory/page4.md")).unwrap();
    let report = provider.sync_documents(&NoProgress).await.unwrap();
    assert_eq!((report.added, report.changed, report.removed), (0, 1, 1));
    assert!(report.skipped.is_empty());
}
