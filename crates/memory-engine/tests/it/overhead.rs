//! What the engine costs on top of a provider. Prints figures; run it with `--ignored --nocapture`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use memory_core::config::EngineMode;
use memory_core::{
    Capability, DeleteReport, DeleteRequest, DeliveryQueue, Descriptor, Engine, Error, External, GetReport,
    GuardPolicy, Health, Id, ListPage, ListRequest, MemoryProvider, NewMemory, Recall, RecallReason, Result, Revision,
    Scope, SearchRequest, SessionContext, SystemClock, SystemSleeper, ToolDefinition, Turn, UpdateRequest, Viewer,
    VolatileQueue, WriteItem, WriteOutcome, WriteReport, WriteRequest, WriteResult,
};
use memory_engine::SqliteQueue;
use serde_json::Value;

const ROUNDS: usize = 2_000;

/// Answers at once and keeps nothing.
#[derive(Default)]
struct Instantly(AtomicU64);

#[async_trait]
impl MemoryProvider for Instantly {
    fn descriptor(&self) -> Descriptor {
        Descriptor { name: "instant".into(), version: "1".into(), description: "answers at once".into() }
    }
    fn capability(&self) -> Capability {
        Capability { write: true, search: true, get: true, idempotent: true, ..Capability::default() }
    }
    async fn initialize(&self, _: &SessionContext) -> Result<()> {
        Ok(())
    }
    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        let id = |_| {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            WriteResult::with_id(WriteOutcome::Stored, Id::of_foreign(&number.to_string()).as_str())
        };
        Ok(WriteReport { items: request.items.iter().map(id).collect() })
    }
    async fn search(&self, _: SearchRequest) -> Result<Recall> {
        Ok(Recall::empty(RecallReason::NoMatch))
    }
    async fn get(&self, _: &Viewer, ids: &[String]) -> Result<GetReport> {
        Ok(GetReport { items: Vec::new(), missing: ids.to_vec() })
    }
    async fn list(&self, _: ListRequest) -> Result<ListPage> {
        Ok(ListPage::default())
    }
    async fn update(&self, _: UpdateRequest) -> Result<WriteResult> {
        Err(Error::unsupported("instant", "update"))
    }
    async fn delete(&self, _: DeleteRequest) -> Result<DeleteReport> {
        Err(Error::unsupported("instant", "delete"))
    }
    async fn history(&self, _: &Viewer, _: &str) -> Result<Vec<Revision>> {
        Ok(Vec::new())
    }
    async fn sync_turn(&self, _: Turn) -> Result<()> {
        Ok(())
    }
    async fn prefetch(&self, _: &Viewer, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    async fn end_session(&self, _: &Viewer) -> Result<()> {
        Ok(())
    }
    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }
    async fn call_tool(&self, _: &Viewer, _: &str, _: Value) -> Result<Value> {
        Err(Error::unsupported("instant", "call_tool"))
    }
    fn guidance(&self, _: &str) -> String {
        String::new()
    }
    async fn health(&self) -> Health {
        Health { ok: true, message: "fine".into(), details: Value::Null }
    }
    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

fn write(number: usize) -> WriteRequest {
    let memory = NewMemory::new(Scope::default(), format!("fact number {number} 第{number}条"));
    WriteRequest { items: vec![WriteItem::Memory(Box::new(memory))], force: false, repeated: false }
}

fn question() -> SearchRequest {
    SearchRequest::new(Viewer::default(), "which fact is it?")
}

/// Microseconds of one call, on average.
async fn timed<F: Future>(rounds: usize, call: impl Fn(usize) -> F) -> f64 {
    let begin = Instant::now();
    for number in 0..rounds {
        call(number).await;
    }
    begin.elapsed().as_secs_f64() * 1e6 / rounds as f64
}

fn external(queue: Arc<dyn DeliveryQueue>) -> External {
    External {
        provider: Arc::new(Instantly::default()),
        queue,
        policy: GuardPolicy::default(),
        sanitise: Arc::new(Ok),
        context: SessionContext::default(),
        clock: Arc::new(SystemClock),
        sleeper: Arc::new(SystemSleeper),
    }
}

async fn measure(name: &str, engine: &Engine, rounds: usize) {
    let search = timed(rounds, async |_| engine.search(question()).await.unwrap()).await;
    let written = timed(rounds, async |number| {
        let outcome = engine.write(write(number)).await.unwrap().items[0].outcome;
        assert_eq!(outcome, WriteOutcome::Stored);
    })
    .await;
    println!("{name}: search {search:.1} µs, write {written:.1} µs");
    engine.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn the_engine_on_top_of_an_instant_provider() {
    let provider = Instantly::default();
    let search = timed(ROUNDS, async |_| provider.search(question()).await.unwrap()).await;
    let written = timed(ROUNDS, async |number| provider.write(write(number)).await.unwrap()).await;
    println!("direct: search {search:.1} µs, write {written:.1} µs");
    let builtin = Engine::new(EngineMode::Builtin, Some(Arc::new(Instantly::default())), None).unwrap();
    measure("builtin", &builtin, ROUNDS).await;
    let volatile = external(Arc::new(VolatileQueue::new(Arc::new(SystemClock))));
    measure(
        "external, queue in memory",
        &Engine::builder(EngineMode::External).external(volatile).build().unwrap(),
        ROUNDS,
    )
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = SqliteQueue::path_in(folder.path());
    let queue = SqliteQueue::open(path, "instant", Arc::new(SystemClock)).await.unwrap();
    let durable = Engine::builder(EngineMode::External).external(external(Arc::new(queue.clone()))).build().unwrap();
    measure("external, durable queue", &durable, ROUNDS / 10).await;
    let both = Engine::builder(EngineMode::Both)
        .builtin(Arc::new(Instantly::default()))
        .external(external(Arc::new(queue)))
        .build()
        .unwrap();
    measure("both, durable queue", &both, ROUNDS / 10).await;
}
