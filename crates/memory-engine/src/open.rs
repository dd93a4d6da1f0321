//! Opens what the configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use memory_core::config::{Config, EngineMode, Loaded};
use memory_core::{
    Clock, Engine, Error, External, GuardPolicy, MemoryProvider, Result, Sanitise, SessionContext, SystemSleeper,
    Viewer,
};
use provider_builtin::gateway::sanitise;
use provider_builtin::{BuiltinConfig, BuiltinProvider};

use crate::{SqliteQueue, providers};

/// The name of the embedded store.
const BUILTIN: &str = "builtin";

/// An opened memory: the engine, and what commands need beside it.
#[derive(Clone)]
pub struct Memory {
    /// Reads and writes go through it; it honours the mode.
    pub engine: Arc<Engine>,
    /// The embedded store, in the modes that have one.
    pub builtin: Option<Arc<BuiltinProvider>>,
    /// What waits for the external provider, in the modes that have one.
    pub queue: Option<SqliteQueue>,
    /// The home directory.
    pub home: PathBuf,
    /// The configuration.
    pub config: Arc<Config>,
}

impl Memory {
    /// Opens the providers that the mode needs. A provider that is named but does not exist is an error that lists
    /// those that do. The external provider is not asked before its first use, so one that is out of reach opens.
    pub async fn open(loaded: &Loaded, clock: Arc<dyn Clock>) -> Result<Self> {
        let (config, home) = (&loaded.config, &loaded.home);
        let mode = config.memory.engine;
        let mut builder = Engine::builder(mode);
        // The external provider first: a mistake in its settings is told before anything is made in the home.
        let mut queue = None;
        if matches!(mode, EngineMode::External | EngineMode::Both)
            && let Some(name) = configured(config)
        {
            let provider = providers::build(loaded, name).await?;
            let opened = SqliteQueue::open(SqliteQueue::path_in(home), name, clock.clone()).await?;
            builder = builder.external(External {
                provider,
                queue: Arc::new(opened.clone()),
                policy: GuardPolicy::of(&config.memory.external),
                sanitise: sanitiser(loaded),
                context: context(config),
                clock: clock.clone(),
                sleeper: Arc::new(SystemSleeper),
            });
            queue = Some(opened);
        }
        let mut builtin = None;
        if matches!(mode, EngineMode::Builtin | EngineMode::Both) {
            let opened = Arc::new(BuiltinProvider::open(BuiltinConfig::of(config, home), clock).await?);
            builder = builder.builtin(opened.clone());
            builtin = Some(opened);
        }
        Ok(Self {
            engine: Arc::new(builder.build()?),
            builtin,
            queue,
            home: home.clone(),
            config: Arc::new(config.clone()),
        })
    }
}

/// One provider by its name, `builtin` or an external one, as it is, whatever the mode is.
pub async fn provider(loaded: &Loaded, name: &str, clock: Arc<dyn Clock>) -> Result<Arc<dyn MemoryProvider>> {
    let config = &loaded.config;
    if name == BUILTIN {
        let opened = BuiltinProvider::open(BuiltinConfig::of(config, &loaded.home), clock).await?;
        return Ok(Arc::new(opened));
    }
    providers::build(loaded, name).await
}

/// The queue to the external provider that is configured, whatever the mode is; `None` when none is configured.
pub async fn queue_of(loaded: &Loaded, clock: Arc<dyn Clock>) -> Result<Option<SqliteQueue>> {
    match configured(&loaded.config) {
        Some(name) => SqliteQueue::open(SqliteQueue::path_in(&loaded.home), name, clock).await.map(Some),
        None => Ok(None),
    }
}

fn configured(config: &Config) -> Option<&str> {
    Some(config.memory.external.provider.trim()).filter(|name| !name.is_empty())
}

/// What leaves for the external provider passes the same gateway as what is kept here.
fn sanitiser(loaded: &Loaded) -> Sanitise {
    let settings = BuiltinConfig::of(&loaded.config, &loaded.home).gateway;
    Arc::new(move |item| match sanitise(&settings, &item) {
        Ok(sanitised) => Ok(sanitised.item),
        Err(reason) => Err(Error::invalid(reason)),
    })
}

fn context(config: &Config) -> SessionContext {
    let external = &config.memory.external;
    SessionContext { viewer: Viewer::user(&external.user_id, &external.scope_id), language: None }
}
