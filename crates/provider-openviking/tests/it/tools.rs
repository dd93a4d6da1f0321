//! The tools, with either spelling of their arguments.

use memory_core::{ErrorKind, MemoryProvider, Viewer};
use serde_json::{Value, json};

use super::support::*;

async fn call(setup: &Setup, name: &str, arguments: Value) -> Value {
    setup.provider.call_tool(&in_session("s"), name, arguments).await.unwrap()
}

#[tokio::test]
async fn searching_takes_both_spellings() {
    let setup = setup().await;
    for number in 0..4 {
        setup.add(&format!("tea number {number}")).await;
    }
    setup.viking.put("viking://resources/tea.md", "tea from the shop");
    for limit in ["top_k", "limit"] {
        let answer = call(&setup, "viking_search", json!({"query": "tea", limit: 2})).await;
        assert_eq!((answer["results"].as_array().unwrap().len(), &answer["total"]), (2, &json!(2)));
        assert_eq!(answer["results"][0]["type"], "memory");
        assert_eq!(answer["results"][0]["score"], json!(1.0));
    }
    for scope in ["scope", "target_uri"] {
        let answer = call(&setup, "viking_search", json!({"query": "tea", scope: "viking://resources"})).await;
        let expected = json!([{"uri": "viking://resources/tea.md", "type": "resource", "score": 1.0, "abstract": "tea from the shop"}]);
        assert_eq!(answer["results"], expected);
    }
    setup.server.take_recorded();
    call(&setup, "viking_search", json!({"query": "tea", "mode": "deep"})).await;
    assert_eq!(setup.requests("POST", "/api/v1/search/search")[0].json()["session_id"], "s");
}

#[tokio::test]
async fn reading_and_browsing_take_both_spellings() {
    let setup = setup().await;
    let uri = "viking://user/default/memories/entities/x/long.md";
    setup.viking.put(uri, &"长".repeat(9000));
    for arguments in [json!({"uri": uri, "detail": "full"}), json!({"uri": uri, "level": "read"}), json!({"uri": uri})]
    {
        let answer = call(&setup, "viking_read", arguments).await;
        let content = answer["content"].as_str().unwrap();
        assert!(content.starts_with('长') && content.ends_with("[cut after 8000 characters]"));
        assert_eq!(answer["level"], "full");
    }
    let folder = json!({"uri": "viking://~/memories/entities", "detail": "abstract"});
    let answer = call(&setup, "viking_read", folder).await;
    assert_eq!(
        (&answer["level"], &answer["uri"]),
        (&json!("abstract"), &json!("viking://user/default/memories/entities"))
    );
    for path in ["path", "uri"] {
        let answer =
            call(&setup, "viking_browse", json!({"action": "list", path: "viking://user/default/memories"})).await;
        let entries = answer["entries"].as_array().unwrap();
        assert_eq!((entries.len(), &entries[0]["name"], &entries[0]["type"]), (1, &json!("entities"), &json!("dir")));
    }
    let answer =
        call(&setup, "viking_browse", json!({"action": "tree", "path": "viking://user/default/memories"})).await;
    assert_eq!(answer["entries"][0]["name"], "entities/x/long.md");
    let stat = call(&setup, "viking_browse", json!({"action": "stat", "path": uri})).await;
    assert_eq!(stat["uri"], uri);
    assert!(call(&setup, "viking_browse", json!({"action": "list"})).await["path"] == "viking://");
}

#[tokio::test]
async fn what_is_remembered_is_found_at_once() {
    let setup = setup().await;
    let answer = call(&setup, "viking_remember", json!({"content": "对花生过敏", "category": "preference"})).await;
    assert_eq!(answer["status"], "stored");
    let memory = setup.get(answer["id"].as_str().unwrap()).await.unwrap();
    assert_eq!((memory.body.as_str(), memory.category.as_deref()), ("对花生过敏", Some("preference")));
    assert_eq!(memory.origin, memory_core::Origin::Agent);
    assert_eq!(setup.ask("花生").await.len(), 1);
}

#[tokio::test]
async fn resources_are_added_by_address() {
    let setup = setup().await;
    for word in ["title", "reason"] {
        setup.server.take_recorded();
        let answer =
            call(&setup, "viking_add_resource", json!({"url": "https://example.org/a.md", word: "手册"})).await;
        assert_eq!((&answer["status"], &answer["root_uri"]), (&json!("added"), &json!("viking://resources/a.md")));
        let body = setup.requests("POST", "/api/v1/resources").remove(0).json();
        assert_eq!(body, json!({"path": "https://example.org/a.md", "reason": "手册"}));
    }
    let refused = setup.provider.call_tool(&viewer(), "viking_add_resource", json!({"url": "/etc/passwd"})).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unauthorized);
}

#[tokio::test]
async fn nothing_of_others_is_shown() {
    let setup = setup().await;
    for uri in [
        "viking://user/other/memories/notes/a.md",
        "viking://user/default/peers/p/memories/notes/a.md",
        "viking://user/default/sessions/theirs/messages.jsonl",
        "viking://user/default/sessions/s/messages.jsonl",
        "viking://user/default/memories/notes/a.md",
        "viking://resources/a.md",
    ] {
        setup.viking.put(uri, "a text");
    }
    let top = call(&setup, "viking_browse", json!({"action": "list", "path": "viking://user/default"})).await;
    let names: Vec<&str> =
        top["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    // The session `s` has a folder of its own among the peers, so the folder above it is shown.
    assert!(names.contains(&"memories") && !names.contains(&"sessions"), "{names:?}");
    let peers = call(&setup, "viking_browse", json!({"action": "list", "path": "viking://user/default/peers"})).await;
    assert_eq!(peers["entries"], json!([]));
    for uri in [
        "viking://user/other/memories/notes/a.md",
        "viking://user/default/memories/../peers/p/memories/notes/a.md",
        "viking://user/default/peers/p/memories/notes/a.md",
        "viking://user/default/sessions/theirs/messages.jsonl",
        "viking://user//default/peers/p",
    ] {
        for (tool, name) in [("viking_read", "uri"), ("viking_browse", "path")] {
            let arguments = json!({name: uri, "action": "tree"});
            let refused = setup.provider.call_tool(&in_session("s"), tool, arguments).await;
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound, "{uri}");
        }
        let refused =
            setup.provider.call_tool(&viewer(), "viking_search", json!({"query": "text", "scope": uri})).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound, "{uri}");
    }
    for uri in ["viking://user/default/sessions/s/messages.jsonl", "viking://resources/a.md"] {
        call(&setup, "viking_read", json!({"uri": uri, "detail": "full"})).await;
    }
    let stranger = Viewer::user("bob", memory_core::DEFAULT_NAME);
    let all = setup
        .provider
        .call_tool(&stranger, "viking_search", json!({"query": "text", "scope": "viking://user/default"}))
        .await;
    assert!(all.is_err() || all.unwrap()["results"] == json!([]), "a folder above one's own finds only one's own");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let setup = setup().await;
    for (tool, missing) in [
        ("viking_search", "query"),
        ("viking_read", "uri"),
        ("viking_browse", "action"),
        ("viking_remember", "content"),
        ("viking_add_resource", "url"),
    ] {
        let error = setup.provider.call_tool(&viewer(), tool, json!({})).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::InvalidRequest, format!("{missing} is required").as_str())
        );
    }
    assert!(
        setup.provider.guidance("zh-CN").contains("记忆") && setup.provider.guidance("en").contains("viking_search")
    );
}
