//! Keeps the documents of a long-lived process fresh: files that change are taken in and indexed soon after.

use std::sync::Arc;
use std::time::Duration;

use memory_core::{NoProgress, Result};
use tokio::sync::Notify;

use crate::documents::watch::Watch;
use crate::provider::BuiltinProvider;

/// Watches the workspaces until it is dropped.
#[must_use = "watching ends when this is dropped"]
pub struct DocumentWatch {
    _watches: Vec<Watch>,
    worker: tokio::task::JoinHandle<()>,
}

impl Drop for DocumentWatch {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

impl std::fmt::Debug for DocumentWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DocumentWatch")
    }
}

impl BuiltinProvider {
    /// Watches every workspace that exists and takes changed files in once they have been at rest for `debounce`.
    pub async fn watch_documents(&self, debounce: Duration) -> Result<DocumentWatch> {
        let changed = Arc::new(Notify::new());
        let mut watches = Vec::new();
        for (_, folder) in self.all_workspaces().await? {
            let signal = changed.clone();
            watches.push(Watch::start(&folder, debounce, move |_| signal.notify_one())?);
        }
        let this = self.clone();
        let worker = tokio::spawn(async move {
            loop {
                changed.notified().await;
                if let Err(error) = this.take_in_changes().await {
                    tracing::warn!(%error, "changed documents could not be taken in; the next change tries again");
                }
            }
        });
        Ok(DocumentWatch { _watches: watches, worker })
    }

    async fn take_in_changes(&self) -> Result<()> {
        self.sync_documents(&NoProgress).await?;
        self.index_pending(&NoProgress).await.map(|_| ())
    }
}
