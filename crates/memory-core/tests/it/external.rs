//! Mode `external`.

use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;
use serde_json::json;

use crate::provider::Weather;
use crate::setting::{SECRET, Setting, memory, turn};

const DOWN: Weather = Weather::Failing(ErrorKind::Unreachable);

fn setting() -> Setting {
    Setting::new(EngineMode::External)
}

#[tokio::test]
async fn a_write_is_stored_at_once_when_the_provider_answers() {
    let setting = setting();
    let result = setting.add("用户喜欢喝绿茶").await;
    assert_eq!(result.outcome, WriteOutcome::Stored);
    assert_eq!(setting.get(&result.id.unwrap()).await.unwrap(), "用户喜欢喝绿茶");
    assert_eq!(setting.recall("绿茶").await.hits.len(), 1);
    assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
    assert_eq!(setting.builtin.all_calls(), 0);
}

#[tokio::test]
async fn while_it_is_down_writes_are_queued_and_delivered_later_in_order() {
    let setting = setting();
    setting.external.set(DOWN);
    let mut tickets = Vec::new();
    for n in 0..5 {
        let start = setting.time.now();
        let result = setting.add(&format!("记忆 {n}")).await;
        assert_eq!(result.outcome, WriteOutcome::Queued);
        assert!(setting.time.since(start) <= 5.0);
        tickets.push(result.id.unwrap());
    }
    assert_eq!(setting.queue.count().await.unwrap(), (5, 0));
    assert!(setting.engine.search(SearchRequest::new(Viewer::default(), "记忆")).await.is_err());
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), (0..5).map(|n| format!("记忆 {n}")).collect::<Vec<_>>());
    // The ticket stands for the thing, whole or in part.
    assert_eq!(setting.get(&tickets[3]).await.unwrap(), "记忆 3");
    assert_eq!(setting.get(&tickets[3][..10].to_lowercase()).await.unwrap(), "记忆 3");
    assert_eq!(setting.engine.history(&Viewer::default(), &tickets[2]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_hanging_provider_holds_writers_up_once_and_for_the_budget_only() {
    // A provider may take longer over a write than a writer waits.
    let policy = GuardPolicy { write_limit: Duration::from_secs(65), ..GuardPolicy::default() };
    let setting = Setting::with(EngineMode::External, |_| {}, policy);
    setting.engine.initialize(&SessionContext::default()).await.unwrap();
    setting.external.set(Weather::Hanging);
    let start = setting.time.now();
    assert_eq!(setting.add("a").await.outcome, WriteOutcome::Queued);
    assert!((4.9..=5.01).contains(&setting.time.since(start)));
    let start = setting.time.now();
    assert_eq!(setting.add("b").await.outcome, WriteOutcome::Queued);
    assert!(setting.time.since(start) < 0.01, "it is known to hang");
    setting.external.set(Weather::Fine);
    setting.pass(70).await;
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["a", "b"]);
}

#[tokio::test]
async fn what_the_provider_refuses_is_rejected_and_does_not_stay() {
    let setting = setting();
    let result = setting.add("REFUSE this").await;
    assert_eq!(result.outcome, WriteOutcome::Rejected);
    assert!(result.reason.unwrap().contains("does not take such things"));
    setting.external.script([Weather::Failing(ErrorKind::InvalidRequest)]);
    assert_eq!(setting.add("x").await.outcome, WriteOutcome::Rejected);
    assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
}

#[tokio::test]
async fn what_is_refused_after_it_was_queued_stands_aside_and_lets_the_rest_pass() {
    let setting = setting();
    setting.external.set(DOWN);
    let memory = NewMemory { external_id: Some("x".into()), ..memory("REFUSE this") };
    assert_eq!(setting.write(memory.clone()).await.outcome, WriteOutcome::Queued);
    setting.add("taken").await;
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["taken"]);
    assert_eq!(setting.queue.count().await.unwrap(), (0, 1));
    // Given again, the caller hears why.
    assert_eq!(setting.write(memory).await.outcome, WriteOutcome::Rejected);
    assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
}

#[tokio::test]
async fn a_wrong_set_up_loses_nothing() {
    for kind in [ErrorKind::Unauthorized, ErrorKind::NotFound, ErrorKind::ConfigInvalid, ErrorKind::BadReply] {
        let setting = setting();
        setting.engine.initialize(&SessionContext::default()).await.unwrap();
        setting.external.set(Weather::Failing(kind));
        assert_eq!(setting.add("记忆").await.outcome, WriteOutcome::Queued, "{kind:?}");
        setting.external.set(Weather::Fine);
        setting.deliver_all().await;
        assert_eq!(setting.external.bodies(), ["记忆"], "{kind:?}");
    }
}

#[tokio::test]
async fn secrets_do_not_leave_in_any_way() {
    let setting = setting();
    let text = format!("我的密钥是 {SECRET}");
    let id = setting.add(&text).await.id.unwrap();
    assert_eq!(setting.add("PRIVATE").await.outcome, WriteOutcome::Rejected);
    setting.change(&id, &format!("新密钥 {SECRET}")).await.unwrap();
    setting.recall(&text).await;
    setting.engine.prefetch(&Viewer::default(), &text, Duration::from_secs(5)).await;
    let arguments = json!({"fact": [{"text": text}], "n": 1});
    let answer = setting.engine.call_tool(&Viewer::default(), "elsewhere_tool", arguments).await.unwrap();
    setting.engine.sync_turn(Turn { user_text: text.clone(), assistant_text: text, ..Turn::default() }).await.unwrap();
    setting.deliver_all().await;
    let left =
        format!("{:?}{:?}{:?}{answer}", setting.external.log(), setting.external.turns(), setting.external.memories());
    assert!(left.contains("[redacted]") && !left.contains(SECRET), "{left}");
    assert_eq!(answer["arguments"]["n"], 1);
    assert_eq!(setting.external.turns()[0].assistant_text, "我的密钥是 [redacted]");
}

#[tokio::test]
async fn the_same_external_id_is_the_same_memory() {
    let setting = setting();
    let memory = NewMemory { external_id: Some("import/1".into()), ..memory("用户住在上海") };
    let first = setting.write(memory.clone()).await;
    let second = setting.write(memory.clone()).await;
    assert_eq!((first.outcome, second.outcome), (WriteOutcome::Stored, WriteOutcome::Deduped));
    assert_eq!(first.id, second.id);
    assert_eq!(setting.external.calls("write"), 1);
    setting.forget(&first.id.unwrap()).await;
    assert_eq!(setting.write(memory.clone()).await.outcome, WriteOutcome::Rejected, "it was forgotten");
    assert!(setting.external.bodies().is_empty());
    let items = vec![WriteItem::Memory(Box::new(memory))];
    let forced = setting.engine.write(WriteRequest { items, force: true, repeated: false }).await.unwrap();
    assert_eq!(forced.items[0].outcome, WriteOutcome::Stored);
    assert_eq!(setting.recall("上海").await.hits.len(), 1);
}

#[tokio::test]
async fn changes_follow_what_they_change() {
    let setting = setting();
    setting.external.set(DOWN);
    let id = setting.add("用户住在北京").await.id.unwrap();
    let other = setting.add("to be forgotten").await.id.unwrap();
    assert_eq!(setting.change(&id, "用户住在上海").await.unwrap().outcome, WriteOutcome::Queued);
    let report = setting.forget(&other).await;
    assert_eq!((report.deleted, report.notes.len()), (vec![other], 1));
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(
        setting.external.log(),
        ["write 用户住在北京", "write to be forgotten", "update 用户住在上海", "delete to be forgotten"]
    );
    assert_eq!(setting.get(&id).await.unwrap(), "用户住在上海");
}

#[tokio::test]
async fn changes_are_answered_at_once_when_the_provider_answers() {
    let setting = setting();
    let id = setting.add("a").await.id.unwrap();
    assert_eq!(setting.change(&id[..8], "b").await.unwrap().outcome, WriteOutcome::Stored);
    let missing = "01HZZZZZZZZZZZZZZZZZZZZZZZ";
    assert_eq!(setting.change(missing, "c").await.unwrap_err().kind(), ErrorKind::NotFound);
    let report = setting.forget(missing).await;
    assert_eq!((report.deleted.len(), report.missing), (0, vec![missing.to_owned()]));
    let dry = DeleteRequest { viewer: Viewer::default(), ids: vec![id.clone()], erase: false, dry_run: true };
    assert_eq!(setting.engine.delete(dry).await.unwrap().deleted, std::slice::from_ref(&id));
    assert_eq!(setting.external.bodies(), ["b"]);
    assert_eq!(setting.forget(&id).await.deleted, std::slice::from_ref(&id));
    assert!(setting.external.bodies().is_empty());
    assert!(setting.get(&id).await.is_none());
    assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
}

#[tokio::test]
async fn a_stranger_cannot_change_what_waits() {
    let setting = setting();
    setting.external.set(DOWN);
    let id = setting.add("mine").await.id.unwrap();
    let stranger = Viewer::user("mallory", DEFAULT_NAME);
    let delete =
        |id: &str, dry_run| DeleteRequest { viewer: stranger.clone(), ids: vec![id.into()], erase: true, dry_run };
    let report = setting.engine.delete(delete(&id, false)).await.unwrap();
    assert_eq!((report.deleted.len(), report.missing), (0, vec![id.clone()]));
    let changes = MemoryChanges { body: Some("theirs".into()), ..MemoryChanges::default() };
    let update = UpdateRequest { viewer: stranger.clone(), id: id.clone(), changes, expected_revision: None };
    assert_eq!(setting.engine.update(update.clone()).await.unwrap_err().kind(), ErrorKind::NotFound);
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["mine"]);
    // Nor what is delivered, whether the provider answers or not.
    assert_eq!(setting.engine.delete(delete(&id, true)).await.unwrap().missing, std::slice::from_ref(&id));
    assert_eq!(setting.engine.delete(delete(&id, false)).await.unwrap().missing, std::slice::from_ref(&id));
    assert_eq!(setting.engine.update(update).await.unwrap_err().kind(), ErrorKind::NotFound);
    setting.external.set(DOWN);
    setting.engine.delete(delete(&id, false)).await.unwrap();
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.get(&id).await.unwrap(), "mine");
}

#[tokio::test]
async fn scopes_do_not_wait_for_each_other_and_keep_their_order() {
    let setting = setting();
    let in_scope = |user: &str, text: &str| {
        let scope = Scope { user: user.into(), ..Scope::default() };
        WriteItem::Memory(Box::new(NewMemory::new(scope, text)))
    };
    setting.external.set(DOWN);
    for n in 0..10 {
        let items = vec![in_scope("张三", &format!("z{n}")), in_scope("李四", &format!("l{n}"))];
        setting.engine.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
    }
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    let of =
        |mark: char| setting.external.bodies().into_iter().filter(|body| body.starts_with(mark)).collect::<Vec<_>>();
    assert_eq!(of('z'), (0..10).map(|n| format!("z{n}")).collect::<Vec<_>>());
    assert_eq!(of('l'), (0..10).map(|n| format!("l{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn concurrent_writers_all_hear_of_their_own_item() {
    let setting = setting();
    let writers = (0..50).map(|n| {
        let engine = setting.engine.clone();
        tokio::spawn(async move {
            let items = vec![WriteItem::Memory(Box::new(memory(&format!("m{n}"))))];
            engine.write(WriteRequest { items, force: false, repeated: false }).await.unwrap().items.pop().unwrap()
        })
    });
    let writers: Vec<_> = writers.collect();
    for (n, writer) in writers.into_iter().enumerate() {
        let result = writer.await.unwrap();
        assert_eq!(result.outcome, WriteOutcome::Stored);
        assert_eq!(setting.get(&result.id.unwrap()).await.unwrap(), format!("m{n}"));
    }
    assert_eq!(setting.external.bodies().len(), 50);
}

#[tokio::test]
async fn a_provider_without_turns_gets_messages() {
    let setting =
        Setting::with(EngineMode::External, |capability| capability.sync_turn = false, GuardPolicy::default());
    let conversation = setting.conversation("s1");
    conversation.after_turn(turn("你好")).await.unwrap();
    conversation.shutdown(Duration::from_secs(10)).await.unwrap();
    setting.deliver_all().await;
    let said: Vec<_> = setting.external.messages().into_iter().map(|m| (m.session_id, m.role, m.content)).collect();
    let expected =
        [("s1".to_owned(), Role::User, "你好".to_owned()), ("s1".to_owned(), Role::Assistant, "回答 你好".to_owned())];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn closing_delivers_what_is_due_and_puts_back_what_hangs() {
    let setting = setting();
    setting
        .engine
        .sync_turn(Turn { user_text: "a".into(), assistant_text: "b".into(), ..Turn::default() })
        .await
        .unwrap();
    setting.engine.shutdown().await.unwrap();
    assert_eq!(setting.external.turns().len(), 1);

    let mut setting = self::setting();
    setting.engine.initialize(&SessionContext::default()).await.unwrap();
    setting.external.set(Weather::Hanging);
    setting
        .engine
        .sync_turn(Turn { user_text: "a".into(), assistant_text: "b".into(), ..Turn::default() })
        .await
        .unwrap();
    let start = setting.time.now();
    setting.engine.shutdown().await.unwrap();
    assert!(setting.time.since(start) <= 21.0, "{}", setting.time.since(start));
    setting.external.set(Weather::Fine);
    setting.restart(EngineMode::External);
    setting.deliver_all().await;
    assert_eq!(setting.external.turns().len(), 1);
}

#[tokio::test]
async fn a_live_process_delivers_by_itself_once_the_provider_is_back() {
    let setting = setting();
    setting.external.set(DOWN);
    setting.add("a").await;
    let courier = setting.engine.courier().unwrap().clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(async move { courier.run(async { drop(stopped.await) }).await });
    setting.pass(40).await;
    assert!(setting.external.bodies().is_empty());
    setting.external.set(Weather::Fine);
    setting.pass(330).await;
    assert_eq!(setting.external.bodies(), ["a"]);
    stop.send(()).unwrap();
    running.await.unwrap();
}

#[tokio::test]
async fn a_turn_with_an_id_is_taken_once() {
    for mode in [EngineMode::External, EngineMode::Both] {
        let setting = Setting::new(mode);
        let viewer = Viewer { session: Some("s".into()), ..Viewer::default() };
        let turn = Turn {
            viewer,
            user_text: "你好".into(),
            assistant_text: "您好".into(),
            external_id: Some("第一轮".into()),
            ..Turn::default()
        };
        for _ in 0..3 {
            setting.engine.sync_turn(turn.clone()).await.unwrap();
            setting.deliver_all().await;
        }
        setting.engine.sync_turn(Turn { external_id: None, ..turn }).await.unwrap();
        setting.deliver_all().await;
        assert_eq!(setting.external.turns().len(), 2);
    }
}

#[tokio::test]
async fn the_same_text_written_again_is_one_memory_until_it_is_changed() {
    let setting = setting();
    let first = setting.add("猫叫咪咪").await;
    assert_eq!(first.outcome, WriteOutcome::Stored);
    let again = setting.add("猫叫咪咪").await;
    assert_eq!((again.outcome, again.id), (WriteOutcome::Deduped, first.id.clone()));
    setting.external.set(DOWN);
    assert_eq!(
        setting.add("猫叫咪咪").await.outcome,
        WriteOutcome::Deduped,
        "what was delivered is known without asking"
    );
    let waiting = [setting.add("狗叫旺财").await, setting.add("狗叫旺财").await];
    assert_eq!(waiting[0].id, waiting[1].id, "what waits is known too");
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["猫叫咪咪", "狗叫旺财"]);
    let changes = MemoryChanges { body: Some("猫叫花花".into()), ..MemoryChanges::default() };
    let request = UpdateRequest { viewer: Viewer::default(), id: first.id.unwrap(), changes, expected_revision: None };
    setting.engine.update(request).await.unwrap();
    assert_eq!(setting.add("猫叫咪咪").await.outcome, WriteOutcome::Stored, "nothing says so any more");
    assert_eq!(setting.external.bodies(), ["猫叫花花", "狗叫旺财", "猫叫咪咪"]);
}
