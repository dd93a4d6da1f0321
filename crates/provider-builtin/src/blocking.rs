//! Work that blocks, kept off the threads that serve.

use memory_core::{Error, Result};

/// Runs `work` on a thread that may block.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(error) => Err(Error::unexpected("a background task stopped before it answered").with_source(error)),
    }
}
