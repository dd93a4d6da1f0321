//! What goes over the wire to the self-hosted server.

use memory_core::{
    DeleteRequest, Id, ListRequest, MemoryChanges, MemoryProvider, NewMemory, SearchRequest, Turn, UpdateRequest,
    Viewer,
};
use serde_json::json;

use super::support::{UNKNOWN, self_hosted, self_hosted_with, user, viewer};

#[tokio::test]
async fn an_explicit_memory_is_added_without_what_the_server_does_not_know() {
    let setup = self_hosted_with(|config| config.memory.external.mem0.app_id = "shop".into()).await;
    let new = NewMemory {
        tags: vec!["饮料".into()],
        created_at: Some("2026-02-04T00:00:00Z".parse().unwrap()),
        expires_at: Some("2099-12-31T10:00:00Z".parse().unwrap()),
        ..NewMemory::new(user("张三"), "喜欢绿茶")
    };
    setup.write(new, false).await.unwrap();
    let request = setup.only();
    assert_eq!(request.line(), "POST /memories");
    assert_eq!(
        request.json(),
        json!({
            "user_id": "张三", "messages": [{"role": "user", "content": "喜欢绿茶"}], "infer": false,
            "metadata": {"tags": ["饮料"], "written_at": "2026-02-04T00:00:00Z", "expires_at": "2099-12-31T10:00:00Z"},
            "expiration_date": "2099-12-31",
        })
    );
    let health = setup.provider.health().await;
    assert!(health.ok && health.message.contains("1.0.0"), "{health:?}");
    assert_eq!((&health.details["dialect"], &health.details["version"]), (&json!("self_hosted"), &json!("1.0.0")));
    assert!(health.details["app_id"].as_str().unwrap().contains("ignored"));
}

#[tokio::test]
async fn a_search_names_the_user_at_the_top_and_no_operators() {
    let setup = self_hosted_with(|config| config.memory.external.mem0.run_id = "r".into()).await;
    let new = NewMemory { category: Some("sea".into()), ..NewMemory::new(user("u"), "a whale") };
    setup.write(new, false).await.unwrap();
    setup.add(user("u"), "a whale on land").await;
    setup.server.take_recorded();
    let request = SearchRequest {
        categories: vec!["sea".into()],
        explain: true,
        limit: 3,
        ..SearchRequest::new(viewer("u"), "whale")
    };
    let recall = setup.provider.search(request).await.unwrap();
    assert_eq!(recall.hits.iter().map(|hit| hit.text.as_str()).collect::<Vec<_>>(), ["a whale"]);
    assert_eq!(recall.explanation.unwrap().hits, [recall.hits[0].scores.clone()]);
    let request = setup.only();
    assert_eq!(request.line(), "POST /search");
    let filters = json!({"user_id": "u", "run_id": "r"});
    let expected = json!({"query": "whale", "top_k": 3, "threshold": 0.1, "filters": filters, "explain": true});
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn single_memories_have_their_paths() {
    let setup = self_hosted().await;
    let id = setup.add(user("张 三/1"), "one").await;
    let other = setup.add(user("张 三/1"), "two").await;
    let u = viewer("张 三/1");
    let uuid = id.parse::<Id>().unwrap().to_uuid();
    let path = format!("/memories/{uuid}");
    setup.server.take_recorded();
    let missing = setup.provider.get(&u, &[UNKNOWN.into(), id.clone()]).await.unwrap();
    assert_eq!((missing.items.len(), missing.missing), (1, vec![UNKNOWN.to_owned()]), "`null` is nothing");
    assert_eq!(setup.lines()[1], format!("GET {path}"));
    let change = |changes| UpdateRequest { viewer: u.clone(), id: id.clone(), changes, expected_revision: None };
    let title = MemoryChanges { title: Some(Some("T".into())), body: Some("eins".into()), ..MemoryChanges::default() };
    setup.provider.update(change(title)).await.unwrap();
    let put = setup.server.take_recorded().pop().unwrap();
    assert_eq!(
        (put.line(), put.json()),
        (format!("PUT {path}"), json!({"metadata": {"title": "T", "revision": 2}, "text": "eins"}))
    );
    setup.provider.update(change(MemoryChanges { title: Some(None), ..MemoryChanges::default() })).await.unwrap();
    let items = setup.provider.get(&u, std::slice::from_ref(&id)).await.unwrap().items;
    let memory_core::Item::Memory(memory) = &items[0] else { panic!("{items:?}") };
    assert_eq!(
        (memory.title.as_ref(), memory.revision, memory.body.as_str()),
        (None, 3, "eins"),
        "merging clears it too"
    );
    setup.server.take_recorded();
    setup.provider.list(ListRequest { viewer: u.clone(), ..ListRequest::default() }).await.unwrap();
    assert_eq!(setup.lines(), ["GET /memories?user_id=%E5%BC%A0%2520%E4%B8%89%2F1&top_k=1000"]);
    let history = setup.provider.history(&u, &id).await.unwrap();
    assert_eq!(setup.lines(), [format!("GET {path}"), format!("GET {path}/history")]);
    assert_eq!(history.len(), 3);
    let ids = vec![id.clone(), other.clone(), UNKNOWN.into()];
    let report = setup.provider.delete(DeleteRequest { viewer: u, ids, erase: false, dry_run: false }).await.unwrap();
    assert_eq!((report.deleted, report.missing), (vec![id, other], vec![UNKNOWN.to_owned()]));
    let deletions: Vec<String> = setup.lines().into_iter().filter(|line| line.starts_with("DELETE")).collect();
    assert!(deletions.len() == 2 && deletions[0] == format!("DELETE {path}"), "one by one: {deletions:?}");
}

#[tokio::test]
async fn a_turn_is_one_addition() {
    let setup = self_hosted().await;
    let turn = Turn {
        viewer: Viewer { session: Some("s1".into()), ..viewer("u") },
        user_text: "My cat is called 咪咪".into(),
        assistant_text: "  ".into(),
        ..Turn::default()
    };
    setup.provider.sync_turn(turn).await.unwrap();
    let request = setup.only();
    assert_eq!(request.line(), "POST /memories");
    assert_eq!(
        request.json(),
        json!({
            "user_id": "u", "run_id": "s1", "messages": [{"role": "user", "content": "My cat is called 咪咪"}],
            "infer": true, "metadata": {"item": "extract", "source_session": "s1"},
        })
    );
}
