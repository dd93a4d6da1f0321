//! Mode `both`.

use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;

use crate::provider::Weather;
use crate::setting::{SECRET, Setting, memory};

const DOWN: Weather = Weather::Failing(ErrorKind::Unreachable);

fn setting() -> Setting {
    Setting::new(EngineMode::Both)
}

#[tokio::test]
async fn a_write_is_answered_by_the_builtin_provider_and_follows_to_the_other() {
    let setting = setting();
    setting.engine.initialize(&SessionContext::default()).await.unwrap();
    setting.external.set(Weather::Hanging);
    let start = setting.time.now();
    let result = setting.add("用户喜欢喝绿茶").await;
    assert_eq!(result.outcome, WriteOutcome::Stored);
    assert!(setting.time.since(start) < 0.01, "the external provider holds nothing up");
    assert_eq!(result.id.unwrap(), setting.builtin.memories()[0].id.to_string());
    setting.external.set(Weather::Fine);
    setting.pass(300).await;
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["用户喜欢喝绿茶"]);
    assert_eq!(setting.external.memories()[0].external_id, setting.builtin.memories()[0].external_id);
}

#[tokio::test]
async fn one_fact_in_both_is_one_hit() {
    let setting = setting();
    let id = setting.add("用户喜欢喝绿茶").await.id.unwrap();
    setting.deliver_all().await;
    let recall = setting.recall("绿茶").await;
    assert_eq!(recall.outcome, RecallOutcome::Complete);
    assert_eq!(recall.hits.len(), 1);
    let hit = &recall.hits[0];
    assert_eq!((hit.id.as_str(), hit.source.provider.as_str()), (id.as_str(), "builtin"));
    assert_eq!(hit.source.also_in, ["elsewhere"]);
    // Any id of it leads to the one here.
    let remote = setting.external.memories()[0].id.to_string();
    assert_ne!(remote, id);
    assert_eq!(setting.get(&remote).await.unwrap(), "用户喜欢喝绿茶");
    let history = setting.engine.history(&Viewer::default(), &remote).await.unwrap();
    assert_eq!(history[0].operation, "builtin");
}

#[tokio::test]
async fn a_slow_or_dead_provider_makes_an_answer_partial_and_never_late() {
    let setting = setting();
    setting.add("茶").await;
    setting.deliver_all().await;
    setting.external.set(Weather::Hanging);
    for _ in 0..8 {
        let start = setting.time.now();
        let recall = setting.recall("茶").await;
        assert!(setting.time.since(start) <= 5.01);
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Partial, Some(RecallReason::ProviderUnavailable)));
        assert_eq!(recall.hits.len(), 1);
        assert!(recall.hits[0].source.also_in.is_empty());
    }
    let start = setting.time.now();
    setting.recall("茶").await;
    assert!(setting.time.since(start) < 0.01, "the circuit is open");
    setting.external.set(Weather::Fine);
    setting.pass(121).await;
    assert_eq!(setting.recall("茶").await.outcome, RecallOutcome::Complete);
}

#[tokio::test]
async fn changes_reach_the_other_side() {
    let setting = setting();
    let id = setting.add("用户住在北京").await.id.unwrap();
    setting.change(&id, "用户住在上海").await.unwrap();
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["用户住在上海"]);
    assert_eq!(setting.builtin.bodies(), ["用户住在上海"]);
    assert_eq!(setting.external.log().iter().filter(|line| !line.starts_with("search")).count(), 2);
}

#[tokio::test]
async fn what_is_forgotten_here_is_forgotten_there_and_does_not_come_back() {
    let setting = setting();
    let id = setting.add("用户的旧地址").await.id.unwrap();
    setting.deliver_all().await;
    setting.external.set(DOWN);
    assert_eq!(setting.forget(&id).await.deleted, std::slice::from_ref(&id));
    assert!(setting.builtin.bodies().is_empty());
    // It is still there, and the provider answers again before it is told.
    assert_eq!(setting.external.bodies().len(), 1);
    setting.external.set(Weather::Fine);
    let remote = setting.external.memories()[0].id.to_string();
    let recall = setting.recall("旧地址").await;
    assert!(recall.hits.is_empty(), "{recall:?}");
    assert!(setting.get(&remote).await.is_none());
    let page = setting.engine.list(ListRequest::default()).await.unwrap();
    assert!(page.items.is_empty());
    setting.deliver_all().await;
    assert!(setting.external.bodies().is_empty());
    assert_eq!(setting.forget(&id).await.missing, [id]);
}

#[tokio::test]
async fn what_is_forgotten_before_it_was_delivered_is_gone_on_both_sides() {
    let setting = setting();
    setting.external.set(DOWN);
    let id = setting.add("a").await.id.unwrap();
    setting.forget(&id).await;
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.external.log(), ["write a", "delete a"]);
    assert!(setting.external.bodies().is_empty());
}

#[tokio::test]
async fn what_only_the_external_provider_has_can_be_read_changed_and_forgotten() {
    let setting = setting();
    setting.add("here").await;
    setting.deliver_all().await;
    let items = vec![WriteItem::Memory(Box::new(memory("only there")))];
    let written = setting.external.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
    let id = written.items[0].id.clone().unwrap();
    assert_eq!(setting.get(&id).await.unwrap(), "only there");
    let page = setting.engine.list(ListRequest::default()).await.unwrap();
    assert_eq!((page.items.len(), page.next), (2, None), "what both have is listed once");
    let first = setting.engine.list(ListRequest { limit: 1, ..ListRequest::default() }).await.unwrap();
    let second = ListRequest { limit: 5, cursor: first.next, ..ListRequest::default() };
    assert_eq!(setting.engine.list(second).await.unwrap().items.len(), 1);
    assert_eq!(setting.engine.history(&Viewer::default(), &id).await.unwrap()[0].operation, "elsewhere");
    setting.change(&id, "changed there").await.unwrap();
    assert_eq!(setting.get(&id).await.unwrap(), "changed there");
    assert_eq!(setting.forget(&id).await.deleted, [id]);
    assert_eq!(setting.external.bodies(), ["here"]);
}

#[tokio::test]
async fn what_the_builtin_provider_refuses_or_has_is_not_delivered() {
    let setting = setting();
    setting.add("a").await;
    setting.deliver_all().await;
    assert_eq!(setting.add("a").await.outcome, WriteOutcome::Deduped);
    assert_eq!(setting.add("REFUSE").await.outcome, WriteOutcome::Rejected);
    setting.builtin.set(Weather::Failing(ErrorKind::Storage));
    let items = vec![WriteItem::Memory(Box::new(memory("b")))];
    setting.engine.write(WriteRequest { items, force: false, repeated: false }).await.unwrap_err();
    assert_eq!(setting.queue.count().await.unwrap(), (0, 0));
    assert_eq!(setting.external.bodies(), ["a"]);
}

#[tokio::test]
async fn the_same_item_twice_while_the_first_waits_is_delivered_once() {
    let setting = setting();
    setting.external.set(DOWN);
    let memory = NewMemory { external_id: Some("x".into()), ..memory("a") };
    setting.write(memory.clone()).await;
    assert_eq!(setting.write(memory).await.outcome, WriteOutcome::Deduped);
    setting.external.set(Weather::Fine);
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["a"]);
}

#[tokio::test]
async fn what_must_not_leave_stays_here() {
    let setting = setting();
    assert_eq!(setting.add("PRIVATE diary").await.outcome, WriteOutcome::Stored);
    setting.add(&format!("key {SECRET}")).await;
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["key [redacted]"]);
    // A question that must not leave is answered from here.
    let recall = setting.recall("PRIVATE").await;
    assert_eq!((recall.outcome, recall.hits.len()), (RecallOutcome::Partial, 1));
    assert_eq!(setting.external.calls("search"), 0);
}

#[tokio::test]
async fn a_provider_without_messages_is_not_given_any() {
    let setting =
        Setting::with(EngineMode::Both, |capability| capability.write_messages = false, GuardPolicy::default());
    let message = NewMessage::new(Scope::default(), "s", Role::User, "你好");
    let items = vec![WriteItem::Message(Box::new(message)), WriteItem::Memory(Box::new(memory("m")))];
    let report = setting.engine.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
    assert!(report.items.iter().all(|result| result.outcome == WriteOutcome::Stored));
    setting.deliver_all().await;
    assert_eq!((setting.external.messages().len(), setting.external.bodies().len()), (0, 1));
    assert_eq!(setting.builtin.messages().len(), 1);
}

#[tokio::test]
async fn recalling_for_a_prompt_takes_from_both_and_waits_for_neither() {
    let setting = setting();
    setting.add("用户喜欢喝绿茶").await;
    setting.deliver_all().await;
    let items = vec![WriteItem::Memory(Box::new(memory("用户昨天买了红茶")))];
    setting.external.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
    let limit = Duration::from_secs(5);
    let prefetch = setting.engine.prefetch(&Viewer::default(), "茶", limit).await;
    assert!(prefetch.complete);
    assert_eq!(prefetch.text.unwrap(), "- 用户喜欢喝绿茶\n\n- 用户昨天买了红茶");
    setting.external.set(Weather::Hanging);
    let start = setting.time.now();
    let prefetch = setting.engine.prefetch(&Viewer::default(), "茶", limit).await;
    assert_eq!((prefetch.complete, prefetch.text.as_deref()), (false, Some("- 用户喜欢喝绿茶")));
    assert!(setting.time.since(start) <= 5.01);
}
