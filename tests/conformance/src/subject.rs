//! A provider that the suite is run over.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use memory_core::{Capability, MemoryProvider, Result};

use crate::Need;
use crate::fake::Fault;

/// A provider under test: its name, what it lacks, and how an empty one starts.
#[async_trait]
pub trait Subject: Send + Sync {
    /// Its name in reports.
    fn name(&self) -> String;

    /// Everything it lacks, so that nothing is left out by accident. It must agree with its capability.
    fn lacks(&self) -> Vec<Need>;

    /// How long it may take until what is written is found; asked again and again until then.
    fn settles_within(&self) -> Duration {
        Duration::ZERO
    }

    /// An empty provider that shares nothing with another: a folder, a stand-in or a user of its own.
    async fn start(&self) -> Running;
}

type FailBy = Box<dyn Fn(Option<Fault>) + Send + Sync>;

/// A provider that has started, and what it needs to live.
pub struct Running {
    pub(crate) provider: Arc<dyn MemoryProvider>,
    pub(crate) fail: Option<FailBy>,
    pub(crate) stop: BoxFuture<'static, Result<()>>,
}

impl Running {
    /// A provider that needs nothing else and closes by itself.
    pub fn new(provider: impl MemoryProvider + 'static) -> Self {
        Self::of(Arc::new(provider))
    }

    /// The same for one that is shared.
    pub fn of(provider: Arc<dyn MemoryProvider>) -> Self {
        let closing = provider.clone();
        Self { provider, fail: None, stop: async move { closing.shutdown().await }.boxed() }
    }

    /// How the service behind it is made to fail, until `None`. What the function holds lives as long as the provider.
    pub fn failing_by(self, fail: impl Fn(Option<Fault>) + Send + Sync + 'static) -> Self {
        Self { fail: Some(Box::new(fail)), ..self }
    }

    /// Keeps something, such as a folder, until it has closed.
    pub fn keeping(self, kept: impl Send + 'static) -> Self {
        let stop = async move {
            let stopped = self.stop.await;
            drop(kept);
            stopped
        };
        Self { stop: stop.boxed(), ..self }
    }

    /// Closes by this instead. What the future holds lives as long as the provider.
    pub fn stopping_by(self, stop: impl Future<Output = Result<()>> + Send + 'static) -> Self {
        Self { stop: stop.boxed(), ..self }
    }
}

/// A provider in a scenario: empty at its beginning, and used like a provider.
pub struct Trial {
    /// The provider, to be shared with other tasks.
    pub provider: Arc<dyn MemoryProvider>,
    /// What it can do.
    pub capability: Capability,
    pub(crate) fail: Option<FailBy>,
    pub(crate) settles_within: Duration,
    pub(crate) missing: Vec<Need>,
}

impl Trial {
    /// True when the subject has it, for scenarios of which only a part needs it.
    pub fn has(&self, need: Need) -> bool {
        !self.missing.contains(&need)
    }

    /// Makes the service behind it fail, or work again.
    pub fn fail(&self, fault: Option<Fault>) {
        self.fail.as_ref().expect("a subject that does not lack `Faults` says how to fail")(fault);
    }
}

impl Deref for Trial {
    type Target = dyn MemoryProvider;

    fn deref(&self) -> &Self::Target {
        self.provider.as_ref()
    }
}
