//! The mode gates every path.

use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;
use serde_json::json;

use crate::setting::{Setting, turn};

/// Goes down every path once.
async fn everything(setting: &Setting) -> Vec<Result<()>> {
    let engine = &setting.engine;
    let viewer = Viewer::default();
    engine.initialize(&SessionContext::default()).await.unwrap();
    let item = WriteItem::Memory(Box::new(NewMemory::new(Scope::default(), "a")));
    let written = engine.write(WriteRequest { items: vec![item], force: false, repeated: false }).await;
    let id = written.as_ref().ok().and_then(|report| report.items[0].id.clone()).unwrap_or("01HZZZZZZZ".into());
    engine.search(SearchRequest::new(viewer.clone(), "a")).await.unwrap();
    engine.get(&viewer, std::slice::from_ref(&id)).await.unwrap();
    engine.list(ListRequest::default()).await.unwrap();
    let history = engine.history(&viewer, &id).await.map(drop);
    let update = setting.change(&id, "b").await.map(drop);
    let request = DeleteRequest { viewer: viewer.clone(), ids: vec![id], erase: false, dry_run: false };
    let delete = engine.delete(request).await.map(drop);
    let sync = engine.sync_turn(Turn { user_text: "u".into(), assistant_text: "a".into(), ..Turn::default() }).await;
    engine.prefetch(&viewer, "a", Duration::from_secs(5)).await;
    engine.end_session(&viewer).await.unwrap();
    let tool = engine.call_tool(&viewer, "shared_tool", json!({})).await.map(drop);
    let conversation = setting.conversation("s");
    conversation.before_model("a").await;
    conversation.after_turn(turn("a")).await.unwrap();
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    engine.health().await;
    engine.shutdown().await.unwrap();
    vec![written.map(drop), history, update, delete, sync, tool]
}

#[tokio::test]
async fn none_calls_nobody_and_says_so() {
    let setting = Setting::new(EngineMode::None);
    let outcomes = everything(&setting).await;
    assert_eq!((setting.builtin.all_calls(), setting.external.all_calls()), (0, 0));
    let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    assert_eq!(refused.map(Error::kind).collect::<Vec<_>>(), [ErrorKind::Disabled; 5]);
    assert_eq!(setting.recall("a").await.reason, Some(RecallReason::Disabled));
    assert!(setting.engine.tools().is_empty() && setting.engine.guidance("en").is_empty());
    assert_eq!(setting.engine.prefetch(&Viewer::default(), "a", Duration::from_secs(5)).await.text, None);
    assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
}

#[tokio::test]
async fn builtin_never_calls_the_external_provider() {
    let setting = Setting::new(EngineMode::Builtin);
    assert!(everything(&setting).await.iter().all(Result::is_ok));
    assert_eq!(setting.external.all_calls(), 0);
    assert!(setting.builtin.all_calls() > 10);
    assert_eq!(setting.engine.tools().len(), 2);
    assert_eq!(setting.engine.guidance("zh"), "builtin in zh");
    assert!(setting.engine.courier().is_none());
}

#[tokio::test]
async fn external_never_calls_the_builtin_provider() {
    let setting = Setting::new(EngineMode::External);
    assert!(setting.engine.tools().is_empty(), "nothing is offered before it can be served");
    assert!(everything(&setting).await.iter().all(Result::is_ok));
    assert_eq!(setting.builtin.all_calls(), 0);
    assert_eq!(setting.engine.guidance("en"), "elsewhere in en");
    assert_eq!(setting.external.turns().len(), 2);
}

#[tokio::test]
async fn both_calls_both() {
    let setting = Setting::new(EngineMode::Both);
    assert_eq!(setting.engine.tools().len(), 2);
    assert!(everything(&setting).await.iter().all(Result::is_ok));
    for provider in [&setting.builtin, &setting.external] {
        for operation in ["write", "search", "update", "delete", "sync_turn", "prefetch", "end_session", "shutdown"] {
            assert!(provider.calls(operation) > 0, "{operation}");
        }
    }
    let names: Vec<String> = setting.engine.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["shared_tool", "builtin_tool", "elsewhere_tool"], "a name is offered once");
    let viewer = Viewer::default();
    let answer = setting.engine.call_tool(&viewer, "shared_tool", json!({})).await.unwrap();
    assert_eq!(answer["provider"], "builtin");
    let answer = setting.engine.call_tool(&viewer, "elsewhere_tool", json!({})).await.unwrap();
    assert_eq!(answer["provider"], "elsewhere");
    assert_eq!(setting.engine.guidance("en"), "builtin in en\n\nelsewhere in en");
}

#[tokio::test]
async fn a_mode_without_its_provider_is_a_configuration_error() {
    for mode in [EngineMode::Builtin, EngineMode::External, EngineMode::Both] {
        let error = Engine::new(mode, None, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
        assert!(!error.hints().is_empty());
    }
    Engine::new(EngineMode::None, None, None).unwrap();
}
