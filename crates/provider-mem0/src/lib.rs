//! Mem0 as a provider of memory: the hosted platform and the self-hosted server, which speak two different interfaces.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod adding;
mod changing;
mod client;
mod config;
mod connection;
mod error;
mod events;
mod filter;
mod listing;
mod metadata;
mod provider;
mod reading;
mod record;
mod scope;
mod tools;
mod wire;

pub use config::Mem0Config;
pub use provider::Mem0Provider;
