//! What the host offers to one plugin: log, folders, embedder. `ctx` is a number here too.
#![expect(unsafe_code, reason = "defines the functions that plugins call with slices of theirs")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use memory_core::{Error, ErrorKind, Result};
use tokio::runtime::Handle;

use super::embed::Embed;
use crate::abi::{self, Completion, DoneFn, HostApiV1, MINOR, Outcome, Slice};
use crate::message::{EmbedReply, EmbedRequest, InfoReply};
use crate::wire_error::{clean, misfit};

/// The most texts in one request to the embedder.
const MOST_TEXTS: usize = 4096;

static SERVICES: LazyLock<Mutex<HashMap<usize, Arc<Services>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// The services of one instance.
pub(super) struct Services {
    number: usize,
    plugin: String,
    /// Kept for ever, because a plugin may keep what it was lent.
    data_dir: &'static str,
    cache_dir: &'static str,
    embed: Option<Arc<dyn Embed>>,
    runtime: Option<Handle>,
    panics: Mutex<Vec<String>>,
}

/// A table that a plugin may keep for ever.
pub(super) struct HostTable(pub(super) &'static HostApiV1);

// SAFETY: the table is never changed, and its `ctx` is a number that is never followed.
unsafe impl Send for HostTable {}

impl Services {
    /// Registers services and makes their table. Tables and folder names are a few hundred bytes and are never released.
    pub(super) fn register(
        plugin: &str,
        data_dir: &Path,
        cache_dir: &Path,
        embed: Option<Arc<dyn Embed>>,
    ) -> Result<(Arc<Self>, HostTable)> {
        let services = Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            plugin: plugin.to_owned(),
            data_dir: prepare(data_dir)?,
            cache_dir: prepare(cache_dir)?,
            embed,
            runtime: Handle::try_current().ok(),
            panics: Mutex::default(),
        });
        lock(&SERVICES).insert(services.number, Arc::clone(&services));
        let table = HostApiV1 {
            size: size_of::<HostApiV1>() as u32,
            abi_minor: MINOR,
            ctx: std::ptr::without_provenance_mut(services.number),
            log: Some(log),
            data_dir: Some(data_dir_of),
            cache_dir: Some(cache_dir_of),
            call: Some(call),
        };
        Ok((services, HostTable(Box::leak(Box::new(table)))))
    }

    /// Forgets them: from now on the plugin's calls find nothing.
    pub(super) fn release(&self) {
        lock(&SERVICES).remove(&self.number);
    }

    /// Panics that the plugin reported through its log since the last time.
    pub(super) fn take_panics(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.panics))
    }

    fn log(&self, level: u32, target: &str, message: &str) {
        let (plugin, target, message) = (self.plugin.as_str(), clean(target), clean(message));
        match level {
            abi::LOG_ERROR => tracing::error!(plugin, target, "{message}"),
            abi::LOG_WARN => tracing::warn!(plugin, target, "{message}"),
            abi::LOG_INFO => tracing::info!(plugin, target, "{message}"),
            abi::LOG_DEBUG => tracing::debug!(plugin, target, "{message}"),
            _ => tracing::trace!(plugin, target, "{message}"),
        }
        let mut panics = lock(&self.panics);
        if target == "panic" && panics.len() < 16 {
            panics.push(message);
        }
    }

    fn answer(self: &Arc<Self>, method: &str, request: Vec<u8>, completion: Completion) {
        match (method, &self.embed, &self.runtime) {
            ("info", ..) => completion.finish(outcome(Ok(self.info()))),
            ("embed", Some(embed), Some(runtime)) => {
                let embed = Arc::clone(embed);
                runtime.spawn(async move { completion.finish(outcome(embed_texts(&*embed, &request).await)) });
            }
            ("embed", ..) => {
                completion.finish(Outcome::Failed(Error::new(ErrorKind::Unsupported, "the host has no embedder")))
            }
            _ => {
                let error = Error::new(ErrorKind::Unsupported, format!("the host knows no method `{}`", clean(method)));
                completion.finish(Outcome::Failed(error));
            }
        }
    }

    fn info(&self) -> InfoReply {
        let embed = self.runtime.as_ref().and(self.embed.as_ref());
        InfoReply {
            name: "memory".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            abi: abi::version_text(abi::VERSION),
            features: embed.iter().map(|_| "embed".to_owned()).collect(),
            embedder: embed.map(|embed| embed.fingerprint()),
            dimensions: embed.map_or(0, |embed| embed.dimensions()),
        }
    }
}

async fn embed_texts(embed: &dyn Embed, request: &[u8]) -> Result<EmbedReply> {
    let request: EmbedRequest = serde_json::from_slice(request)
        .map_err(|error| misfit(ErrorKind::InvalidRequest, "the request of `embed` does not fit", &error))?;
    if request.texts.len() > MOST_TEXTS {
        return Err(Error::invalid(format!("`embed` takes at most {MOST_TEXTS} texts at once")));
    }
    let vectors = embed.embed(request.texts, request.purpose).await?;
    Ok(EmbedReply { embedder: embed.fingerprint(), vectors })
}

fn outcome(result: Result<impl serde::Serialize>) -> Outcome {
    let written = result.and_then(|reply| {
        serde_json::to_vec(&reply).map_err(|error| Error::unexpected("the reply cannot be written").with_source(error))
    });
    written.map_or_else(Outcome::Failed, Outcome::Reply)
}

/// Creates a folder that only this user can enter. Its name, for ever.
fn prepare(folder: &Path) -> Result<&'static str> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        Error::new(ErrorKind::Storage, format!("cannot create {}", folder.display())).with_source(error)
    })?;
    let name = folder.to_str().ok_or_else(|| {
        Error::new(ErrorKind::ConfigInvalid, format!("{} is not UTF-8, which plugins need", folder.display()))
    })?;
    Ok(Box::leak(name.to_owned().into_boxed_str()))
}

fn services(ctx: *mut c_void) -> Option<Arc<Services>> {
    lock(&SERVICES).get(&ctx.addr()).cloned()
}

/// Runs what a plugin asked for; nothing may unwind into it.
fn contained<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(otherwise)
}

unsafe extern "C" fn log(ctx: *mut c_void, level: u32, target: Slice, message: Slice) {
    contained((), || {
        if let Some(services) = services(ctx) {
            // SAFETY: the plugin lends both for the time of this call.
            let (target, message) = unsafe { (target.text(), message.text()) };
            services.log(level, &target, &message);
        }
    });
}

unsafe extern "C" fn data_dir_of(ctx: *mut c_void) -> Slice {
    contained(Slice::new(b""), || Slice::new(services(ctx).map_or("", |services| services.data_dir).as_bytes()))
}

unsafe extern "C" fn cache_dir_of(ctx: *mut c_void) -> Slice {
    contained(Slice::new(b""), || Slice::new(services(ctx).map_or("", |services| services.cache_dir).as_bytes()))
}

unsafe extern "C" fn call(ctx: *mut c_void, method: Slice, request: Slice, done: DoneFn, done_context: u64) {
    // SAFETY: the plugin gives a completion of its own. Dropped in a panic, it completes the call.
    let completion = unsafe { Completion::new(done, done_context) };
    contained((), move || {
        // SAFETY: the plugin lends both for the time of this call.
        let (method, request) = unsafe { (method.text(), request.bytes().to_vec()) };
        match services(ctx) {
            Some(services) => services.answer(&method, request, completion),
            None => completion.finish(Outcome::Failed(Error::new(ErrorKind::Cancelled, "the plugin is closed"))),
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
