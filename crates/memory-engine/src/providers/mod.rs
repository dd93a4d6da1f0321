//! The external providers: those of this build, and plugins.

#[cfg(feature = "plugins")]
mod plugins;

use std::sync::Arc;

use memory_core::config::Loaded;
use memory_core::{Error, ErrorKind, MemoryProvider, ProviderRegistry, Result};
use serde::Serialize;

/// A name that the documents know and that this version has no provider for.
const NOT_IN_THIS_VERSION: &str = "openjiuwen";

/// Where a provider comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderOrigin {
    /// Part of this program.
    BuiltIn,
    /// A library in the folder of the plugins.
    Plugin,
}

/// An external provider that could be configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownProvider {
    /// The name that configuration uses.
    pub name: String,
    /// Where it comes from.
    pub origin: ProviderOrigin,
    /// Why it cannot be used as it is, such as a plugin that nobody has trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The external providers of this build.
pub fn external_providers() -> Result<ProviderRegistry> {
    #[cfg_attr(not(any(feature = "mem0", feature = "openviking")), expect(unused_mut, reason = "nothing to register"))]
    let mut registry = ProviderRegistry::default();
    #[cfg(feature = "mem0")]
    registry.register(
        "mem0",
        Box::new(|config| {
            let config = provider_mem0::Mem0Config::of(config)?;
            Ok(Arc::new(provider_mem0::Mem0Provider::new(config)?))
        }),
    )?;
    #[cfg(feature = "openviking")]
    registry.register(
        "openviking",
        Box::new(|config| {
            let config = provider_openviking::OpenVikingConfig::of(config)?;
            Ok(Arc::new(provider_openviking::OpenVikingProvider::new(config)?))
        }),
    )?;
    Ok(registry)
}

/// Every external provider that could be configured: those of this build, then the plugins that are installed.
pub fn known_providers(loaded: &Loaded) -> Result<Vec<KnownProvider>> {
    let registry = external_providers()?;
    let built_in = |name: &str| KnownProvider { name: name.to_owned(), origin: ProviderOrigin::BuiltIn, problem: None };
    #[cfg_attr(not(feature = "plugins"), expect(unused_mut, reason = "nothing to add"))]
    let mut known: Vec<KnownProvider> = registry.names().into_iter().map(built_in).collect();
    #[cfg(feature = "plugins")]
    known.extend(plugins::known(loaded));
    #[cfg(not(feature = "plugins"))]
    let _ = loaded;
    Ok(known)
}

/// Builds the provider called `name`. Nothing is sent before its first use. A plugin is loaded, when it may be.
pub(crate) async fn build(loaded: &Loaded, name: &str) -> Result<Arc<dyn MemoryProvider>> {
    let registry = external_providers()?;
    if registry.names().contains(&name) {
        return registry.build(name, &loaded.config);
    }
    if name == NOT_IN_THIS_VERSION {
        let message = format!("the provider `{name}` is known, but not part of this version");
        return Err(available(loaded, Error::new(ErrorKind::ConfigInvalid, message)));
    }
    #[cfg(feature = "plugins")]
    if let Some(provider) = plugins::load(loaded, name).await? {
        return Ok(provider);
    }
    Err(available(loaded, Error::new(ErrorKind::ConfigInvalid, format!("there is no external provider `{name}`"))))
}

/// Adds what there is to choose from.
fn available(loaded: &Loaded, error: Error) -> Error {
    let known = known_providers(loaded).unwrap_or_default();
    let names: Vec<String> = known.into_iter().map(|known| known.name).collect();
    let names = if names.is_empty() { "none in this build".to_owned() } else { names.join(", ") };
    error.with_context("available", names).with_hint(
        "set memory.external.provider (MEMORY_EXTERNAL_PROVIDER) to an available name, or memory.engine to builtin",
    )
}
