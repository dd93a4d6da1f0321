//! The builtin provider: the embedded store behind the contract of every provider.

use std::sync::Arc;

use async_trait::async_trait;
use memory_core::config::Rerank;
use memory_core::{
    Capability, Clock, DeleteReport, DeleteRequest, Descriptor, GetReport, Health, ListPage, ListRequest,
    MemoryProvider, NewMessage, Progress, Recall, Result, Revision, Role, SearchRequest, SessionContext,
    ToolDefinition, Turn, UpdateRequest, Viewer, WriteItem, WriteReport, WriteRequest, WriteResult, strip_fences,
};
use memory_models::{EmbeddingCache, build_embedder};
use rusqlite::Transaction;
use serde_json::Value;

use crate::blocking::blocking;
use crate::config::BuiltinConfig;
use crate::gateway::Gateway;
use crate::indexer::{IndexReport, Indexer, Indexes, ReindexTarget};
use crate::search::{Searcher, Tables};
use crate::store::{SqliteEmbeddingCache, Store};
use crate::workspace::Workspaces;

/// The name of this provider.
pub(crate) const NAME: &str = "builtin";

/// Hits that a prefetch recalls.
const PREFETCHED: usize = 5;

struct Parts {
    config: BuiltinConfig,
    store: Arc<Store>,
    gateway: Gateway,
    indexes: Arc<Indexes>,
    indexer: Indexer,
    searcher: Searcher,
    workspaces: Workspaces,
}

/// The embedded store. Cheap to clone; every clone is the same store.
#[derive(Clone)]
pub struct BuiltinProvider(Arc<Parts>);

impl BuiltinProvider {
    /// Opens the store of a home, making or migrating it where needed. Indexes are opened at their first use.
    pub async fn open(config: BuiltinConfig, clock: Arc<dyn Clock>) -> Result<Self> {
        let path = config.store_path();
        let store = blocking(move || Store::open(&path, clock).map(Arc::new)).await?;
        let workspaces = Workspaces::of(&config, &store).await?;
        let cache: Arc<dyn EmbeddingCache> = Arc::new(SqliteEmbeddingCache(store.clone()));
        let embedder = build_embedder(&config.embedder, Some(cache))?;
        // lancedb takes a relative path that begins with `db` for an address in a cloud.
        let folder = std::path::absolute(config.index_folder())
            .map_err(|error| crate::error::from_io("find the index folder", &config.index_folder(), error))?;
        let indexes = Arc::new(Indexes::new(folder, store.clone(), embedder));
        Ok(Self(Arc::new(Parts {
            gateway: Gateway::new(store.clone(), config.gateway.clone()),
            indexer: Indexer::new(store.clone(), indexes.clone()),
            searcher: Searcher {
                store: store.clone(),
                indexes: indexes.clone(),
                settings: config.search.clone(),
                tables: Tables { enabled: config.search.weights.late > 0.0 && config.search.rerank != Rerank::None },
            },
            workspaces,
            indexes,
            store,
            config,
        })))
    }

    pub(crate) fn config(&self) -> &BuiltinConfig {
        &self.0.config
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn shared_store(&self) -> Arc<Store> {
        self.0.store.clone()
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        &self.0.gateway
    }

    pub(crate) fn indexes(&self) -> &Arc<Indexes> {
        &self.0.indexes
    }

    pub(crate) fn indexer(&self) -> &Indexer {
        &self.0.indexer
    }

    pub(crate) fn workspaces(&self) -> &Workspaces {
        &self.0.workspaces
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.0.store.clock()
    }

    /// Reads the store on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = self.0.store.clone();
        blocking(move || store.read(operation, work)).await
    }

    /// Writes the store in one transaction on a thread that may block.
    pub(crate) async fn write_store<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = self.0.store.clone();
        blocking(move || store.write(operation, work)).await
    }

    /// Takes everything that waits into the indexes; returns at once when another process is at it.
    pub async fn index_pending(&self, progress: &dyn Progress) -> Result<IndexReport> {
        self.0.indexer.drain(progress).await
    }

    /// How many changes the indexes have not taken in yet. A search looks through the newest 2,000 of them itself.
    pub async fn lag(&self) -> Result<u64> {
        self.0.indexer.lag().await
    }

    /// Builds the indexes anew from truth while the old ones serve.
    pub async fn reindex(&self, target: ReindexTarget, progress: &dyn Progress) -> Result<IndexReport> {
        self.0.indexer.reindex(target, progress).await
    }

    /// Opens the indexes ahead of the first search. One that is damaged stays closed: every answer says so.
    pub async fn warm_up(&self) -> Result<()> {
        let opened = [self.0.indexes.text().await.map(drop), self.0.indexes.vector().await.map(drop)];
        for error in opened.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "an index cannot be opened");
        }
        Ok(())
    }
}

#[async_trait]
impl MemoryProvider for BuiltinProvider {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: "the embedded store: SQLite, a text index and a vector index, offline".to_owned(),
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
            erase: true,
            history: true,
            sync_turn: true,
            idempotent: true,
            offline: matches!(
                self.config().embedder.kind,
                memory_models::EmbedderKind::Static
                    | memory_models::EmbedderKind::Hash
                    | memory_models::EmbedderKind::None
            ),
            max_batch: None,
            max_text_bytes: Some(self.config().gateway.max_memory_bytes),
        }
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        context.viewer.check()
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        let this = self.clone();
        blocking(move || this.gateway().write(&request)).await
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        let wants_documents = request.kinds.is_empty() || request.kinds.contains(&memory_core::HitKind::Document);
        let stale = wants_documents && self.sync_within_budget(&request.viewer).await?;
        let mut recall = self.0.searcher.search(request).await?;
        if stale && recall.outcome != memory_core::RecallOutcome::Degraded {
            recall.outcome = memory_core::RecallOutcome::Degraded;
            recall.reason = Some(memory_core::RecallReason::DocumentsStale);
        }
        Ok(recall)
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        self.get_items(viewer, ids).await
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        self.list_items(request).await
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        self.update_memory(request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        self.delete_items(request).await
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        self.memory_history(viewer, id).await
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        turn.viewer.check()?;
        let scope = turn.viewer.conversation()?;
        let session = turn.viewer.session.clone().unwrap_or_else(|| memory_core::DEFAULT_NAME.to_owned());
        let at = turn.at.unwrap_or_else(|| self.clock().now());
        let external_id = |role: &str| turn.external_id.as_ref().map(|id| format!("{id}/{role}"));
        let items = [(Role::User, "user", &turn.user_text), (Role::Assistant, "assistant", &turn.assistant_text)]
            .into_iter()
            // Text that was recalled into the prompt is not remembered a second time.
            .map(|(role, name, text)| (role, name, strip_fences(text)))
            .filter(|(_, _, text)| !text.trim().is_empty())
            .map(|(role, name, text)| {
                let message = NewMessage {
                    created_at: Some(at),
                    external_id: external_id(name),
                    ..NewMessage::new(scope.clone(), session.clone(), role, text)
                };
                WriteItem::Message(Box::new(message))
            })
            .collect();
        self.write(WriteRequest { items, force: false, repeated: false }).await.map(|_| ())
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        // What was said in the present session is in the prompt already; memories and other sessions are wanted.
        let viewer = Viewer { session: None, ..viewer.clone() };
        let request = SearchRequest { limit: PREFETCHED, ..SearchRequest::new(viewer, query) };
        let recall = self.search(request).await?;
        if recall.hits.is_empty() {
            return Ok(None);
        }
        let lines: Vec<String> = recall
            .hits
            .iter()
            .map(|hit| {
                let date = hit.event_at.unwrap_or(hit.created_at).to_datetime().format("%Y-%m-%d");
                let who = hit.speaker.as_deref().or(hit.title.as_deref());
                format!("- [{date}] {}{}", who.map(|who| format!("{who}: ")).unwrap_or_default(), hit.text)
            })
            .collect();
        Ok(Some(lines.join("\n")))
    }

    async fn end_session(&self, _viewer: &Viewer) -> Result<()> {
        self.index_pending(&memory_core::NoProgress).await.map(|_| ())
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        crate::workspace::tool_definitions()
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        self.call_document_tool(viewer, name, arguments).await
    }

    fn guidance(&self, language: &str) -> String {
        crate::guidance::text(language).to_owned()
    }

    async fn health(&self) -> Health {
        match self.status().await {
            Ok(status) => Health {
                ok: true,
                message: format!(
                    "{} memories, {} messages, {} documents",
                    status.memories, status.messages, status.documents
                ),
                details: serde_json::to_value(&status).unwrap_or(Value::Null),
            },
            Err(error) => Health { ok: false, message: error.to_string(), details: error.to_json() },
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.indexes().close().await;
        Ok(())
    }
}
