//! What goes over the wire to the platform.

use memory_core::{
    DeleteRequest, Filter, Id, ListRequest, MemoryChanges, MemoryProvider, NewMemory, NewMessage, Relevance, Role,
    SearchRequest, Turn, UpdateRequest, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use serde_json::json;

use super::support::{platform, platform_with, user, viewer};

#[tokio::test]
async fn an_explicit_memory_is_added_word_for_word_with_all_it_has() {
    let setup = platform_with(|config| {
        config.memory.external.mem0.app_id = "shop".into();
        config.memory.external.mem0.run_id = "r1".into();
        config.memory.external.mem0.agent_id = "helper".into();
    })
    .await;
    let new = NewMemory {
        external_id: Some("crm/7".into()),
        category: Some("preference".into()),
        title: Some("茶".into()),
        tags: vec!["饮料".into()],
        keywords: vec!["tea".into()],
        relevance: Relevance::High,
        attrs: json!({"stars": 4}).as_object().cloned().unwrap(),
        event_at: Some("2026-02-03T08:00:00+08:00".parse().unwrap()),
        created_at: Some("2026-02-04T00:00:00.5Z".parse().unwrap()),
        expires_at: Some("2099-12-31T10:00:00Z".parse().unwrap()),
        pinned: true,
        ..NewMemory::new(user("张三"), "张三喜欢喝绿茶 🍵")
    };
    let result = setup.write(new, false).await.unwrap();
    assert_eq!(result.outcome, WriteOutcome::Stored);
    let request = setup.only();
    assert_eq!(request.line(), "POST /v3/memories/add/");
    assert_eq!(
        request.json(),
        json!({
            "user_id": "张三", "agent_id": "helper", "run_id": "r1", "app_id": "shop",
            "messages": [{"role": "user", "content": "张三喜欢喝绿茶 🍵"}],
            "infer": false,
            "metadata": {
                "memory_user": "张三", "external_id": "crm/7", "category": "preference", "title": "茶", "tags": ["饮料"],
                "keywords": ["tea"], "relevance": "high", "attrs": {"stars": 4}, "event_at": "2026-02-03T08:00:00+08:00",
                "written_at": "2026-02-04T00:00:00.500Z", "expires_at": "2099-12-31T10:00:00Z", "pinned": true,
            },
            "expiration_date": "2099-12-31",
            "timestamp": 1_770_163_200,
        })
    );
    let memory = setup.provider.get(&viewer("张三"), &[result.id.unwrap()]).await.unwrap().items.remove(0);
    let memory_core::Item::Memory(memory) = memory else { panic!("{memory:?}") };
    assert_eq!((memory.title.as_deref(), memory.relevance, memory.pinned), (Some("茶"), Relevance::High, true));
    assert_eq!(memory.created_at.to_string(), "2026-02-04T00:00:00.500Z");
}

#[tokio::test]
async fn a_plain_memory_is_a_plain_request() {
    let setup = platform().await;
    setup.add(user("u"), "plain").await;
    let expected = json!({"user_id": "u", "messages": [{"role": "user", "content": "plain"}], "infer": false});
    assert_eq!(setup.only().json(), expected);
}

#[tokio::test]
async fn a_search_sends_its_settings_and_checks_what_comes_back() {
    let setup = platform_with(|config| config.memory.external.mem0.threshold = 0.3).await;
    let book = |text: &str, category: &str, stars: u64| NewMemory {
        category: Some(category.into()),
        attrs: json!({ "stars": stars }).as_object().cloned().unwrap(),
        ..NewMemory::new(user("u"), text)
    };
    setup.write(book("book about whales", "sea", 5), false).await.unwrap();
    setup.write(book("book about hills", "land", 3), false).await.unwrap();
    setup.server.take_recorded();
    assert_eq!(setup.found(&viewer("u"), " whales  ").await, ["book about whales"]);
    let request = setup.only();
    assert_eq!(request.line(), "POST /v3/memories/search/");
    let expected =
        json!({"query": "whales", "top_k": 10, "threshold": 0.3, "filters": {"user_id": "u"}, "rerank": true});
    assert_eq!(request.json(), expected);
    let request = SearchRequest {
        categories: vec!["sea".into(), "land".into()],
        filter: Some(Filter::parse(&json!({"attrs.stars": {"gte": 4}})).unwrap()),
        at: Some("2026-05-20T10:00:00Z".parse().unwrap()),
        limit: 2,
        ..SearchRequest::new(viewer("u"), "book")
    };
    let recall = setup.provider.search(request).await.unwrap();
    assert_eq!(recall.hits.iter().map(|hit| hit.text.as_str()).collect::<Vec<_>>(), ["book about whales"]);
    let hit = &recall.hits[0];
    assert_eq!((hit.score, hit.scores["mem0"], hit.scores["semantic"]), (1.0, 1.0, 1.0));
    assert_eq!(hit.external_id.as_ref().map(|id| Id::of_foreign(id)), Some(hit.id.clone()), "the name there");
    let bodies: Vec<_> = setup.server.take_recorded().iter().map(|request| request.json()).collect();
    assert_eq!(
        bodies[0]["filters"],
        json!({"AND": [{"user_id": "u"}, {"OR": [
            {"metadata": {"category": "sea"}}, {"metadata": {"category": "land"}}, {"categories": {"in": ["sea", "land"]}}
        ]}]})
    );
    assert_eq!(bodies[0]["reference_date"], "2026-05-20T10:00:00Z");
    assert_eq!(bodies.iter().map(|body| body["top_k"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 1000]);
}

#[tokio::test]
async fn single_memories_have_their_paths() {
    let setup = platform().await;
    let id = setup.add(user("u"), "first text").await;
    let other = setup.add(user("u"), "other text").await;
    let uuid = id.parse::<Id>().unwrap().to_uuid();
    setup.server.take_recorded();
    let (u, path) = (viewer("u"), format!("/v1/memories/{uuid}/"));
    for name in [&id, &uuid, &uuid.replace('-', ""), &id.to_lowercase()] {
        assert_eq!(setup.provider.get(&u, std::slice::from_ref(name)).await.unwrap().items.len(), 1, "{name}");
        assert_eq!(setup.only().line(), format!("GET {path}"));
    }
    let changes = MemoryChanges {
        body: Some("第二版".into()),
        category: Some(Some("fact".into())),
        expires_at: Some(Some("2099-01-02T00:00:00Z".parse().unwrap())),
        attrs: json!({"a": 1, "b": null}).as_object().cloned(),
        ..MemoryChanges::default()
    };
    let request = UpdateRequest { viewer: u.clone(), id: id.clone(), changes, expected_revision: Some(1) };
    setup.provider.update(request).await.unwrap();
    let put = setup.server.take_recorded().remove(1);
    assert_eq!(put.line(), format!("PUT {path}"));
    assert_eq!(
        put.json(),
        json!({
            "metadata": {"category": "fact", "expires_at": "2099-01-02T00:00:00Z", "revision": 2, "attrs": {"a": 1}},
            "text": "第二版", "expiration_date": "2099-01-02",
        })
    );
    let clear = MemoryChanges { category: Some(None), expires_at: Some(None), ..MemoryChanges::default() };
    let request = UpdateRequest { viewer: u.clone(), id: id.clone(), changes: clear, expected_revision: None };
    setup.provider.update(request).await.unwrap();
    let body = setup.server.take_recorded().remove(1).json();
    assert_eq!((&body["expiration_date"], &body["metadata"]["category"]), (&json!(null), &json!(null)));
    let history = setup.provider.history(&u, &id).await.unwrap();
    assert_eq!(setup.lines(), [format!("GET {path}"), format!("GET {path}history/")]);
    let operations: Vec<&str> = history.iter().map(|revision| revision.operation.as_str()).collect();
    assert_eq!(operations, ["created", "updated", "updated"]);
    assert_eq!(history[0].memory.as_ref().unwrap().body, "first text");
    let delete = |ids: Vec<String>, dry_run| DeleteRequest { viewer: u.clone(), ids, erase: true, dry_run };
    let report = setup.provider.delete(delete(vec![id.clone()], true)).await.unwrap();
    assert_eq!((report.deleted, report.dry_run, setup.lines()), (vec![id.clone()], true, vec![format!("GET {path}")]));
    let report = setup.provider.delete(delete(vec![id.clone()], false)).await.unwrap();
    assert_eq!((report.deleted, report.notes.len()), (vec![id.clone()], 1));
    assert_eq!(setup.lines(), [format!("GET {path}"), format!("DELETE {path}")]);
    let third = setup.add(user("u"), "third text").await;
    setup.server.take_recorded();
    let ids = vec![other.clone(), id.clone(), third.clone(), other.clone()];
    let report = setup.provider.delete(delete(ids, false)).await.unwrap();
    assert_eq!((report.deleted, report.missing), (vec![other.clone(), third.clone()], vec![id]));
    let last = setup.server.take_recorded().pop().unwrap();
    assert_eq!(last.line(), "DELETE /v1/batch/");
    let uuid_of = |id: &str| id.parse::<Id>().unwrap().to_uuid();
    assert_eq!(last.json(), json!({"memories": [{"memory_id": uuid_of(&other)}, {"memory_id": uuid_of(&third)}]}));
    assert!(setup.texts().is_empty());
}

#[tokio::test]
async fn a_turn_is_one_addition_that_is_followed_until_it_is_real() {
    let setup = platform().await;
    setup.platform.as_ref().unwrap().finish_after(2);
    let turn = Turn {
        viewer: Viewer { session: Some("s1".into()), agent: Some("coder".into()), ..viewer("u") },
        user_text: "<memory-context>old</memory-context> I moved to 杭州".into(),
        assistant_text: "Noted: 杭州".into(),
        at: Some("2026-04-01T08:00:00Z".parse().unwrap()),
        external_id: Some("t1".into()),
        repeated: false,
    };
    setup.provider.sync_turn(turn).await.unwrap();
    let recorded = setup.server.recorded();
    let lines = setup.lines();
    assert_eq!(lines[0], "POST /v3/memories/add/");
    assert!(lines.len() == 4 && lines[1..].iter().all(|line| line.starts_with("GET /v1/event/")), "{lines:?}");
    assert_eq!(
        recorded[0].json(),
        json!({
            "user_id": "u", "agent_id": "coder", "run_id": "s1",
            "messages": [
                {"role": "user", "content": "I moved to 杭州"}, {"role": "assistant", "content": "Noted: 杭州"},
            ],
            "infer": true,
            "metadata": {
                "memory_owner": "agent:coder", "memory_user": "u", "item": "extract", "external_id": "t1",
                "source_session": "s1", "written_at": "2026-04-01T08:00:00Z",
            },
            "timestamp": 1_775_030_400,
        })
    );
    let coder = Viewer { agent: Some("coder".into()), ..viewer("u") };
    let mut found = setup.found(&coder, "杭州").await;
    found.sort();
    assert_eq!(found, ["I moved to 杭州", "Noted: 杭州"], "also what the platform keeps under the agent alone");
    assert_eq!(
        setup.only().json()["filters"],
        json!({"OR": [{"user_id": "u"}, {"AND": [{"agent_id": "coder"}, {"metadata": {"memory_user": "u"}}]}]})
    );
    assert!(setup.found(&viewer("u"), "杭州").await.is_empty(), "what belongs to an agent is the agent's");
}

#[tokio::test]
async fn without_extraction_messages_are_kept_as_they_were_said() {
    let setup = platform_with(|config| config.memory.external.mem0.infer = false).await;
    assert!(setup.provider.capability().write_messages);
    let message = NewMessage {
        speaker: Some("Li".into()),
        external_id: Some("m1".into()),
        ..NewMessage::new(user("u"), "s", Role::System, "  be 简短\n")
    };
    let items = vec![WriteItem::Message(Box::new(message))];
    setup.provider.write(WriteRequest { items, ..WriteRequest::default() }).await.unwrap();
    assert_eq!(
        setup.only().json(),
        json!({
            "user_id": "u", "run_id": "s", "messages": [{"role": "user", "content": "  be 简短\n"}], "infer": false,
            "metadata": {
                "item": "message", "external_id": "m1", "source_session": "s", "speaker": "Li", "speaker_role": "system",
            },
        })
    );
    let request =
        ListRequest { viewer: viewer("u"), kind: Some(memory_core::HitKind::Message), ..ListRequest::default() };
    let items = setup.provider.list(request).await.unwrap().items;
    let [memory_core::Item::Message(message)] = &items[..] else { panic!("{items:?}") };
    assert_eq!((message.role, message.content.as_str(), message.position), (Role::System, "  be 简短\n", 0));
}
