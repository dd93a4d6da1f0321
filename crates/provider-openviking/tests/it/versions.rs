//! Servers from 0.3 to 0.5, each spoken to in its own way.

use memory_core::{ErrorKind, MemoryProvider, Owner, SearchRequest, SessionContext, Viewer};
use serde_json::json;

use super::support::*;

#[tokio::test]
async fn a_question_has_only_fields_the_version_knows() {
    for (minor, full) in [("0.5.2", true), ("0.4.9", true), ("0.3.24", false)] {
        let setup = version(minor).await;
        setup.add("Tea is in the cupboard").await;
        setup.server.take_recorded();
        assert_eq!(setup.ask("tea cupboard").await, ["Tea is in the cupboard"], "{minor}");
        let [question] = &setup.requests("POST", "/api/v1/search/find")[..] else { panic!() };
        let mut expected = json!({
            "query": "tea cupboard",
            "target_uri": ["viking://user/default/memories", "viking://resources"],
            "limit": 15,
        });
        if full {
            expected["context_type"] = json!(["memory", "resource"]);
            expected["level"] = json!(2);
        }
        assert_eq!(question.json(), expected, "{minor}");
    }
}

#[tokio::test]
async fn every_version_gives_texts_back_and_the_same_scores() {
    let text = "A [link](viking://resources/x) to 上海 and <!-- a comment -->";
    for minor in ["0.5.2", "0.4.9", "0.3.24"] {
        let setup = version(minor).await;
        let id = setup.add(text).await;
        assert_eq!(setup.get(&id).await.unwrap().body, text);
        let recall = setup.provider.search(SearchRequest::new(viewer(), "link 上海")).await.unwrap();
        let hit = &recall.hits[0];
        assert_eq!((hit.text.as_str(), hit.score), (text, 1.0), "{minor}");
        let half = setup.provider.search(SearchRequest::new(viewer(), "link zebra")).await.unwrap();
        assert_eq!(half.hits[0].score, 0.5, "{minor}");
        assert!(setup.ask("zebra").await.is_empty(), "{minor}: unrelated");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old_or_strange_is_told() {
    for (text, kind) in [("0.2.15", ErrorKind::ConfigInvalid), ("0.0.1", ErrorKind::ConfigInvalid)] {
        let setup = version(text).await;
        let error = setup.provider.initialize(&SessionContext::default()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text) && error.hints()[0].contains("0.3"), "{error} {:?}", error.hints());
        setup.viking.set(|settings| settings.version = "0.5.2".into());
        setup.provider.initialize(&SessionContext::default()).await.unwrap();
    }
    let stranger =
        memory_conformance::fake::FakeServer::start(|_| memory_conformance::fake::Response::ok(json!({}))).await;
    let error = provider_at(stranger.url(), |_| {}).initialize(&SessionContext::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadReply, "{error}");
}

#[tokio::test]
async fn before_0_4_other_scopes_are_subfolders_and_nothing_of_theirs_is_extracted() {
    let setup = version("0.3.24").await;
    setup.add("own fact").await;
    setup.write(owned(Owner::Agent("coder".into()), "fact of the coder")).await.unwrap();
    assert_eq!(setup.ask("fact").await, ["own fact"]);
    let coder = Viewer { agent: Some("coder".into()), session: Some("s".into()), ..viewer() };
    assert_eq!(setup.found(SearchRequest::new(coder.clone(), "fact coder")).await.len(), 2);
    let mut said = turn("s", "t", "the coder's secret");
    said.viewer = coder.clone();
    setup.provider.sync_turn(said).await.unwrap();
    setup.server.take_recorded();
    setup.provider.end_session(&coder).await.unwrap();
    assert!(!setup.lines().iter().any(|line| line.contains("/commit")));
    assert!(setup.provider.health().await.message.contains("0.4"), "it says so");
    assert!(setup.viking.files().values().all(|text| !text.contains("secret")));
}
