//! An engine that can be replaced while others use it.

use std::sync::{Arc, PoisonError, RwLock};

use super::Engine;

/// Holds the present engine. Cheap to clone; every clone is the same holder. A process that notices a changed
/// configuration opens a new engine, replaces the old one, and then shuts the old one down: who is in the middle of a call
/// finishes it on the old one, and what waits in its queue is delivered or stays there.
#[derive(Debug, Clone)]
pub struct LiveEngine(Arc<RwLock<Arc<Engine>>>);

impl LiveEngine {
    /// Holds `engine`.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self(Arc::new(RwLock::new(engine)))
    }

    /// The present engine.
    pub fn current(&self) -> Arc<Engine> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts `engine` in its place and answers the one before, which is still to be shut down.
    pub fn replace(&self, engine: Arc<Engine>) -> Arc<Engine> {
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), engine)
    }
}
