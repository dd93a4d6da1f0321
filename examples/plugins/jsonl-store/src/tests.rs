//! The file survives crashes, other processes and erasure. What every provider fulfils is tested through the loader.

use std::io::Write;
use std::path::Path;

use plugin_sdk::prelude::*;

use crate::{Config, JsonlStore};

async fn open(folder: &Path) -> Result<JsonlStore> {
    JsonlStore::open(Host::detached(folder), Config::default()).await
}

async fn add(store: &JsonlStore, text: &str) -> WriteResult {
    let item = WriteItem::Memory(Box::new(NewMemory::new(Scope::default(), text)));
    store.write(WriteRequest { items: vec![item], ..WriteRequest::default() }).await.unwrap().items.remove(0)
}

async fn bodies(store: &JsonlStore) -> Vec<String> {
    let page = store.list(ListRequest::default()).await.unwrap();
    let mut bodies: Vec<String> = page
        .items
        .into_iter()
        .map(|item| match item {
            Item::Memory(memory) => memory.body,
            other => panic!("{other:?}"),
        })
        .collect();
    bodies.sort();
    bodies
}

#[tokio::test]
async fn a_line_cut_off_by_a_crash_is_dropped_and_the_rest_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await.unwrap();
    add(&store, "晚饭吃面 🍜").await;
    drop(store);
    let file = folder.path().join("memories.jsonl");
    std::fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{\"records\":[{\"type\":\"mem").unwrap();
    let store = open(folder.path()).await.unwrap();
    assert_eq!(bodies(&store).await, ["晚饭吃面 🍜"]);
    add(&store, "second").await;
    drop(store);
    assert_eq!(bodies(&open(folder.path()).await.unwrap()).await, ["second", "晚饭吃面 🍜"]);
}

#[tokio::test]
async fn damage_in_the_middle_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("memories.jsonl"), "{\"records\":[]}\nnonsense\n{\"records\":[]}\n").unwrap();
    let error = open(folder.path()).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("memories.jsonl is damaged at byte 15"), "{error}");
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path()).await.unwrap(), open(folder.path()).await.unwrap());
    let id = add(&one, "written by one").await.id.unwrap();
    assert_eq!(add(&two, "Written by ONE!").await.outcome, WriteOutcome::Deduped);
    add(&two, "written by two").await;
    assert_eq!(bodies(&one).await, ["written by one", "written by two"]);
    let request = DeleteRequest { viewer: Viewer::default(), ids: vec![id], erase: true, dry_run: false };
    one.delete(request).await.unwrap();
    assert_eq!(bodies(&two).await, ["written by two"], "the file was replaced under it");
    add(&two, "written later").await;
    assert_eq!(bodies(&one).await, ["written by two", "written later"]);
}

#[tokio::test]
async fn erased_text_is_not_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await.unwrap();
    let id = add(&store, "the canary sings").await.id.unwrap();
    let changes = MemoryChanges { body: Some("the canary is silent".into()), ..MemoryChanges::default() };
    let viewer = Viewer::default();
    store
        .update(UpdateRequest { viewer: viewer.clone(), id: id.clone(), changes, expected_revision: None })
        .await
        .unwrap();
    let delete = |erase| DeleteRequest { viewer: viewer.clone(), ids: vec![id.clone()], erase, dry_run: false };
    store.delete(delete(false)).await.unwrap();
    let text = || std::fs::read_to_string(folder.path().join("memories.jsonl")).unwrap();
    assert_eq!(text().matches("canary").count(), 3, "forgetting keeps every state");
    let report = store.delete(delete(true)).await.unwrap();
    assert_eq!((report.deleted, report.notes.len()), (vec![id], 1));
    assert_eq!(text(), "");
}

#[tokio::test]
async fn a_turn_given_again_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await.unwrap();
    let turn = Turn {
        user_text: "我住在苏州".into(),
        assistant_text: "好的".into(),
        external_id: Some("t-1".into()),
        repeated: true,
        ..Turn::default()
    };
    store.sync_turn(turn.clone()).await.unwrap();
    store.sync_turn(turn).await.unwrap();
    let request = ListRequest { kind: Some(HitKind::Message), ..ListRequest::default() };
    assert_eq!(store.list(request).await.unwrap().items.len(), 2);
    assert_eq!(store.prefetch(&Viewer::default(), "苏州").await.unwrap().as_deref(), Some("- 我住在苏州"));
}
