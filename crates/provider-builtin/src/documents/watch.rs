//! Tells when documents change while a process lives.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use memory_core::{Error, ErrorKind, Result};
use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::is_markdown_name;

/// How long the workspace must be quiet before a batch is sent.
pub const DEFAULT_DEBOUNCE: Duration = Duration::from_millis(2000);
/// A workspace that is never quiet sends a batch after this many times the quiet time.
const MAX_DELAY_FACTOR: u32 = 5;

/// What changed since the last batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeBatch {
    /// Absolute paths of documents that were created, changed, moved or deleted.
    pub paths: BTreeSet<PathBuf>,
    /// True when more may have changed than `paths` tells (a directory came, went or moved, or events were lost):
    /// scan the whole workspace.
    pub rescan: bool,
}

impl ChangeBatch {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.rescan
    }
}

/// Watches a workspace until it is dropped.
#[derive(Debug)]
pub struct Watch {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Signal {
    Event(notify::Result<Event>),
    Stop,
}

impl Watch {
    /// Starts to watch `workspace`, which must exist. `sink` is called on a thread of its own with each batch, once the
    /// workspace has been quiet for `debounce`. When the workspace is deleted and created again, watching goes on.
    pub fn start(workspace: &Path, debounce: Duration, sink: impl FnMut(ChangeBatch) + Send + 'static) -> Result<Self> {
        let root = std::fs::canonicalize(workspace).map_err(|error| super::file_error("watch", workspace, error))?;
        let (signals, receiver) = mpsc::channel();
        let mut watching = Watching { root, signals: signals.clone(), watcher: None, identity: None };
        watching.attach().map_err(|error| {
            Error::new(ErrorKind::Storage, format!("cannot watch `{}`", workspace.display()))
                .with_hint("raise the limit of watched files (fs.inotify.max_user_watches), or switch watching off")
                .with_source(error)
        })?;
        let thread = std::thread::Builder::new()
            .name("document-watch".to_owned())
            .spawn(move || watching.run(&receiver, debounce, sink))
            .map_err(|error| Error::unexpected("cannot start the thread that watches documents").with_source(error))?;
        Ok(Self { signals, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Either fails only when the thread has ended already.
        let _ = self.signals.send(Signal::Stop);
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

struct Watching {
    root: PathBuf,
    signals: Sender<Signal>,
    watcher: Option<RecommendedWatcher>,
    identity: Option<Identity>,
}

/// What tells a directory from another one created later at the same path.
type Identity = (u64, u64);

impl Watching {
    fn attach(&mut self) -> notify::Result<()> {
        let signals = self.signals.clone();
        let forward = move |event| {
            // Fails only after the end of the thread that listens.
            let _ = signals.send(Signal::Event(event));
        };
        let mut watcher = RecommendedWatcher::new(forward, Config::default().with_follow_symlinks(false))?;
        let identity = identity(&self.root);
        watcher.watch(&self.root, RecursiveMode::Recursive)?;
        self.watcher = Some(watcher);
        self.identity = identity;
        Ok(())
    }

    fn run(mut self, receiver: &Receiver<Signal>, debounce: Duration, mut sink: impl FnMut(ChangeBatch)) {
        let mut batch = ChangeBatch::default();
        let mut first = Instant::now();
        loop {
            match receiver.recv_timeout(debounce) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Signal::Event(event)) => {
                    let was_empty = batch.is_empty();
                    self.note(event, &mut batch);
                    if was_empty {
                        first = Instant::now();
                    }
                    if first.elapsed() < debounce * MAX_DELAY_FACTOR {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.reattach(&mut batch);
            if !batch.is_empty() {
                sink(std::mem::take(&mut batch));
            }
        }
    }

    /// Starts anew when the workspace has been deleted or replaced, which the system tells to nobody.
    fn reattach(&mut self, batch: &mut ChangeBatch) {
        let now = identity(&self.root);
        if now == self.identity && self.watcher.is_some() == now.is_some() {
            return;
        }
        batch.rescan = true;
        self.watcher = None;
        self.identity = None;
        if now.is_some()
            && let Err(error) = self.attach()
        {
            tracing::warn!(%error, "cannot watch the documents; trying again");
        }
    }

    fn note(&self, event: notify::Result<Event>, batch: &mut ChangeBatch) {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "the file watcher reports an error; scanning the workspace");
                batch.rescan = true;
                return;
            }
        };
        if event.need_rescan() {
            batch.rescan = true;
        }
        // Reading a file is an event, too, and the index reads.
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let may_concern_directory = matches!(
            event.kind,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Any
        );
        for path in event.paths {
            let Ok(relative) = path.strip_prefix(&self.root) else { continue };
            let is_hidden = relative.iter().any(|part| part.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            }
            let name = relative.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            if is_markdown_name(&name) {
                batch.paths.insert(path);
            } else if may_concern_directory && !path.is_file() {
                batch.rescan = true;
            }
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_dir).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_dir)?;
    let created = metadata.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((created.as_secs(), u64::from(created.subsec_nanos())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn watched() -> (tempfile::TempDir, Watch, Receiver<ChangeBatch>) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("ws/memory")).unwrap();
        let (sender, receiver) = mpsc::channel();
        let sink = move |batch| drop(sender.send(batch));
        let watch = Watch::start(&directory.path().join("ws"), Duration::from_millis(50), sink).unwrap();
        (directory, watch, receiver)
    }

    /// Collects batches until `done` is content with what came so far.
    fn collect(receiver: &Receiver<ChangeBatch>, done: impl Fn(&ChangeBatch) -> bool) -> ChangeBatch {
        let mut all = ChangeBatch::default();
        while !done(&all) {
            let batch = receiver.recv_timeout(PATIENCE).expect("a batch arrives");
            all.paths.extend(batch.paths);
            all.rescan |= batch.rescan;
        }
        all
    }

    #[test]
    fn changes_arrive_and_others_do_not() {
        let (directory, _watch, receiver) = watched();
        let memory = fs::canonicalize(directory.path().join("ws/memory")).unwrap();
        fs::write(memory.join("noise.txt"), "x").unwrap();
        fs::write(memory.join(".hidden.md"), "x").unwrap();
        fs::write(memory.join("日记.md"), "x").unwrap();
        let batch = collect(&receiver, |batch| !batch.paths.is_empty());
        assert_eq!(batch.paths, BTreeSet::from([memory.join("日记.md")]));
        assert!(!batch.rescan);

        fs::rename(memory.join("日记.md"), memory.join("new.md")).unwrap();
        let batch = collect(&receiver, |batch| batch.paths.len() >= 2);
        assert_eq!(batch.paths, BTreeSet::from([memory.join("日记.md"), memory.join("new.md")]));
        fs::remove_file(memory.join("new.md")).unwrap();
        collect(&receiver, |batch| batch.paths.contains(&memory.join("new.md")));
    }

    #[test]
    fn a_directory_that_comes_or_goes_asks_for_a_scan() {
        let (directory, _watch, receiver) = watched();
        let elsewhere = directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("a.md"), "x").unwrap();
        fs::rename(&elsewhere, directory.path().join("ws/moved")).unwrap();
        collect(&receiver, |batch| batch.rescan);
        fs::rename(directory.path().join("ws/moved"), &elsewhere).unwrap();
        collect(&receiver, |batch| batch.rescan);
    }

    #[test]
    fn the_workspace_may_be_deleted_and_created_again() {
        let (directory, _watch, receiver) = watched();
        let workspace = directory.path().join("ws");
        fs::remove_dir_all(&workspace).unwrap();
        collect(&receiver, |batch| batch.rescan);
        fs::create_dir_all(workspace.join("memory")).unwrap();
        collect(&receiver, |batch| batch.rescan);
        fs::write(workspace.join("memory/a.md"), "x").unwrap();
        collect(&receiver, |batch| batch.paths.iter().any(|path| path.ends_with("a.md")));
    }

    #[test]
    fn it_stops_when_dropped() {
        let (directory, watch, receiver) = watched();
        drop(watch);
        fs::write(directory.path().join("ws/memory/a.md"), "x").unwrap();
        // The sink is gone with its thread, so the channel is closed, not just silent.
        assert_eq!(receiver.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn a_missing_workspace_cannot_be_watched() {
        let directory = tempfile::tempdir().unwrap();
        let error = Watch::start(&directory.path().join("none"), DEFAULT_DEBOUNCE, |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
