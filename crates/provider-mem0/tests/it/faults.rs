//! Everything that can go wrong on the wire.

use memory_conformance::fake::{FakeServer, Fault, Response};
use memory_core::{
    DeleteRequest, ErrorKind, ListRequest, MemoryChanges, MemoryProvider, NewMemory, Result, SearchRequest, Turn,
    UpdateRequest, WriteOutcome,
};
use serde_json::json;

use super::support::{Setup, platform_with, self_hosted_with, user, viewer};

async fn both(test: impl AsyncFn(Setup)) {
    let short = |config: &mut memory_core::config::Config| {
        config.memory.external.timeout = 1.0;
        config.memory.external.mem0.event_timeout = 1.0;
    };
    test(platform_with(short).await).await;
    test(self_hosted_with(short).await).await;
}

fn faults() -> Vec<(Fault, ErrorKind, &'static str)> {
    let status = |status| Fault::Status(status, json!({ "detail": format!("said {status}") }));
    vec![
        (status(400), ErrorKind::InvalidRequest, "said 400"),
        (status(401), ErrorKind::Unauthorized, "MEM0_API_KEY"),
        (status(403), ErrorKind::Unauthorized, "MEM0_API_KEY"),
        (Fault::Status(404, json!({"detail": "Not Found"})), ErrorKind::NotFound, "MEM0_BASE_URL"),
        (status(409), ErrorKind::Conflict, "said 409"),
        (status(413), ErrorKind::InvalidRequest, "said 413"),
        (status(422), ErrorKind::InvalidRequest, "said 422"),
        (Fault::RetryAfter(429, 7), ErrorKind::Busy, "slow down"),
        (status(500), ErrorKind::Unreachable, "said 500"),
        (Fault::Status(503, json!({"error": "x"})), ErrorKind::Unreachable, "503"),
        (Fault::CutInHalf, ErrorKind::Unreachable, "broke off"),
        (Fault::NotJson, ErrorKind::BadReply, "no sense"),
        (Fault::Huge(33 << 20), ErrorKind::BadReply, "too long"),
        (Fault::Redirect("http://127.0.0.1:9/x".into()), ErrorKind::BadReply, "redirects"),
    ]
}

#[tokio::test]
async fn each_fault_is_the_error_it_is() {
    both(async |setup: Setup| {
        setup.add(user("u"), "a heron").await;
        for (fault, kind, said) in faults() {
            setup.server.fail_next([fault.clone()]);
            let error = setup.provider.search(SearchRequest::new(viewer("u"), "heron")).await.unwrap_err();
            let shown = error.to_json().to_string();
            assert_eq!((error.kind(), error.operation()), (kind, "search"), "{fault:?}: {shown}");
            assert!(shown.contains(said), "{fault:?}: {shown}");
            let transient = matches!(kind, ErrorKind::Busy | ErrorKind::Timeout | ErrorKind::Unreachable);
            assert_eq!(error.is_retryable(), transient, "{fault:?}");
            assert_eq!(error.retry_after_ms(), matches!(fault, Fault::RetryAfter(..)).then_some(7_000));
        }
        assert_eq!(setup.found(&viewer("u"), "heron").await, ["a heron"], "nothing is latched");
    })
    .await;
}

#[tokio::test]
async fn every_operation_tells_of_a_fault() {
    both(async |setup: Setup| {
        let id = setup.add(user("u"), "a heron").await;
        let u = viewer("u");
        type Outcome<'a> = std::pin::Pin<Box<dyn Future<Output = Result<()>> + 'a>>;
        let provider = &setup.provider;
        let delete = DeleteRequest { viewer: u.clone(), ids: vec![id.clone()], erase: false, dry_run: false };
        let changes = MemoryChanges { pinned: Some(true), ..MemoryChanges::default() };
        let update = UpdateRequest { viewer: u.clone(), id: id.clone(), changes, expected_revision: None };
        let ids = [id.clone()];
        let operations: Vec<(&str, Outcome<'_>)> = vec![
            (
                "list",
                Box::pin(async {
                    provider.list(ListRequest { viewer: u.clone(), ..Default::default() }).await.map(drop)
                }),
            ),
            ("get", Box::pin(async { provider.get(&u, &ids).await.map(drop) })),
            ("update", Box::pin(async { provider.update(update).await.map(drop) })),
            ("delete", Box::pin(async { provider.delete(delete).await.map(drop) })),
            ("history", Box::pin(async { provider.history(&u, &id).await.map(drop) })),
            ("prefetch", Box::pin(async { provider.prefetch(&u, "heron").await.map(drop) })),
            ("call_tool", Box::pin(async { provider.call_tool(&u, "mem0_profile", json!({})).await.map(drop) })),
            ("write", Box::pin(async { setup.write(NewMemory::new(user("u"), "x"), false).await.map(drop) })),
            (
                "sync_turn",
                Box::pin(async {
                    provider.sync_turn(Turn { viewer: u.clone(), user_text: "a fact".into(), ..Turn::default() }).await
                }),
            ),
        ];
        for (name, operation) in operations {
            setup.server.fail_next([Fault::Status(500, json!({"detail": "boom"}))]);
            let error = operation.await.unwrap_err();
            assert_eq!((error.kind(), error.operation()), (ErrorKind::Unreachable, name), "{error}");
        }
        assert_eq!(setup.texts(), ["a heron"]);
    })
    .await;
}

#[tokio::test]
async fn a_hang_ends_with_the_time_limit() {
    both(async |setup: Setup| {
        for fault in [Fault::Hang, Fault::HangAfterEffect] {
            setup.server.fail_next([fault]);
            let error = setup.write(NewMemory::new(user("u"), "slow"), false).await.unwrap_err();
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true), "{error}");
        }
        assert_eq!(setup.texts(), ["slow"]);
    })
    .await;
}

#[tokio::test]
async fn what_mem0_refuses_is_rejected_alone() {
    both(async |setup: Setup| {
        let items =
            ["one", "two", " "].map(|text| memory_core::WriteItem::Memory(Box::new(NewMemory::new(user("u"), text))));
        setup.server.fail_next([Fault::Status(422, json!({"detail": "too spicy"}))]);
        let request = memory_core::WriteRequest { items: items.to_vec(), ..Default::default() };
        let items = setup.provider.write(request).await.unwrap().items;
        let outcomes: Vec<WriteOutcome> = items.iter().map(|item| item.outcome).collect();
        assert_eq!(outcomes, [WriteOutcome::Rejected, WriteOutcome::Stored, WriteOutcome::Rejected]);
        assert!(items[0].reason.as_ref().unwrap().contains("too spicy"));
        assert_eq!(setup.texts(), ["two"]);
    })
    .await;
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect() {
    both(async |setup: Setup| {
        let elsewhere = FakeServer::start(|_| Response::ok(json!({"results": []}))).await;
        setup.server.fail_always(Some(Fault::Redirect(format!("{}/v3/memories/search/", elsewhere.url()))));
        let error = setup.provider.search(SearchRequest::new(viewer("u"), "x")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadReply);
        assert!(setup.write(NewMemory::new(user("u"), "x"), false).await.is_err());
        assert!(!setup.provider.health().await.ok);
        assert!(elsewhere.recorded().is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_key_is_in_no_message() {
    both(async |setup: Setup| {
        let key = match setup.platform {
            Some(_) => memory_conformance::fake::MEM0_PLATFORM_KEY,
            None => memory_conformance::fake::MEM0_SELF_HOSTED_KEY,
        };
        let mut shown = format!("{:?}", setup.provider);
        let bodies = [json!({"detail": format!("key {key} is wrong")}), json!([key]), json!({"x": {"y": key}})];
        for body in bodies {
            for status in [400, 401, 404, 500] {
                setup.server.fail_always(Some(Fault::Status(status, body.clone())));
                let error = setup.provider.search(SearchRequest::new(viewer("u"), "x")).await.unwrap_err();
                shown += &format!("{error} {error:?} {}", error.to_json());
                let health = setup.provider.health().await;
                shown += &format!("{health:?}");
                let result = setup.write(NewMemory::new(user("u"), "x"), false).await;
                shown += &format!("{result:?}");
            }
        }
        assert!(!shown.contains(key), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn answers_without_sense_are_errors() {
    for body in
        [json!({}), json!({"results": [{"memory": "no id"}]}), json!({"results": "x"}), json!(null), json!("ok")]
    {
        let answer = body.clone();
        let server = FakeServer::start(move |_| Response::ok(answer.clone())).await;
        for dialect in [memory_core::config::Mem0Dialect::Platform, memory_core::config::Mem0Dialect::SelfHosted] {
            let provider = super::support::provider_at(server.url(), "k", dialect, |_| {});
            let search = provider.search(SearchRequest::new(viewer("u"), "x")).await;
            assert_eq!(search.unwrap_err().kind(), ErrorKind::BadReply, "{body}");
            let list = provider.list(ListRequest { viewer: viewer("u"), ..ListRequest::default() }).await;
            assert_eq!(list.unwrap_err().kind(), ErrorKind::BadReply, "{body}");
        }
    }
}
