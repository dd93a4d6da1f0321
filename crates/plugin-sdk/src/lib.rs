//! Memory providers in libraries of third parties.
//!
//! - [`abi`]: the interface, in C: two symbols, two tables, JSON messages, one completion for each call. The header
//!   `include/memory_plugin.h` is generated from it.
//! - the kit for authors in Rust: implement [`Plugin`] and [`memory_core::MemoryProvider`], then [`export_plugin!`].
//! - `host`, with the feature of that name: finds, checks, trusts, loads and examines plugins.
//!
//! `docs/plugins.md` is the guide.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(panic = "abort")]
compile_error!("a plugin must be built with panic = \"unwind\": with \"abort\" one panic ends the whole host");

pub mod abi;
#[cfg(feature = "host")]
pub mod host;
mod kit;
pub mod message;
mod wire_error;

pub use kit::{Host, HostInfo, Plugin, table};

/// What most plugins need.
pub mod prelude {
    pub use crate::{Host, Plugin, export_plugin};
    pub use async_trait::async_trait;
    pub use memory_core::*;
    pub use serde_json::Value;
}

pub use async_trait::async_trait;
pub use {memory_core, serde_json};
