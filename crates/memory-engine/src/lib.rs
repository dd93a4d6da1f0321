//! The facade an integrator depends on: from a loaded configuration to an engine that serves.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod bench;
mod open;
pub mod transfer;

pub use memory_core as core;
pub use open::{Memory, external_providers};
pub use provider_builtin::{
    BuiltinProvider, DoctorCheck, DoctorReport, DocumentReport, DocumentWatch, IndexReport, ReindexTarget,
    RestoreReport, Statistics, Status,
};
