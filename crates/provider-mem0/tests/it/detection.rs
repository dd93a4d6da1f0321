//! Which interface is spoken, and set-up errors.

use memory_conformance::fake::{
    FakeServer, Fault, MEM0_PLATFORM_KEY, MEM0_SELF_HOSTED_KEY, Mem0Platform, Mem0SelfHosted, Recorded, Response,
};
use memory_core::config::{Config, Mem0Dialect};
use memory_core::{ErrorKind, MemoryProvider, SafeUrl, Secret, SessionContext};
use provider_mem0::{Mem0Config, Mem0Provider};
use serde_json::json;

use super::support::provider_at;

fn lines(server: &FakeServer) -> Vec<String> {
    server.take_recorded().iter().map(Recorded::line).collect()
}

#[tokio::test]
async fn the_interface_is_found_out_once() {
    let context = SessionContext::default();
    let server = Mem0Platform::default().serve().await;
    let provider = provider_at(server.url(), MEM0_PLATFORM_KEY, Mem0Dialect::Auto, |_| {});
    assert!(server.recorded().is_empty(), "a new provider calls nobody");
    provider.initialize(&context).await.unwrap();
    provider.prefetch(&context.viewer, "x").await.unwrap();
    provider.prefetch(&context.viewer, "x").await.unwrap();
    let asked = lines(&server);
    assert_eq!(asked[..2], ["GET /v1/ping/", "GET /v1/ping/"], "found out, then checked");
    assert!(asked[2..].iter().all(|line| line.starts_with("POST /v3/memories/")), "{asked:?}");
    assert_eq!(provider.health().await.details["dialect"], "platform");

    let server = Mem0SelfHosted::default().serve().await;
    let provider = provider_at(&format!("{}/", server.url()), MEM0_SELF_HOSTED_KEY, Mem0Dialect::Auto, |_| {});
    provider.prefetch(&context.viewer, "x").await.unwrap();
    let recorded = server.recorded();
    assert_eq!(lines(&server)[..2], ["GET /v1/ping/", "GET /memories?user_id=__default__&top_k=1"]);
    assert_eq!(
        (recorded[1].header("x-api-key"), recorded[1].header("authorization")),
        (Some(MEM0_SELF_HOSTED_KEY), None)
    );
    provider.prefetch(&context.viewer, "x").await.unwrap();
    assert!(lines(&server).iter().all(|line| !line.contains("ping")));
}

#[tokio::test]
async fn a_failure_to_find_out_is_not_kept() {
    let server = Mem0Platform::default().serve().await;
    let provider = provider_at(server.url(), MEM0_PLATFORM_KEY, Mem0Dialect::Auto, |_| {});
    for (fault, kind) in [
        (Fault::Status(503, json!({"detail": "starting"})), ErrorKind::Unreachable),
        (Fault::RetryAfter(429, 3), ErrorKind::Busy),
        (Fault::NotJson, ErrorKind::BadReply),
        (Fault::CutInHalf, ErrorKind::Unreachable),
    ] {
        server.fail_next([fault]);
        let error = provider.initialize(&SessionContext::default()).await.unwrap_err();
        assert_eq!((error.kind(), error.operation()), (kind, "initialize"), "{error}");
    }
    provider.initialize(&SessionContext::default()).await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_the_set_up_is_said() {
    let check = async |url: &str, key: &str, dialect| {
        let health = provider_at(url, key, dialect, |_| {}).health().await;
        assert!(!health.ok);
        (health.details["error"]["kind"].as_str().unwrap().to_owned(), health.details["error"].to_string())
    };
    let platform = Mem0Platform::default().serve().await;
    let own = Mem0SelfHosted::default().serve().await;
    let neither = FakeServer::start(|_| Response::status(404, json!({"detail": "Not Found"}))).await;
    for (url, key, dialect, kind, hint) in [
        (platform.url(), "wrong", Mem0Dialect::Auto, "unauthorized", "MEM0_API_KEY"),
        (platform.url(), "wrong", Mem0Dialect::Platform, "unauthorized", "MEM0_API_KEY"),
        (platform.url(), "", Mem0Dialect::Auto, "unauthorized", "MEM0_API_KEY"),
        (own.url(), "wrong", Mem0Dialect::Auto, "unauthorized", "MEM0_API_KEY"),
        (own.url(), MEM0_SELF_HOSTED_KEY, Mem0Dialect::Platform, "not_found", "MEM0_BASE_URL"),
        (neither.url(), "k", Mem0Dialect::Auto, "not_found", "neither interface"),
        (&format!("{}/wrong", platform.url()), MEM0_PLATFORM_KEY, Mem0Dialect::Auto, "not_found", "MEM0_BASE_URL"),
        ("http://127.0.0.1:1", "k", Mem0Dialect::Auto, "unreachable", "MEM0_BASE_URL"),
    ] {
        let (found, said) = check(url, key, dialect).await;
        assert!(found == kind && said.contains(hint), "{dialect:?} {kind}: {said}");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old_is_told_apart() {
    let server = FakeServer::start(|request| match request.path.as_str() {
        "/v1/ping/" => Response::ok(json!({"status": "ok"})),
        _ => Response::status(404, json!({"detail": "Not Found"})),
    })
    .await;
    let provider = provider_at(server.url(), "k", Mem0Dialect::Auto, |_| {});
    let error = provider.search(memory_core::SearchRequest::new(Default::default(), "x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.hints().iter().any(|hint| hint.contains("too old")), "{error:?}");
    assert!(error.to_string().contains("/v3/memories/search/"), "{error}");
}

#[test]
fn the_hosted_platform_needs_a_key() {
    let error = Mem0Config::of(&Config::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
    assert!(error.hints()[0].contains("MEM0_API_KEY"), "{error:?}");
    let mut config = Config::default();
    config.memory.external.mem0.api_key = Secret::new("k");
    let hosted = Mem0Config::of(&config).unwrap();
    assert_eq!(
        (hosted.section.base_url.expose(), hosted.section.dialect),
        ("https://api.mem0.ai", Mem0Dialect::Platform)
    );
    for (url, key) in [("ftp://host", "k"), ("no address", "k"), ("http://host", "line\nbreak")] {
        config.memory.external.mem0.base_url = SafeUrl::new(url);
        config.memory.external.mem0.api_key = Secret::new(key);
        let error = Mem0Provider::new(Mem0Config::of(&config).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConfigInvalid, "{url}: {error}");
    }
}
