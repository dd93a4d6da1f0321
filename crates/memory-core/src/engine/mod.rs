//! The engine: one builtin and at most one external provider behind the mode that configuration sets.
//!
//! | mode | writes | reads |
//! |---|---|---|
//! | `builtin` | builtin | builtin |
//! | `external` | the queue, and from there the external provider, at once when it answers in time | external |
//! | `both` | builtin, and through the queue external | both, merged by rank |
//! | `none` | refused | empty |

mod both;
mod both_write;
mod conversation;
mod courier;
mod delivery;
mod envelope;
mod external;
mod handover;
mod live;
mod merge;
mod outgoing;
mod prefetch;
mod recover;
mod remote;
mod remote_write;
mod sameness;
mod volatile;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::config::EngineMode;
use crate::layers::Deadline;
use crate::{
    Capability, DeleteReport, DeleteRequest, Error, ErrorKind, GetReport, GuardPolicy, Guarded, Health, ListPage,
    ListRequest, MemoryProvider, Recall, RecallReason, Result, Revision, SearchRequest, SessionContext, Sleeper,
    SystemClock, SystemSleeper, ToolDefinition, Turn, UpdateRequest, Viewer, WriteReport, WriteRequest, WriteResult,
};
use both::Both;
use remote::Remote;

pub use conversation::{Conversation, ConversationSettings, TurnKind, TurnOutcome, TurnRecord};
pub use courier::{Courier, CourierReport};
pub use delivery::{Delivery, DeliveryQueue, DeliveryState, DeliveryWork, Link, NewDelivery};
pub use envelope::raw_user_text;
pub use external::{External, Sanitise};
pub use live::LiveEngine;
pub use prefetch::Prefetch;
pub use volatile::VolatileQueue;

/// Sends each operation to the providers that the mode names. In mode `none` reads are empty and say so, writes are
/// refused.
pub struct Engine {
    mode: EngineMode,
    /// What serves in this mode; nothing in mode `none`.
    provider: Option<Arc<dyn MemoryProvider>>,
    builtin: Option<Arc<dyn MemoryProvider>>,
    remote: Option<Arc<Remote>>,
    sleeper: Arc<dyn Sleeper>,
}

/// Puts an engine together.
pub struct EngineBuilder {
    mode: EngineMode,
    builtin: Option<Arc<dyn MemoryProvider>>,
    external: Option<External>,
}

impl EngineBuilder {
    /// The builtin provider, for the modes `builtin` and `both`.
    pub fn builtin(mut self, provider: Arc<dyn MemoryProvider>) -> Self {
        self.builtin = Some(provider);
        self
    }

    /// The external provider, for the modes `external` and `both`.
    pub fn external(mut self, external: External) -> Self {
        self.external = Some(external);
        self
    }

    /// The engine. A mode that needs a provider which is not there is a configuration error.
    pub fn build(self) -> Result<Engine> {
        let Self { mode, builtin, external } = self;
        let missing = |what: &str| {
            Error::new(
                ErrorKind::ConfigInvalid,
                format!("memory.engine is `{mode}`, but there is no usable {what} provider"),
            )
            .with_hint(
                "set memory.external.provider (MEMORY_EXTERNAL_PROVIDER), or memory.engine (MEMORY_ENGINE) to builtin",
            )
        };
        let has_builtin = matches!(mode, EngineMode::Builtin | EngineMode::Both);
        let has_external = matches!(mode, EngineMode::External | EngineMode::Both);
        let builtin = if has_builtin { Some(builtin.ok_or_else(|| missing("builtin"))?) } else { None };
        let external = if has_external { Some(external.ok_or_else(|| missing("external"))?) } else { None };
        let sleeper: Arc<dyn Sleeper> = match &external {
            Some(external) => external.sleeper.clone(),
            None => Arc::new(SystemSleeper),
        };
        let remote = external.map(|external| Arc::new(Remote::new(external, builtin.clone())));
        let provider: Option<Arc<dyn MemoryProvider>> = match (builtin.clone(), remote.clone()) {
            (Some(builtin), Some(remote)) => Some(Arc::new(Both { builtin, remote })),
            (Some(builtin), None) => Some(builtin),
            (None, Some(remote)) => Some(remote),
            (None, None) => None,
        };
        Ok(Engine { mode, provider, builtin, remote, sleeper })
    }
}

impl Engine {
    /// An engine in `mode` from providers alone. What waits for an external provider given so is kept in memory and lost
    /// with the process, and leaves as it is; [`Engine::builder`] takes a durable queue and a sanitiser.
    pub fn new(
        mode: EngineMode,
        builtin: Option<Arc<dyn MemoryProvider>>,
        external: Option<Arc<dyn MemoryProvider>>,
    ) -> Result<Self> {
        let clock = Arc::new(SystemClock);
        let external = external.map(|provider| External {
            provider,
            queue: Arc::new(VolatileQueue::new(clock.clone())),
            policy: GuardPolicy::default(),
            sanitise: Arc::new(Ok),
            context: SessionContext::default(),
            clock,
            sleeper: Arc::new(SystemSleeper),
        });
        EngineBuilder { mode, builtin, external }.build()
    }

    /// An engine in `mode`, to be given the providers that the mode needs.
    pub fn builder(mode: EngineMode) -> EngineBuilder {
        EngineBuilder { mode, builtin: None, external: None }
    }

    /// The mode it runs in.
    pub fn mode(&self) -> EngineMode {
        self.mode
    }

    /// What it can do; nothing in mode `none`.
    pub fn capability(&self) -> Capability {
        self.provider.as_ref().map(|provider| provider.capability()).unwrap_or_default()
    }

    /// Delivers what waits for the external provider, in the modes that have one. A process that lives long spawns
    /// [`Courier::run`].
    pub fn courier(&self) -> Option<&Courier> {
        self.remote.as_ref().map(|remote| &remote.courier)
    }

    /// The external provider itself, past queue and merging, in the modes that have one.
    pub fn external(&self) -> Option<&Arc<Guarded>> {
        self.remote.as_ref().map(|remote| &remote.guarded)
    }

    fn provider(&self, operation: &'static str) -> Result<&Arc<dyn MemoryProvider>> {
        self.provider.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Disabled, "memory is switched off (memory.engine is `none`)")
                .with_operation(operation)
                .with_hint("set memory.engine (MEMORY_ENGINE) to builtin")
        })
    }

    /// Prepares the providers. An external provider is prepared before its first use anyway, and again while that fails;
    /// in mode `both` its failure is not one of the engine.
    pub async fn initialize(&self, context: &SessionContext) -> Result<()> {
        match &self.provider {
            Some(provider) => provider.initialize(context).await,
            None => Ok(()),
        }
    }

    /// Writes items.
    pub async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.provider("write")?.write(request).await
    }

    /// Answers a question; empty with reason `disabled` in mode `none`.
    pub async fn search(&self, request: SearchRequest) -> Result<Recall> {
        match &self.provider {
            Some(provider) => provider.search(request).await,
            None => Ok(Recall::empty(RecallReason::Disabled)),
        }
    }

    /// Looks up ids or unique prefixes.
    pub async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        match &self.provider {
            Some(provider) => provider.get(viewer, ids).await,
            None => Ok(GetReport { items: Vec::new(), missing: ids.to_vec() }),
        }
    }

    /// Lists memories or messages.
    pub async fn list(&self, request: ListRequest) -> Result<ListPage> {
        match &self.provider {
            Some(provider) => provider.list(request).await,
            None => Ok(ListPage::default()),
        }
    }

    /// Changes one memory.
    pub async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        self.provider("update")?.update(request).await
    }

    /// Forgets memories or messages.
    pub async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        self.provider("delete")?.delete(request).await
    }

    /// The former states of one memory.
    pub async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        match &self.provider {
            Some(provider) => provider.history(viewer, id).await,
            None => Ok(Vec::new()),
        }
    }

    /// Takes one turn of a conversation. For an external provider it is durable in the queue when this returns.
    pub async fn sync_turn(&self, mut turn: Turn) -> Result<()> {
        // A turn that comes with an id may have come before.
        turn.repeated |= turn.external_id.is_some();
        self.keep_turn(turn).await
    }

    /// Takes a turn that says itself whether it may have come before.
    async fn keep_turn(&self, turn: Turn) -> Result<()> {
        self.provider("sync_turn")?.sync_turn(turn).await
    }

    /// Recalls for a prompt within `limit`. A provider that fails or is late is left out, and the answer says so.
    pub async fn prefetch(&self, viewer: &Viewer, query: &str, limit: Duration) -> Prefetch {
        let ask = async |provider: Option<&dyn MemoryProvider>| {
            let Some(provider) = provider else { return (None, true) };
            let answer = Deadline::after(&*self.sleeper, limit).bound(provider.prefetch(viewer, query)).await;
            match answer {
                Ok(Ok(text)) => (text, true),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "a provider took no part in recalling for a prompt");
                    (None, false)
                }
                Err(_) => {
                    tracing::warn!(provider = provider.descriptor().name, "recalling for a prompt took too long");
                    (None, false)
                }
            }
        };
        let remote = self.remote.as_deref().map(|remote| remote as &dyn MemoryProvider);
        let ((here, here_complete), (there, there_complete)) = tokio::join!(ask(self.builtin.as_deref()), ask(remote));
        Prefetch { text: prefetch::join(here, there), complete: here_complete && there_complete }
    }

    /// Ends a session.
    pub async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        match &self.provider {
            Some(provider) => provider.end_session(viewer).await,
            None => Ok(()),
        }
    }

    /// The tools that can be served now; none in mode `none`.
    pub fn tools(&self) -> Vec<ToolDefinition> {
        self.provider.as_ref().map(|provider| provider.tools()).unwrap_or_default()
    }

    /// Runs a tool.
    pub async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        self.provider("call_tool")?.call_tool(viewer, name, arguments).await
    }

    /// What an agent should know about using what can be served now; empty in mode `none`.
    pub fn guidance(&self, language: &str) -> String {
        self.provider.as_ref().map(|provider| provider.guidance(language)).unwrap_or_default()
    }

    /// How the providers are doing.
    pub async fn health(&self) -> Health {
        match &self.provider {
            Some(provider) => provider.health().await,
            None => Health { ok: true, message: "memory is switched off".into(), details: Value::Null },
        }
    }

    /// Finishes what is under way and closes. What is due for the external provider is delivered within its limit for
    /// closing; the rest waits in the queue.
    pub async fn shutdown(&self) -> Result<()> {
        match &self.provider {
            Some(provider) => provider.shutdown().await,
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineBuilder").field("mode", &self.mode).finish_non_exhaustive()
    }
}
