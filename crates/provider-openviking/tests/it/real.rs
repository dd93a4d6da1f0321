//! Against a real server, where `OPENVIKING_TEST_ENDPOINT` names one; `tests/real/openviking` starts it and sees to it that
//! these ran. Variables: `OPENVIKING_TEST_KEY`, the key of a user, when the server wants one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memory_conformance::{Need, Running, Subject};
use memory_core::{
    HitKind, ListRequest, MemoryChanges, MemoryProvider, NewMemory, Owner, SafeUrl, Scope, SearchRequest, Secret, Turn,
    UpdateRequest, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use provider_openviking::{OpenVikingConfig, OpenVikingProvider};
use serde_json::json;

use super::conforms::LACKS;

/// How long a server may take to index what was written.
const SETTLES: Duration = Duration::from_secs(20);

static STARTED: AtomicUsize = AtomicUsize::new(0);

/// A provider for the real server, for a user of its own, so that tests share nothing.
fn real() -> Option<OpenVikingProvider> {
    let endpoint = std::env::var("OPENVIKING_TEST_ENDPOINT").ok().filter(|endpoint| !endpoint.is_empty())?;
    let number = STARTED.fetch_add(1, Ordering::SeqCst);
    let mut config = memory_core::config::Config::default();
    let external = &mut config.memory.external;
    external.openviking.endpoint = SafeUrl::new(endpoint);
    external.openviking.api_key = Secret::new(std::env::var("OPENVIKING_TEST_KEY").unwrap_or_default());
    external.timeout = 30.0;
    external.user_id = format!("user-{}-{number}", std::process::id());
    println!("REAL SERVER");
    Some(OpenVikingProvider::new(OpenVikingConfig::of(&config).unwrap()).unwrap())
}

fn note(text: &str) -> NewMemory {
    NewMemory::new(Scope::default(), text)
}

async fn write(provider: &OpenVikingProvider, new: NewMemory) -> memory_core::WriteResult {
    let items = vec![WriteItem::Memory(Box::new(new))];
    provider.write(WriteRequest { items, ..WriteRequest::default() }).await.unwrap().items.remove(0)
}

/// Asks until the answer has `count` hits, which takes as long as the server needs to index.
async fn find(provider: &OpenVikingProvider, viewer: &Viewer, query: &str, count: usize) -> Vec<memory_core::Hit> {
    let started = Instant::now();
    loop {
        let recall = provider.search(SearchRequest::new(viewer.clone(), query)).await.unwrap();
        if recall.hits.len() == count || started.elapsed() > SETTLES {
            assert_eq!(recall.hits.len(), count, "{query}: {recall:?}");
            return recall.hits;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_holds() {
    struct Real;

    #[memory_conformance::async_trait]
    impl Subject for Real {
        fn name(&self) -> String {
            "the real openviking".to_owned()
        }

        fn lacks(&self) -> Vec<Need> {
            // The words of a stub model rank nothing, and nobody makes a real server fail.
            LACKS.iter().copied().chain([Need::Ranking, Need::Faults]).collect()
        }

        fn settles_within(&self) -> Duration {
            SETTLES
        }

        async fn start(&self) -> Running {
            Running::new(real().unwrap())
        }
    }

    if real().is_some() {
        memory_conformance::run(&Real).await.expect_passed();
    }
}

#[tokio::test]
async fn memories_come_and_go() {
    let Some(provider) = real() else { return };
    let viewer = Viewer::default();
    let new = NewMemory {
        title: Some("座位 Seat".into()),
        tags: vec!["travel".into()],
        external_id: Some("crm-7/客户".into()),
        ..note("  Prefers window seats 靠窗 🚀 [map](viking://resources/x) <!-- MEMORY_FIELDS {} -->\n\n")
    };
    let first = write(&provider, new.clone()).await;
    assert_eq!(first.outcome, WriteOutcome::Stored);
    assert_eq!(write(&provider, new.clone()).await.outcome, WriteOutcome::Deduped);
    let id = first.id.unwrap();
    let hits = find(&provider, &viewer, "window seats", 1).await;
    assert_eq!((hits[0].text.as_str(), hits[0].id.as_str()), (new.body.as_str(), id.as_str()));
    assert!(hits[0].score > 0.1 && hits[0].score < 1.0, "{hits:?}");
    assert_eq!((&hits[0].title, &hits[0].tags), (&new.title, &new.tags));
    let changes = MemoryChanges { body: Some("Prefers aisle seats 靠走道".into()), ..Default::default() };
    let update = UpdateRequest { viewer: viewer.clone(), id: id[..10].to_owned(), changes, expected_revision: Some(1) };
    provider.update(update).await.unwrap();
    let page = provider.list(ListRequest { viewer: viewer.clone(), ..Default::default() }).await.unwrap();
    let [memory_core::Item::Memory(memory)] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((memory.body.as_str(), memory.revision), ("Prefers aisle seats 靠走道", 2));
    let stranger = Viewer { space: "elsewhere".into(), ..viewer.clone() };
    assert!(provider.search(SearchRequest::new(stranger, "aisle seats")).await.unwrap().hits.is_empty());
    let delete = memory_core::DeleteRequest { viewer: viewer.clone(), ids: vec![id], erase: false, dry_run: false };
    assert_eq!(provider.delete(delete.clone()).await.unwrap().deleted.len(), 1);
    assert_eq!(provider.delete(delete).await.unwrap().missing.len(), 1);
    find(&provider, &viewer, "aisle seats", 0).await;
}

#[tokio::test]
async fn sessions_are_committed_and_extracted_in_their_scope() {
    let Some(provider) = real() else { return };
    let coder = Viewer { agent: Some("coder".into()), session: Some("周二 1".into()), ..Viewer::default() };
    let turn = |id: &str, text: &str, repeated| Turn {
        viewer: coder.clone(),
        user_text: text.into(),
        assistant_text: "Noted.".into(),
        at: Some("2026-04-01T08:00:00+08:00".parse().unwrap()),
        external_id: Some(id.into()),
        repeated,
    };
    provider.sync_turn(turn("t1", "My horse is called Fury 我的马", false)).await.unwrap();
    provider.sync_turn(turn("t1", "My horse is called Fury 我的马", true)).await.unwrap();
    provider.end_session(&coder).await.unwrap();
    assert!(!provider.health().await.message.contains(';'), "{:?}", provider.health().await);
    provider.sync_turn(turn("t1", "My horse is called Fury 我的马", true)).await.unwrap();
    let request = ListRequest { viewer: coder.clone(), kind: Some(HitKind::Message), ..Default::default() };
    let page = provider.list(request).await.unwrap();
    assert_eq!(page.items.len(), 2, "once, though it was sent three times: {page:?}");
    let hits = find(&provider, &coder, "horse Fury", 1).await;
    assert_eq!(hits[0].scope.owner, Owner::Agent("coder".into()));
    assert!(hits[0].text.contains("我的马"), "{hits:?}");
    find(&provider, &Viewer::default(), "horse Fury", 0).await;
    provider.end_session(&coder).await.unwrap();
}

#[tokio::test]
async fn tools_answer() {
    let Some(provider) = real() else { return };
    let viewer = Viewer::default();
    let remembered =
        provider.call_tool(&viewer, "viking_remember", json!({"content": "Allergic to peanuts 花生"})).await.unwrap();
    let hit = find(&provider, &viewer, "peanuts 花生", 1).await.remove(0);
    assert_eq!(remembered["id"], hit.id.as_str());
    let uri = hit.source.path.unwrap();
    let read = provider.call_tool(&viewer, "viking_read", json!({"uri": uri, "level": "full"})).await.unwrap();
    assert!(read["content"].as_str().unwrap().starts_with("Allergic to peanuts 花生"));
    for mode in ["auto", "deep"] {
        let found =
            provider.call_tool(&viewer, "viking_search", json!({"query": "peanuts 花生", "mode": mode})).await.unwrap();
        assert_eq!(found["results"][0]["uri"], uri.as_str(), "{mode}: {found}");
    }
    let folder = uri.rsplit_once('/').unwrap().0;
    for action in ["list", "tree", "stat"] {
        let answer =
            provider.call_tool(&viewer, "viking_browse", json!({"action": action, "path": folder})).await.unwrap();
        assert!(action == "stat" || answer["entries"][0]["uri"] == uri.as_str(), "{action}: {answer}");
    }
    let top = provider.call_tool(&viewer, "viking_browse", json!({"action": "list"})).await.unwrap();
    assert!(!top["entries"].as_array().unwrap().is_empty());
    assert!(provider.prefetch(&viewer, "peanuts").await.unwrap().unwrap().contains("花生"));
}
