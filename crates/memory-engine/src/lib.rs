//! The facade an integrator depends on: from a loaded configuration to an engine that serves.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod bench;
mod check;
mod live;
mod open;
mod providers;
mod queue;
mod sync;
pub mod transfer;

pub use check::{CheckReport, CheckStep, check};
pub use live::{InUse, LiveMemory, Reload};
pub use memory_core as core;
pub use open::{Memory, provider, queue_of};
pub use provider_builtin::{
    BuiltinProvider, DoctorCheck, DoctorReport, DocumentReport, DocumentWatch, IndexReport, ReindexTarget,
    RestoreReport, Statistics, Status,
};
pub use providers::{KnownProvider, ProviderOrigin, external_providers, known_providers};
pub use queue::{Chosen, SqliteQueue};
pub use sync::{SyncEntry, SyncReport, sync};
