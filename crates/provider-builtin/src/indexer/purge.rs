//! Takes the last traces of erased texts out of the index files.

use memory_core::{ErrorKind, Result};
use memory_index::{TextIndex, VectorIndex};

use super::{Indexer, lock};
use crate::blocking::blocking;

impl Indexer {
    /// Rewrites both indexes without what was deleted. Answers what was done and what could not be, in words.
    pub(crate) async fn purge(&self) -> Result<Vec<String>> {
        let Some(_guard) = lock::try_lock(self.indexes.folder())? else {
            return Ok(vec![
                "the indexes were not rewritten: another process is indexing; run it again later".to_owned(),
            ]);
        };
        let mut notes = Vec::new();
        if let Some((_, index)) = self.indexes.text().await? {
            let shared = index.clone();
            let outcome = blocking(move || {
                shared.purge()?;
                shared.release_writer()
            })
            .await;
            notes.push(told("text", outcome)?);
        }
        if let Some((_, index)) = self.indexes.vector().await? {
            notes.push(told("vector", index.purge().await)?);
        }
        Ok(notes)
    }
}

fn told(name: &str, outcome: Result<()>) -> Result<String> {
    match outcome {
        Ok(()) => Ok(format!("the {name} index was rewritten without the text")),
        Err(error) if error.kind() == ErrorKind::Busy => Ok(format!("the {name} index was not rewritten: {error}")),
        Err(error) => Err(error),
    }
}
