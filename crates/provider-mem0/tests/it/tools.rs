//! The tools and what an agent is told.

use memory_core::{ErrorKind, MemoryProvider};
use serde_json::{Value, json};

use super::support::{Setup, platform, platform_with, self_hosted, user, viewer};

async fn call(setup: &Setup, name: &str, arguments: Value) -> Value {
    setup.provider.call_tool(&viewer("u"), name, arguments).await.unwrap()
}

#[tokio::test]
async fn the_tools_are_those_of_other_hosts() {
    for setup in [platform().await, self_hosted().await] {
        let tools = setup.provider.tools();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["mem0_profile", "mem0_search", "mem0_conclude"]);
        assert_eq!(tools[1].parameters["required"], json!(["query"]));
        assert_eq!(tools[1].parameters["properties"]["top_k"]["type"], "integer");
        assert_eq!(call(&setup, "mem0_profile", Value::Null).await, json!({"result": "No memories stored yet."}));
        let nothing = call(&setup, "mem0_search", json!({"query": "tea"})).await;
        assert_eq!(nothing, json!({"result": "No relevant memories found."}));
        for (position, arguments) in [
            json!({"conclusion": "The user likes tea"}),
            json!({"content": "用户喜欢茶"}),
            json!("{\"conclusion\": \"The user has a teapot\"}"),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(call(&setup, "mem0_conclude", arguments).await, json!({"result": "Fact stored."}));
            assert_eq!(setup.texts().len(), position + 1);
        }
        let profile = call(&setup, "mem0_profile", json!({})).await;
        assert_eq!(profile["count"], 3);
        assert!(profile["result"].as_str().unwrap().lines().any(|line| line == "用户喜欢茶"));
        let found = call(&setup, "mem0_search", json!({"query": "likes tea", "top_k": "1"})).await;
        assert_eq!(found, json!({"count": 1, "results": [{"memory": "The user likes tea", "score": 1.0}]}));
        assert_eq!(call(&setup, "mem0_search", json!({"query": "the user", "limit": 2.0})).await["count"], 2);
        let prefetched = setup.provider.prefetch(&viewer("u"), "likes tea").await.unwrap().unwrap();
        assert_eq!(prefetched, "## Mem0 Memory\n- The user likes tea");
    }
}

#[tokio::test]
async fn the_requests_of_the_tools_are_those_of_other_hosts() {
    let setup = platform_with(|config| config.memory.external.mem0.agent_id = "helper".into()).await;
    call(&setup, "mem0_conclude", json!({"conclusion": "a fact"})).await;
    let body = setup.only().json();
    assert_eq!((&body["infer"], &body["user_id"], &body["agent_id"]), (&json!(false), &json!("u"), &json!("helper")));
    assert_eq!(body["messages"], json!([{"role": "user", "content": "a fact"}]));
    for (arguments, rerank, top_k) in [
        (json!({"query": "fact"}), false, 10),
        (json!({"query": "fact", "rerank": "true", "top_k": 500}), true, 50),
        (json!({"query": "fact", "rerank": true, "top_k": 0}), true, 1),
    ] {
        call(&setup, "mem0_search", arguments).await;
        let body = setup.server.take_recorded().remove(0).json();
        assert_eq!((&body["rerank"], &body["top_k"]), (&json!(rerank), &json!(top_k)));
    }
    setup.provider.prefetch(&viewer("u"), "fact").await.unwrap();
    let body = setup.server.take_recorded().remove(0).json();
    assert_eq!((&body["rerank"], &body["top_k"]), (&json!(true), &json!(5)));
}

#[tokio::test]
async fn wrong_calls_are_errors_and_send_nothing() {
    let setup = platform().await;
    for (name, arguments, kind, said) in [
        ("mem0_search", json!({}), ErrorKind::InvalidRequest, "Missing required parameter: query"),
        ("mem0_search", json!({"query": " "}), ErrorKind::InvalidRequest, "Missing required parameter: query"),
        ("mem0_search", json!({"query": "x", "top_k": "many"}), ErrorKind::InvalidRequest, "top_k"),
        (
            "mem0_conclude",
            json!({"conclusion": null}),
            ErrorKind::InvalidRequest,
            "Missing required parameter: conclusion",
        ),
        ("mem0_conclude", json!([1]), ErrorKind::InvalidRequest, "object"),
        ("mem0_forget", json!({}), ErrorKind::NotFound, "mem0_forget"),
    ] {
        let error = setup.provider.call_tool(&viewer("u"), name, arguments).await.unwrap_err();
        assert!(error.kind() == kind && error.message().contains(said), "{name}: {error}");
    }
    assert!(setup.server.recorded().is_empty());
    assert!(
        setup.provider.guidance("zh-CN").contains("mem0_search") && setup.provider.guidance("zh-CN").contains("记忆")
    );
    assert!(setup.provider.guidance("en").starts_with("# Mem0 Memory\nActive. User: __default__\n"));
    setup.add(user("u"), "x").await;
}
