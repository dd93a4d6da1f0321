//! A memory for processes that live long: it follows the configuration.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory_core::config::{Config, Loaded, Loader};
use memory_core::{Clock, Error, LiveEngine, Result, Timestamp};
use provider_builtin::sqlite::blocking;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Memory;

/// Seconds between two looks at the configuration, unless asked for otherwise.
const LOOK_EVERY: i64 = 2;

/// The memory that the configuration names at any time. When the configuration changes, what is opened anew takes the place
/// of the old one; calls that are under way finish on the old one, which then hands over what it can and closes. What it
/// could not hand over waits in the durable queue, where the next one finds it.
pub struct LiveMemory {
    loader: Loader,
    clock: Arc<dyn Clock>,
    engine: LiveEngine,
    current: Mutex<Arc<Opened>>,
    /// Held while a change is made, so that two that notice it do not both make it.
    looked: tokio::sync::Mutex<Look>,
    closing: Mutex<Vec<JoinHandle<()>>>,
}

struct Opened {
    memory: Memory,
    /// How many use it.
    users: watch::Sender<usize>,
    /// Ends what hands over in the background.
    stop: watch::Sender<bool>,
}

struct Look {
    at: Timestamp,
    /// The values are compared and not the files, so that a new comment changes nothing.
    in_effect: Config,
    /// What was seen last and refused.
    refused: Option<Seen>,
}

#[derive(PartialEq)]
enum Seen {
    Values(Box<Config>),
    /// It could not be read, for this reason.
    Nothing(String),
}

/// What a look at the configuration led to.
#[derive(Debug)]
pub enum Reload {
    /// It is as it was, or it was looked at a moment ago.
    Unchanged,
    /// It changed, and is in effect.
    Changed,
    /// It changed and cannot be used: the memory goes on as it was. Told once for each change.
    Refused(Error),
}

/// The memory in use. It stays open while this is held.
pub struct InUse(Arc<Opened>);

impl Deref for InUse {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.0.memory
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.send_modify(|users| *users = users.saturating_sub(1));
    }
}

impl LiveMemory {
    /// Opens what the configuration names now.
    pub async fn open(loader: Loader, clock: Arc<dyn Clock>) -> Result<Self> {
        let loaded = read(&loader).await?;
        let memory = Memory::open(&loaded, clock.clone()).await?;
        let look = Look { at: clock.now(), in_effect: loaded.config, refused: None };
        Ok(Self {
            loader,
            clock,
            engine: LiveEngine::new(memory.engine.clone()),
            current: Mutex::new(Opened::of(memory)),
            looked: tokio::sync::Mutex::new(look),
            closing: Mutex::default(),
        })
    }

    /// The engine in use, for conversations that outlive a change: what they write to one that was replaced a moment ago is
    /// kept all the same.
    pub fn engine(&self) -> &LiveEngine {
        &self.engine
    }

    /// The memory in use.
    pub fn memory(&self) -> InUse {
        // Counted under the lock: nobody can begin to use it after it was replaced.
        let current = lock(&self.current);
        current.users.send_modify(|users| *users += 1);
        InUse(current.clone())
    }

    /// Looks at the configuration when the last look is a while ago. Cheap enough for every request.
    pub async fn tick(&self) -> Reload {
        let Ok(look) = self.looked.try_lock() else { return Reload::Unchanged };
        if self.clock.now() < look.at.plus_seconds(LOOK_EVERY) {
            return Reload::Unchanged;
        }
        self.look(look).await
    }

    /// Looks at the configuration now.
    pub async fn reload(&self) -> Reload {
        self.look(self.looked.lock().await).await
    }

    async fn look(&self, mut look: tokio::sync::MutexGuard<'_, Look>) -> Reload {
        look.at = self.clock.now();
        let loaded = read(&self.loader).await;
        let seen = match &loaded {
            Ok(loaded) if loaded.config == look.in_effect => {
                look.refused = None;
                return Reload::Unchanged;
            }
            Ok(loaded) => Seen::Values(Box::new(loaded.config.clone())),
            Err(error) => Seen::Nothing(error.to_string()),
        };
        if look.refused.as_ref() == Some(&seen) {
            return Reload::Unchanged;
        }
        match self.open_anew(loaded).await {
            Ok(config) => {
                look.in_effect = config;
                look.refused = None;
                tracing::info!("the configuration changed and is in effect");
                Reload::Changed
            }
            Err(error) => {
                // What may work later is tried again at the next look.
                look.refused = (!error.is_retryable()).then_some(seen);
                tracing::warn!(%error, "the configuration changed and cannot be used; the former one stays in effect");
                Reload::Refused(error)
            }
        }
    }

    async fn open_anew(&self, loaded: Result<Loaded>) -> Result<Config> {
        let loaded = loaded?;
        let opened = Opened::of(Memory::open(&loaded, self.clock.clone()).await?);
        self.engine.replace(opened.memory.engine.clone());
        let old = std::mem::replace(&mut *lock(&self.current), opened);
        let task = tokio::spawn(async move {
            if let Err(error) = old.close().await {
                tracing::warn!(%error, "the former memory did not close well");
            }
        });
        let mut closing = lock(&self.closing);
        closing.retain(|task| !task.is_finished());
        closing.push(task);
        Ok(loaded.config)
    }

    /// Waits for calls under way, hands over what waits and closes, within the time the configuration gives.
    pub async fn shutdown(&self) -> Result<()> {
        let closing = std::mem::take(&mut *lock(&self.closing));
        for task in closing {
            task.await.map_err(|error| Error::unexpected("closing a former memory failed").with_source(error))?;
        }
        let current = lock(&self.current).clone();
        current.close().await
    }
}

impl Opened {
    fn of(memory: Memory) -> Arc<Self> {
        let stop = watch::Sender::new(false);
        if let Some(courier) = memory.engine.courier().cloned() {
            let mut stopped = stop.subscribe();
            tokio::spawn(async move {
                // An error means that the memory is gone, which ends it too.
                courier.run(async { drop(stopped.wait_for(|stopped| *stopped).await) }).await;
            });
        }
        Arc::new(Self { memory, users: watch::Sender::new(0), stop })
    }

    /// Waits until nobody uses it, at most for the time that closing may take, then closes it.
    async fn close(&self) -> Result<()> {
        let seconds = self.memory.config.memory.external.shutdown_timeout;
        let deadline = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(10));
        let mut users = self.users.subscribe();
        if tokio::time::timeout(deadline, users.wait_for(|users| *users == 0)).await.is_err() {
            tracing::warn!("calls were still under way when the memory closed");
        }
        self.stop.send_replace(true);
        self.memory.engine.shutdown().await
    }
}

async fn read(loader: &Loader) -> Result<Loaded> {
    let loader = loader.clone();
    blocking(move || loader.load()).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for LiveMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveMemory").finish_non_exhaustive()
    }
}
