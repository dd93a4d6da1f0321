//! What the host offers, as an author sees it.
#![expect(unsafe_code, reason = "calls the functions of the table of the host")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use memory_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::oneshot;

use super::HostInfo;
use crate::abi::{self, Buf, HostApiV1, Slice};
use crate::message::{EmbedPurpose, EmbedReply, EmbedRequest};

/// The host of a plugin: its log, its folders, its embedder. Cheap to clone.
#[derive(Clone)]
pub struct Host(Inner);

#[derive(Clone)]
enum Inner {
    Table(Table),
    Folder(Arc<Path>),
}

/// The table of a host, checked when it came in.
#[derive(Clone, Copy)]
struct Table(&'static HostApiV1);

// SAFETY: the interface says that the functions of the table may be called from any thread; `ctx` is only handed to them.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// The replies that are awaited, by number: the host never gets a pointer.
type Waiting = HashMap<u64, oneshot::Sender<(i32, Option<Vec<u8>>)>>;
static WAITING: LazyLock<Mutex<Waiting>> = LazyLock::new(Mutex::default);
static NUMBER: AtomicU64 = AtomicU64::new(1);

impl Host {
    /// # Safety
    /// `table` is null or points to the table of a host, valid for ever.
    pub(super) unsafe fn from_table(table: *const HostApiV1) -> Result<Self> {
        // SAFETY: the caller vouches for the pointer; `size` is the first field of every version of the table.
        let size = if table.is_null() { 0 } else { unsafe { (*table).size } };
        if usize::try_from(size).unwrap_or(0) < size_of::<HostApiV1>() {
            return Err(Error::unexpected("the host gave no table, or one that is too short"));
        }
        // SAFETY: the table has all fields of version 1.0 and is valid for ever.
        Ok(Self(Inner::Table(Table(unsafe { &*table }))))
    }

    /// A host for unit tests: its folders lie in `folder`, it logs to `tracing` and has no embedder.
    pub fn detached(folder: impl Into<PathBuf>) -> Self {
        Self(Inner::Folder(folder.into().into()))
    }

    /// Writes a line to the log of the host. `level` is one of `abi::LOG_…`. No secrets.
    pub fn log(&self, level: u32, target: &str, message: &str) {
        match &self.0 {
            Inner::Table(Table(table)) => {
                if let Some(log) = table.log {
                    // SAFETY: the table is the host's, and the slices live as long as the call.
                    unsafe { log(table.ctx, level, Slice::new(target.as_bytes()), Slice::new(message.as_bytes())) };
                }
            }
            Inner::Folder(_) => tracing::info!(level, target, "{message}"),
        }
    }

    /// The folder for what must last. It exists.
    pub fn data_dir(&self) -> PathBuf {
        match &self.0 {
            Inner::Table(Table(table)) => folder(table, table.data_dir),
            Inner::Folder(folder) => folder.to_path_buf(),
        }
    }

    /// The folder for what can be made again. It exists.
    pub fn cache_dir(&self) -> PathBuf {
        match &self.0 {
            Inner::Table(Table(table)) => folder(table, table.cache_dir),
            Inner::Folder(folder) => folder.to_path_buf(),
        }
    }

    /// Who the host is and what it offers.
    pub async fn info(&self) -> Result<HostInfo> {
        self.call("info", &json!({})).await
    }

    /// Vectors from the embedder of the host. Keep the fingerprint with them: vectors of two embedders do not compare.
    pub async fn embed(&self, texts: Vec<String>, purpose: EmbedPurpose) -> Result<EmbedReply> {
        self.call("embed", &EmbedRequest { texts, purpose }).await
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, request: &impl Serialize) -> Result<T> {
        let nonsense = |error| Error::new(ErrorKind::BadReply, format!("`{method}` of the host")).with_source(error);
        let request = serde_json::to_vec(request).map_err(nonsense)?;
        let Inner::Table(Table(table)) = &self.0 else {
            return Err(Error::new(ErrorKind::Unsupported, format!("a detached host has no `{method}`")));
        };
        let (sender, receiver) = oneshot::channel();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let Some(call) = table.call else {
            return Err(Error::new(ErrorKind::Unsupported, "the host takes no calls"));
        };
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).insert(number, sender);
        let forget = Forget(number);
        // SAFETY: the table is the host's, the slices live as long as the call, and `complete` takes any number.
        unsafe { call(table.ctx, Slice::new(method.as_bytes()), Slice::new(&request), complete, number) };
        let answer = receiver.await;
        drop(forget);
        match answer {
            Ok((abi::STATUS_OK, Some(reply))) => serde_json::from_slice(&reply).map_err(nonsense),
            Ok((abi::STATUS_CANCELLED, _)) | Err(_) => {
                Err(Error::new(ErrorKind::Cancelled, format!("the host gave up `{method}`")))
            }
            Ok((_, payload)) => Err(refused(method, &payload.unwrap_or_default())),
        }
    }
}

/// The error object of the host, kind kept.
fn refused(method: &str, payload: &[u8]) -> Error {
    let object: serde_json::Value = serde_json::from_slice(payload).unwrap_or_default();
    let kind = object.get("kind").and_then(|kind| serde_json::from_value(kind.clone()).ok());
    let message = object.get("message").and_then(|message| message.as_str()).unwrap_or("no reason given");
    Error::new(kind.unwrap_or(ErrorKind::Unexpected), format!("`{method}` of the host: {message}"))
}

/// Forgets a number when the caller no longer waits.
struct Forget(u64);

impl Drop for Forget {
    fn drop(&mut self) {
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

unsafe extern "C" fn complete(number: u64, status: i32, payload: Buf) {
    // SAFETY: the host hands over a buffer of its own, once.
    let payload = unsafe { payload.take() };
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    if let Some(sender) = waiting {
        // Nobody waits any more: nothing to do.
        let _ = sender.send((status, payload));
    }
}

fn folder(table: &HostApiV1, function: Option<unsafe extern "C" fn(*mut std::ffi::c_void) -> Slice>) -> PathBuf {
    match function {
        // SAFETY: the function is the host's, and its bytes are valid for ever.
        Some(function) => PathBuf::from(unsafe { function(table.ctx).text() }),
        None => PathBuf::new(),
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("data_dir", &self.data_dir()).finish_non_exhaustive()
    }
}
