//! A loaded plugin as a provider like any other.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use memory_core::{Capability, Clock, Error, ErrorKind, Result, SystemClock, Viewer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::directory::Installed;
use super::embed::Embed;
use super::instance::{Instance, Opening};
use super::pending::Reply;
use super::quarantine::Quarantine;
use super::services::Services;
use super::system::is_set_user_id;
use crate::abi;
use crate::message::{DescribeRequest, Description};
use crate::wire_error;

/// How a plugin is loaded and called.
#[derive(Clone)]
pub struct LoadOptions {
    /// Its section of the configuration.
    pub config: Map<String, Value>,
    /// Its folder for what must last.
    pub data_dir: PathBuf,
    /// Its folder for what can be made again.
    pub cache_dir: PathBuf,
    /// The embedder it may use.
    pub embed: Option<Arc<dyn Embed>>,
    /// How long loading and opening may take.
    pub open_deadline: Duration,
    /// How long any one call may take. Applications that have time limits of their own keep this one above them.
    pub call_deadline: Duration,
    /// The languages that guidance is fetched in.
    pub languages: Vec<String>,
    /// The clock that panics are timed by.
    pub clock: Arc<dyn Clock>,
}

impl LoadOptions {
    /// 30 seconds for everything, no configuration, no embedder, guidance in English and Chinese.
    pub fn new(data_dir: impl Into<PathBuf>, cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            config: Map::new(),
            data_dir: data_dir.into(),
            cache_dir: cache_dir.into(),
            embed: None,
            open_deadline: Duration::from_secs(30),
            call_deadline: Duration::from_secs(30),
            languages: vec!["en".to_owned(), "zh".to_owned()],
            clock: Arc::new(SystemClock),
        }
    }
}

/// A loaded plugin. Its methods go to the library as JSON; what comes back is checked, and what a viewer may not read is
/// dropped.
pub struct PluginProvider {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) instance: Instance,
    pub(super) described: RwLock<Described>,
    pub(super) closed: AtomicBool,
    pub(super) quarantine: Mutex<Quarantine>,
    pub(super) options: LoadOptions,
}

/// What the plugin says about itself.
#[derive(Clone, Default)]
pub(super) struct Described {
    pub(super) capability: Capability,
    pub(super) description: Description,
}

impl PluginProvider {
    /// Loads a plugin and opens it. Whoever calls this has checked that it may be loaded: [`super::PluginHost::load`] does.
    pub async fn load(plugin: &Installed, options: LoadOptions) -> Result<Self> {
        let plugin = plugin.clone();
        tokio::task::spawn_blocking(move || Self::load_blocking(&plugin, options))
            .await
            .map_err(|error| Error::unexpected("the loading thread stopped").with_source(error))?
    }

    /// The same, blocking for at most the two deadlines. The embedder serves the plugin only when this is called within a
    /// tokio runtime, and not before this returns on a runtime with a single thread.
    pub fn load_blocking(plugin: &Installed, options: LoadOptions) -> Result<Self> {
        let in_plugin = |error: Error| {
            error.with_context("plugin", plugin.name()).with_context("version", plugin.version()).with_operation("load")
        };
        if is_set_user_id() {
            return Err(in_plugin(Error::new(ErrorKind::Forbidden, "a program with borrowed rights loads no plugins")));
        }
        let config = serde_json::to_vec(&options.config).map_err(|error| unwritable("open", error))?;
        let (services, table) =
            Services::register(plugin.name(), &options.data_dir, &options.cache_dir, options.embed.clone())?;
        let opening = Opening {
            library: plugin.library.clone(),
            sha256: plugin.sha256.clone(),
            abi: plugin.manifest.plugin.abi.clone(),
            config,
        };
        let instance = Instance::open(opening, services, table, options.open_deadline).map_err(in_plugin)?;
        let provider = Self {
            name: plugin.name().to_owned(),
            version: plugin.version().to_owned(),
            description: plugin.manifest.plugin.description.clone(),
            instance,
            described: RwLock::default(),
            closed: AtomicBool::new(false),
            quarantine: Mutex::default(),
            options,
        };
        let request = provider.describe_request()?;
        let reply = provider.instance.call_blocking("describe", request, provider.options.call_deadline);
        provider.described(reply.and_then(|reply| provider.read(reply)).map_err(in_plugin)?).map_err(in_plugin)?;
        Ok(provider)
    }

    /// What the plugin says about itself, as it said it last.
    pub fn description(&self) -> Description {
        self.seen().description
    }

    /// Completions that belonged to no call: a fault of the plugin that did no harm.
    pub fn stray_completions(&self) -> u64 {
        self.instance.strays()
    }

    fn describe_request(&self) -> Result<Vec<u8>> {
        let request = DescribeRequest { languages: self.options.languages.clone() };
        serde_json::to_vec(&request).map_err(|error| unwritable("describe", error))
    }

    pub(super) fn described(&self, description: Description) -> Result<()> {
        for (what, said, expected) in
            [("name", &description.name, &self.name), ("version", &description.version, &self.version)]
        {
            if said != expected {
                let said = wire_error::clean(said);
                let message = format!("the library says its {what} is `{said}`, its manifest `{expected}`");
                return Err(
                    Error::new(ErrorKind::BadReply, message).with_hint("make plugin.toml and the library agree")
                );
            }
        }
        let capability = capability(&description.capability)?;
        *self.described.write().unwrap_or_else(PoisonError::into_inner) = Described { capability, description };
        Ok(())
    }

    pub(super) fn seen(&self) -> Described {
        self.described.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn quarantine(&self) -> MutexGuard<'_, Quarantine> {
        self.quarantine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn call<R: DeserializeOwned>(&self, method: &'static str, request: &impl Serialize) -> Result<R> {
        let result = self.try_call(method, request).await;
        result.map_err(|error| {
            error
                .with_operation(method)
                .with_context("plugin", &self.name)
                .with_context("version", &self.version)
                .with_context("method", method)
        })
    }

    async fn try_call<R: DeserializeOwned>(&self, method: &'static str, request: &impl Serialize) -> Result<R> {
        if self.quarantine().is_shut() {
            return Err(shut());
        }
        let request = serde_json::to_vec(request).map_err(|error| unwritable(method, error))?;
        if request.len() > abi::LARGEST_PAYLOAD {
            return Err(Error::invalid(format!("the request has more than {} bytes", abi::LARGEST_PAYLOAD)));
        }
        let reply = self.instance.call(method, request, self.options.call_deadline).await?;
        self.read(reply)
    }

    /// A reply of the plugin, or its error. Panics are counted.
    fn read<R: DeserializeOwned>(&self, reply: Reply) -> Result<R> {
        let Some(payload) = reply.payload else {
            let message = format!("the reply has more than {} bytes", abi::LARGEST_PAYLOAD);
            return Err(Error::new(ErrorKind::BadReply, message));
        };
        match reply.status {
            abi::STATUS_OK => serde_json::from_slice(&payload).map_err(|error| {
                wire_error::misfit(ErrorKind::BadReply, "the reply of the plugin does not fit", &error)
            }),
            abi::STATUS_ERROR => Err(wire_error::decode(&payload)),
            abi::STATUS_PANIC => {
                if self.quarantine().note(self.options.clock.now()) {
                    tracing::error!(plugin = self.name, "three panics in a minute: the plugin is not called any more");
                }
                let said = wire_error::decode(&payload);
                Err(Error::unexpected(format!("the plugin panicked: {}", said.message())))
            }
            abi::STATUS_CANCELLED => Err(Error::new(ErrorKind::Cancelled, "the plugin cancelled the call")),
            other => Err(Error::new(ErrorKind::BadReply, format!("the plugin answers the unknown status {other}"))),
        }
    }

    /// Leaves what a viewer may read.
    pub(super) fn keep_readable<T>(
        &self,
        viewer: &Viewer,
        items: &mut Vec<T>,
        scope: impl Fn(&T) -> &memory_core::Scope,
    ) {
        let before = items.len();
        let readable = viewer.readable();
        items.retain(|item| readable.contains(scope(item)));
        if items.len() < before {
            tracing::warn!(
                plugin = self.name,
                dropped = before - items.len(),
                "the plugin answered what the viewer may not read"
            );
        }
    }
}

/// The capability as far as this program knows its fields.
fn capability(said: &Map<String, Value>) -> Result<Capability> {
    let mut known = serde_json::to_value(Capability::default()).map_err(|error| unwritable("describe", error))?;
    for (name, value) in known.as_object_mut().into_iter().flatten() {
        if let Some(said) = said.get(name) {
            *value = said.clone();
        }
    }
    serde_json::from_value(known)
        .map_err(|error| wire_error::misfit(ErrorKind::BadReply, "the capability of the plugin does not fit", &error))
}

fn unwritable(method: &'static str, error: serde_json::Error) -> Error {
    Error::unexpected(format!("the request of `{method}` cannot be written as JSON")).with_source(error)
}

fn shut() -> Error {
    Error::new(ErrorKind::Unreachable, "the plugin panicked three times within a minute and is not called any more")
        .with_hint("tell its author what the log says, and restart the program to try it again")
}
