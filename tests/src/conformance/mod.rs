//! What every provider fulfils, as plain functions over the contract. A provider's tests run each of them on an empty
//! store; one that lacks a capability leaves out the scenarios of it.

pub mod messages;
pub mod records;
pub mod searching;
pub mod writing;

use memory_core::{
    Hit, Item, MemoryProvider, NewMemory, Recall, Scope, SearchRequest, Timestamp, Viewer, WriteItem, WriteReport,
    WriteRequest, WriteResult,
};

/// The viewer of the scenarios.
pub fn viewer() -> Viewer {
    Viewer::default()
}

/// A memory of that viewer.
pub fn memory(text: &str) -> NewMemory {
    NewMemory::new(Scope::default(), text)
}

/// A moment.
pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Writes items in one request.
pub async fn write(provider: &dyn MemoryProvider, items: Vec<WriteItem>, force: bool) -> WriteReport {
    let count = items.len();
    let report = provider.write(WriteRequest { items, force }).await.unwrap();
    assert_eq!(report.items.len(), count, "one result for each item");
    report
}

/// Writes one memory.
pub async fn write_one(provider: &dyn MemoryProvider, memory: NewMemory) -> WriteResult {
    write(provider, vec![WriteItem::Memory(Box::new(memory))], false).await.items.remove(0)
}

/// Writes one text, which must be new. Answers its id.
pub async fn add(provider: &dyn MemoryProvider, text: &str) -> String {
    let result = write_one(provider, memory(text)).await;
    assert_eq!(result.outcome, memory_core::WriteOutcome::Stored, "{text}: {result:?}");
    result.id.unwrap()
}

/// Asks as the viewer.
pub async fn ask(provider: &dyn MemoryProvider, request: SearchRequest) -> Recall {
    let asked = request.query.clone();
    let recall = provider.search(request).await.unwrap_or_else(|error| panic!("{asked}: {error}"));
    assert!(recall.hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "best first: {recall:?}");
    assert!(recall.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)), "scores from 0 to 1: {recall:?}");
    recall
}

/// A plain question of the viewer.
pub fn question(text: &str) -> SearchRequest {
    SearchRequest::new(viewer(), text)
}

/// The texts of hits, in order.
pub fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.text.as_str()).collect()
}

/// One item by its id or the beginning of one.
pub async fn get(provider: &dyn MemoryProvider, id: &str) -> Option<Item> {
    let report = provider.get(&viewer(), &[id.to_owned()]).await.unwrap();
    assert_eq!(report.items.len() + report.missing.len(), 1);
    report.items.into_iter().next()
}

/// One memory by its id.
pub async fn get_memory(provider: &dyn MemoryProvider, id: &str) -> memory_core::Memory {
    match get(provider, id).await {
        Some(Item::Memory(memory)) => *memory,
        other => panic!("{id}: {other:?}"),
    }
}

/// Lets the provider finish what it does behind an acknowledged write, such as indexing.
pub async fn settle(provider: &dyn MemoryProvider) {
    provider.end_session(&viewer()).await.unwrap();
}
