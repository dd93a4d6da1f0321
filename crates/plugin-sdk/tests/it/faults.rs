//! A Rust plugin that panics, hangs, fails and talks: contained, named, and the host goes on.

use std::sync::Arc;
use std::time::Duration;

use memory_core::{
    DeleteRequest, Error, ErrorKind, ListRequest, ManualClock, MemoryProvider, SessionContext, Timestamp, Turn,
    UpdateRequest, Viewer, WriteRequest,
};
use plugin_sdk::host::{Embed, EmbedPurpose, PluginProvider};
use serde_json::json;

use super::support::{Place, built, question};

#[tokio::test]
async fn panics_in_open_and_describe_are_errors() {
    let place = Place::new();
    for (fault, said) in [
        ("panic_in_open", "panicked while it was opened: 开门时崩溃 in open"),
        ("panic_in_describe", "panicked: in describe"),
    ] {
        let error = place.faulty(fault).await.err().unwrap();
        assert!(error.kind() == ErrorKind::Unexpected && error.to_string().contains(said), "{error}");
    }
    assert!(place.faulty("").await.unwrap().health().await.ok);
}

/// Every method panics in turn, each on an instance of its own.
#[tokio::test]
async fn a_panic_in_any_call_ends_that_call_only() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let viewer = Viewer::default();
    for method in 0..11 {
        let provider = place.load("faulty", json!({"fault": "panic"})).await.unwrap();
        let error: Error = match method {
            0 => provider.initialize(&SessionContext::default()).await.unwrap_err(),
            1 => provider.write(WriteRequest::default()).await.unwrap_err(),
            2 => provider.search(question("x")).await.unwrap_err(),
            3 => provider.get(&viewer, &[]).await.unwrap_err(),
            4 => provider.list(ListRequest::default()).await.unwrap_err(),
            5 => {
                let request = UpdateRequest {
                    viewer: viewer.clone(),
                    id: "x".into(),
                    changes: Default::default(),
                    expected_revision: None,
                };
                provider.update(request).await.unwrap_err()
            }
            6 => {
                let request = DeleteRequest { viewer: viewer.clone(), ids: vec![], erase: false, dry_run: true };
                provider.delete(request).await.unwrap_err()
            }
            7 => provider.history(&viewer, "x").await.unwrap_err(),
            8 => provider.sync_turn(Turn::default()).await.unwrap_err(),
            9 => provider.prefetch(&viewer, "x").await.unwrap_err(),
            _ => provider.call_tool(&viewer, "x", json!({})).await.unwrap_err(),
        };
        assert_eq!(error.kind(), ErrorKind::Unexpected);
        assert!(error.to_string().contains("the plugin panicked: 崩溃了 💥"), "{error}");
        let health = provider.health().await;
        assert!(health.ok && health.details["panics"] == 1, "{health:?}");
        provider.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn panics_in_shutdown_and_close_are_told_and_it_is_closed_all_the_same() {
    let place = Place::new();
    for (fault, said) in [("panic_in_shutdown", "panicked: in shutdown"), ("panic_in_close", "while it was closed")] {
        let provider = place.faulty(fault).await.unwrap();
        let error = provider.shutdown().await.unwrap_err();
        assert!(error.to_string().contains(said), "{fault}: {error}");
        let error = provider.search(question("x")).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Unreachable && error.to_string().contains("is closed"), "{error}");
        provider.shutdown().await.unwrap();
    }
    assert!(place.faulty("").await.unwrap().health().await.ok);
}

#[tokio::test]
async fn three_panics_in_a_minute_are_the_end() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let clock = Arc::new(ManualClock::new(Timestamp::from_nanoseconds(0)));
    let mut options = place.options(json!({"fault": "panic"}));
    options.clock = clock.clone();
    let provider = PluginProvider::load(&place.directory().find("faulty").unwrap(), options).await.unwrap();
    for _ in 0..4 {
        assert!(provider.search(question("x")).await.unwrap_err().to_string().contains("panicked: "));
        clock.advance_seconds(31);
    }
    assert!(provider.health().await.ok, "never three within 60 seconds");
    for _ in 0..2 {
        provider.search(question("x")).await.unwrap_err();
    }
    let error = provider.search(question("x")).await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unreachable && error.to_string().contains("three times within a minute"),
        "{error}"
    );
    let health = provider.health().await;
    assert!(!health.ok && health.details["quarantined"] == true, "{health:?}");
    assert!(health.message.contains("three times within a minute"), "{health:?}");
}

#[tokio::test]
async fn errors_keep_kind_retry_and_hints() {
    let place = Place::new();
    let error = place.faulty("error_in_open").await.err().unwrap();
    assert_eq!((error.kind(), error.hints()), (ErrorKind::Unauthorized, &["get another".to_owned()][..]));
    let error = place.faulty("busy").await.unwrap().search(question("x")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after_ms(), error.operation()), (ErrorKind::Busy, Some(250), "search"));
    assert_eq!(error.to_string(), "满了 (plugin: faulty, version: 0.1.0, method: search)");
}

#[tokio::test]
async fn a_configuration_that_does_not_fit_is_named_without_its_values() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    for (config, said) in [
        (json!({"falt": "canary"}), "unknown field `falt`, expected `fault`"),
        (json!({"fault": ["canary"]}), "expected a string"),
    ] {
        let error = place.load("faulty", config).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
        assert!(error.to_string().contains(said) && !error.to_string().contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_closing_does_not_wait_for_it() {
    let place = Place::new();
    let provider = place.faulty("never").await.unwrap();
    for _ in 0..50 {
        let call = provider.search(question("x"));
        tokio::time::timeout(Duration::ZERO, call).await.unwrap_err();
    }
    let waiting = provider.search(question("y"));
    let (waiting, closed) = tokio::join!(waiting, provider.shutdown());
    closed.unwrap();
    assert_eq!(waiting.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(provider.stray_completions(), 0);
}

#[tokio::test]
async fn opening_that_takes_too_long_is_given_up() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let mut options = place.options(json!({"fault": "slow_open"}));
    options.open_deadline = Duration::from_millis(100);
    let plugin = place.directory().find("faulty").unwrap();
    let error = PluginProvider::load(&plugin, options).await.err().unwrap();
    assert!(error.kind() == ErrorKind::Timeout && error.to_string().contains("not open after 0.1 seconds"), "{error}");
    assert!(place.faulty("").await.unwrap().health().await.ok);
}

#[tokio::test]
async fn the_library_must_be_who_its_manifest_says() {
    let error = Place::new().faulty("other_name").await.err().unwrap();
    assert!(error.to_string().contains("says its name is `somebody-else`, its manifest `faulty`"), "{error}");
}

#[tokio::test]
async fn guidance_comes_in_the_language_asked_for() {
    let provider = Place::new().faulty("").await.unwrap();
    assert_eq!(provider.guidance("zh"), "guidance in zh");
    assert_eq!(provider.guidance("fr"), "guidance in en", "what was not fetched is English");
    assert_eq!(provider.description().sdk_version, env!("CARGO_PKG_VERSION"));
}

struct Lengths;

#[async_trait::async_trait]
impl Embed for Lengths {
    fn fingerprint(&self) -> String {
        "lengths-1".into()
    }
    fn dimensions(&self) -> usize {
        2
    }
    async fn embed(&self, texts: Vec<String>, purpose: EmbedPurpose) -> memory_core::Result<Vec<Option<Vec<f32>>>> {
        tokio::task::yield_now().await;
        let query = f32::from(u8::from(purpose == EmbedPurpose::Query));
        if texts.iter().any(|text| text == "fail") {
            return Err(Error::new(ErrorKind::Busy, "no time"));
        }
        Ok(texts.iter().map(|text| text.is_ascii().then(|| vec![text.len() as f32, query])).collect())
    }
}

#[tokio::test]
async fn the_host_embeds_for_plugins() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let mut options = place.options(json!({"fault": "embed"}));
    let plugin = place.directory().find("faulty").unwrap();
    let provider = PluginProvider::load(&plugin, options.clone()).await.unwrap();
    let error = provider.search(question("four")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("has no embedder"), "{error}");
    options.embed = Some(Arc::new(Lengths));
    let provider = PluginProvider::load(&plugin, options).await.unwrap();
    let error = provider.search(question("four")).await.unwrap_err();
    assert!(error.to_string().starts_with("memory embed \"lengths-1\" [Some([4.0, 1.0]), None]"), "{error}");
    let error = provider.search(question("fail")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("`embed` of the host: no time"), "{error}");
}

#[tokio::test]
async fn it_loads_in_a_program_with_one_thread_and_from_synchronous_code() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let plugin = place.directory().find("faulty").unwrap();
    let provider = PluginProvider::load_blocking(&plugin, place.options(json!({}))).unwrap();
    assert!(provider.search(question("x")).await.unwrap().hits.is_empty());
    drop(provider);
    let outside = std::thread::spawn({
        let options = place.options(json!({}));
        move || PluginProvider::load_blocking(&plugin, options).unwrap()
    });
    assert!(outside.join().unwrap().health().await.ok);
}
