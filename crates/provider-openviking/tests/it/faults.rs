//! What goes wrong, and what it is called.

use memory_conformance::fake::{FakeServer, Fault, Response};
use memory_core::{ErrorKind, MemoryProvider, SearchRequest};
use serde_json::{Value, json};

use super::support::*;

fn failure(code: &str, message: &str, details: Value) -> Value {
    json!({"status": "error", "error": {"code": code, "message": message, "details": details}})
}

#[tokio::test]
async fn every_status_has_its_kind() {
    let cases = [
        (400, failure("INVALID_ARGUMENT", "bad", json!({})), ErrorKind::InvalidRequest, false),
        (401, failure("UNAUTHENTICATED", "Invalid API key", json!({})), ErrorKind::Unauthorized, false),
        (403, failure("PERMISSION_DENIED", "no", json!({})), ErrorKind::Unauthorized, false),
        (403, failure("PERMISSION_DENIED", "ROOT API keys cannot access", json!({})), ErrorKind::Unauthorized, false),
        (
            404,
            json!({"status": "error", "error": {"code": "NOT_FOUND", "message": "Not Found"}}),
            ErrorKind::NotFound,
            false,
        ),
        (404, json!({"detail": "Not Found"}), ErrorKind::NotFound, false),
        (409, failure("CONFLICT", "held", json!({})), ErrorKind::Conflict, false),
        (
            409,
            failure("CONFLICT", "busy", json!({"retryable": true, "conflict_type": "path_busy"})),
            ErrorKind::Busy,
            true,
        ),
        (412, failure("FAILED_PRECONDITION", "x", json!({})), ErrorKind::Conflict, false),
        (422, json!({"detail": [{"loc": ["body"], "msg": "bad"}]}), ErrorKind::InvalidRequest, false),
        (429, failure("RESOURCE_EXHAUSTED", "slow", json!({})), ErrorKind::Busy, true),
        (500, failure("INTERNAL", "oops", json!({})), ErrorKind::Unreachable, true),
        (500, failure("EMBEDDING_FAILED", "oops", json!({})), ErrorKind::Unreachable, true),
        (501, failure("UNIMPLEMENTED", "x", json!({})), ErrorKind::Unsupported, false),
        (503, failure("UNAVAILABLE", "x", json!({})), ErrorKind::Unreachable, true),
        (504, failure("DEADLINE_EXCEEDED", "x", json!({})), ErrorKind::Timeout, true),
    ];
    let setup = setup().await;
    for (status, body, kind, retryable) in cases {
        setup.provider.initialize(&Default::default()).await.unwrap();
        setup.server.fail_next([Fault::Status(status, body.clone())]);
        let error = setup.provider.search(SearchRequest::new(viewer(), "x")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status} {body}: {error}");
        assert!(!error.hints().is_empty() || kind == ErrorKind::Busy, "{status}: {error}");
    }
    setup.server.fail_next([Fault::RetryAfter(429, 7)]);
    let error = setup.provider.search(SearchRequest::new(viewer(), "x")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after_ms()), (ErrorKind::Busy, Some(7000)));
}

#[tokio::test]
async fn broken_answers_are_told_and_the_next_call_works() {
    let setup = setup().await;
    setup.add("the lamp").await;
    let provider = provider_at(setup.server.url(), |config| config.memory.external.timeout = 0.5);
    for (fault, kind) in [
        (Fault::CutInHalf, ErrorKind::Unreachable),
        (Fault::Hang, ErrorKind::Timeout),
        (Fault::NotJson, ErrorKind::BadReply),
        (Fault::Huge(33 << 20), ErrorKind::BadReply),
        (Fault::Status(200, json!({"status": "ok"})), ErrorKind::BadReply),
        (Fault::Status(200, json!({"status": "ok", "result": "text"})), ErrorKind::BadReply),
        (Fault::Status(200, json!([])), ErrorKind::BadReply),
    ] {
        provider.initialize(&Default::default()).await.unwrap();
        setup.server.fail_next([fault.clone()]);
        let error = provider.search(SearchRequest::new(viewer(), "lamp")).await.unwrap_err();
        let huge_in_time = matches!(fault, Fault::Huge(_)) && error.kind() == ErrorKind::Timeout;
        assert!(error.kind() == kind || huge_in_time, "{fault:?}: {error}");
        assert_eq!(provider.search(SearchRequest::new(viewer(), "lamp")).await.unwrap().hits.len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_leads_no_key_astray() {
    let elsewhere = FakeServer::start(|_| Response::ok(json!({"status": "ok", "version": "0.5.2"}))).await;
    let setup = setup_with(Default::default(), key("canary")).await;
    setup.server.fail_always(Some(Fault::Redirect(format!("{}/health", elsewhere.url()))));
    let error = setup.provider.initialize(&Default::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadReply, "{error}");
    assert!(elsewhere.recorded().is_empty());
    assert!(!format!("{error:?}").contains("canary"));
}

#[tokio::test]
async fn a_dead_server_is_unreachable_until_it_is_back() {
    let setup = setup().await;
    setup.add("the lamp").await;
    let address = setup.server.url().strip_prefix("http://").unwrap().to_owned();
    drop(setup.server);
    for _ in 0..2 {
        let error = setup.provider.search(SearchRequest::new(viewer(), "lamp")).await.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        let health = setup.provider.health().await;
        assert!(!health.ok && health.message.contains("OPENVIKING_ENDPOINT"), "{health:?}");
    }
    let _server = setup.viking.serve_at(&address).await;
    assert_eq!(setup.provider.search(SearchRequest::new(viewer(), "lamp")).await.unwrap().hits.len(), 1);
    assert!(setup.provider.health().await.ok);
}
