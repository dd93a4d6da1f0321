//! Questions: conditions hold, whatever the server returns.

use memory_core::{Filter, HitKind, MemoryProvider, NewMemory, RecallOutcome, RecallReason, SearchRequest};
use serde_json::json;

use super::support::*;

fn question(text: &str) -> SearchRequest {
    SearchRequest::new(viewer(), text)
}

#[tokio::test]
async fn conditions_are_checked_here_over_enough_candidates() {
    let setup = setup().await;
    for number in 0..120 {
        let rare = number % 60 == 0;
        let new = NewMemory {
            category: Some(if rare { "rare" } else { "common" }.into()),
            tags: if rare { vec!["gold".into(), "稀有".into()] } else { vec![] },
            event_at: rare.then(|| time("2020-05-05")),
            ..note(&format!("pebble number {number} on the beach"))
        };
        setup.write(new).await.unwrap();
    }
    let filter = Filter::parse(&json!({"tags": "稀有"})).unwrap();
    for request in [
        SearchRequest { categories: vec!["rare".into()], ..question("pebble beach") },
        SearchRequest { tags: vec!["gold".into()], ..question("pebble beach") },
        SearchRequest { filter: Some(filter), ..question("pebble beach") },
        SearchRequest { since: Some(time("2020-05-05")), until: Some(time("2020-05-06")), ..question("pebble beach") },
    ] {
        setup.server.take_recorded();
        assert_eq!(setup.found(request).await.len(), 2);
        let limits: Vec<u64> = setup
            .requests("POST", "/api/v1/search/find")
            .iter()
            .map(|request| request.json()["limit"].as_u64().unwrap())
            .collect();
        assert_eq!(limits, [50, 200], "asked for more until there are enough or no more");
    }
    let (none, all) = (time("2020-05-06"), question("pebble beach"));
    assert!(setup.found(SearchRequest { until: Some(time("2020-05-05")), ..all.clone() }).await.is_empty());
    assert_eq!(setup.found(SearchRequest { since: Some(none), limit: 200, ..all }).await.len(), 118);
}

#[tokio::test]
async fn the_threshold_of_the_server_and_the_least_score_are_two_things() {
    let setup = setup_with(Default::default(), |config| config.memory.external.openviking.threshold = 0.6).await;
    setup.add("red apple").await;
    setup.add("red pear").await;
    setup.server.take_recorded();
    assert_eq!(setup.ask("red apple").await, ["red apple", "red pear"]);
    assert_eq!(setup.requests("POST", "/api/v1/search/find")[0].json()["score_threshold"], json!(0.6));
    let strict = SearchRequest { min_score: 0.6, ..question("red apple") };
    assert_eq!(setup.found(strict).await, ["red apple"]);
    let recall = setup.provider.search(SearchRequest { min_score: 0.9, ..question("red cherry") }).await.unwrap();
    assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::BelowThreshold)));
    let recall = setup.provider.search(SearchRequest { explain: true, ..question("red apple") }).await.unwrap();
    assert_eq!(recall.hits[0].scores["openviking"], 1.0, "the server's own score is kept");
    assert_eq!(recall.explanation.unwrap().hits.len(), 2);
}

#[tokio::test]
async fn resources_are_documents() {
    let setup = setup().await;
    setup.add("the manual of the kettle is in the drawer").await;
    setup.viking.put("viking://resources/manuals/kettle.md", "kettle manual: descale it monthly");
    let recall = setup.provider.search(question("kettle manual")).await.unwrap();
    let kinds: Vec<HitKind> = recall.hits.iter().map(|hit| hit.kind).collect();
    assert_eq!(kinds, [HitKind::Memory, HitKind::Document]);
    assert_eq!(recall.hits[1].title.as_deref(), Some("kettle.md"));
    for (kind, count) in [(HitKind::Memory, 1), (HitKind::Document, 1), (HitKind::Message, 0)] {
        let found = setup.found(SearchRequest { kinds: vec![kind], ..question("kettle manual") }).await;
        assert_eq!(found.len(), count, "{kind:?}");
    }
    let prompt = setup.provider.prefetch(&viewer(), "kettle manual").await.unwrap().unwrap();
    let lines: Vec<&str> = prompt.lines().collect();
    assert_eq!(lines[0], "## OpenViking Context");
    assert!(
        lines[1]
            .starts_with("- [1.00] the manual of the kettle is in the drawer (viking://user/default/memories/notes/")
    );
    assert_eq!(lines[2..], ["- [1.00] kettle manual: descale it monthly (viking://resources/manuals/kettle.md)"]);
}

#[tokio::test]
async fn a_prompt_gets_three_memories_on_one_line_each() {
    let setup = setup().await;
    for number in 0..6 {
        setup.add(&format!("花粉\n过敏 {number}")).await;
    }
    let prompt = setup.provider.prefetch(&viewer(), "花粉").await.unwrap().unwrap();
    assert_eq!(prompt.lines().count(), 4, "{prompt}");
    setup.server.take_recorded();
    assert_eq!(setup.provider.prefetch(&viewer(), " \n").await.unwrap(), None);
    assert!(setup.lines().is_empty());
}

#[tokio::test]
async fn a_file_that_is_gone_but_still_indexed_is_no_hit() {
    let setup = setup().await;
    setup.add("still here, the lamp").await;
    setup.viking.put("viking://user/default/memories/entities/x/lamp.md", "the lamp");
    let provider = &setup.provider;
    provider.health().await;
    // Deleted between the answer and the reading of it.
    let asked = async {
        while !setup.server.recorded().iter().any(|request| request.path.ends_with("/find")) {
            tokio::task::yield_now().await;
        }
        let missing = json!({"error": {"code": "NOT_FOUND", "message": "File not found: x"}});
        setup.server.fail_next([memory_conformance::fake::Fault::Status(404, missing)]);
    };
    let (recall, ()) = tokio::join!(provider.search(question("lamp")), asked);
    assert_eq!(recall.unwrap().hits.len(), 1);
}
