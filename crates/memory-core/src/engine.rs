//! The engine: one builtin and at most one external provider behind the mode that configuration sets.

use std::sync::Arc;

use crate::config::EngineMode;
use crate::{
    DeleteReport, DeleteRequest, Error, ErrorKind, GetReport, Health, ListPage, ListRequest, MemoryProvider, Recall,
    RecallReason, Result, Revision, SearchRequest, UpdateRequest, Viewer, WriteReport, WriteRequest, WriteResult,
};

/// Sends each operation to the provider that the mode names. In mode `none` reads are empty and say so, writes are
/// refused.
pub struct Engine {
    mode: EngineMode,
    provider: Option<Arc<dyn MemoryProvider>>,
}

impl Engine {
    /// An engine in `mode`. A mode that needs a provider which is not there is a configuration error.
    pub fn new(
        mode: EngineMode,
        builtin: Option<Arc<dyn MemoryProvider>>,
        external: Option<Arc<dyn MemoryProvider>>,
    ) -> Result<Self> {
        let missing = |what: &str| {
            Error::new(
                ErrorKind::ConfigInvalid,
                format!("memory.engine is `{mode}`, but there is no usable {what} provider"),
            )
            .with_hint(
                "set memory.external.provider (MEMORY_EXTERNAL_PROVIDER), or memory.engine (MEMORY_ENGINE) to builtin",
            )
        };
        let provider = match mode {
            EngineMode::None => None,
            EngineMode::Builtin => Some(builtin.ok_or_else(|| missing("builtin"))?),
            EngineMode::External => Some(external.ok_or_else(|| missing("external"))?),
            EngineMode::Both => {
                if external.is_none() {
                    return Err(missing("external"));
                }
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "memory.engine `both` is not available in this version",
                )
                .with_hint("set memory.engine (MEMORY_ENGINE) to builtin"));
            }
        };
        Ok(Self { mode, provider })
    }

    /// The mode it runs in.
    pub fn mode(&self) -> EngineMode {
        self.mode
    }

    fn provider(&self, operation: &'static str) -> Result<&Arc<dyn MemoryProvider>> {
        self.provider.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Disabled, "memory is switched off (memory.engine is `none`)")
                .with_operation(operation)
                .with_hint("set memory.engine (MEMORY_ENGINE) to builtin")
        })
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

    /// How the provider is doing.
    pub async fn health(&self) -> Health {
        match &self.provider {
            Some(provider) => provider.health().await,
            None => Health { ok: true, message: "memory is switched off".into(), details: serde_json::Value::Null },
        }
    }

    /// Finishes what is under way and closes.
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
