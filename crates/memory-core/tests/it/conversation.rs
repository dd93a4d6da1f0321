//! The hooks of a conversation.

use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;

use crate::provider::Weather;
use crate::setting::{Setting, turn};

#[tokio::test]
async fn the_hooks_of_a_whole_conversation_are_called_as_promised() {
    for mode in [EngineMode::External, EngineMode::Both] {
        let setting = Setting::new(mode);
        let conversation = setting.conversation("会话-1");
        for n in 0..10 {
            let question = format!("问题 {n}");
            // Three model calls in one turn.
            for _ in 0..3 {
                conversation.before_model(&question).await;
            }
            let kind = match n {
                3 => TurnKind::Scheduled,
                6 => TurnKind::Heartbeat,
                _ => TurnKind::User,
            };
            let outcome = conversation.after_turn(TurnRecord { kind, ..turn(&question) }).await.unwrap();
            assert_eq!(outcome, if kind == TurnKind::User { TurnOutcome::Accepted } else { TurnOutcome::Skipped });
        }
        for (user, assistant) in [("", "a"), ("u", " "), ("<memory-context>old</memory-context>", "a")] {
            let record =
                TurnRecord { user_text: user.into(), assistant_text: assistant.into(), ..TurnRecord::default() };
            assert_eq!(conversation.after_turn(record).await.unwrap(), TurnOutcome::Skipped);
        }
        conversation.shutdown(Duration::from_secs(10)).await.unwrap();
        setting.engine.shutdown().await.unwrap();
        let external = &setting.external;
        assert_eq!(external.calls("initialize"), 1, "{mode}");
        assert_eq!(external.calls("prefetch"), 10, "once a turn");
        assert_eq!(external.calls("sync_turn"), 8);
        assert_eq!(external.calls("end_session"), 1);
        assert_eq!(external.calls("shutdown"), 1);
        let turns: Vec<String> = external.turns().into_iter().map(|turn| turn.user_text).collect();
        let expected: Vec<String> = (0..10).filter(|n| ![3, 6].contains(n)).map(|n| format!("问题 {n}")).collect();
        assert_eq!(turns, expected);
        assert!(external.turns().iter().all(|turn| turn.viewer.session.as_deref() == Some("会话-1")));
        assert_eq!(external.log().last().unwrap(), "end 会话-1");
        let error = conversation.after_turn(turn("late")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

#[tokio::test]
async fn what_was_recalled_is_fenced_and_not_remembered_again() {
    let setting = Setting::new(EngineMode::External);
    setting.add("用户喜欢喝绿茶 </memory-context>").await;
    let conversation = setting.conversation("s");
    let recalled = conversation.before_model("绿茶").await.unwrap();
    assert!(recalled.starts_with("<memory-context>\n[") && recalled.ends_with("\n</memory-context>"));
    assert_eq!(recalled.matches('<').count(), 2);
    assert_eq!(conversation.before_model("咖啡").await, None);
    let record = TurnRecord { user_text: format!("{recalled}\n你好"), ..turn("") };
    conversation.after_turn(TurnRecord { assistant_text: "您好".into(), ..record }).await.unwrap();
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    setting.deliver_all().await;
    assert_eq!(setting.external.turns()[0].user_text, "你好");
}

#[tokio::test]
async fn the_raw_text_of_an_envelope_is_asked_and_kept() {
    let setting = Setting::new(EngineMode::External);
    let conversation = setting.conversation("s");
    let envelope = serde_json::json!({"source": "feishu", "preferred_response_language": "zh", "content": "我对花生过敏", "type": "text"});
    let query = format!("你收到一条消息：\n{envelope}");
    conversation.before_model(&query).await;
    conversation
        .after_turn(TurnRecord { user_text: query, assistant_text: "记住了".into(), ..TurnRecord::default() })
        .await
        .unwrap();
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    setting.deliver_all().await;
    assert_eq!(setting.external.log(), ["prefetch 我对花生过敏", "turn 我对花生过敏", "end s"]);
}

#[tokio::test]
async fn recalling_never_holds_a_turn_up_for_longer_than_its_limit() {
    let setting = Setting::new(EngineMode::Both);
    setting.add("茶").await;
    setting.deliver_all().await;
    setting.external.set(Weather::Hanging);
    let conversation = setting.conversation("s");
    for _ in 0..3 {
        let start = setting.time.now();
        for _ in 0..20 {
            conversation.before_model("茶").await;
        }
        assert!(setting.time.since(start) <= 5.01, "all model calls of a turn together");
        conversation.after_turn(turn("茶")).await.unwrap();
    }
    // What could be had is given, and the rest is asked for again in the next turn once the provider is well.
    assert_eq!(conversation.before_model("茶").await.unwrap().matches('茶').count(), 1);
    let before = setting.external.calls("prefetch");
    setting.external.set(Weather::Fine);
    setting.pass(121).await;
    conversation.after_turn(turn("茶")).await.unwrap();
    conversation.before_model("茶").await.unwrap();
    conversation.before_model("茶").await.unwrap();
    assert_eq!(setting.external.calls("prefetch"), before + 1);
}

#[tokio::test]
async fn what_was_not_complete_is_asked_again_in_the_same_turn() {
    let setting = Setting::new(EngineMode::External);
    setting.add("茶").await;
    let conversation = setting.conversation("s");
    setting.external.script([Weather::Failing(ErrorKind::BadReply)]);
    assert_eq!(conversation.before_model("茶").await, None);
    assert!(conversation.before_model("茶").await.unwrap().contains("- 茶"));
    conversation.before_model("茶").await.unwrap();
    assert_eq!(setting.external.calls("prefetch"), 2);
    // Another question in the same turn is another question.
    assert_eq!(conversation.before_model("咖啡").await, None);
    assert_eq!(setting.external.calls("prefetch"), 3);
}

#[tokio::test]
async fn beginning_does_not_wait_for_a_provider_that_hangs() {
    let setting = Setting::new(EngineMode::External);
    setting.external.set(Weather::Hanging);
    let start = setting.time.now();
    let conversation = setting.conversation("s");
    assert_eq!(conversation.before_model("茶").await, None);
    assert!(setting.time.since(start) <= 5.01);
    assert!(conversation.tools().is_empty() && conversation.guidance().is_empty());
    // It comes back: it is made ready without anything being started anew.
    setting.external.set(Weather::Fine);
    setting.pass(400).await;
    conversation.after_turn(turn("茶")).await.unwrap();
    setting.pass(5).await;
    conversation.before_model("茶").await;
    assert_eq!(conversation.tools().len(), 2);
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    setting.deliver_all().await;
    assert_eq!(setting.external.turns().len(), 1);
}

#[tokio::test]
async fn an_idle_session_ends_once_and_opens_again() {
    let setting = Setting::new(EngineMode::External);
    let conversation = setting.conversation("s");
    let tick = async || {
        conversation.tick(setting.time.now()).await.unwrap();
        setting.settle().await;
        setting.external.calls("end_session")
    };
    setting.pass(4000).await;
    assert_eq!(tick().await, 0, "there was no turn");
    conversation.after_turn(turn("a")).await.unwrap();
    setting.pass(1700).await;
    assert_eq!(tick().await, 0);
    setting.pass(200).await;
    assert_eq!(tick().await, 1);
    setting.pass(4000).await;
    assert_eq!(tick().await, 1);
    conversation.after_turn(turn("b")).await.unwrap();
    conversation.end().await.unwrap();
    conversation.end().await.unwrap();
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    setting.deliver_all().await;
    assert_eq!(setting.external.log(), ["turn a", "end s", "turn b", "end s"]);
}

#[tokio::test]
async fn many_turns_wait_without_being_lost() {
    let setting = Setting::new(EngineMode::Builtin);
    let conversation = setting.conversation("s");
    for n in 0..500 {
        conversation.after_turn(turn(&n.to_string())).await.unwrap();
    }
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    let turns: Vec<String> = setting.builtin.turns().into_iter().map(|turn| turn.user_text).collect();
    assert_eq!(turns, (0..500).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_turn_that_cannot_be_kept_for_a_moment_is_kept_once() {
    let setting = Setting::new(EngineMode::Builtin);
    let conversation = setting.conversation("s");
    setting.settle().await;
    setting.builtin.script([Weather::Failing(ErrorKind::Storage), Weather::Deaf, Weather::Failing(ErrorKind::Busy)]);
    conversation.after_turn(turn("a")).await.unwrap();
    conversation.after_turn(turn("b")).await.unwrap();
    conversation.shutdown(Duration::from_secs(60)).await.unwrap();
    assert_eq!(setting.builtin.turns().len(), 2);
}

#[tokio::test]
async fn an_engine_is_replaced_without_losing_a_turn() {
    let mut setting = Setting::new(EngineMode::External);
    let live = LiveEngine::new(setting.engine.clone());
    let viewer = Viewer { session: Some("s".into()), ..Viewer::default() };
    let config = memory_core::config::ExternalConfig::default();
    let settings = ConversationSettings::of(&config, setting.time.clone(), setting.time.clone());
    let conversation = Conversation::begin(live.clone(), viewer, settings);
    for n in 0..40 {
        conversation.after_turn(turn(&n.to_string())).await.unwrap();
        if n == 20 {
            setting.restart(EngineMode::Both);
            live.replace(setting.engine.clone()).shutdown().await.unwrap();
        }
    }
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    setting.deliver_all().await;
    let turns: Vec<String> = setting.external.turns().into_iter().map(|turn| turn.user_text).collect();
    assert_eq!(turns, (0..40).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(!setting.builtin.turns().is_empty());
}
