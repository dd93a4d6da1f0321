//! A home that is gone after the test, and the store in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memory_core::config::Config;
use memory_core::{
    Clock, ManualClock, MemoryProvider, NewMemory, NewMessage, Recall, Role, Scope, SearchRequest, SystemClock, Viewer,
    WriteItem, WriteRequest, WriteResult,
};
use provider_builtin::{BuiltinConfig, BuiltinProvider};
use tempfile::TempDir;

/// A home.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.path().join("workspace")
    }

    /// Writes a document.
    pub fn document(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub async fn open(&self) -> BuiltinProvider {
        self.open_with(|_| {}).await
    }

    pub async fn open_with(&self, change: impl FnOnce(&mut Config)) -> BuiltinProvider {
        self.open_at(change, Arc::new(SystemClock)).await
    }

    pub async fn open_at(&self, change: impl FnOnce(&mut Config), clock: Arc<dyn Clock>) -> BuiltinProvider {
        let mut config = Config::default();
        change(&mut config);
        BuiltinProvider::open(BuiltinConfig::of(&config, &self.path()), clock).await.unwrap()
    }
}

pub fn clock(text: &str) -> Arc<ManualClock> {
    Arc::new(ManualClock::new(text.parse().unwrap()))
}

pub fn viewer() -> Viewer {
    Viewer::default()
}

pub fn memory(text: &str) -> NewMemory {
    NewMemory::new(Scope::default(), text)
}

pub async fn write(provider: &BuiltinProvider, item: WriteItem) -> WriteResult {
    provider.write(WriteRequest { items: vec![item], force: false, repeated: false }).await.unwrap().items.remove(0)
}

/// Writes a new memory. Answers its id.
pub async fn add(provider: &BuiltinProvider, new: NewMemory) -> String {
    let result = write(provider, WriteItem::Memory(Box::new(new))).await;
    assert_eq!(result.outcome, memory_core::WriteOutcome::Stored, "{result:?}");
    result.id.unwrap()
}

/// Says something. Answers its id.
pub async fn say(provider: &BuiltinProvider, session: &str, text: &str) -> String {
    let message = NewMessage::new(Scope::default(), session, Role::User, text);
    let result = write(provider, WriteItem::Message(Box::new(message))).await;
    assert_eq!(result.outcome, memory_core::WriteOutcome::Stored, "{result:?}");
    result.id.unwrap()
}

pub async fn ask(provider: &BuiltinProvider, query: &str) -> Recall {
    provider.search(SearchRequest::new(viewer(), query)).await.unwrap()
}

pub fn texts(recall: &Recall) -> Vec<&str> {
    recall.hits.iter().map(|hit| hit.text.as_str()).collect()
}

/// The first file below a folder that holds the bytes.
pub fn any_file_holds(folder: &Path, needle: &[u8]) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if let Some(found) = any_file_holds(&path, needle) {
                return Some(found);
            }
        } else if std::fs::read(&path).unwrap().windows(needle.len()).any(|window| window == needle) {
            return Some(path);
        }
    }
    None
}
