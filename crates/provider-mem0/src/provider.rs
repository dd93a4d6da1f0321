//! The provider: the contract, each operation in the file that is named after it.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use memory_core::{
    Capability, Clock, DeleteReport, DeleteRequest, Descriptor, GetReport, Health, ListPage, ListRequest,
    MemoryProvider, Recall, Result, Revision, SearchRequest, SessionContext, SystemClock, Timestamp, ToolDefinition,
    Turn, UpdateRequest, Viewer, WriteReport, WriteRequest, WriteResult,
};
use serde_json::{Map, Value, json};

use crate::client::{Client, Dialect};
use crate::config::Mem0Config;
use crate::connection::{self, Connection};
use crate::tools;

/// The name that configuration uses.
pub(crate) const NAME: &str = "mem0";

/// How many memories are recalled for a prompt.
const PREFETCHED: usize = 5;

/// How often the extraction gave nothing, and when last.
#[derive(Debug, Default)]
struct NothingExtracted {
    count: u64,
    last: Option<Timestamp>,
}

/// Memories kept by Mem0.
pub struct Mem0Provider {
    config: Mem0Config,
    connection: Connection,
    clock: Arc<dyn Clock>,
    nothing_extracted: Mutex<NothingExtracted>,
    changing: tokio::sync::Mutex<()>,
}

impl Mem0Provider {
    /// A provider. Nothing is called before it is used.
    pub fn new(config: Mem0Config) -> Result<Self> {
        // An address or key that no call could be made with is an error now.
        Client::new(&config, Dialect::Platform)?;
        Ok(Self {
            config,
            connection: Connection::default(),
            clock: Arc::new(SystemClock),
            nothing_extracted: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
        })
    }

    /// The same with another clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    pub(crate) fn config(&self) -> &Mem0Config {
        &self.config
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) async fn client(&self) -> Result<&Client> {
        self.connection.client(&self.config, &self.config.home_user()).await
    }

    pub(crate) async fn one_change_at_a_time(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    pub(crate) fn note_nothing_extracted(&self) {
        let mut noted = self.nothing_extracted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.count += 1;
        noted.last = Some(self.now());
    }

    async fn check(&self) -> Result<&Client> {
        let client = self.client().await?;
        connection::check(client, &self.config.home_user()).await?;
        Ok(client)
    }

    fn details(&self) -> Map<String, Value> {
        let noted = self.nothing_extracted.lock().unwrap_or_else(PoisonError::into_inner);
        Map::from_iter([
            ("address".to_owned(), json!(self.config.section.base_url)),
            ("user".to_owned(), self.config.home_user().into()),
            ("infer".to_owned(), self.config.section.infer.into()),
            ("nothing_extracted".to_owned(), json!({ "count": noted.count, "last": noted.last })),
        ])
    }
}

impl std::fmt::Debug for Mem0Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mem0Provider").field("config", &self.config).finish_non_exhaustive()
    }
}

#[async_trait]
impl MemoryProvider for Mem0Provider {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: "Memories kept by Mem0, hosted or self-hosted.".to_owned(),
        }
    }

    fn capability(&self) -> Capability {
        Capability {
            write: true,
            // With extraction it keeps what messages say, not the messages.
            write_messages: !self.config.section.infer,
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
            offline: false,
            max_batch: None,
            max_text_bytes: None,
        }
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        context.viewer.check()?;
        self.check().await.map(drop).map_err(|error| error.with_operation("initialize"))
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.write_items(&request).await.map_err(|error| error.with_operation("write"))
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        self.recall(&request, self.config.section.rerank).await.map_err(|error| error.with_operation("search"))
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        self.look_up(viewer, ids).await.map_err(|error| error.with_operation("get"))
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        self.list_items(&request).await.map_err(|error| error.with_operation("list"))
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        self.change(&request).await.map_err(|error| error.with_operation("update"))
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        self.forget(&request).await.map_err(|error| error.with_operation("delete"))
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        self.former_states(viewer, id).await.map_err(|error| error.with_operation("history"))
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        self.take_turn(&turn).await.map_err(|error| error.with_operation("sync_turn"))
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        // A session narrows messages to itself, and what was said in others is wanted.
        let viewer = Viewer { session: None, ..viewer.clone() };
        let request = SearchRequest { limit: PREFETCHED, ..SearchRequest::new(viewer, query) };
        let recall = self.recall(&request, self.config.section.rerank).await;
        let hits = recall.map_err(|error| error.with_operation("prefetch"))?.hits;
        if hits.is_empty() {
            return Ok(None);
        }
        let lines: Vec<String> = hits.iter().map(|hit| format!("- {}", hit.text.replace('\n', "\n  "))).collect();
        Ok(Some(format!("## Mem0 Memory\n{}", lines.join("\n"))))
    }

    async fn end_session(&self, _viewer: &Viewer) -> Result<()> {
        // Every turn was handed over when it was taken.
        Ok(())
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        tools::definitions()
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        self.run_tool(viewer, name, arguments).await.map_err(|error| error.with_operation("call_tool"))
    }

    fn guidance(&self, language: &str) -> String {
        self.guidance_in(language)
    }

    async fn health(&self) -> Health {
        let mut details = self.details();
        match self.check().await {
            Ok(client) => {
                let dialect = client.dialect().name();
                let version = client.version().await;
                details.insert("dialect".to_owned(), dialect.into());
                details.insert("version".to_owned(), json!(version));
                if client.dialect() == Dialect::SelfHosted && !self.config.section.app_id.is_empty() {
                    details.insert("app_id".to_owned(), "ignored: a self-hosted Mem0 has no applications".into());
                }
                let version = version.map_or_else(String::new, |version| format!(" {version}"));
                Health {
                    ok: true,
                    message: format!("Mem0{version} answers ({dialect})"),
                    details: Value::Object(details),
                }
            }
            Err(error) => {
                details.insert("error".to_owned(), error.to_json().get("error").cloned().unwrap_or_default());
                Health { ok: false, message: error.to_string(), details: Value::Object(details) }
            }
        }
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
