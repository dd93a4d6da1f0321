//! The external providers that exist, by the name that configuration uses.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Config;
use crate::{Error, ErrorKind, MemoryProvider, Result};

/// Builds a provider from the configuration.
pub type ProviderFactory = Box<dyn Fn(&Config) -> Result<Arc<dyn MemoryProvider>> + Send + Sync>;

/// Names and factories. Registration is an explicit call; nothing registers itself.
#[derive(Default)]
pub struct ProviderRegistry {
    factories: BTreeMap<String, ProviderFactory>,
}

impl ProviderRegistry {
    /// Adds a provider. A name can be taken once.
    pub fn register(&mut self, name: impl Into<String>, factory: ProviderFactory) -> Result<()> {
        let name = name.into();
        if self.factories.contains_key(&name) {
            return Err(Error::new(ErrorKind::ConfigInvalid, format!("a provider named `{name}` exists already")));
        }
        self.factories.insert(name, factory);
        Ok(())
    }

    /// The names that exist, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.factories.keys().map(String::as_str).collect()
    }

    /// Builds the provider called `name`; a miss lists what exists.
    pub fn build(&self, name: &str, config: &Config) -> Result<Arc<dyn MemoryProvider>> {
        match self.factories.get(name) {
            Some(factory) => factory(config),
            None => {
                let available = match self.names() {
                    names if names.is_empty() => "none in this build".to_owned(),
                    names => names.join(", "),
                };
                Err(Error::new(ErrorKind::ConfigInvalid, format!("there is no external provider `{name}`"))
                    .with_context("available", available)
                    .with_hint("set memory.external.provider (MEMORY_EXTERNAL_PROVIDER) to an available name, or memory.engine to builtin"))
            }
        }
    }
}

impl std::fmt::Debug for ProviderRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
