//! Finds, checks, trusts, loads and examines plugins. The order is fixed: manifest, allow-list, paths and owners, hash, trust
//! — and only then is the library opened, because opening runs its code.
//!
//! ```ignore
//! // In an application with a configuration:
//! let plugins = PluginHost::of(&loaded);
//! let provider: Arc<dyn MemoryProvider> = Arc::new(plugins.load("acme", Some(embed)).await?);
//!
//! // By hand:
//! let plugin = PluginDirectory::new(root).find("acme")?;       // nothing runs yet
//! TrustStore::new(&home).check(&plugin)?;
//! let provider = PluginProvider::load(&plugin, LoadOptions::new(data, cache)).await?;
//! ```
//!
//! Only what the configuration names is loaded. A library stays in the process for ever; after [`PluginProvider`] is shut
//! down or dropped, only its code remains.
#[cfg(not(unix))]
compile_error!("the loader checks owners and permissions of files, which it can do on Unix only");

mod check;
mod contract;
mod directory;
mod embed;
mod instance;
mod library;
mod manifest;
mod pending;
mod provider;
mod quarantine;
mod safe_path;
mod services;
mod system;
mod template;
mod trust;
mod version;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use memory_core::config::Loaded;
use memory_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

pub use check::{CheckOptions, Outcome, Verdict, check};
pub use directory::{Installed, PluginDirectory, in_development};
pub use embed::{Embed, EmbedPurpose};
pub use manifest::{ConfigInfo, Identity, LibraryFile, MANIFEST_FILE, Manifest, Requires, check_name, platform};
pub use pending::unknown_completions;
pub use provider::{LoadOptions, PluginProvider};
pub use template::{Sdk, write_template};
pub use trust::{TRUST_FILE, TrustStore, Trusted};

/// The plugins of a configuration: where they are, which may be used, what each is given.
#[derive(Debug, Clone)]
pub struct PluginHost {
    /// Where they are.
    pub directory: PluginDirectory,
    /// Which are trusted.
    pub trust: TrustStore,
    /// Which may be used; empty means any.
    pub allowed: Vec<String>,
    /// Whether they must be trusted.
    pub require_trust: bool,
    home: PathBuf,
    loaded: Loaded,
}

impl PluginHost {
    /// Reads what the configuration says about plugins.
    pub fn of(loaded: &Loaded) -> Self {
        let external = &loaded.config.memory.external;
        Self {
            directory: PluginDirectory::new(loaded.plugin_dir()),
            trust: TrustStore::new(&loaded.home),
            allowed: external.allowed_plugins.clone(),
            require_trust: external.require_trust,
            home: loaded.home.clone(),
            loaded: loaded.clone(),
        }
    }

    /// The plugin called `name`, when it may be loaded: present, in order, allowed and trusted. Nothing of it runs.
    pub fn permitted(&self, name: &str) -> Result<Installed> {
        self.check_allowed(name)?;
        let plugin = self.directory.find(name)?;
        if self.require_trust {
            self.trust.check(&plugin)?;
        }
        Ok(plugin)
    }

    /// An error when `memory.external.allowed_plugins` leaves it out.
    pub fn check_allowed(&self, name: &str) -> Result<()> {
        if self.allowed.is_empty() || self.allowed.iter().any(|allowed| allowed == name) {
            return Ok(());
        }
        let message = format!("the plugin `{name}` is not among memory.external.allowed_plugins");
        Err(Error::new(ErrorKind::Forbidden, message).with_context("allowed", self.allowed.join(", ")))
    }

    /// Its section of the configuration, credentials included.
    pub fn config_of(&self, name: &str) -> Map<String, Value> {
        let sections = &self.loaded.config.memory.external.plugins;
        sections.get(name).map(|section| section.expose().clone()).unwrap_or_default()
    }

    /// What it is loaded with: its section, `plugins/<name>/data` and `plugins/<name>/cache` in the home, and time limits.
    /// A call may take a little longer than `memory.external.timeout`, so that the limit of the engine strikes first.
    pub fn options(&self, name: &str, embed: Option<Arc<dyn Embed>>) -> LoadOptions {
        let external = &self.loaded.config.memory.external;
        let folder = self.home.join("plugins").join(name);
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(30));
        LoadOptions {
            config: self.config_of(name),
            embed,
            open_deadline: seconds(external.initialize_timeout),
            call_deadline: seconds(external.timeout)
                .max(seconds(external.shutdown_timeout))
                .max(Duration::from_secs(30)),
            ..LoadOptions::new(folder.join("data"), folder.join("cache"))
        }
    }

    /// Loads the plugin called `name`, when it may be.
    pub async fn load(&self, name: &str, embed: Option<Arc<dyn Embed>>) -> Result<PluginProvider> {
        PluginProvider::load(&self.permitted(name)?, self.options(name, embed)).await
    }

    /// The same, blocking: see [`PluginProvider::load_blocking`].
    pub fn load_blocking(&self, name: &str, embed: Option<Arc<dyn Embed>>) -> Result<PluginProvider> {
        PluginProvider::load_blocking(&self.permitted(name)?, self.options(name, embed))
    }
}
