//! Import and export: files in, files out, in bounded memory.
//!
//! A bad line is reported with its number and skipped, the rest is kept, and importing a file twice adds nothing.

mod bundle;
mod export;
mod import;
mod target;

pub use export::{ExportFormat, ExportReport, Exporter, export};
pub use import::{ImportFormat, ImportOptions, ImportReport, Problem, Problems, import};
pub use target::ImportTarget;
