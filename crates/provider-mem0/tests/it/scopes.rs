//! No one reads what is another's, and no one asks for it.

use memory_core::{
    DEFAULT_NAME, DeleteRequest, ErrorKind, ListRequest, MemoryChanges, MemoryProvider, Owner, Scope, Team, TeamRole,
    UpdateRequest, Viewer,
};
use serde_json::json;

use super::support::{platform, platform_with, self_hosted, user, viewer};

#[tokio::test]
async fn another_user_space_agent_or_session_sees_and_changes_nothing() {
    for setup in [platform().await, self_hosted().await] {
        let owner = Owner::Agent("a".into());
        let id = setup
            .add(Scope { user: "张三".into(), space: "工作".into(), owner }, "the safe is behind the painting")
            .await;
        let own = Viewer { agent: Some("a".into()), ..Viewer::user("张三", "工作") };
        assert_eq!(setup.found(&own, "safe painting").await.len(), 1);
        setup.server.take_recorded();
        for stranger in [
            Viewer::user("李四", "工作"),
            Viewer::user("张三", DEFAULT_NAME),
            Viewer::user("张三", "工作"),
            Viewer { agent: Some("b".into()), ..own.clone() },
            Viewer { agent: None, session: Some("a".into()), ..own.clone() },
            Viewer::user("张三/工作", DEFAULT_NAME),
        ] {
            assert!(setup.found(&stranger, "safe painting").await.is_empty(), "{stranger:?}");
            let page =
                setup.provider.list(ListRequest { viewer: stranger.clone(), ..ListRequest::default() }).await.unwrap();
            assert!(page.items.is_empty());
            for name in [id.clone(), id[..8].to_owned()] {
                let report = setup.provider.get(&stranger, std::slice::from_ref(&name)).await.unwrap();
                assert_eq!(report.missing, std::slice::from_ref(&name));
                let request = DeleteRequest { viewer: stranger.clone(), ids: vec![name], erase: false, dry_run: false };
                assert!(setup.provider.delete(request).await.unwrap().deleted.is_empty());
            }
            let changes = MemoryChanges { body: Some("x".into()), ..MemoryChanges::default() };
            let request = UpdateRequest { viewer: stranger.clone(), id: id.clone(), changes, expected_revision: None };
            assert_eq!(setup.provider.update(request).await.unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(setup.provider.history(&stranger, &id).await.unwrap_err().kind(), ErrorKind::NotFound);
            assert!(setup.provider.prefetch(&stranger, "safe painting").await.unwrap().is_none());
        }
        for request in setup.server.take_recorded() {
            let asked = format!("{} {}", request.query, String::from_utf8_lossy(&request.body));
            assert!(!matches!(request.method.as_str(), "PUT" | "DELETE"), "{}", request.line());
            assert!(asked.trim().is_empty() || asked.contains("user_id"), "{asked}");
        }
        assert_eq!(setup.texts().len(), 1);
    }
}

#[tokio::test]
async fn a_member_reads_the_memories_of_the_team_and_does_not_change_them() {
    let setup = platform().await;
    let id = setup.add(Scope { owner: Owner::Team("red".into()), ..user("u") }, "the team plan").await;
    let team = Some(Team { name: "red".into(), role: TeamRole::Member("ann".into()) });
    let member = Viewer { team, ..viewer("u") };
    assert_eq!(setup.found(&member, "plan").await, ["the team plan"]);
    let body = setup.server.take_recorded().pop().unwrap().json();
    assert_eq!(body["filters"]["OR"][1]["AND"][0], json!({"agent_id": {"in": ["team:red", "member:red/ann"]}}));
    let request = DeleteRequest { viewer: member, ids: vec![id], erase: false, dry_run: false };
    assert_eq!(setup.provider.delete(request).await.unwrap_err().kind(), ErrorKind::Forbidden);
}

#[tokio::test]
async fn ids_follow_the_precedence() {
    let setup = platform_with(|config| {
        config.memory.external.user_id = "shared".into();
        config.memory.external.mem0.user_id = "alice".into();
        config.memory.external.mem0.agent_id = "helper".into();
    })
    .await;
    setup.add(Scope { owner: Owner::Agent("coder".into()), ..user(DEFAULT_NAME) }, "x y").await;
    let body = setup.only().json();
    assert_eq!((&body["user_id"], &body["agent_id"]), (&json!("alice"), &json!("helper")));
    assert_eq!(body["metadata"], json!({"memory_owner": "agent:coder", "memory_user": "alice"}));
    let coder = |name: &str| Viewer { agent: Some("coder".into()), ..viewer(name) };
    assert_eq!(setup.found(&coder("shared"), "x").await.len(), 1, "the shared user is who nobody says");
    assert_eq!(setup.found(&coder(DEFAULT_NAME), "x").await.len(), 1);
    assert!(setup.found(&coder("bob"), "x").await.is_empty());
    let setup = platform_with(|config| config.memory.external.user_id = "shared".into()).await;
    setup.add(user(DEFAULT_NAME), "x").await;
    assert_eq!(setup.only().json()["user_id"], "shared");
    assert!(setup.provider.guidance("en").contains("User: shared"));
}

#[tokio::test]
async fn what_other_programs_wrote_for_the_user_is_the_users() {
    for setup in [platform().await, self_hosted().await] {
        let path = if setup.platform.is_some() { "/v3/memories/add/" } else { "/memories" };
        let add = async |body: serde_json::Value| {
            let client = memory_http::JsonClient::builder(memory_http::Service {
                name: "test",
                url: memory_core::SafeUrl::new(setup.server.url()),
                key: memory_core::Secret::default(),
                key_hint: "",
                url_hint: "",
            });
            let client = client.build().unwrap();
            let segments: Vec<&str> = path.split('/').skip(1).collect();
            let token = format!("Token {}", memory_conformance::fake::MEM0_PLATFORM_KEY);
            let headers =
                [("authorization", token.as_str()), ("x-api-key", memory_conformance::fake::MEM0_SELF_HOSTED_KEY)];
            let reply = client.call(memory_http::Method::POST, &segments, &[], &headers, Some(&body)).await.unwrap();
            assert_eq!(reply.status, 200);
        };
        let message = |text: &str| json!([{"role": "user", "content": text}]);
        add(json!({"messages": message("plain heron"), "infer": false, "user_id": "u", "run_id": "r",
            "metadata": {"source": "app", "owner": "Bob"}}))
        .await;
        add(json!({"messages": message("agent heron"), "infer": false, "user_id": "u", "agent_id": "a"})).await;
        add(json!({"messages": message("other heron"), "infer": false, "user_id": "v"})).await;
        assert_eq!(setup.found(&viewer("u"), "heron").await, ["plain heron"]);
        let with_agent = Viewer { agent: Some("a".into()), ..viewer("u") };
        assert_eq!(setup.found(&with_agent, "heron").await.len(), 2);
        let recall = setup.provider.search(memory_core::SearchRequest::new(viewer("u"), "plain")).await.unwrap();
        assert_eq!(recall.hits[0].attrs, json!({"source": "app", "owner": "Bob"}).as_object().cloned().unwrap());
    }
}
