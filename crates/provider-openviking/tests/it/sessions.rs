//! Turns and messages: each once, none lost, and what becomes of them at the end of a session.

use memory_conformance::fake::{Fault, OpenVikingSettings};
use memory_core::{HitKind, Item, ListRequest, MemoryProvider, Role, Turn, Viewer, WriteOutcome, fence};
use serde_json::json;

use super::support::*;

#[tokio::test]
async fn a_turn_is_two_messages_in_one_call() {
    let setup = setup().await;
    setup.provider.health().await;
    setup.server.take_recorded();
    let recalled = fence("an old memory");
    let said = Turn { user_text: format!("{recalled}\n我的车停在哪里？"), ..turn("chat-1", "t-1", "x") };
    setup.provider.sync_turn(said).await.unwrap();
    let requests = setup.server.take_recorded();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(request.line(), "POST /api/v1/sessions/chat-1/messages/batch");
    let at = "2026-04-01T08:00:00+08:00";
    let expected = json!({"messages": [
        {"role": "user", "content": "我的车停在哪里？", "created_at": at, "turn_id": "t-1"},
        {"role": "assistant", "content": "about x", "created_at": at, "turn_id": "t-1"},
    ]});
    assert_eq!(request.json(), expected);
    setup
        .provider
        .sync_turn(Turn { user_text: recalled, assistant_text: " ".into(), ..turn("chat-1", "t-2", "") })
        .await
        .unwrap();
    assert!(setup.lines().is_empty(), "nothing said is nothing sent");
}

#[tokio::test]
async fn a_turn_whose_answer_was_lost_is_there_once() {
    for minor in ["0.5.2", "0.4.9", "0.3.24"] {
        for fault in [Fault::CutInHalf, Fault::HangAfterEffect, Fault::Status(503, json!({}))] {
            for committed in [false, true] {
                let setup = version(minor).await;
                let provider = provider_at(setup.server.url(), |config| config.memory.external.timeout = 0.3);
                provider.sync_turn(turn("s", "t-0", "好的")).await.unwrap();
                setup.server.fail_next([fault.clone()]);
                let error = provider.sync_turn(turn("s", "t-1", "我喜欢乌龙茶")).await.unwrap_err();
                assert!(error.is_retryable(), "{error}");
                if committed {
                    setup.provider.end_session(&in_session("s")).await.unwrap();
                }
                for _ in 0..2 {
                    provider.sync_turn(Turn { repeated: true, ..turn("s", "t-1", "我喜欢乌龙茶") }).await.unwrap();
                }
                let said = ["好的", "about 好的", "我喜欢乌龙茶", "about 我喜欢乌龙茶"];
                assert_eq!(setup.viking.said("s"), said, "{minor} {fault:?} {committed}");
            }
        }
    }
}

#[tokio::test]
async fn a_repeated_turn_is_looked_for_beyond_the_usual_budget() {
    let setup = setup().await;
    let long = "word ".repeat(30_000);
    for number in 0..6 {
        setup.provider.sync_turn(turn("s", &format!("t-{number}"), &format!("{number} {long}"))).await.unwrap();
    }
    setup.server.take_recorded();
    setup.provider.sync_turn(Turn { repeated: true, ..turn("s", "t-0", &format!("0 {long}")) }).await.unwrap();
    assert_eq!(setup.lines(), ["GET /api/v1/sessions/s/context?token_budget=1000000000"]);
}

#[tokio::test]
async fn messages_go_in_batches_and_have_outcomes() {
    let setup = setup().await;
    let mut messages =
        vec![message("s", Some("m1"), "hello"), message("s", Some("m1"), "hello"), message("s", None, "ok")];
    messages.extend([message("s", None, "ok"), message("s", None, " "), message("other", Some("m1"), "hello")]);
    let results = setup.say(messages.clone(), false).await.unwrap();
    use WriteOutcome::{Deduped, Rejected, Stored};
    let outcomes: Vec<WriteOutcome> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [Stored, Deduped, Stored, Stored, Rejected, Stored]);
    assert_eq!(results[0].id, results[1].id);
    assert_ne!(results[2].id, results[3].id);
    assert_eq!((setup.viking.said("s").len(), setup.viking.said("other").len()), (3, 1));
    let again: Vec<WriteOutcome> =
        setup.say(messages, true).await.unwrap().iter().map(|result| result.outcome).collect();
    assert_eq!(again, [Deduped, Deduped, Deduped, Deduped, Rejected, Deduped]);
    assert_eq!(setup.viking.said("s").len(), 3);
    setup.server.take_recorded();
    setup.say((0..250).map(|number| message("big", None, &format!("line {number}"))).collect(), false).await.unwrap();
    let sizes: Vec<usize> = setup
        .requests("POST", "/api/v1/sessions/big/messages/batch")
        .iter()
        .map(|request| request.json()["messages"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [100, 100, 50]);
    assert_eq!(setup.viking.said("big")[249], "line 249");
}

#[tokio::test]
async fn the_messages_of_a_session_are_listed_archived_ones_first() {
    let setup = setup().await;
    setup.say(vec![message("周二", Some("m1"), "  early \r\n")], false).await.unwrap();
    setup.provider.end_session(&in_session("周二")).await.unwrap();
    setup.provider.sync_turn(turn("周二", "t", "late")).await.unwrap();
    let request =
        ListRequest { viewer: in_session("周二"), kind: Some(HitKind::Message), limit: 2, ..Default::default() };
    let page = setup.provider.list(request.clone()).await.unwrap();
    let Item::Message(first) = &page.items[0] else { panic!("{page:?}") };
    assert_eq!((first.content.as_str(), first.position, first.role), ("  early \r\n", 0, Role::User));
    assert_eq!((first.session_id.as_str(), first.external_id.as_deref()), ("周二", Some("m1")));
    let rest = ListRequest { cursor: page.next, ..request };
    assert_eq!(setup.list(rest).await, (vec!["about late".to_owned()], None));
    let all = ListRequest { kind: Some(HitKind::Message), ..Default::default() };
    assert_eq!(setup.provider.list(all).await.unwrap_err().kind(), memory_core::ErrorKind::Unsupported);
}

#[tokio::test]
async fn a_session_ends_when_its_memories_are_extracted() {
    let setup = setup_with(OpenVikingSettings { task_polls: 3, ..Default::default() }, |_| {}).await;
    setup.provider.sync_turn(turn("s", "t", "我喜欢乌龙茶")).await.unwrap();
    setup.server.take_recorded();
    setup.provider.end_session(&in_session("s")).await.unwrap();
    let requests = setup.server.take_recorded();
    assert_eq!((requests[0].line().as_str(), requests[0].json()), ("POST /api/v1/sessions/s/commit", json!({})));
    assert_eq!(requests.len(), 5);
    assert!(requests[1..].iter().all(|request| request.line().starts_with("GET /api/v1/tasks/task-")));
    assert_eq!(setup.ask("乌龙茶").await.len(), 1);
    let health = setup.provider.health().await;
    assert!(
        health.details["last_commit"].as_str().unwrap().contains('1') && !health.message.contains(';'),
        "{health:?}"
    );
    // Nothing new was said: the second end does nothing.
    setup.provider.end_session(&in_session("s")).await.unwrap();
    setup.provider.end_session(&in_session("never")).await.unwrap();
    assert_eq!(setup.provider.health().await.details["last_commit"], "Nothing");
}

#[tokio::test]
async fn what_extraction_fails_to_do_is_told_and_nothing_is_lost() {
    let cases: [(OpenVikingSettings, f64, &str); 3] = [
        (OpenVikingSettings { extracts: false, ..Default::default() }, 60.0, "no memory was extracted"),
        (OpenVikingSettings { task_fails: true, ..Default::default() }, 60.0, "could not be parsed as operations"),
        (OpenVikingSettings { task_polls: usize::MAX, ..Default::default() }, 0.2, "beyond commit_timeout"),
    ];
    for (settings, commit_timeout, told) in cases {
        let setup =
            setup_with(settings, |config| config.memory.external.openviking.commit_timeout = commit_timeout).await;
        setup.provider.sync_turn(turn("s", "t", "hello")).await.unwrap();
        setup.provider.end_session(&in_session("s")).await.unwrap();
        let health = setup.provider.health().await;
        assert!(health.ok && health.message.contains(told), "{health:?}");
        assert_eq!(setup.viking.said("s"), ["hello", "about hello"]);
    }
}

#[tokio::test]
async fn a_stumble_while_waiting_is_no_failure() {
    let setup = setup().await;
    setup.provider.sync_turn(turn("s", "t", "hello")).await.unwrap();
    setup.viking.set(|settings| settings.task_polls = 2);
    let provider = &setup.provider;
    let viewer = in_session("s");
    let stumble = async {
        // The commit itself passes; the next call of the task meets the fault.
        while !setup.server.recorded().iter().any(|request| request.path.contains("/tasks/")) {
            tokio::task::yield_now().await;
        }
        setup.server.fail_next([Fault::Status(503, json!({})), Fault::Status(429, json!({}))]);
    };
    let (ended, ()) = tokio::join!(provider.end_session(&viewer), stumble);
    ended.unwrap();
    assert_eq!(setup.provider.health().await.details["last_commit"], "Extracted(1)");
}

#[tokio::test]
async fn a_temporary_team_has_no_session_to_end() {
    let setup = setup().await;
    let team = Some(memory_core::Team { name: "t".into(), role: memory_core::TeamRole::Temporary });
    setup.provider.end_session(&Viewer { team, ..in_session("s") }).await.unwrap();
    assert!(!setup.lines().iter().any(|line| line.contains("commit")));
}
