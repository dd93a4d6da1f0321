//! Turns and repeated writes: nothing lost, nothing twice.

use memory_conformance::fake::Fault;
use memory_core::{
    ErrorKind, HitKind, Item, ListRequest, MemoryProvider, NewMemory, NewMessage, Role, Turn, Viewer, WriteItem,
    WriteOutcome, WriteRequest, fence,
};
use serde_json::json;

use super::support::{Setup, platform, platform_with, self_hosted, self_hosted_with, user, viewer};

fn turn(id: &str, said: &str, answered: &str, repeated: bool) -> Turn {
    Turn {
        viewer: Viewer { session: Some("s".into()), ..viewer("u") },
        user_text: said.into(),
        assistant_text: answered.into(),
        external_id: Some(id.into()),
        repeated,
        ..Turn::default()
    }
}

async fn both(test: impl AsyncFn(Setup)) {
    test(platform().await).await;
    test(self_hosted().await).await;
}

#[tokio::test]
async fn a_turn_from_which_nothing_is_extracted_is_kept_as_it_was_said_and_reported() {
    both(async |setup: Setup| {
        for repeated in [false, true] {
            setup.provider.sync_turn(turn("t1", "hello 你好", "Hi there", repeated)).await.unwrap();
            assert_eq!(setup.texts(), ["hello 你好", "Hi there"], "repeated: {repeated}");
        }
        let stored = setup.platform.as_ref().map_or_else(|| setup.own.as_ref().unwrap().stored(), |mem0| mem0.stored());
        for (item, (id, role)) in stored.iter().zip([("t1:user", "user"), ("t1:assistant", "assistant")]) {
            let metadata = &item["metadata"];
            assert_eq!((&metadata["raw"], &metadata["external_id"]), (&json!(true), &json!(id)), "{item}");
            assert_eq!(metadata["speaker_role"], role);
        }
        let health = setup.provider.health().await;
        assert_eq!(health.details["nothing_extracted"]["count"], 1);
        assert!(health.details["nothing_extracted"]["last"].is_string(), "{health:?}");
        let viewer = Viewer { session: Some("s".into()), ..viewer("u") };
        let request = ListRequest { viewer, kind: Some(HitKind::Message), ..ListRequest::default() };
        let mut roles: Vec<(u64, Role)> = setup
            .provider
            .list(request)
            .await
            .unwrap()
            .items
            .into_iter()
            .map(|item| match item {
                Item::Message(message) => (message.position, message.role),
                item => panic!("{item:?}"),
            })
            .collect();
        roles.sort_by_key(|(position, _)| *position);
        assert_eq!(roles, [(0, Role::User), (1, Role::Assistant)]);
    })
    .await;
}

#[tokio::test]
async fn a_message_is_extracted_or_kept_and_there_once() {
    both(async |setup: Setup| {
        for text in ["I play the cello", "hello"] {
            for (repeated, outcome) in [(false, WriteOutcome::Stored), (true, WriteOutcome::Deduped)] {
                let message =
                    NewMessage { external_id: Some(text.into()), ..NewMessage::new(user("u"), "s", Role::User, text) };
                let items = vec![WriteItem::Message(Box::new(message))];
                let request = WriteRequest { items, repeated, ..WriteRequest::default() };
                let result = setup.provider.write(request).await.unwrap().items.remove(0);
                assert!(result.outcome == outcome && result.id.is_some(), "{text} {result:?}");
            }
        }
        assert_eq!(setup.texts(), ["I play the cello", "hello"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_only_recalled_or_blank_is_not_said() {
    both(async |setup: Setup| {
        setup.provider.sync_turn(turn("t", &fence("an old memory"), " \n", false)).await.unwrap();
        assert!(setup.server.recorded().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_turn_whose_answer_was_lost_is_there_once() {
    both(async |setup: Setup| {
        setup.server.fail_next([Fault::CutInHalf]);
        let error = setup.provider.sync_turn(turn("t1", "I live in 上海", "", false)).await.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        setup.provider.sync_turn(turn("t1", "I live in 上海", "", true)).await.unwrap();
        setup.provider.sync_turn(turn("t1", "I live in 上海", "", true)).await.unwrap();
        assert_eq!(setup.texts(), ["I live in 上海"]);
        setup.provider.sync_turn(turn("t2", "I live in 上海", "", true)).await.unwrap();
        assert_eq!(setup.texts().len(), 2, "another turn may say the same");
    })
    .await;
}

#[tokio::test]
async fn a_verbatim_turn_that_broke_off_is_completed() {
    let change = |config: &mut memory_core::config::Config| config.memory.external.mem0.infer = false;
    for setup in [platform_with(change).await, self_hosted_with(change).await] {
        setup.provider.initialize(&memory_core::SessionContext::default()).await.unwrap();
        setup.server.fail_next([Fault::CutInHalf]);
        setup.provider.sync_turn(turn("t1", "one", "two", false)).await.unwrap_err();
        assert_eq!(setup.texts(), ["one"]);
        setup.provider.sync_turn(turn("t1", "one", "two", true)).await.unwrap();
        assert_eq!(setup.texts(), ["one", "two"]);
    }
}

#[tokio::test]
async fn a_memory_whose_answer_was_lost_is_there_once() {
    both(async |setup: Setup| {
        let new = |text: &str| NewMemory { external_id: Some("k/1".into()), ..NewMemory::new(user("u"), text) };
        for fault in [Fault::CutInHalf, Fault::Status(500, json!({"detail": "x"}))] {
            setup.server.fail_next([fault]);
            assert!(setup.write(new("写一次"), false).await.unwrap_err().is_retryable());
        }
        let again = setup.write(new("写一次"), true).await.unwrap();
        assert_eq!((again.outcome, setup.texts()), (WriteOutcome::Deduped, vec!["写一次".to_owned()]));
        let changed = setup.write(new("写两次"), true).await.unwrap();
        assert_eq!((changed.id, setup.texts()), (again.id, vec!["写两次".to_owned()]), "its new state, in place");
        let of_another = NewMemory { scope: user("v"), ..new("写一次") };
        assert_eq!(setup.write(of_another, true).await.unwrap().outcome, WriteOutcome::Stored);
    })
    .await;
}

#[tokio::test]
async fn an_addition_that_is_not_real_in_time_is_found_later() {
    let setup = platform_with(|config| {
        config.memory.external.timeout = 0.4;
        config.memory.external.mem0.event_timeout = 0.4;
    })
    .await;
    let mem0 = setup.platform.as_ref().unwrap();
    mem0.finish_after(1_000);
    let error = setup.provider.sync_turn(turn("t1", "my train leaves at 7", "", false)).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true), "{error}");
    let error = setup.provider.sync_turn(turn("t1", "my train leaves at 7", "", true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "the same addition is waited for: {error}");
    mem0.finish();
    setup.provider.sync_turn(turn("t1", "my train leaves at 7", "", true)).await.unwrap();
    assert_eq!(setup.texts(), ["my train leaves at 7"]);
    let additions = setup.lines().iter().filter(|line| line.ends_with("/add/")).count();
    assert_eq!(additions, 1);
}

#[tokio::test]
async fn a_poll_that_fails_for_a_while_does_not_end_the_wait() {
    let setup = platform().await;
    setup.platform.as_ref().unwrap().finish_after(1);
    let server = &setup.server;
    // The addition itself is answered; the next questions about it are not.
    let fail_polls = async {
        while server.recorded().is_empty() {
            tokio::task::yield_now().await;
        }
        server.fail_next([Fault::RetryAfter(429, 0), Fault::Status(502, json!({}))]);
    };
    let turn = turn("t1", "the key is under the mat", "", false);
    let (result, ()) = tokio::join!(setup.provider.sync_turn(turn), fail_polls);
    result.unwrap();
    assert_eq!(setup.texts(), ["the key is under the mat"]);
    let lines = setup.lines();
    assert_eq!(lines.len(), 5, "added once, asked about four times: {lines:?}");
}

#[tokio::test]
async fn an_addition_that_fails_there_is_an_error_and_can_be_repeated() {
    let setup = platform().await;
    let mem0 = setup.platform.as_ref().unwrap();
    mem0.fail_events(true);
    let error = setup.provider.sync_turn(turn("t1", "the bakery closes at six", "", false)).await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("the model refused"), "{error}");
    mem0.fail_events(false);
    setup.provider.sync_turn(turn("t1", "the bakery closes at six", "", true)).await.unwrap();
    assert_eq!(setup.texts(), ["the bakery closes at six"]);
}

#[tokio::test]
async fn an_exact_duplicate_that_the_platform_drops_is_named() {
    let setup = platform().await;
    let id = setup.add(user("u"), "the same").await;
    let again = setup.write(NewMemory::new(user("u"), "the same"), false).await.unwrap();
    assert_eq!((again.outcome, again.id), (WriteOutcome::Deduped, Some(id)));
}

#[tokio::test]
async fn more_than_a_self_hosted_server_lists_is_still_written_once() {
    let setup = self_hosted().await;
    for number in 0..1_005 {
        setup.add(user("u"), &format!("filler number {number}")).await;
    }
    let last = setup.own.as_ref().unwrap().stored().iter().map(|item| item["id"].to_string()).max().unwrap();
    for number in 0..8 {
        let new = NewMemory {
            external_id: Some(format!("k{number}")),
            ..NewMemory::new(user("u"), format!("zebra {number}"))
        };
        setup.write(new.clone(), false).await.unwrap();
        assert_eq!(setup.write(new, true).await.unwrap().outcome, WriteOutcome::Deduped, "{number}, {last}");
    }
}
