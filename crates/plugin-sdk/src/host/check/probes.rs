//! The single steps of an examination.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_core::{
    Capability, DeleteRequest, Error, ErrorKind, Item, ListRequest, MemoryProvider, NewMemory, Result, Scope,
    SearchRequest, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::instance::Instance;
use super::super::pending::Reply;
use super::super::provider::PluginProvider;
use super::Finding;
use crate::abi;
use crate::wire_error;

/// How long closing may take with calls under way.
const CLOSE: Duration = Duration::from_secs(5);

/// Whose memories the examination writes.
fn viewer() -> Viewer {
    Viewer::user("plugin-check", memory_core::DEFAULT_NAME)
}

/// The kind of an error as it is written in JSON.
pub(super) fn kind(error: &Error) -> String {
    serde_json::to_value(error.kind()).ok().and_then(|kind| kind.as_str().map(ToOwned::to_owned)).unwrap_or_default()
}

/// The operations that a capability has, in words.
pub(super) fn offers(capability: &Capability) -> String {
    let value = serde_json::to_value(capability).unwrap_or_default();
    let names = value.as_object().into_iter().flatten().filter(|(_, value)| **value == Value::Bool(true));
    let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// A reply read as a host reads it.
fn read(reply: Reply) -> Result<Value> {
    let payload = reply.payload.unwrap_or_default();
    match reply.status {
        abi::STATUS_OK => serde_json::from_slice(&payload)
            .map_err(|error| wire_error::misfit(ErrorKind::BadReply, "the reply is not JSON", &error)),
        abi::STATUS_PANIC => Err(Error::unexpected(format!("it panicked: {}", wire_error::decode(&payload).message()))),
        abi::STATUS_CANCELLED => Err(Error::new(ErrorKind::Cancelled, "cancelled")),
        _ => Err(wire_error::decode(&payload)),
    }
}

async fn ask(instance: &Instance, method: &str, request: Vec<u8>, deadline: Duration) -> Result<Value> {
    instance.call(method, request, deadline).await.and_then(read)
}

fn expect(kind_expected: ErrorKind, name: &str, answer: Result<Value>) -> Finding {
    match answer {
        Err(error) if error.kind() == kind_expected => Ok(Some(format!("refused as {name}"))),
        Err(error) => Err(Error::unexpected(format!("refused as {}, not as {name}: {error}", kind(&error)))),
        Ok(_) => Err(Error::unexpected(format!("it answers; it should refuse as {name}"))),
    }
}

pub(super) async fn broken_request(instance: &Instance, deadline: Duration) -> Finding {
    let mut seen = None;
    for (method, request) in [("search", &b"{\"viewer\":"[..]), ("health", b""), ("describe", b"\xff\xfe{}")] {
        let answer = ask(instance, method, request.to_vec(), deadline).await;
        seen = expect(ErrorKind::InvalidRequest, "invalid_request", answer)
            .map_err(|error| error.with_context("method", method))?;
    }
    Ok(seen)
}

pub(super) async fn unknown_method(instance: &Instance, deadline: Duration) -> Finding {
    let answer = ask(instance, "no_such_method", b"{}".to_vec(), deadline).await;
    expect(ErrorKind::Unsupported, "unsupported", answer)
}

pub(super) async fn health(provider: &PluginProvider) -> Finding {
    let health = provider.health().await;
    if health.ok {
        Ok(Some(health.message))
    } else {
        Err(Error::unexpected(format!("it is not well: {}", health.message)))
    }
}

/// The cheapest request that does something.
fn sample(capability: &Capability, query: &str) -> (&'static str, Vec<u8>) {
    if capability.search {
        let request = SearchRequest::new(viewer(), query);
        return ("search", serde_json::to_vec(&request).unwrap_or_default());
    }
    ("prefetch", serde_json::to_vec(&json!({"viewer": viewer(), "query": query})).unwrap_or_default())
}

/// A refusal that is an answer all the same.
fn answered(answer: Result<Value>) -> Result<()> {
    match answer {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidRequest | ErrorKind::Unsupported | ErrorKind::Busy) => {
            Ok(())
        }
        other => other.map(drop),
    }
}

pub(super) async fn many_at_once(instance: &Arc<Instance>, capability: &Capability, deadline: Duration) -> Finding {
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..64 {
        let (method, request) = sample(capability, &format!("question number {number}"));
        let instance = Arc::clone(instance);
        calls.spawn(async move { ask(&instance, method, request, deadline).await });
    }
    while let Some(answer) = calls.join_next().await {
        answered(answer.map_err(|error| Error::unexpected("a call stopped").with_source(error))?)?;
    }
    Ok(Some(format!("all answered in {:.1} ms", start.elapsed().as_secs_f64() * 1000.0)))
}

pub(super) async fn large_request(instance: &Instance, capability: &Capability, deadline: Duration) -> Finding {
    let (method, request) = sample(capability, &"很长的问题 ".repeat((1 << 20) / 16));
    let size = request.len();
    match ask(instance, method, request, deadline).await {
        Ok(_) => Ok(Some(format!("`{method}` with {size} bytes is answered"))),
        Err(error) => {
            let said = kind(&error);
            answered(Err(error)).map(|()| Some(format!("`{method}` with {size} bytes is refused as {said}")))
        }
    }
}

/// Writes a text of many scripts, reads it, finds it, forgets it.
pub(super) async fn round_trip(provider: &PluginProvider) -> Finding {
    let capability = provider.capability();
    if !capability.write {
        return Ok(None);
    }
    let text = "检查 plugin-check 日本語 한국어 🧪👩‍🚀 \"quoted\\\" \u{0}end";
    let scope = Scope { user: viewer().user, ..Scope::default() };
    let item = WriteItem::Memory(Box::new(NewMemory::new(scope, text)));
    let report = provider.write(WriteRequest { items: vec![item], ..WriteRequest::default() }).await?;
    let result = report.items.into_iter().next().ok_or_else(|| Error::unexpected("no result"))?;
    let stored = matches!(result.outcome, WriteOutcome::Stored | WriteOutcome::Deduped | WriteOutcome::Superseded);
    let (true, Some(id)) = (stored, result.id) else {
        return Err(Error::unexpected(format!(
            "not stored: {:?} {}",
            result.outcome,
            result.reason.unwrap_or_default()
        )));
    };
    let mut done = vec!["written"];
    let outcome = read_back(provider, &capability, &id, text, &mut done).await;
    if capability.delete {
        let request =
            DeleteRequest { viewer: viewer(), ids: vec![id.clone()], erase: capability.erase, dry_run: false };
        let report = provider.delete(request).await?;
        if report.deleted.is_empty() {
            return Err(Error::unexpected("what was written cannot be forgotten"));
        }
        if capability.get && !provider.get(&viewer(), &[id]).await?.items.is_empty() {
            return Err(Error::unexpected("what was forgotten can still be read"));
        }
        done.push("forgotten");
    }
    outcome.map(|()| Some(done.join(", ")))
}

async fn read_back(
    provider: &PluginProvider,
    capability: &Capability,
    id: &str,
    text: &str,
    done: &mut Vec<&str>,
) -> Result<()> {
    // A zero character may be dropped, everything else is kept.
    let same = |found: &str| found == text || found == text.replace('\0', "");
    let body = |item: &Item| if let Item::Memory(memory) = item { memory.body.clone() } else { String::new() };
    if capability.get {
        let found = provider.get(&viewer(), &[id.to_owned()]).await?;
        let found = found.items.first().map(body).unwrap_or_default();
        if !same(&found) {
            return Err(Error::unexpected(format!("`get` answers {found:?}")));
        }
        let stranger = Viewer::user("plugin-check-stranger", memory_core::DEFAULT_NAME);
        if !provider.get(&stranger, &[id.to_owned()]).await?.items.is_empty() {
            return Err(Error::unexpected("another user can read it"));
        }
        done.push("read");
    }
    if capability.list {
        let page = provider.list(ListRequest { viewer: viewer(), ..ListRequest::default() }).await?;
        if !page.items.iter().any(|item| same(&body(item))) {
            return Err(Error::unexpected("`list` does not show what was written"));
        }
        done.push("listed");
    }
    if capability.search {
        let recall = provider.search(SearchRequest::new(viewer(), "plugin-check")).await?;
        if !recall.hits.iter().any(|hit| same(&hit.text)) {
            return Err(Error::unexpected("`search` does not find what was written"));
        }
        done.push("found");
    }
    Ok(())
}

/// Calls that nobody waits for, and numbers that are not under way.
pub(super) async fn cancelled(instance: &Instance, capability: &Capability, deadline: Duration) -> Finding {
    for _ in 0..16 {
        // Polled once, it is under way; dropped, it is cancelled.
        let (method, request) = sample(capability, "a question that nobody waits for");
        let call = instance.call(method, request, deadline);
        let _ = tokio::time::timeout(Duration::ZERO, call).await;
    }
    for id in [0, u64::MAX] {
        instance.cancel(id);
    }
    answered(ask(instance, "health", b"{}".to_vec(), deadline).await)?;
    Ok(Some("it goes on answering".to_owned()))
}

pub(super) async fn close(instance: &Arc<Instance>, capability: &Capability, deadline: Duration) -> Finding {
    let mut calls = JoinSet::new();
    for number in 0..8 {
        let (method, request) = sample(capability, &format!("under way {number}"));
        let instance = Arc::clone(instance);
        calls.spawn(async move { instance.call(method, request, deadline).await.map(drop) });
    }
    tokio::task::yield_now().await;
    let start = Instant::now();
    let outstanding = instance.close(CLOSE).await?;
    if outstanding > 0 {
        return Err(Error::unexpected(format!("{outstanding} calls were never completed")));
    }
    calls.shutdown().await;
    Ok(Some(format!("closed in {:.1} ms, every call completed", start.elapsed().as_secs_f64() * 1000.0)))
}
