//! The provider: each operation of the contract, handed to the part that does it.

use std::sync::Arc;

use async_trait::async_trait;
use memory_core::{
    Capability, Clock, DeleteReport, DeleteRequest, Descriptor, Error, GetReport, Health, HitKind, ListPage,
    ListRequest, MemoryProvider, NewMessage, Recall, Result, Revision, SearchRequest, SessionContext, SystemClock,
    ToolDefinition, Turn, UpdateRequest, Viewer, WriteItem, WriteReport, WriteRequest, WriteResult,
};
use serde_json::{Value, json};

use crate::client::{Caller, Server};
use crate::config::OpenVikingConfig;
use crate::search::NAME;
use crate::session::Sessions;
use crate::tools;

/// OpenViking as a provider.
pub struct OpenVikingProvider {
    server: Server,
    sessions: Sessions,
    /// Held while a memory is read and written back.
    changing: tokio::sync::Mutex<()>,
}

impl OpenVikingProvider {
    /// A provider with these settings. The server is called only when something is asked of it.
    pub fn new(config: OpenVikingConfig) -> Result<Self> {
        Self::with_clock(config, Arc::new(SystemClock))
    }

    /// The same with a clock.
    pub fn with_clock(config: OpenVikingConfig, clock: Arc<dyn Clock>) -> Result<Self> {
        let server = Server::new(config, clock)?;
        Ok(Self { server, sessions: Sessions::default(), changing: tokio::sync::Mutex::default() })
    }

    pub(crate) async fn caller(&self, viewer: &Viewer) -> Result<Caller<'_>> {
        self.server.caller(viewer).await
    }

    /// Writes items in order; messages that follow each other in one session go together.
    pub(crate) async fn write_items(&self, request: WriteRequest) -> Result<WriteReport> {
        let mut report = WriteReport::default();
        let mut messages: Vec<NewMessage> = Vec::new();
        let mut items = request.items.into_iter().peekable();
        while let Some(item) = items.next() {
            match item {
                WriteItem::Memory(memory) => {
                    let _guard = self.changing.lock().await;
                    let caller = self.caller(&Viewer::user(&memory.scope.user, &memory.scope.space)).await?;
                    report.items.push(caller.write_memory(*memory, request.force).await?);
                }
                WriteItem::Message(message) => {
                    if let Err(error) = message.scope.check() {
                        report.items.push(WriteResult::rejected(error.message()));
                    } else {
                        messages.push(*message);
                    }
                }
            }
            let goes_on = messages.last().is_none_or(|last| match items.peek() {
                Some(WriteItem::Message(next)) => next.scope == last.scope && next.session_id == last.session_id,
                _ => false,
            });
            if !goes_on && let Some(last) = messages.last() {
                let caller = self.caller(&Viewer::user(&last.scope.user, &last.scope.space)).await?;
                report.items.extend(caller.write_messages(std::mem::take(&mut messages), request.repeated).await?);
            }
        }
        Ok(report)
    }
}

#[async_trait]
impl MemoryProvider for OpenVikingProvider {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: "An OpenViking server, version 0.3 to 0.5".to_owned(),
        }
    }

    fn capability(&self) -> Capability {
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
            // Messages from which something was extracted stay in the archives of their sessions.
            erase: false,
            history: false,
            sync_turn: true,
            idempotent: true,
            offline: false,
            max_batch: None,
            max_text_bytes: None,
        }
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        self.caller(&context.viewer).await.map(|_| ())
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.write_items(request).await.map_err(|error| error.with_operation("write"))
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        let answer = async { self.caller(&request.viewer).await?.answer(&request).await };
        answer.await.map_err(|error| error.with_operation("search"))
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let answer = async { self.caller(viewer).await?.get_memories(viewer, ids).await };
        answer.await.map_err(|error| error.with_operation("get"))
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        let answer = async {
            let caller = self.caller(&request.viewer).await?;
            match request.kind {
                None | Some(HitKind::Memory) => caller.list_memories(&request).await,
                Some(HitKind::Message) => caller.list_messages(&request).await,
                Some(_) => Ok(ListPage::default()),
            }
        };
        answer.await.map_err(|error| error.with_operation("list"))
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        let _guard = self.changing.lock().await;
        let answer = async { self.caller(&request.viewer).await?.update_memory(request).await };
        answer.await.map_err(|error| error.with_operation("update"))
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        let answer = async { self.caller(&request.viewer).await?.delete_memories(&request).await };
        answer.await.map_err(|error| error.with_operation("delete"))
    }

    async fn history(&self, _viewer: &Viewer, _id: &str) -> Result<Vec<Revision>> {
        Err(Error::unsupported(NAME, "history"))
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        let answer = async { self.caller(&turn.viewer).await?.write_turn(turn).await };
        answer.await.map_err(|error| error.with_operation("sync_turn"))
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        let answer = async { self.caller(viewer).await?.recall_for_prompt(viewer, query).await };
        answer.await.map_err(|error| error.with_operation("prefetch"))
    }

    async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        let answer = async { self.caller(viewer).await?.commit(&self.sessions, viewer).await };
        answer.await.map_err(|error| error.with_operation("end_session"))
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        tools::definitions()
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        self.run_tool(viewer, name, arguments).await.map_err(|error| error.with_operation("call_tool"))
    }

    fn guidance(&self, language: &str) -> String {
        tools::guidance(language)
    }

    async fn health(&self) -> Health {
        self.server.forget();
        let caller = match self.caller(&Viewer::default()).await {
            Ok(caller) => caller,
            Err(error) => {
                let hint = error.hints().first().map_or_else(String::new, |hint| format!("; {hint}"));
                return Health { ok: false, message: format!("{error}{hint}"), details: error.to_json() };
            }
        };
        let commit = self.sessions.last_commit();
        let problem = commit.as_ref().and_then(|commit| commit.problem());
        let version = &caller.connection.version;
        let message = match &problem {
            Some(problem) => format!("OpenViking {version} answers; {problem}"),
            None => format!("OpenViking {version} answers"),
        };
        let details = json!({
            "version": version,
            "auth_mode": caller.connection.auth_mode,
            "account": caller.connection.account,
            "user": caller.user,
            "last_commit": commit.map(|commit| format!("{commit:?}")),
        });
        Health { ok: true, message, details }
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
