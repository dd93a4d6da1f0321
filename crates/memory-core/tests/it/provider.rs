//! A provider in memory that can fail in every way and counts its calls.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use memory_core::*;
use serde_json::{Value, json};

/// How the next calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// They are answered.
    Fine,
    /// They fail before anything happens.
    Failing(ErrorKind),
    /// They fail, and ask to come back after so many milliseconds.
    Limited(u64),
    /// They are never answered, and nothing happens.
    Hanging,
    /// What they ask for happens, and the answer is lost.
    Deaf,
}

#[derive(Default)]
struct Inner {
    weather: Option<Weather>,
    script: VecDeque<Weather>,
    calls: BTreeMap<&'static str, usize>,
    under_way: usize,
    most_under_way: usize,
    memories: Vec<Memory>,
    messages: Vec<Message>,
    turns: Vec<Turn>,
    log: Vec<String>,
    forgotten: Vec<String>,
}

pub(crate) struct TestProvider {
    name: &'static str,
    capability: Capability,
    /// Whether it recognises what it has by external id and text without being told that it is repeated.
    strict: bool,
    clock: Arc<dyn Clock>,
    ids: IdGenerator,
    inner: Mutex<Inner>,
}

/// Counts a call as under way until it ends or is given up.
struct UnderWay<'a>(&'a TestProvider);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().unwrap().under_way -= 1;
    }
}

impl TestProvider {
    /// Like the embedded store: takes everything once.
    pub(crate) fn builtin(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self::make("builtin", true, clock, Self::everything()))
    }

    /// Like a service: writes what it is told to write, and looks first only when told that it is repeated.
    pub(crate) fn external_with(clock: Arc<dyn Clock>, change: impl Fn(&mut Capability)) -> Arc<Self> {
        let mut capability = Self::everything();
        change(&mut capability);
        Arc::new(Self::make("elsewhere", false, clock, capability))
    }

    fn make(name: &'static str, strict: bool, clock: Arc<dyn Clock>, capability: Capability) -> Self {
        Self { name, capability, strict, clock, ids: IdGenerator::default(), inner: Mutex::default() }
    }

    fn everything() -> Capability {
        Capability {
            write: true,
            write_messages: true,
            search: true,
            search_with_filter: true,
            search_by_time: true,
            get: true,
            list: true,
            update: true,
            delete: true,
            erase: true,
            history: true,
            sync_turn: true,
            idempotent: true,
            offline: true,
            max_batch: None,
            max_text_bytes: None,
        }
    }

    /// From now on all calls go so.
    pub(crate) fn set(&self, weather: Weather) {
        self.inner.lock().unwrap().weather = Some(weather);
    }

    /// The next calls go so, one after the other; the rest as set.
    pub(crate) fn script(&self, weather: impl IntoIterator<Item = Weather>) {
        self.inner.lock().unwrap().script.extend(weather);
    }

    pub(crate) fn calls(&self, operation: &str) -> usize {
        self.inner.lock().unwrap().calls.get(operation).copied().unwrap_or(0)
    }

    pub(crate) fn all_calls(&self) -> usize {
        self.inner.lock().unwrap().calls.values().sum()
    }

    pub(crate) fn most_under_way(&self) -> usize {
        self.inner.lock().unwrap().most_under_way
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        self.inner.lock().unwrap().memories.iter().map(|memory| memory.body.clone()).collect()
    }

    pub(crate) fn memories(&self) -> Vec<Memory> {
        self.inner.lock().unwrap().memories.clone()
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.inner.lock().unwrap().messages.clone()
    }

    pub(crate) fn turns(&self) -> Vec<Turn> {
        self.inner.lock().unwrap().turns.clone()
    }

    /// What happened, in order: `write TEXT`, `turn TEXT`, `update TEXT`, `delete TEXT`, `end SESSION`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.inner.lock().unwrap().log.clone()
    }

    /// Counts the call and lets the weather act. Answers whether the answer is lost.
    async fn enter(&self, operation: &'static str) -> Result<(bool, UnderWay<'_>)> {
        let (weather, under_way) = {
            let mut inner = self.inner.lock().unwrap();
            *inner.calls.entry(operation).or_default() += 1;
            inner.under_way += 1;
            inner.most_under_way = inner.most_under_way.max(inner.under_way);
            let weather = inner.script.pop_front().or(inner.weather).unwrap_or(Weather::Fine);
            (weather, UnderWay(self))
        };
        // Others get a turn while a call is under way.
        tokio::task::yield_now().await;
        match weather {
            Weather::Fine => Ok((false, under_way)),
            Weather::Deaf => Ok((true, under_way)),
            Weather::Failing(kind) => Err(Error::new(kind, format!("{} fails", self.name))),
            Weather::Limited(ms) => Err(Error::new(ErrorKind::Busy, "slow down").retryable(Some(ms))),
            Weather::Hanging => std::future::pending().await,
        }
    }

    fn answer<T>(lost: bool, answer: T) -> Result<T> {
        if lost { Err(Error::new(ErrorKind::Timeout, "the answer was lost")) } else { Ok(answer) }
    }

    fn remember(&self, inner: &mut Inner, new: NewMemory, known: bool, force: bool) -> WriteResult {
        if new.body.contains("REFUSE") {
            return WriteResult::rejected("this provider does not take such things");
        }
        let found = inner.memories.iter().find(|memory| {
            let same_id = memory.external_id.is_some() && memory.external_id == new.external_id;
            memory.scope == new.scope && (known && same_id || self.strict && memory.body == new.body)
        });
        if let Some(memory) = found {
            return WriteResult::with_id(WriteOutcome::Deduped, memory.id.to_string());
        }
        if self.strict && !force && inner.forgotten.contains(&new.body) {
            return WriteResult::rejected("it was forgotten before");
        }
        let now = self.clock.now();
        let mut memory: Memory = serde_json::from_value(json!({
            "id": self.ids.next(now), "user": new.scope.user, "space": new.scope.space, "owner": new.scope.owner,
            "body": new.body, "quality": 0.5, "observed_at": now, "created_at": now, "updated_at": now, "revision": 1,
        }))
        .unwrap();
        (memory.external_id, memory.category, memory.tags) = (new.external_id, new.category, new.tags);
        inner.log.push(format!("write {}", memory.body));
        let result = WriteResult::with_id(WriteOutcome::Stored, memory.id.to_string());
        inner.memories.push(memory);
        result
    }

    fn keep(&self, inner: &mut Inner, new: NewMessage, known: bool) -> WriteResult {
        let found = inner.messages.iter().find(|message| {
            known
                && message.external_id.is_some()
                && message.external_id == new.external_id
                && message.session_id == new.session_id
        });
        if let Some(message) = found {
            return WriteResult::with_id(WriteOutcome::Deduped, message.id.to_string());
        }
        let id = self.ids.next(self.clock.now());
        let result = WriteResult::with_id(WriteOutcome::Stored, id.to_string());
        inner.log.push(format!("message {}", new.content));
        inner.messages.push(Message {
            id,
            scope: new.scope,
            session_id: new.session_id,
            position: 0,
            role: new.role,
            speaker: new.speaker,
            content: new.content,
            created_at: new.created_at.unwrap_or_else(|| self.clock.now()),
            external_id: new.external_id,
            attrs: new.attrs,
        });
        result
    }

    fn found(&self, viewer: &Viewer, asked: &str) -> Option<Memory> {
        let inner = self.inner.lock().unwrap();
        let fits = |memory: &&Memory| viewer.may_read(&memory.scope) && memory.id.as_str().starts_with(asked);
        let mut fitting = inner.memories.iter().filter(fits);
        fitting.next().cloned().filter(|_| fitting.next().is_none())
    }

    fn hit(&self, memory: &Memory, place: usize) -> Hit {
        let mut hit: Hit = serde_json::from_value(json!({
            "id": memory.id, "kind": "memory", "score": 1.0 / (place + 1) as f64, "scores": {}, "text": memory.body, "tags": [],
            "user": memory.scope.user, "space": memory.scope.space, "owner": memory.scope.owner,
            "created_at": memory.created_at, "source": {"provider": self.name}, "neighbors": [],
        }))
        .unwrap();
        hit.category = memory.category.clone();
        hit
    }

    fn matching(&self, viewer: &Viewer, query: &str) -> Vec<Memory> {
        let inner = self.inner.lock().unwrap();
        let fits = |memory: &&Memory| viewer.may_read(&memory.scope) && memory.body.contains(query);
        inner.memories.iter().filter(fits).cloned().collect()
    }
}

#[async_trait]
impl MemoryProvider for TestProvider {
    fn descriptor(&self) -> Descriptor {
        Descriptor { name: self.name.into(), version: "1".into(), description: "a test".into() }
    }

    fn capability(&self) -> Capability {
        self.capability
    }

    async fn initialize(&self, _context: &SessionContext) -> Result<()> {
        let (lost, _under_way) = self.enter("initialize").await?;
        Self::answer(lost, ())
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        let (lost, _under_way) = self.enter("write").await?;
        let known = self.strict || request.repeated;
        let mut inner = self.inner.lock().unwrap();
        let write = |item| match item {
            WriteItem::Memory(memory) => self.remember(&mut inner, *memory, known, request.force),
            WriteItem::Message(message) => self.keep(&mut inner, *message, known),
        };
        let items = request.items.into_iter().map(write).collect();
        Self::answer(lost, WriteReport { items })
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        let (lost, _under_way) = self.enter("search").await?;
        self.inner.lock().unwrap().log.push(format!("search {}", request.query));
        let found = self.matching(&request.viewer, &request.query);
        let mut recall = Recall::empty(RecallReason::NoMatch);
        if !found.is_empty() {
            (recall.outcome, recall.reason) = (RecallOutcome::Complete, None);
        }
        recall.hits = found.iter().enumerate().map(|(place, memory)| self.hit(memory, place)).collect();
        Self::answer(lost, recall)
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let (lost, _under_way) = self.enter("get").await?;
        let mut report = GetReport::default();
        for id in ids {
            let message = self.inner.lock().unwrap().messages.iter().find(|one| one.id.as_str() == id).cloned();
            match (self.found(viewer, id), message) {
                (Some(memory), _) => report.items.push(Item::Memory(Box::new(memory))),
                (None, Some(message)) => report.items.push(Item::Message(Box::new(message))),
                (None, None) => report.missing.push(id.clone()),
            }
        }
        Self::answer(lost, report)
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        let (lost, _under_way) = self.enter("list").await?;
        let start: usize = request.cursor.as_deref().unwrap_or("0").parse().unwrap();
        let limit = if request.limit == 0 { 50 } else { request.limit };
        let all = self.matching(&request.viewer, "");
        let items = all.iter().skip(start).take(limit).map(|memory| Item::Memory(Box::new(memory.clone()))).collect();
        let next = (start + limit < all.len()).then(|| (start + limit).to_string());
        Self::answer(lost, ListPage { items, next })
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        let (lost, _under_way) = self.enter("update").await?;
        let Some(found) = self.found(&request.viewer, &request.id) else {
            return Err(Error::not_found("no such memory"));
        };
        let mut inner = self.inner.lock().unwrap();
        let body = request.changes.body.unwrap_or_else(|| found.body.clone());
        inner.log.push(format!("update {body}"));
        let memory = inner.memories.iter_mut().find(|memory| memory.id == found.id).unwrap();
        (memory.body, memory.revision) = (body, memory.revision + 1);
        Self::answer(lost, WriteResult::with_id(WriteOutcome::Stored, found.id.to_string()))
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        let (lost, _under_way) = self.enter("delete").await?;
        let mut report = DeleteReport { dry_run: request.dry_run, ..DeleteReport::default() };
        for id in &request.ids {
            let Some(found) = self.found(&request.viewer, id) else {
                report.missing.push(id.clone());
                continue;
            };
            report.deleted.push(found.id.to_string());
            if !request.dry_run {
                let mut inner = self.inner.lock().unwrap();
                inner.memories.retain(|memory| memory.id != found.id);
                inner.log.push(format!("delete {}", found.body));
                inner.forgotten.push(found.body);
            }
        }
        Self::answer(lost, report)
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        let (lost, _under_way) = self.enter("history").await?;
        let found = self.found(viewer, id).ok_or_else(|| Error::not_found("no such memory"))?;
        let (revision, at) = (found.revision, found.updated_at);
        Self::answer(lost, vec![Revision { revision, operation: self.name.into(), at, memory: Some(found) }])
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        let (lost, _under_way) = self.enter("sync_turn").await?;
        let mut inner = self.inner.lock().unwrap();
        let known = (self.strict || turn.repeated)
            && inner
                .turns
                .iter()
                .any(|one| one.external_id == turn.external_id && one.viewer.session == turn.viewer.session);
        if !known {
            inner.log.push(format!("turn {}", turn.user_text));
            inner.turns.push(turn);
        }
        Self::answer(lost, ())
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        let (lost, _under_way) = self.enter("prefetch").await?;
        self.inner.lock().unwrap().log.push(format!("prefetch {query}"));
        let lines: Vec<String> =
            self.matching(viewer, query).iter().map(|memory| format!("- {}", memory.body)).collect();
        Self::answer(lost, (!lines.is_empty()).then(|| lines.join("\n")))
    }

    async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        let (lost, _under_way) = self.enter("end_session").await?;
        let session = viewer.session.clone().unwrap_or_default();
        self.inner.lock().unwrap().log.push(format!("end {session}"));
        Self::answer(lost, ())
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        let tool = |name: &str| ToolDefinition {
            name: name.into(),
            description: self.name.into(),
            parameters: json!({"type": "object"}),
        };
        vec![tool("shared_tool"), tool(&format!("{}_tool", self.name))]
    }

    async fn call_tool(&self, _viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        let (lost, _under_way) = self.enter("call_tool").await?;
        Self::answer(lost, json!({"provider": self.name, "tool": name, "arguments": arguments}))
    }

    fn guidance(&self, language: &str) -> String {
        format!("{} in {language}", self.name)
    }

    async fn health(&self) -> Health {
        match self.enter("health").await {
            Ok(_) => Health { ok: true, message: "well".into(), details: Value::Null },
            Err(error) => Health { ok: false, message: error.to_string(), details: Value::Null },
        }
    }

    async fn shutdown(&self) -> Result<()> {
        let (lost, _under_way) = self.enter("shutdown").await?;
        Self::answer(lost, ())
    }
}
