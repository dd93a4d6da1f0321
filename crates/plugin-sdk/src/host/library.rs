//! Opens libraries. From here on foreign code runs, with the rights of this process.
#![expect(unsafe_code, reason = "opens libraries and calls the functions of their tables")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use libloading::os::unix::{Library as Dynamic, RTLD_LOCAL, RTLD_NOW};
use memory_core::{Error, ErrorKind, Result};

use super::manifest::other_abi;
use super::pending::DONE;
use super::services::HostTable;
use crate::abi::{self, Buf, PluginApiV1, Slice};
use crate::wire_error;

/// What was opened, by path: a library stays in the process for ever, whatever happens to its file.
static OPENED: LazyLock<Mutex<HashMap<PathBuf, String>>> = LazyLock::new(Mutex::default);

/// The functions of a plugin.
pub(super) struct Table(PluginApiV1);

/// An open instance. It stays on the thread that opened it, and is closed when dropped.
pub(super) struct OpenInstance {
    table: Table,
    instance: *mut c_void,
}

impl Table {
    /// Opens a library whose file has been checked, and its table. The version of the interface must be `abi` exactly.
    pub(super) fn load(path: &Path, sha256: &str, abi: &str) -> Result<Self> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.get(path).is_some_and(|before| before != sha256) {
            // The loader of the system would give back the old code under the new name.
            return Err(wrong(format!("{} was replaced while this program used it", path.display()))
                .with_hint("restart the program"));
        }
        // SAFETY: initialisers of the library run now. The user trusts it, and all checks are done.
        let library = unsafe { Dynamic::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
            wrong(format!("{} cannot be loaded", path.display()))
                .with_source(error)
                .with_hint("it must be a shared library for this platform, with everything that it links to installed")
        })?;
        opened.insert(path.to_owned(), sha256.to_owned());
        drop(opened);
        // Never unloaded: threads, thread-local destructors and late completions may point into its code.
        let library = Box::leak(Box::new(library));
        let missing = |symbol: &str| {
            wrong(format!("{} has no symbol `{symbol}`", path.display()))
                .with_hint("export it with `export_plugin!` or as memory_plugin.h declares it")
        };
        // SAFETY: the type is the one that the interface gives this symbol.
        let version = unsafe { library.get::<unsafe extern "C" fn() -> u32>(b"mem_plugin_abi\0") };
        // SAFETY: the function takes nothing and answers a number.
        let version = unsafe { version.map_err(|_| missing("mem_plugin_abi"))?() };
        let said = abi::version_text(version);
        if version >> 16 != abi::MAJOR {
            return Err(other_abi(&said));
        }
        if said != abi {
            return Err(wrong(format!("the library speaks version {said} of the interface, its manifest says {abi}")));
        }
        // SAFETY: the type is the one that the interface gives this symbol.
        let table = unsafe { library.get::<unsafe extern "C" fn() -> *const PluginApiV1>(b"mem_plugin_api_v1\0") };
        // SAFETY: the function takes nothing and answers a pointer that is valid for ever.
        unsafe { Self::read(table.map_err(|_| missing("mem_plugin_api_v1"))?()) }
    }

    /// # Safety
    /// `table` is null or points to `size` bytes of a table, valid for ever.
    unsafe fn read(table: *const PluginApiV1) -> Result<Self> {
        if table.is_null() {
            return Err(wrong("the plugin gives no table".to_owned()));
        }
        // SAFETY: `size` is the first field of every version of the table.
        let size = usize::try_from(unsafe { (*table).size }).unwrap_or(0);
        if size < size_of::<PluginApiV1>() {
            return Err(wrong(format!(
                "the table of the plugin is too short: {size} bytes of at least {}",
                size_of::<PluginApiV1>()
            )));
        }
        // SAFETY: the table is long enough for the fields that this program knows.
        let table = unsafe { table.read() };
        let missing = [
            ("open", table.open.is_none()),
            ("call", table.call.is_none()),
            ("cancel", table.cancel.is_none()),
            ("close", table.close.is_none()),
        ];
        match missing.iter().find(|(_, missing)| *missing) {
            Some((function, _)) => Err(wrong(format!("the table of the plugin has no function `{function}`"))),
            None => Ok(Self(table)),
        }
    }

    /// Opens an instance.
    pub(super) fn open(self, host: &HostTable, config: &[u8]) -> Result<OpenInstance> {
        let mut instance = std::ptr::null_mut();
        let mut error = Buf::empty();
        let Some(open) = self.0.open else { return Err(Error::unexpected("the table has no `open`")) };
        // SAFETY: the table is the plugin's; the host table is valid for ever; the places live as long as the call.
        let status = unsafe { open(host.0, Slice::new(config), &raw mut instance, &raw mut error) };
        // SAFETY: the plugin hands over its error, once; an untouched one is empty.
        let payload = unsafe { error.take() }.unwrap_or_default();
        match status {
            abi::STATUS_OK if instance.is_null() => Err(bad("`open` gives no instance")),
            abi::STATUS_OK => Ok(OpenInstance { table: self, instance }),
            abi::STATUS_PANIC => {
                let said = wire_error::decode(&payload);
                Err(Error::unexpected(format!("the plugin panicked while it was opened: {}", said.message())))
            }
            abi::STATUS_ERROR | abi::STATUS_CANCELLED => Err(wire_error::decode(&payload)),
            other => Err(bad(&format!("`open` answers the unknown status {other}"))),
        }
    }
}

impl OpenInstance {
    pub(super) fn call(&self, id: u64, method: &str, request: &[u8]) {
        if let Some(call) = self.table.0.call {
            let (method, request) = (Slice::new(method.as_bytes()), Slice::new(request));
            // SAFETY: the instance is open; the slices live as long as the call; DONE takes any number.
            unsafe { call(self.instance, id, method, request, DONE, id) };
        }
    }

    pub(super) fn cancel(&self, id: u64) {
        if let Some(cancel) = self.table.0.cancel {
            // SAFETY: the instance is open.
            unsafe { cancel(self.instance, id) };
        }
    }
}

impl Drop for OpenInstance {
    fn drop(&mut self) {
        if let Some(close) = self.table.0.close {
            // SAFETY: the instance is open and is closed once.
            unsafe { close(self.instance) };
        }
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::ConfigInvalid, message)
}

fn bad(message: &str) -> Error {
    Error::new(ErrorKind::BadReply, message)
}
