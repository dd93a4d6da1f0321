//! Single records: look up, list, change, forget, restore, carry to another home.

mod bundle;
mod change;
mod read;

pub use change::RestoreReport;
