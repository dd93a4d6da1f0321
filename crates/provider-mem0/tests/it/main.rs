//! The provider against stand-ins for both services: what it sends, and what it makes of every answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod conforms;
mod detection;
mod faults;
mod lists;
mod platform;
mod scopes;
mod self_hosted;
mod support;
mod tools;
mod turns;
