//! Runs the real binary in a fresh home.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod change;
mod configuration;
mod errors;
mod external;
mod moving;
mod plugin;
mod recall;
mod support;
mod upkeep;
