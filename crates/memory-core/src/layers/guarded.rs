//! A provider with the layers around it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tracing::Instrument;

use super::breaker::Breaker;
use super::concurrency::Slots;
use super::readiness::Readiness;
use super::{Backoff, Deadline, GuardPolicy, Sleeper};
use crate::{
    Capability, Clock, DeleteReport, DeleteRequest, Descriptor, Error, ErrorKind, GetReport, Health, ListPage,
    ListRequest, MemoryProvider, Recall, Result, Revision, SearchRequest, SessionContext, ToolDefinition, Turn,
    UpdateRequest, Viewer, WriteReport, WriteRequest, WriteResult,
};

/// The pauses between the attempts of one call.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// The pauses between attempts to get ready.
const FIRST_INITIALIZE: Duration = Duration::from_secs(1);
const LAST_INITIALIZE: Duration = Duration::from_secs(300);

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// What sort of call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    operation: &'static str,
    write: bool,
    retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// Doing it twice does no harm.
    Always,
    /// Only when the provider says that it has not begun.
    Unbegun,
}

impl Call {
    const fn read(operation: &'static str) -> Self {
        Self { operation, write: false, retry: Retry::Always }
    }

    const fn write(operation: &'static str, idempotent: bool) -> Self {
        Self { operation, write: true, retry: if idempotent { Retry::Always } else { Retry::Unbegun } }
    }
}

/// Wraps a provider: it is made ready before its first use, left alone while it keeps failing, never called too often at
/// once, never waited for too long, and asked again when that may help. Reads and writes have a circuit each.
pub struct Guarded {
    provider: Arc<dyn MemoryProvider>,
    name: String,
    policy: GuardPolicy,
    sleeper: Arc<dyn Sleeper>,
    readiness: Arc<Readiness>,
    slots: Slots,
    reads: Breaker,
    writes: Breaker,
    backoff: Backoff,
}

impl Guarded {
    /// Wraps `provider`. `context` is what it is initialised with.
    pub fn new(
        provider: Arc<dyn MemoryProvider>,
        policy: GuardPolicy,
        context: SessionContext,
        clock: Arc<dyn Clock>,
        sleeper: Arc<dyn Sleeper>,
    ) -> Self {
        let name = provider.descriptor().name;
        let seed = u64::try_from(clock.now().nanoseconds()).unwrap_or(0) ^ u64::from(std::process::id()) << 32;
        let breaker = || Breaker::new(policy.breaker_failures, policy.breaker_cooldown, clock.clone());
        Self {
            readiness: Arc::new(Readiness {
                provider: provider.clone(),
                name: name.clone(),
                limit: policy.initialize_limit,
                clock: clock.clone(),
                sleeper: sleeper.clone(),
                backoff: Backoff::new(FIRST_INITIALIZE, LAST_INITIALIZE, !seed),
                context: Mutex::new(context),
                state: Mutex::default(),
            }),
            slots: Slots::new(policy.concurrency),
            reads: breaker(),
            writes: breaker(),
            backoff: Backoff::new(FIRST_RETRY, LAST_RETRY, seed),
            provider,
            name,
            policy,
            sleeper,
        }
    }

    /// The policy it follows.
    pub fn policy(&self) -> &GuardPolicy {
        &self.policy
    }

    /// True when it is ready and reads would be let through: a call now is likely to be answered.
    pub fn can_serve(&self) -> bool {
        self.readiness.is_ready() && self.reads.is_closed()
    }

    /// Makes one call through all layers. `attempt` is told whether it is a repetition, whose effect may be there already.
    async fn call<'a, T>(&'a self, call: Call, attempt: impl Fn(bool) -> Answer<'a, T> + Send) -> Result<T> {
        let span = tracing::debug_span!("provider", name = self.name, operation = call.operation);
        let outcome = self.guard(call, attempt).instrument(span.clone()).await;
        if let Err(error) = &outcome {
            span.in_scope(|| tracing::debug!(%error, "the call failed"));
            if matches!(error.kind(), ErrorKind::Unauthorized | ErrorKind::ConfigInvalid) {
                self.readiness.reset(error);
            }
        }
        outcome.map_err(|error| error.with_operation(call.operation))
    }

    async fn guard<'a, T>(&'a self, call: Call, attempt: impl Fn(bool) -> Answer<'a, T> + Send) -> Result<T> {
        let limit = if call.write { self.policy.write_limit } else { self.policy.read_limit };
        let mut deadline = Deadline::after(&*self.sleeper, limit);
        let ready = deadline.bound(self.readiness.ensure(call.write)).await;
        ready.unwrap_or_else(|_| Err(self.timeout("was not ready within", limit)))?;
        let admission = if call.write { &self.writes } else { &self.reads }.admit(&self.name)?;
        let mut failures = 0;
        let outcome = loop {
            // Waiting for a place says nothing about the provider, so it does not count as its failure.
            let place =
                deadline.bound(self.slots.take()).await.map_err(|_| self.timeout("had no place free for", limit))?;
            let answer = deadline.bound(attempt(failures > 0)).await;
            drop(place);
            let error = match answer {
                Ok(Ok(answer)) => break Ok(answer),
                Ok(Err(error)) => error,
                Err(_) => break Err(self.timeout("did not answer within", limit)),
            };
            failures += 1;
            let may_retry = error.is_retryable()
                && !admission.is_probe()
                && (call.retry == Retry::Always || error.kind() == ErrorKind::Busy);
            if !may_retry {
                break Err(error);
            }
            let pause = self.backoff.pause(failures, error.retry_after_ms());
            if failures > self.policy.retries || pause >= limit {
                break Err(error.persistent());
            }
            if deadline.bound(self.sleeper.sleep(pause)).await.is_err() {
                break Err(error.persistent());
            }
        };
        admission.settle(&outcome);
        outcome
    }

    fn timeout(&self, what: &str, limit: Duration) -> Error {
        let message = format!("provider `{}` {what} {} s", self.name, limit.as_secs_f64());
        Error::new(ErrorKind::Timeout, message)
            .with_hint("see `memory provider check`; memory.external.timeout sets the limit")
    }
}

#[async_trait]
impl MemoryProvider for Guarded {
    fn descriptor(&self) -> Descriptor {
        self.provider.descriptor()
    }

    fn capability(&self) -> Capability {
        self.provider.capability()
    }

    /// Makes it ready for `context`, unless it is ready already.
    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        if !self.readiness.is_ready() {
            *self.readiness.context.lock().unwrap_or_else(PoisonError::into_inner) = context.clone();
        }
        self.readiness.ensure(true).await
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        let idempotent = self.capability().idempotent || request.repeated;
        self.call(Call::write("write", idempotent), move |again| {
            let request = request.clone();
            self.provider.write(WriteRequest { repeated: request.repeated || again, ..request })
        })
        .await
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        self.call(Call::read("search"), move |_| self.provider.search(request.clone())).await
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        self.call(Call::read("get"), move |_| self.provider.get(viewer, ids)).await
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        self.call(Call::read("list"), move |_| self.provider.list(request.clone())).await
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        // With a revision it expects, a second attempt would conflict with the first.
        let idempotent = request.expected_revision.is_none();
        self.call(Call::write("update", idempotent), move |_| self.provider.update(request.clone())).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        self.call(Call::write("delete", true), move |_| self.provider.delete(request.clone())).await
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        self.call(Call::read("history"), move |_| self.provider.history(viewer, id)).await
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        let idempotent = turn.repeated || self.capability().idempotent && turn.external_id.is_some();
        self.call(Call::write("sync_turn", idempotent), move |again| {
            let turn = turn.clone();
            self.provider.sync_turn(Turn { repeated: turn.repeated || again, ..turn })
        })
        .await
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        self.call(Call::read("prefetch"), move |_| self.provider.prefetch(viewer, query)).await
    }

    async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        self.call(Call::write("end_session", true), move |_| self.provider.end_session(viewer)).await
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        self.provider.tools()
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        // Someone waits for the answer, so it has the limit of a read; what the tool does is not known.
        let call = Call { retry: Retry::Unbegun, ..Call::read("call_tool") };
        self.call(call, move |_| self.provider.call_tool(viewer, name, arguments.clone())).await
    }

    fn guidance(&self, language: &str) -> String {
        self.provider.guidance(language)
    }

    /// Asks the provider itself, whatever the circuit says.
    async fn health(&self) -> Health {
        let limit = self.policy.read_limit;
        match Deadline::after(&*self.sleeper, limit).bound(self.provider.health()).await {
            Ok(health) => health,
            Err(_) => {
                let error = self.timeout("did not answer within", limit);
                Health { ok: false, message: error.to_string(), details: error.to_json() }
            }
        }
    }

    async fn shutdown(&self) -> Result<()> {
        let limit = self.policy.shutdown_limit;
        Deadline::after(&*self.sleeper, limit)
            .bound(self.provider.shutdown())
            .await
            .unwrap_or_else(|_| Err(self.timeout("did not close within", limit)))
    }
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded").field("name", &self.name).field("policy", &self.policy).finish_non_exhaustive()
    }
}
