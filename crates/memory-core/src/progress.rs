//! How long work tells what it is doing, without knowing who listens.

/// Listens to long work.
pub trait Progress: Send + Sync {
    /// A step begins; `total` counts its units when known.
    fn start(&self, step: &str, total: Option<u64>);
    /// `units` more of the current step are done.
    fn advance(&self, units: u64);
    /// The current step is done.
    fn finish(&self);
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn start(&self, _step: &str, _total: Option<u64>) {}
    fn advance(&self, _units: u64) {}
    fn finish(&self) {}
}
