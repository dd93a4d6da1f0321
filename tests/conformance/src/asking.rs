//! What scenarios say again and again.

use std::time::{Duration, Instant};

use memory_core::{
    DeleteReport, DeleteRequest, Hit, HitKind, Item, ListRequest, Memory, MemoryChanges, Message, NewMemory,
    NewMessage, Recall, Role, Scope, SearchRequest, Timestamp, UpdateRequest, Viewer, WriteItem, WriteOutcome,
    WriteReport, WriteRequest, WriteResult,
};

use crate::Trial;

/// An id that names nothing.
pub const UNKNOWN: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// The viewer of the scenarios.
pub fn viewer() -> Viewer {
    Viewer::default()
}

/// A memory of that viewer.
pub fn memory(text: &str) -> NewMemory {
    NewMemory::new(Scope::default(), text)
}

/// A message of that viewer.
pub fn message(session: &str, text: &str) -> NewMessage {
    NewMessage::new(Scope::default(), session, Role::User, text)
}

/// A moment.
pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A list of words, owned.
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Writes items in one request.
pub async fn write(trial: &Trial, items: Vec<WriteItem>, force: bool) -> WriteReport {
    let count = items.len();
    let report = trial.write(WriteRequest { items, force, repeated: false }).await.unwrap();
    assert_eq!(report.items.len(), count, "one result for each item");
    report
}

/// Writes one memory.
pub async fn write_one(trial: &Trial, memory: NewMemory) -> WriteResult {
    write(trial, vec![WriteItem::Memory(Box::new(memory))], false).await.items.remove(0)
}

/// Writes one memory, which must be new. Answers its id.
pub async fn add_memory(trial: &Trial, memory: NewMemory) -> String {
    let text = memory.body.clone();
    let result = write_one(trial, memory).await;
    assert_eq!(result.outcome, WriteOutcome::Stored, "{text}: {result:?}");
    result.id.unwrap()
}

/// Writes one text, which must be new. Answers its id.
pub async fn add(trial: &Trial, text: &str) -> String {
    add_memory(trial, memory(text)).await
}

/// Says messages in one request.
pub async fn say(trial: &Trial, messages: Vec<NewMessage>) -> Vec<WriteResult> {
    let items = messages.into_iter().map(|message| WriteItem::Message(Box::new(message))).collect();
    write(trial, items, false).await.items
}

/// A plain question of the viewer.
pub fn question(text: &str) -> SearchRequest {
    SearchRequest::new(viewer(), text)
}

/// Asks, and checks what holds for every answer.
pub async fn ask(trial: &Trial, request: SearchRequest) -> Recall {
    let (asked, limit) = (request.query.clone(), request.limit);
    let recall = trial.search(request).await.unwrap_or_else(|error| panic!("{asked}: {error}"));
    assert!(recall.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "best first: {recall:?}");
    assert!(recall.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "scores from 0 to 1: {recall:?}");
    assert!(recall.hits.len() <= limit, "{asked}: more than the {limit} asked for: {recall:?}");
    assert!(recall.hits.iter().all(|hit| !hit.source.provider.is_empty()), "a hit names its provider: {recall:?}");
    recall
}

/// Asks until the answer is as expected, or the subject's time to settle is up. Answers the last one.
pub async fn ask_until(trial: &Trial, request: SearchRequest, expected: impl Fn(&Recall) -> bool) -> Recall {
    let end = Instant::now() + trial.settles_within;
    loop {
        let recall = ask(trial, request.clone()).await;
        if expected(&recall) || Instant::now() >= end {
            return recall;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A question of someone must find a text that has `part`.
pub async fn must_find(trial: &Trial, viewer: &Viewer, query: &str, part: &str) -> Hit {
    let finds = |recall: &Recall| recall.hits.iter().position(|hit| hit.text.contains(part));
    let request = SearchRequest::new(viewer.clone(), query);
    let mut recall = ask_until(trial, request, |recall| finds(recall).is_some()).await;
    match finds(&recall) {
        Some(position) => recall.hits.remove(position),
        None => panic!("{query} does not find {part}: {recall:?}"),
    }
}

/// The texts of hits, in order.
pub fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.text.as_str()).collect()
}

/// One item by its id or the beginning of one.
pub async fn get(trial: &Trial, id: &str) -> Option<Item> {
    get_as(trial, &viewer(), id).await
}

/// The same as someone else.
pub async fn get_as(trial: &Trial, viewer: &Viewer, id: &str) -> Option<Item> {
    let report = trial.get(viewer, &[id.to_owned()]).await.unwrap();
    assert_eq!(report.items.len() + report.missing.len(), 1, "{id}: {report:?}");
    report.items.into_iter().next()
}

/// One memory by its id.
pub async fn get_memory(trial: &Trial, id: &str) -> Memory {
    match get(trial, id).await {
        Some(Item::Memory(memory)) => *memory,
        other => panic!("{id}: {other:?}"),
    }
}

/// Everything of a list, page by page.
pub async fn list_all(trial: &Trial, request: ListRequest) -> Vec<Item> {
    let (mut items, mut next) = (Vec::new(), Some(request));
    while let Some(asked) = next.take() {
        let page = trial.list(asked.clone()).await.unwrap();
        items.extend(page.items);
        next = page.next.map(|cursor| ListRequest { cursor: Some(cursor), ..asked });
    }
    items
}

/// The memories of someone.
pub async fn memories_of(trial: &Trial, viewer: &Viewer) -> Vec<Memory> {
    let items = list_all(trial, ListRequest { viewer: viewer.clone(), ..ListRequest::default() }).await;
    items
        .into_iter()
        .map(|item| match item {
            Item::Memory(memory) => *memory,
            item => panic!("{item:?}"),
        })
        .collect()
}

/// The messages of a session in the order they were said.
pub async fn said(trial: &Trial, session: &str) -> Vec<Message> {
    let viewer = Viewer { session: Some(session.into()), ..viewer() };
    let items = list_all(trial, ListRequest { viewer, kind: Some(HitKind::Message), ..ListRequest::default() }).await;
    let mut messages: Vec<Message> = items
        .into_iter()
        .map(|item| match item {
            Item::Message(message) => *message,
            item => panic!("{item:?}"),
        })
        .collect();
    messages.sort_by_key(|message| message.position);
    messages
}

/// A change of the viewer.
pub fn update(id: &str, changes: MemoryChanges) -> UpdateRequest {
    UpdateRequest { viewer: viewer(), id: id.into(), changes, expected_revision: None }
}

/// A new text.
pub fn body(text: &str) -> MemoryChanges {
    MemoryChanges { body: Some(text.into()), ..MemoryChanges::default() }
}

/// Forgets as someone.
pub async fn forget(trial: &Trial, viewer: &Viewer, ids: &[&str]) -> DeleteReport {
    trial.delete(deletion(viewer, ids)).await.unwrap()
}

/// A request to forget.
pub fn deletion(viewer: &Viewer, ids: &[&str]) -> DeleteRequest {
    DeleteRequest { viewer: viewer.clone(), ids: words(ids), erase: false, dry_run: false }
}

/// Lets the provider finish what it does behind an acknowledged write, such as indexing.
pub async fn settle(trial: &Trial) {
    trial.end_session(&viewer()).await.unwrap();
}
