//! Behaviour of the embedded store that only it has: clocks, documents, erasure, embedders, the state of its indexes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, unreachable_pub)]

mod documents;
mod embedders;
mod erasure;
mod lifetime;
mod sessions;
mod support;
mod tools;
mod upkeep;
