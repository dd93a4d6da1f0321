//! The builtin provider: SQLite as truth, a text and a vector index as projections of it, a Markdown workspace, one
//! write path and one search.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod blocking;
mod config;
mod doctor;
pub mod documents;
mod error;
mod failpoint;
pub mod gateway;
mod guidance;
mod indexer;
mod pattern;
mod projection;
mod provider;
mod records;
pub mod search;
pub mod sqlite;
mod status;
mod store;
mod workspace;

pub use config::{BuiltinConfig, GatewaySettings, SearchSettings};
pub use doctor::{DoctorCheck, DoctorReport};
pub use indexer::{IndexReport, ReindexTarget};
pub use provider::BuiltinProvider;
pub use records::RestoreReport;
pub use status::{Statistics, Status};
pub use workspace::{DocumentReport, DocumentSink, DocumentWatch};
