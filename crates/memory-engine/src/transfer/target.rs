//! Where an import goes. A seam, so that reading is tested without a store.

use async_trait::async_trait;
use memory_core::config::EngineMode;
use memory_core::{Error, ErrorKind, Item, Result, Scope, WriteReport, WriteRequest, WriteResult};
use provider_builtin::BuiltinProvider;

use crate::Memory;

/// Takes what an import has read.
#[async_trait]
pub trait ImportTarget: Send + Sync {
    /// Writes new memories and messages through the gateway.
    async fn write(&self, request: WriteRequest) -> Result<WriteReport>;

    /// Puts back items of a bundle as they stand, with id, times, state and revision.
    async fn insert(&self, items: Vec<Item>, force: bool) -> Result<WriteReport>;

    /// Copies a Markdown file among the imported documents of a scope.
    async fn import_document(&self, scope: &Scope, path: &str, content: &[u8]) -> Result<WriteResult>;

    /// Puts back a Markdown file of a bundle at the path it had.
    async fn restore_document(&self, scope: &Scope, path: &str, content: &[u8]) -> Result<WriteResult>;
}

#[async_trait]
impl ImportTarget for Memory {
    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.engine.write(request).await
    }

    async fn insert(&self, items: Vec<Item>, force: bool) -> Result<WriteReport> {
        store(self)?.insert_items(items, force).await
    }

    async fn import_document(&self, scope: &Scope, path: &str, content: &[u8]) -> Result<WriteResult> {
        store(self)?.import_document(scope, path, content).await
    }

    async fn restore_document(&self, scope: &Scope, path: &str, content: &[u8]) -> Result<WriteResult> {
        store(self)?.restore_document(scope, path, content).await
    }
}

/// Bundles and documents are a matter of the embedded store.
fn store(memory: &Memory) -> Result<&BuiltinProvider> {
    memory.builtin.as_deref().ok_or_else(|| {
        let mode = memory.engine.mode();
        let kind = if mode == EngineMode::None { ErrorKind::Disabled } else { ErrorKind::Unsupported };
        Error::new(kind, format!("bundles and documents need the builtin store, and memory.engine is `{mode}`"))
            .with_operation("import")
            .with_hint("set memory.engine (MEMORY_ENGINE) to builtin")
    })
}
