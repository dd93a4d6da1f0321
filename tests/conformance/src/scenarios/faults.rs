//! A service that fails: every failure is told by its kind, in time, without a secret, and is over when it is over.

use std::time::{Duration, Instant};

use memory_core::{Error, ErrorKind, WriteItem, WriteRequest};
use serde_json::json;

use crate::fake::Fault;
use crate::*;

/// A subject's time limit is far below this.
const IN_TIME: Duration = Duration::from_secs(20);

async fn errors_under(trial: &Trial, fault: &Fault) -> Vec<Error> {
    trial.fail(Some(fault.clone()));
    let items = vec![WriteItem::Memory(Box::new(memory("this write fails")))];
    let mut errors = vec![
        trial.search(question("tractor")).await.expect_err("a search fails"),
        trial.write(WriteRequest { items, force: false, repeated: false }).await.expect_err("a write fails"),
        trial.prefetch(&viewer(), "tractor").await.expect_err("a prefetch fails"),
    ];
    if trial.has(Need::List) {
        errors.push(trial.list(memory_core::ListRequest::default()).await.expect_err("a list fails"));
    }
    trial.fail(None);
    errors
}

/// What each failure of a service is called.
pub async fn failures_have_their_kind(trial: &Trial) {
    add(trial, "The tractor is green").await;
    let status = |status: u16| Fault::Status(status, json!({"detail": "the stand-in refuses"}));
    for (fault, kinds) in [
        (status(401), &[ErrorKind::Unauthorized][..]),
        (status(403), &[ErrorKind::Unauthorized, ErrorKind::Forbidden]),
        (status(429), &[ErrorKind::Busy]),
        (Fault::RetryAfter(429, 7), &[ErrorKind::Busy]),
        (status(500), &[ErrorKind::Unreachable]),
        (status(503), &[ErrorKind::Unreachable, ErrorKind::Busy]),
        (status(504), &[ErrorKind::Timeout]),
        (Fault::NotJson, &[ErrorKind::BadReply]),
        (Fault::CutInHalf, &[ErrorKind::Unreachable, ErrorKind::BadReply]),
        (Fault::Redirect("http://127.0.0.1:9/elsewhere".into()), &[ErrorKind::BadReply, ErrorKind::ConfigInvalid]),
        (Fault::Huge(64 << 20), &[ErrorKind::BadReply]),
    ] {
        for error in errors_under(trial, &fault).await {
            assert!(kinds.contains(&error.kind()), "{fault:?}: {:?} {error}", error.kind());
            assert!(!error.hints().is_empty(), "{fault:?}: what to do? {error}");
            if let Fault::RetryAfter(_, seconds) = fault {
                assert_eq!(error.retry_after_ms(), Some(seconds * 1000), "{error}");
                assert!(error.is_retryable());
            }
        }
        must_find(trial, &viewer(), "tractor green", "tractor").await;
    }
}

/// A service that never answers is given up in time, and the provider goes on when it answers again.
pub async fn a_hang_is_given_up_in_time(trial: &Trial) {
    add(trial, "The tractor is green").await;
    let start = Instant::now();
    for error in errors_under(trial, &Fault::Hang).await {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(error.is_retryable(), "{error}");
    }
    trial.fail(Some(Fault::Hang));
    assert!(!trial.health().await.ok);
    drop(trial.end_session(&viewer()).await);
    trial.fail(None);
    assert!(start.elapsed() < IN_TIME, "{:?}", start.elapsed());
    must_find(trial, &viewer(), "tractor green", "tractor").await;
    add(trial, "The barn is red").await;
}

/// Health tells the truth while a service fails and when it is back.
pub async fn health_tells_the_truth(trial: &Trial) {
    for fault in [
        Fault::Status(401, json!({"detail": "bad key"})),
        Fault::Status(500, json!({"detail": "broken"})),
        Fault::NotJson,
        Fault::Redirect("http://127.0.0.1:9/elsewhere".into()),
    ] {
        trial.fail(Some(fault.clone()));
        let health = trial.health().await;
        assert!(!health.ok && !health.message.trim().is_empty(), "{fault:?}: {health:?}");
        assert!(!health.message.contains('\n'), "{health:?}");
        trial.fail(None);
        assert!(trial.health().await.ok, "it is back after {fault:?}");
    }
}
