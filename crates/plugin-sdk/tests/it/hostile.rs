//! Hostile libraries in C: each gives a precise error, and the host goes on.

use std::time::Duration;

use memory_core::{ErrorKind, MemoryProvider, NewMemory, Scope, WriteItem, WriteRequest};
use plugin_sdk::host::PluginProvider;
use serde_json::json;

use super::support::{Place, built, hostile, question};

/// A well-behaved plugin loads and answers: the host is healthy.
async fn host_is_healthy(place: &Place) {
    place.install("jsonl-store", &built("jsonl_store"));
    let provider = place.load("jsonl-store", json!({})).await.unwrap();
    assert!(provider.health().await.ok);
    provider.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_loaded_is_refused_precisely() {
    for (fault, kind, said) in [
        ("WRONG_MAJOR", ErrorKind::ConfigInvalid, "speaks version 2.0 of the interface, this program 1.0"),
        ("OTHER_MINOR", ErrorKind::ConfigInvalid, "speaks version 1.3 of the interface, its manifest says 1.0"),
        ("NO_VERSION", ErrorKind::ConfigInvalid, "has no symbol `mem_plugin_abi`"),
        ("NO_TABLE", ErrorKind::ConfigInvalid, "has no symbol `mem_plugin_api_v1`"),
        ("NULL_TABLE", ErrorKind::ConfigInvalid, "gives no table"),
        ("SHORT_TABLE", ErrorKind::ConfigInvalid, "is too short: 16 bytes of at least 40"),
        ("NO_CLOSE", ErrorKind::ConfigInvalid, "has no function `close`"),
        ("OPEN_STATUS", ErrorKind::BadReply, "`open` answers the unknown status 77"),
        ("OPEN_NOTHING", ErrorKind::BadReply, "`open` gives no instance"),
        ("OPEN_GARBAGE", ErrorKind::Unexpected, "[2Jthe key sk-\u{fffd} is wrong"),
        ("DESCRIBE_NONSENSE", ErrorKind::BadReply, "does not fit"),
        ("DESCRIBE_WRONG_CAPABILITY", ErrorKind::BadReply, "expected a boolean"),
        ("DESCRIBE_OTHER_VERSION", ErrorKind::BadReply, "says its version is `9`, its manifest `0.1.0`"),
    ] {
        let place = Place::new();
        place.install("hostile", &hostile(&place, fault));
        let error = place.load("hostile", json!({})).await.err().expect(fault);
        assert_eq!(error.kind(), kind, "{fault}: {error}");
        let text = error.to_string();
        assert!(text.contains(said) && text.contains("plugin: hostile, version: 0.1.0"), "{fault}: {text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\n'), "{fault}: {text:?}");
        host_is_healthy(&place).await;
    }
}

#[tokio::test]
async fn what_is_no_library_is_refused() {
    let place = Place::new();
    let text = place.path("text.so");
    std::fs::write(&text, "this is not an ELF file\n".repeat(100)).unwrap();
    place.install("hostile", &text);
    let error = place.load("hostile", json!({})).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
    assert!(error.to_string().contains("library.so cannot be loaded"), "{error}");
    assert!(error.hints()[0].contains("shared library for this platform"), "{error:?}");
    host_is_healthy(&place).await;
}

#[tokio::test]
async fn nonsense_in_replies_is_a_bad_reply() {
    for (fault, said) in [
        ("REPLY_NOT_JSON", "does not fit: expected"),
        ("REPLY_EMPTY", "EOF"),
        ("REPLY_WRONG_TYPE", "does not fit: expected a sequence"),
        ("REPLY_NOT_UTF8", "does not fit"),
        ("UNKNOWN_STATUS", "the unknown status 77"),
        ("ABSURD_LENGTH", "more than 67108864 bytes"),
    ] {
        let place = Place::new();
        place.install("hostile", &hostile(&place, fault));
        let provider = place.load("hostile", json!({})).await.unwrap();
        let error = provider.search(question("x")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadReply, "{fault}: {error}");
        let text = error.to_string();
        assert!(text.contains(said) && text.contains("method: search"), "{fault}: {text}");
        provider.end_session(&Default::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_report_of_the_wrong_length_is_a_bad_reply() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "PLAIN"));
    let provider = place.load("hostile", json!({})).await.unwrap();
    let item = WriteItem::Memory(Box::new(NewMemory::new(Scope::default(), "x")));
    let error = provider.write(WriteRequest { items: vec![item], ..WriteRequest::default() }).await.unwrap_err();
    assert!(error.kind() == ErrorKind::BadReply && error.to_string().contains("0 results for 1 items"), "{error}");
}

#[tokio::test]
async fn what_a_viewer_may_not_read_is_dropped() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "REPLY_FOREIGN"));
    let provider = place.load("hostile", json!({})).await.unwrap();
    let recall = provider.search(question("x")).await.unwrap();
    let seen: Vec<_> =
        recall.hits.iter().map(|hit| (hit.text.as_str(), hit.score, hit.source.provider.as_str())).collect();
    assert_eq!(seen, [("mine", 1.0, "hostile")]);
}

#[tokio::test]
async fn unknown_fields_and_capabilities_are_ignored() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "PLAIN"));
    let capability = place.load("hostile", json!({})).await.unwrap().capability();
    assert!(capability.search && !capability.write);
}

#[tokio::test]
async fn completions_too_many_are_counted_and_do_no_harm() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "COMPLETES_TWICE"));
    let provider = place.load("hostile", json!({})).await.unwrap();
    for _ in 0..10 {
        assert!(provider.search(question("x")).await.unwrap().hits.is_empty());
    }
    let health = provider.health().await;
    assert!(health.details["stray_completions"].as_u64().unwrap() >= 20, "{health:?}");
    // Closing comes after all that the plugin did before.
    provider.shutdown().await.unwrap();
    let calls = 1 + 10 + 1 + 1;
    assert_eq!(provider.stray_completions(), 2 * calls, "two of each call; the third belongs to nobody");
    assert!(plugin_sdk::host::unknown_completions() >= calls);
    host_is_healthy(&place).await;
}

#[tokio::test]
async fn what_never_answers_ends_at_the_deadline() {
    for (fault, later) in [("NEVER_COMPLETES", true), ("BLOCKS", false)] {
        let place = Place::new();
        place.install("hostile", &hostile(&place, fault));
        let mut options = place.options(json!({}));
        options.call_deadline = Duration::from_millis(60);
        let provider = PluginProvider::load(&place.directory().find("hostile").unwrap(), options).await.unwrap();
        let error = provider.search(question("x")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true), "{fault}");
        assert!(error.to_string().contains("did not answer within 0.06 seconds"), "{error}");
        // One that blocks its thread blocks itself, and nobody else.
        assert_eq!(provider.end_session(&Default::default()).await.is_ok(), later, "{fault}");
        assert_eq!(provider.shutdown().await.is_ok(), later, "{fault}");
        host_is_healthy(&place).await;
    }
}

#[tokio::test]
async fn what_never_closes_ends_at_the_deadline() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "BLOCKS_IN_CLOSE"));
    let mut options = place.options(json!({}));
    options.call_deadline = Duration::from_millis(100);
    let provider = PluginProvider::load(&place.directory().find("hostile").unwrap(), options).await.unwrap();
    let error = provider.shutdown().await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Timeout && error.to_string().contains("was not closed after 0.1 seconds"),
        "{error}"
    );
    host_is_healthy(&place).await;
}
