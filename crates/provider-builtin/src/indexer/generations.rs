//! Which generation of each index is in use, opened once and shared.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use memory_core::{Error, ErrorKind, Result};
use memory_index::{LanceIndex, TantivyIndex, VectorIndex, text_format, vector_format};
use memory_models::Embedder;
use rusqlite::Connection;

use super::{TEXT, VECTOR};
use crate::blocking::blocking;
use crate::store::{IndexPhase, IndexState, Store};

/// A generation that has been opened.
struct Opened<T> {
    generation: u64,
    index: Arc<T>,
}

/// The indexes of one home.
pub(crate) struct Indexes {
    folder: PathBuf,
    store: Arc<Store>,
    embedder: Arc<dyn Embedder>,
    text: Mutex<Option<Opened<TantivyIndex>>>,
    vector: tokio::sync::Mutex<Option<Opened<LanceIndex>>>,
}

impl Indexes {
    pub(crate) fn new(folder: PathBuf, store: Arc<Store>, embedder: Arc<dyn Embedder>) -> Self {
        Self { folder, store, embedder, text: Mutex::default(), vector: tokio::sync::Mutex::default() }
    }

    /// Where the indexes live.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What makes the vectors.
    pub(crate) fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// The fingerprint that a generation of `kind` must have to be used.
    pub(crate) fn fingerprint(&self, kind: &str) -> String {
        if kind == TEXT { text_format() } else { format!("{} {}", vector_format(), self.embedder.id()) }
    }

    /// The folder of a generation.
    pub(crate) fn generation_folder(&self, kind: &str, generation: u64) -> PathBuf {
        self.folder.join(kind).join(generation.to_string())
    }

    /// The generation in use, whatever its fingerprint.
    pub(crate) fn current(connection: &Connection, kind: &str) -> Result<Option<IndexState>> {
        let states = Store::index_states(connection, kind)?;
        Ok(states.into_iter().find(|state| state.phase == IndexPhase::Ready))
    }

    /// The last change that both indexes have taken in; 0 while one does not exist.
    pub(crate) fn applied(&self, connection: &Connection) -> Result<u64> {
        let mark =
            |kind: &str| -> Result<u64> { Ok(Self::current(connection, kind)?.map_or(0, |state| state.applied)) };
        let text = mark(TEXT)?;
        if self.embedder.id() == "none" { Ok(text) } else { Ok(text.min(mark(VECTOR)?)) }
    }

    /// The last change that no generation, in use or being built, will ask for again.
    pub(crate) fn oldest_needed(&self, connection: &Connection) -> Result<u64> {
        let mut oldest = self.applied(connection)?;
        for kind in [TEXT, VECTOR] {
            for state in Store::index_states(connection, kind)? {
                oldest = oldest.min(state.applied);
            }
        }
        Ok(oldest)
    }

    /// Opens the text generation in use for searching: `None` when there is none yet or its fingerprint is old.
    pub(crate) async fn text(self: &Arc<Self>) -> Result<Option<(IndexState, Arc<TantivyIndex>)>> {
        let this = self.clone();
        blocking(move || {
            let state = this.store.read("find the text index", |connection| Self::current(connection, TEXT))?;
            match state {
                Some(state) if state.fingerprint == this.fingerprint(TEXT) => {
                    let index = this.open_text(state.generation)?;
                    Ok(Some((state, index)))
                }
                _ => Ok(None),
            }
        })
        .await
    }

    /// Opens the vector generation in use for searching: `None` when there is none yet or another embedder made it.
    pub(crate) async fn vector(self: &Arc<Self>) -> Result<Option<(IndexState, Arc<LanceIndex>)>> {
        let this = self.clone();
        let state =
            blocking(move || this.store.read("find the vector index", |connection| Self::current(connection, VECTOR)))
                .await?;
        match state {
            Some(state) if state.fingerprint == self.fingerprint(VECTOR) => {
                let index = self.open_vector(&state).await?;
                Ok(Some((state, index)))
            }
            _ => Ok(None),
        }
    }

    /// Opens, or makes, a text generation.
    pub(crate) fn open_text(&self, generation: u64) -> Result<Arc<TantivyIndex>> {
        let mut opened = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        match opened.as_ref() {
            Some(opened) if opened.generation == generation => Ok(opened.index.clone()),
            _ => {
                let folder = self.generation_folder(TEXT, generation);
                let index = Arc::new(TantivyIndex::open_or_create(&folder, &self.fingerprint(TEXT))?);
                *opened = Some(Opened { generation, index: index.clone() });
                Ok(index)
            }
        }
    }

    /// Opens a vector generation that was made before. A missing one is damage: an empty one in its place would pass
    /// for whole. So is one in an older state than it was known to have: its newest files were lost.
    pub(crate) async fn open_vector(&self, state: &IndexState) -> Result<Arc<LanceIndex>> {
        self.vector_generation(state.generation, Some(state.version)).await
    }

    /// Opens, or makes, a vector generation that is to be filled.
    pub(crate) async fn make_vector(&self, generation: u64) -> Result<Arc<LanceIndex>> {
        self.vector_generation(generation, None).await
    }

    /// With a `known` version the generation must exist in at least that state; without, it is made where it is not.
    async fn vector_generation(&self, generation: u64, known: Option<u64>) -> Result<Arc<LanceIndex>> {
        let mut opened = self.vector.lock().await;
        match opened.as_ref() {
            Some(opened) if opened.generation == generation => Ok(opened.index.clone()),
            _ => {
                self.embedder.prepare().await?;
                let folder = self.generation_folder(VECTOR, generation);
                let dimensions = self.embedder.dimensions();
                let index = Arc::new(match known {
                    None => LanceIndex::open_or_create(&folder, dimensions).await?,
                    Some(_) => LanceIndex::open(&folder, dimensions).await.map_err(other_format_is_damage)?,
                });
                if let Some(known) = known.filter(|known| *known > 0) {
                    let version = index.version().await?;
                    if version < known {
                        return Err(Error::new(ErrorKind::Corrupt, "the newest state of the vector index is lost")
                            .with_context("version", version)
                            .with_context("known", known));
                    }
                }
                *opened = Some(Opened { generation, index: index.clone() });
                Ok(index)
            }
        }
    }

    /// Lets go of opened generations, so that damaged ones are not used again.
    pub(crate) async fn close(&self) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.vector.lock().await = None;
    }

    /// Removes the folders of generations other than `keep`. One that a reader still has open may stay until the
    /// next time.
    pub(crate) fn remove_other_generations(&self, kind: &str, keep: u64) {
        let Ok(entries) = std::fs::read_dir(self.folder.join(kind)) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_str() != Some(keep.to_string().as_str())
                && let Err(error) = std::fs::remove_dir_all(entry.path())
            {
                tracing::warn!(%error, path = %entry.path().display(), "an old index generation could not be removed");
            }
        }
    }
}

/// The fingerprint says that the format is the right one: files that say otherwise are damaged.
fn other_format_is_damage(error: Error) -> Error {
    if error.kind() == ErrorKind::Conflict {
        return Error::new(ErrorKind::Corrupt, "the vector index does not have the format it was built with")
            .with_source(error);
    }
    error
}
