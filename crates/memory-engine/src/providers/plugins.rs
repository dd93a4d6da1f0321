//! Providers from libraries of third parties.

use std::sync::Arc;

use async_trait::async_trait;
use memory_core::config::Loaded;
use memory_core::{MemoryProvider, Result};
use memory_models::{Embedder, Purpose, build_embedder};
use plugin_sdk::host::{Embed, EmbedPurpose, PluginHost};
use provider_builtin::BuiltinConfig;

use super::{KnownProvider, ProviderOrigin};

/// The plugins that are installed, and what keeps each from being used.
pub(super) fn known(loaded: &Loaded) -> Vec<KnownProvider> {
    let host = PluginHost::of(loaded);
    let installed = match host.directory.list() {
        Ok(installed) => installed,
        Err(error) => {
            tracing::warn!(%error, "the plugins cannot be listed");
            return Vec::new();
        }
    };
    installed
        .into_iter()
        .map(|(name, _)| {
            let problem = host.permitted(&name).err().map(|error| error.to_string());
            KnownProvider { name, origin: ProviderOrigin::Plugin, problem }
        })
        .collect()
}

/// Loads the plugin called `name`; `None` when there is none.
pub(super) async fn load(loaded: &Loaded, name: &str) -> Result<Option<Arc<dyn MemoryProvider>>> {
    let host = PluginHost::of(loaded);
    let is_installed = host.directory.list()?.iter().any(|(installed, _)| installed == name);
    if !is_installed {
        return Ok(None);
    }
    let embedder = build_embedder(&BuiltinConfig::of(&loaded.config, &loaded.home).embedder, None)?;
    let provider = host.load(name, Some(Arc::new(HostEmbedder(embedder)))).await?;
    Ok(Some(Arc::new(provider)))
}

/// The configured embedder, for plugins.
struct HostEmbedder(Arc<dyn Embedder>);

#[async_trait]
impl Embed for HostEmbedder {
    fn fingerprint(&self) -> String {
        self.0.id().to_owned()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    async fn embed(&self, texts: Vec<String>, purpose: EmbedPurpose) -> Result<Vec<Option<Vec<f32>>>> {
        let purpose = match purpose {
            EmbedPurpose::Passage => Purpose::Passage,
            EmbedPurpose::Query => Purpose::Query,
        };
        self.0.embed(&texts, purpose).await
    }
}
