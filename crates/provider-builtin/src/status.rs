//! How the store is doing, in one page, and what it holds.

use std::collections::BTreeMap;
use std::path::Path;

use memory_core::{Result, Viewer};
use serde::Serialize;
use serde_json::{Value, json};

use crate::blocking::blocking;
use crate::indexer::Indexes;
use crate::provider::BuiltinProvider;
use crate::store::{IndexPhase, Store};

/// What is stored: the answer of `stats`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Active memories.
    pub memories: u64,
    /// Active messages.
    pub messages: u64,
    /// Sessions.
    pub sessions: u64,
    /// Documents.
    pub documents: u64,
    /// Facts of the knowledge graph.
    pub facts: u64,
    /// Lessons from tool errors.
    pub lessons: u64,
    /// Memories by category, kind and state.
    pub by: BTreeMap<String, BTreeMap<String, u64>>,
    /// The state of the indexes.
    pub index: Value,
    /// Bytes on disk.
    pub bytes: BTreeMap<String, u64>,
}

/// How the store is doing: the answer of `status`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The version of this program.
    pub version: String,
    /// The home directory.
    pub home: String,
    /// The provider.
    pub provider: String,
    /// What makes the vectors.
    pub embedder: String,
    /// Active memories.
    pub memories: u64,
    /// Active messages.
    pub messages: u64,
    /// Sessions.
    pub sessions: u64,
    /// Documents.
    pub documents: u64,
    /// The state of the indexes.
    pub index: Value,
    /// Bytes on disk.
    pub bytes: BTreeMap<String, u64>,
    /// The workspace of the default scope.
    pub workspace: String,
}

impl BuiltinProvider {
    /// Counts what `viewer` may read, or everything when `None`.
    pub async fn statistics(&self, viewer: Option<&Viewer>) -> Result<Statistics> {
        if let Some(viewer) = viewer {
            viewer.check()?;
        }
        let (viewer, this) = (viewer.cloned(), self.clone());
        let (counts, index) = self
            .read("count", move |connection| {
                let scopes = match &viewer {
                    Some(viewer) => Some(Store::known_scope_numbers(connection, &viewer.readable_keys())?),
                    None => None,
                };
                let now = this.clock().now();
                let session = viewer.as_ref().and_then(|viewer| viewer.session.as_deref());
                let counts = Store::statistics(connection, scopes.as_deref(), session, now)?;
                Ok((counts, this.index_account(connection)?))
            })
            .await?;
        let lessons = counts.by.get("kind").and_then(|kinds| kinds.get("lesson")).copied().unwrap_or(0);
        Ok(Statistics {
            memories: counts.memories,
            messages: counts.messages,
            sessions: counts.sessions,
            documents: counts.documents,
            facts: 0,
            lessons,
            by: counts.by,
            index,
            bytes: self.bytes_on_disk().await?,
        })
    }

    /// How the store is doing.
    pub async fn status(&self) -> Result<Status> {
        let counts = self.statistics(None).await?;
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            home: self.config().home.display().to_string(),
            provider: crate::provider::NAME.to_owned(),
            embedder: self.indexes().embedder().id().to_owned(),
            memories: counts.memories,
            messages: counts.messages,
            sessions: counts.sessions,
            documents: counts.documents,
            index: counts.index,
            bytes: counts.bytes,
            workspace: self.config().workspace.display().to_string(),
        })
    }

    fn index_account(&self, connection: &rusqlite::Connection) -> Result<Value> {
        let lag = Store::outbox_length(connection, self.indexes().applied(connection)?)?;
        let mut account = json!({ "lag": lag });
        for state in Indexes::accounts(connection)? {
            let current = state.fingerprint == self.indexes().fingerprint(&state.kind);
            let phase = match (state.phase, current) {
                (IndexPhase::Building, _) => "building",
                (IndexPhase::Ready, true) => "ready",
                (IndexPhase::Ready, false) => "outdated",
            };
            let entry = json!({"generation": state.generation, "phase": phase, "fingerprint": state.fingerprint,
                "lag": Store::outbox_length(connection, state.applied)?});
            // A generation that is being built is shown beside the one in use.
            let name = if phase == "building" { format!("{}_building", state.kind) } else { state.kind.clone() };
            if let Some(object) = account.as_object_mut() {
                object.insert(name, entry);
            }
        }
        Ok(account)
    }

    async fn bytes_on_disk(&self) -> Result<BTreeMap<String, u64>> {
        let (store, index, workspace) =
            (self.store().path().to_owned(), self.indexes().folder().to_owned(), self.workspaces().folders());
        blocking(move || {
            let wal = store.with_extension("db-wal");
            Ok(BTreeMap::from([
                ("store".to_owned(), size_of(&store) + size_of(&wal)),
                ("index".to_owned(), size_of(&index)),
                ("workspace".to_owned(), workspace.iter().map(|folder| size_of(folder)).sum()),
            ]))
        })
        .await
    }
}

/// Bytes of a file or of everything below a folder. What cannot be read counts as nothing; links are not followed.
fn size_of(path: &Path) -> u64 {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return 0 };
    if metadata.is_file() {
        return metadata.len();
    }
    if !metadata.is_dir() {
        return 0;
    }
    std::fs::read_dir(path).map_or(0, |entries| entries.flatten().map(|entry| size_of(&entry.path())).sum())
}
