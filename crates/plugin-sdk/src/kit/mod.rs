//! For authors in Rust: what a plugin implements, and what it is given.

mod dispatch;
mod host;
mod instance;
mod panics;
mod table;

use memory_core::{MemoryProvider, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::message::InfoReply as HostInfo;
pub use host::Host;
pub use table::table;

/// A plugin: a [`MemoryProvider`] that can be opened with a configuration.
///
/// Every instance has a tokio runtime of its own, on which `open` and all methods of the provider run: spawn, sleep and do
/// I/O with tokio as usual. What blocks belongs into [`tokio::task::spawn_blocking`]. A panic ends the one call in which
/// it happens. Write nothing to standard output: it may be a protocol.
pub trait Plugin: MemoryProvider + Sized + 'static {
    /// The section `memory.external.<name>` of the configuration. Unit structures with no fields are fine; give every
    /// field a default where there is a sensible one.
    type Config: DeserializeOwned + Send + 'static;

    /// Threads that run the calls.
    const WORKER_THREADS: usize = 1;

    /// Opens the plugin. The configuration may hold credentials: never put them into an error or a log line.
    fn open(host: Host, config: Self::Config) -> impl Future<Output = Result<Self>> + Send;

    /// The JSON Schema of the configuration, for tools that show it.
    fn config_schema() -> Option<Value> {
        None
    }
}

/// Makes a library of a [`Plugin`]: exports the two symbols. The crate must have `crate-type = ["cdylib"]`.
///
/// ```ignore
/// plugin_sdk::export_plugin!(MyProvider);
/// ```
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        const _: () = {
            static TABLE: $crate::abi::PluginApiV1 = $crate::table::<$plugin>();

            #[unsafe(no_mangle)]
            extern "C" fn mem_plugin_abi() -> u32 {
                $crate::abi::VERSION
            }

            #[unsafe(no_mangle)]
            extern "C" fn mem_plugin_api_v1() -> *const $crate::abi::PluginApiV1 {
                &TABLE
            }
        };
    };
}
