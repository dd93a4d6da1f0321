//! The interface between host and plugin, version 1.0.
//!
//! A plugin is a library with two symbols of the C calling convention, both without arguments:
//!
//! - `mem_plugin_abi() -> u32`: [`VERSION`] of the interface the plugin was built for, major in the upper 16 bits.
//! - `mem_plugin_api_v1() -> *const PluginApiV1`: its table, valid for ever.
//!
//! Tables only grow at their end, and a reader looks at `size` before it touches a field. The order of fields never
//! changes. A new major gets a new symbol, so that one library can serve two.
#![expect(unsafe_code, reason = "a C interface is made of raw pointers")]

#[macro_use]
mod define;
mod bytes;
mod completion;
#[cfg(test)]
mod header;

use std::ffi::c_void;

pub use bytes::LARGEST_PAYLOAD;
pub(crate) use completion::{Completion, Outcome, panic_message};

constants! {
    CONSTANTS:
    /// Major version of the interface.
    MAJOR: u32 = 1, "MEM_ABI_MAJOR";
    /// Minor version of the interface: it counts what was appended.
    MINOR: u32 = 0, "MEM_ABI_MINOR";
    /// What `mem_plugin_abi` answers: major in the upper 16 bits, minor in the lower.
    VERSION: u32 = MAJOR << 16 | MINOR, "MEM_ABI_VERSION";
    /// Done; the payload is the reply.
    STATUS_OK: i32 = 0, "MEM_STATUS_OK";
    /// Failed; the payload is an error object.
    STATUS_ERROR: i32 = 1, "MEM_STATUS_ERROR";
    /// The code panicked and caught itself; the payload is an error object.
    STATUS_PANIC: i32 = 2, "MEM_STATUS_PANIC";
    /// Cancelled; the payload is empty or an error object.
    STATUS_CANCELLED: i32 = 3, "MEM_STATUS_CANCELLED";
    /// Level of a log line: an error.
    LOG_ERROR: u32 = 0, "MEM_LOG_ERROR";
    /// Level of a log line: a warning.
    LOG_WARN: u32 = 1, "MEM_LOG_WARN";
    /// Level of a log line: information.
    LOG_INFO: u32 = 2, "MEM_LOG_INFO";
    /// Level of a log line: for finding faults.
    LOG_DEBUG: u32 = 3, "MEM_LOG_DEBUG";
    /// Level of a log line: everything.
    LOG_TRACE: u32 = 4, "MEM_LOG_TRACE";
}

callback! {
    FREE_FN, "mem_free_fn":
    /// Releases a buffer. Called once, from any thread, with the fields of the buffer.
    pub type FreeFn = fn(ptr: *mut u8, len: usize, cap: usize);
}

callback! {
    DONE_FN, "mem_done_fn":
    /// Completes a call. Called exactly once for each call, from any thread, also before the call returns. `context` is
    /// the number that came with the call, not a pointer. The receiver owns `payload`.
    pub type DoneFn = fn(context: u64, status: i32, payload: Buf);
}

record! {
    SLICE, "mem_slice":
    /// Borrowed bytes, valid only while the function runs that they were given to. UTF-8 wherever they are text or JSON;
    /// not terminated by a zero.
    #[derive(Clone, Copy)]
    pub struct Slice {
        /// The first byte; may be null when `len` is 0.
        ptr: *const u8,
        /// How many bytes.
        len: usize,
    }
}

record! {
    BUF, "mem_buf":
    /// Owned bytes. The receiver releases them, once, with their own `free`.
    pub struct Buf {
        /// The first byte; may be null when `len` is 0.
        ptr: *mut u8,
        /// How many bytes.
        len: usize,
        /// For `free`: how many bytes were allocated, or whatever the owner wants to remember.
        cap: usize,
        /// Releases the bytes; null when there is nothing to release.
        free: Option<FreeFn>,
    }
}

table! {
    HOST_API, "mem_host_v1":
    /// What the host offers to one instance of a plugin. Valid for ever. Every function may be called from any thread, at
    /// any time between `open` and the end of `close`.
    pub struct HostApiV1 {
        fields {
            /// Pass it to every function of this table.
            ctx: *mut c_void,
        }
        functions {
            /// Writes a line to the log of the host. `level` is one of MEM_LOG_….
            fn log(ctx: *mut c_void, level: u32, target: Slice, message: Slice);
            /// The folder for what must last. It exists; the bytes are valid for ever.
            fn data_dir(ctx: *mut c_void) -> Slice;
            /// The folder for what can be made again. It exists; the bytes are valid for ever.
            fn cache_dir(ctx: *mut c_void) -> Slice;
            /// Asks the host: `info`, `embed`. Returns at once; `done` runs exactly once, with `done_context`.
            fn call(ctx: *mut c_void, method: Slice, request: Slice, done: DoneFn, done_context: u64);
        }
    }
}

table! {
    PLUGIN_API, "mem_plugin_v1":
    /// What a plugin offers. The host calls the functions of one instance from one thread, one after the other; they return
    /// promptly, and longer work is done elsewhere. Nothing may unwind out of them.
    pub struct PluginApiV1 {
        fields {}
        functions {
            /// Opens an instance with its configuration, a JSON object. Answers a status; 0 sets `out_instance`, anything
            /// else may set `out_error` to an error object. May take a while. There can be several instances.
            fn open(host: *const HostApiV1, config: Slice, out_instance: *mut *mut c_void, out_error: *mut Buf) -> i32;
            /// Starts a call and returns. `request` is a JSON object. `done` runs exactly once, with `context`.
            fn call(instance: *mut c_void, id: u64, method: Slice, request: Slice, done: DoneFn, context: u64);
            /// Asks to stop the call `id`. It is completed all the same, with MEM_STATUS_CANCELLED or with its result. A
            /// number that is not under way is ignored.
            fn cancel(instance: *mut c_void, id: u64);
            /// Completes what is under way, joins the threads and releases the instance.
            fn close(instance: *mut c_void);
        }
    }
}

/// What a library says it was built for, as `major.minor`.
pub fn version_text(version: u32) -> String {
    format!("{}.{}", version >> 16, version & 0xffff)
}
