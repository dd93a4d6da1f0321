//! The layers around a provider.

use std::sync::Arc;
use std::time::Duration;

use memory_core::*;

use crate::provider::{TestProvider, Weather};
use crate::setting::memory;
use crate::virtual_time::VirtualTime;

struct Layers {
    time: Arc<VirtualTime>,
    provider: Arc<TestProvider>,
    guarded: Arc<Guarded>,
}

fn layers(change: impl Fn(&mut Capability), policy: impl Fn(&mut GuardPolicy)) -> Layers {
    let time = VirtualTime::start();
    let provider = TestProvider::external_with(time.clone(), change);
    let mut settings = GuardPolicy::default();
    policy(&mut settings);
    let guarded = Guarded::new(provider.clone(), settings, SessionContext::default(), time.clone(), time.clone());
    Layers { time, provider, guarded: Arc::new(guarded) }
}

fn plain() -> Layers {
    layers(|_| {}, |_| {})
}

fn question() -> SearchRequest {
    SearchRequest::new(Viewer::default(), "茶")
}

fn writing(repeated: bool) -> WriteRequest {
    let memory = NewMemory { external_id: Some("e1".into()), ..memory("用户喜欢茶") };
    WriteRequest { items: vec![WriteItem::Memory(Box::new(memory))], force: false, repeated }
}

const DOWN: Weather = Weather::Failing(ErrorKind::Unreachable);

#[tokio::test]
async fn a_provider_is_made_ready_once_before_its_first_use() {
    let layers = plain();
    assert!(!layers.guarded.can_serve());
    let (a, b) = tokio::join!(layers.guarded.search(question()), layers.guarded.search(question()));
    a.unwrap();
    b.unwrap();
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    assert_eq!((layers.provider.calls("initialize"), layers.provider.calls("search")), (1, 2));
    assert!(layers.guarded.can_serve());
}

#[tokio::test]
async fn getting_ready_is_tried_again_and_never_taken_for_granted() {
    let layers = plain();
    layers.provider.set(DOWN);
    assert_eq!(layers.guarded.search(question()).await.unwrap_err().kind(), ErrorKind::Unreachable);
    // The pause is not over: nothing is called.
    let error = layers.guarded.search(question()).await.unwrap_err();
    assert!(error.retry_after_ms().unwrap() <= 1000);
    assert_eq!((layers.provider.calls("initialize"), layers.provider.calls("search")), (1, 0));
    for _ in 0..60 {
        layers.time.sleep(Duration::from_secs(10)).await;
        let _ = layers.guarded.search(question()).await;
    }
    let attempts = layers.provider.calls("initialize");
    assert!((7..=14).contains(&attempts), "pauses double up to five minutes: {attempts}");
    layers.provider.set(Weather::Fine);
    layers.time.sleep(Duration::from_secs(301)).await;
    layers.guarded.write(writing(false)).await.unwrap();
    layers.guarded.search(question()).await.unwrap();
}

#[tokio::test]
async fn only_the_first_attempt_to_get_ready_holds_a_reader_up() {
    let layers = plain();
    layers.provider.set(Weather::Hanging);
    let start = layers.time.now();
    assert_eq!(layers.guarded.search(question()).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!((layers.time.since(start) - 5.0).abs() < 0.01, "a reader waits for its own limit");
    layers.time.sleep(Duration::from_secs(27)).await;
    let start = layers.time.now();
    let error = layers.guarded.search(question()).await.unwrap_err();
    assert!(error.to_string().contains("not ready after 30 s"), "{error}");
    assert!(layers.time.since(start) < 0.01);
    layers.time.sleep(Duration::from_millis(1)).await;
    assert_eq!(layers.provider.calls("initialize"), 2, "a second attempt is under way");
    layers.guarded.search(question()).await.unwrap_err();
    assert!(layers.time.since(start) < 0.01, "and is not waited for");
}

#[tokio::test]
async fn a_wrong_credential_makes_it_unready() {
    let layers = plain();
    layers.guarded.search(question()).await.unwrap();
    layers.provider.script([Weather::Failing(ErrorKind::Unauthorized)]);
    assert_eq!(layers.guarded.search(question()).await.unwrap_err().kind(), ErrorKind::Unauthorized);
    assert!(!layers.guarded.can_serve());
    assert_eq!(layers.guarded.search(question()).await.unwrap_err().kind(), ErrorKind::Unauthorized);
    assert_eq!(layers.provider.calls("search"), 2);
    layers.time.sleep(Duration::from_secs(2)).await;
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.guarded.search(question()).await.unwrap();
    assert_eq!(layers.provider.calls("initialize"), 2);
}

#[tokio::test]
async fn what_may_pass_is_tried_again_within_the_limit() {
    let layers = plain();
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.script([DOWN, DOWN]);
    layers.guarded.search(question()).await.unwrap();
    assert_eq!(layers.provider.calls("search"), 3);
    layers.provider.script([DOWN, DOWN, DOWN]);
    let error = layers.guarded.search(question()).await.unwrap_err();
    assert_eq!((error.status(), layers.provider.calls("search")), (ErrorStatus::Persistent, 6));
    layers.provider.script([Weather::Failing(ErrorKind::InvalidRequest)]);
    layers.guarded.search(question()).await.unwrap_err();
    assert_eq!(layers.provider.calls("search"), 7, "a bad request stays one");
}

#[tokio::test]
async fn the_provider_says_when_to_come_back() {
    let layers = plain();
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.script([Weather::Limited(3000)]);
    let start = layers.time.now();
    layers.guarded.search(question()).await.unwrap();
    assert!((3.0..3.1).contains(&layers.time.since(start)));
    // Longer than the limit: told to the caller at once.
    layers.provider.script([Weather::Limited(60_000)]);
    let start = layers.time.now();
    assert_eq!(layers.guarded.search(question()).await.unwrap_err().retry_after_ms(), Some(60_000));
    assert!(layers.time.since(start) < 0.1);
}

#[tokio::test]
async fn a_write_is_tried_again_only_when_that_cannot_write_twice() {
    let layers = layers(|capability| capability.idempotent = false, |_| {});
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.script([Weather::Deaf]);
    layers.guarded.write(writing(false)).await.unwrap_err();
    assert_eq!(layers.provider.calls("write"), 1);
    // It is told that it is repeated, so it may be tried again.
    layers.provider.script([DOWN]);
    layers.guarded.write(writing(true)).await.unwrap();
    assert_eq!(layers.provider.calls("write"), 3);
    // "Too many requests" means that nothing was done.
    layers.provider.script([Weather::Limited(10)]);
    layers.guarded.write(writing(true)).await.unwrap();
    assert_eq!((layers.provider.calls("write"), layers.provider.bodies().len()), (5, 1));
}

#[tokio::test]
async fn an_idempotent_write_whose_answer_was_lost_is_written_once() {
    let layers = plain();
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.script([Weather::Deaf, Weather::Deaf]);
    let report = layers.guarded.write(writing(false)).await.unwrap();
    assert_eq!(report.items[0].outcome, WriteOutcome::Deduped);
    assert_eq!((layers.provider.calls("write"), layers.provider.bodies().len()), (3, 1));
}

#[tokio::test]
async fn nothing_takes_longer_than_its_limit() {
    let layers = layers(|_| {}, |policy| policy.write_limit = Duration::from_secs(65));
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.set(Weather::Hanging);
    let start = layers.time.now();
    assert_eq!(layers.guarded.search(question()).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!((layers.time.since(start) - 5.0).abs() < 0.01);
    let start = layers.time.now();
    assert_eq!(layers.guarded.write(writing(false)).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!((layers.time.since(start) - 65.0).abs() < 0.01);
    let start = layers.time.now();
    assert!(!layers.guarded.health().await.ok);
    assert!((layers.time.since(start) - 5.0).abs() < 0.01);
    let start = layers.time.now();
    layers.guarded.shutdown().await.unwrap_err();
    assert!((layers.time.since(start) - 10.0).abs() < 0.01);
}

#[tokio::test]
async fn the_circuit_opens_after_five_failures_and_closes_after_one_probe() {
    let layers = layers(|_| {}, |policy| policy.retries = 0);
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.set(DOWN);
    for _ in 0..5 {
        assert!(layers.guarded.can_serve());
        layers.guarded.search(question()).await.unwrap_err();
    }
    assert!(!layers.guarded.can_serve());
    let error = layers.guarded.search(question()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after_ms()), (ErrorKind::Unreachable, Some(120_000)));
    assert_eq!(layers.provider.calls("search"), 5, "an open circuit calls nothing");
    // Writes have a circuit of their own.
    layers.provider.set(Weather::Fine);
    layers.guarded.write(writing(false)).await.unwrap();
    layers.provider.set(DOWN);
    layers.time.sleep(Duration::from_secs(121)).await;
    layers.guarded.search(question()).await.unwrap_err();
    layers.guarded.search(question()).await.unwrap_err();
    assert_eq!(layers.provider.calls("search"), 6, "a failed probe opens it again");
    layers.provider.set(Weather::Fine);
    layers.time.sleep(Duration::from_secs(121)).await;
    let (a, b, c) = tokio::join!(
        layers.guarded.search(question()),
        layers.guarded.search(question()),
        layers.guarded.search(question()),
    );
    assert_eq!([a, b, c].iter().filter(|answer| answer.is_ok()).count(), 1, "one probe at a time");
    assert_eq!(layers.provider.calls("search"), 7);
    layers.guarded.search(question()).await.unwrap();
}

#[tokio::test]
async fn a_probe_that_is_given_up_leaves_room_for_the_next() {
    let layers = layers(|_| {}, |policy| policy.retries = 0);
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.script([DOWN; 5]);
    for _ in 0..5 {
        layers.guarded.search(question()).await.unwrap_err();
    }
    layers.time.sleep(Duration::from_secs(121)).await;
    layers.provider.script([Weather::Hanging]);
    let guarded = layers.guarded.clone();
    let probe = tokio::spawn(async move { guarded.search(question()).await });
    layers.time.sleep(Duration::from_secs(1)).await;
    probe.abort();
    let _ = probe.await;
    layers.guarded.search(question()).await.unwrap();
}

#[tokio::test]
async fn answers_that_are_errors_do_not_open_the_circuit() {
    let layers = plain();
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    layers.provider.set(Weather::Failing(ErrorKind::NotFound));
    for _ in 0..20 {
        assert_eq!(layers.guarded.search(question()).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(layers.provider.calls("search"), 20);
}

#[tokio::test]
async fn no_more_calls_at_once_than_allowed() {
    let layers = layers(|_| {}, |policy| policy.concurrency = 3);
    layers.guarded.initialize(&SessionContext::default()).await.unwrap();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let guarded = layers.guarded.clone();
            tokio::spawn(async move { guarded.search(question()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(layers.provider.most_under_way(), 3);
}
