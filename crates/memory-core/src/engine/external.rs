//! What the engine needs to use an external provider.

use std::sync::Arc;

use super::DeliveryQueue;
use crate::{Clock, GuardPolicy, MemoryProvider, Result, SessionContext, Sleeper, WriteItem};

/// Validates and normalises what is about to leave for the external provider, and takes secrets out of it. An error
/// refuses it.
pub type Sanitise = Arc<dyn Fn(WriteItem) -> Result<WriteItem> + Send + Sync>;

/// An external provider and what goes with it.
#[derive(Clone)]
pub struct External {
    /// The provider itself; the engine puts the layers around it.
    pub provider: Arc<dyn MemoryProvider>,
    /// Keeps what waits for it.
    pub queue: Arc<dyn DeliveryQueue>,
    /// How it is called.
    pub policy: GuardPolicy,
    /// The one way out: nothing is kept in the queue or sent that has not passed it.
    pub sanitise: Sanitise,
    /// What it is initialised with, before its first use.
    pub context: SessionContext,
    /// The present moment.
    pub clock: Arc<dyn Clock>,
    /// Waits.
    pub sleeper: Arc<dyn Sleeper>,
}

impl std::fmt::Debug for External {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.provider.descriptor().name;
        f.debug_struct("External").field("provider", &name).field("policy", &self.policy).finish_non_exhaustive()
    }
}
