//! Memories and messages in one file that people can read: a line of JSON for each change, synced before it is
//! acknowledged. Several processes may use one file.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod journal;
mod list;
mod provider;
mod records;
mod search;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use provider::{Config, JsonlStore};

plugin_sdk::export_plugin!(JsonlStore);
