//! What the facade adds to the engine: the durable queue, the change of configurations, the reconciliation of both sides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod agent;
mod live;
mod overhead;
mod queue;
