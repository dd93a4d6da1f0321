//! Opens what the configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use memory_core::config::{Config, EngineMode, Loaded};
use memory_core::{Clock, Engine, MemoryProvider, ProviderRegistry, Result};
use provider_builtin::{BuiltinConfig, BuiltinProvider};

/// An opened memory: the engine, and the builtin provider for what only it can do.
#[derive(Clone)]
pub struct Memory {
    /// Reads and writes go through it; it honours the mode.
    pub engine: Arc<Engine>,
    /// The embedded store, in the modes that have one.
    pub builtin: Option<Arc<BuiltinProvider>>,
    /// The home directory.
    pub home: PathBuf,
    /// The configuration.
    pub config: Arc<Config>,
}

impl Memory {
    /// Opens the providers that the mode needs. A provider that is named but does not exist is an error that lists
    /// those that do.
    pub async fn open(loaded: &Loaded, clock: Arc<dyn Clock>) -> Result<Self> {
        let (config, home) = (&loaded.config, &loaded.home);
        let mode = config.memory.engine;
        let builtin = match mode {
            EngineMode::Builtin | EngineMode::Both => {
                Some(Arc::new(BuiltinProvider::open(BuiltinConfig::of(config, home), clock).await?))
            }
            EngineMode::External | EngineMode::None => None,
        };
        let name = config.memory.external.provider.trim();
        let external = match mode {
            EngineMode::External | EngineMode::Both if !name.is_empty() => {
                Some(external_providers().build(name, config)?)
            }
            _ => None,
        };
        let shared = builtin.clone().map(|provider| provider as Arc<dyn MemoryProvider>);
        Ok(Self {
            engine: Arc::new(Engine::new(mode, shared, external)?),
            builtin,
            home: home.clone(),
            config: Arc::new(config.clone()),
        })
    }
}

/// The external providers of this build.
pub fn external_providers() -> ProviderRegistry {
    ProviderRegistry::default()
}
