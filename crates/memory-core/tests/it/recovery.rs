//! Processes that die in the middle of a write in mode `both`.

use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;

use crate::provider::Weather;
use crate::setting::{Setting, memory};

/// What a process leaves that dies after it prepared a write: the builtin provider may or may not have it.
async fn prepared(setting: &Setting, work: DeliveryWork) -> i64 {
    let delivery = NewDelivery { scope: Scope::default(), key: "left behind".into(), local_id: None, work };
    setting.queue.put(DeliveryState::Prepared, vec![delivery]).await.unwrap()[0]
}

fn item(text: &str) -> WriteItem {
    WriteItem::Memory(Box::new(NewMemory { external_id: Some(format!("id of {text}")), ..memory(text) }))
}

#[tokio::test]
async fn a_write_that_was_prepared_is_made_on_both_sides_once() {
    for was_written_here in [false, true] {
        let mut setting = Setting::new(EngineMode::Both);
        prepared(&setting, DeliveryWork::Write { item: item("记忆"), force: false }).await;
        if was_written_here {
            let request = WriteRequest { items: vec![item("记忆")], force: false, repeated: false };
            setting.builtin.write(request).await.unwrap();
        }
        setting.restart(EngineMode::Both);
        let courier = setting.engine.courier().unwrap().clone();
        courier.deliver_due(usize::MAX, Duration::from_secs(5)).await.unwrap();
        assert!(setting.external.bodies().is_empty(), "the process may still live");
        setting.pass(601).await;
        setting.deliver_all().await;
        assert_eq!(setting.builtin.bodies(), ["记忆"]);
        assert_eq!(setting.external.bodies(), ["记忆"]);
        let id = setting.builtin.memories()[0].id.clone();
        let link = setting.queue.remote_of(&id).await.unwrap().unwrap();
        assert_eq!(link.remote, setting.external.memories()[0].id);
    }
}

#[tokio::test]
async fn a_prepared_write_of_what_is_here_otherwise_is_dropped() {
    let setting = Setting::new(EngineMode::Both);
    setting.add("记忆").await;
    setting.deliver_all().await;
    prepared(&setting, DeliveryWork::Write { item: item("记忆"), force: false }).await;
    setting.pass(601).await;
    setting.deliver_all().await;
    assert_eq!((setting.builtin.bodies().len(), setting.external.bodies().len()), (1, 1));
}

#[tokio::test]
async fn prepared_changes_and_turns_are_made_on_both_sides() {
    let setting = Setting::new(EngineMode::Both);
    let viewer = Viewer::default();
    let (kept, dropped) = (setting.add("a").await.id.unwrap(), setting.add("b").await.id.unwrap());
    setting.deliver_all().await;
    let changes = MemoryChanges { body: Some("a2".into()), ..MemoryChanges::default() };
    prepared(&setting, DeliveryWork::Update { viewer: viewer.clone(), id: kept.parse().unwrap(), changes }).await;
    setting.pass(601).await;
    setting.deliver_all().await;
    prepared(&setting, DeliveryWork::Delete { viewer, id: dropped.parse().unwrap(), erase: false }).await;
    setting.pass(601).await;
    setting.external.set(Weather::Failing(ErrorKind::Unreachable));
    setting.engine.courier().unwrap().deliver_due(usize::MAX, Duration::from_secs(60)).await.unwrap();
    setting.external.set(Weather::Fine);
    assert!(setting.recall("b").await.hits.is_empty(), "it is hidden before it is gone there");
    setting.deliver_all().await;
    let turn = Turn { user_text: "你好".into(), external_id: Some("t".into()), ..Turn::default() };
    prepared(&setting, DeliveryWork::Turn { turn }).await;
    setting.pass(601).await;
    setting.deliver_all().await;
    for provider in [&setting.builtin, &setting.external] {
        assert_eq!((provider.bodies(), provider.turns().len()), (vec!["a2".to_owned()], 1));
    }
}

#[tokio::test]
async fn a_process_that_dies_in_the_middle_of_a_delivery_leaves_it_to_the_next() {
    let mut setting = Setting::new(EngineMode::External);
    setting.external.set(Weather::Failing(ErrorKind::Unreachable));
    setting.add("a").await;
    setting.external.set(Weather::Fine);
    setting.pass(600).await;
    // It takes the delivery, the provider has it, and nobody hears of it.
    let now = setting.time.now();
    let taken = setting.queue.take(None, now, now.plus_seconds(60)).await.unwrap().unwrap();
    let DeliveryWork::Write { item, force } = taken.work else { panic!() };
    setting.external.write(WriteRequest { items: vec![item], force, repeated: true }).await.unwrap();
    setting.restart(EngineMode::External);
    setting.pass(61).await;
    setting.deliver_all().await;
    assert_eq!(setting.external.bodies(), ["a"]);
}
