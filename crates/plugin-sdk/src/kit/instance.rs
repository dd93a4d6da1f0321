//! One open plugin: its runtime, its provider, and the calls under way.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memory_core::{Error, ErrorKind, Result};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::dispatch::dispatch;
use super::{Host, Plugin, panics};
use crate::abi::{Completion, Outcome, panic_message};
use crate::wire_error::misfit;

/// How long closing waits for threads that do not end.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Instance<P> {
    host: Host,
    runtime: Option<Runtime>,
    provider: Option<Arc<P>>,
    running: Arc<Mutex<HashMap<u64, AbortHandle>>>,
}

impl<P: Plugin> Instance<P> {
    pub(super) fn open(host: Host, config: &[u8]) -> Result<Self> {
        panics::install(&host);
        panics::report_to(&host);
        let config = serde_json::from_slice(config)
            .map_err(|error| misfit(ErrorKind::ConfigInvalid, "the configuration does not fit", &error))?;
        let of_threads = host.clone();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(P::WORKER_THREADS.max(1))
            .thread_name("memory-plugin")
            .on_thread_start(move || panics::report_to(&of_threads))
            .enable_all()
            .build()
            .map_err(|error| Error::unexpected("cannot start the threads of the plugin").with_source(error))?;
        let provider = Arc::new(runtime.block_on(P::open(host.clone(), config))?);
        Ok(Self { host, runtime: Some(runtime), provider: Some(provider), running: Arc::default() })
    }

    /// Starts a call. Reply, error, panic and abort all arrive in the second task, which completes it.
    pub(super) fn call(&self, id: u64, method: String, request: Vec<u8>, completion: Completion) {
        let (Some(runtime), Some(provider)) = (&self.runtime, self.provider.clone()) else { return };
        let task = runtime.spawn(async move { dispatch(&*provider, &method, &request).await });
        self.lock().insert(id, task.abort_handle());
        let running = Arc::clone(&self.running);
        runtime.spawn(async move {
            let outcome = match task.await {
                Ok(Ok(reply)) => Outcome::Reply(reply),
                Ok(Err(error)) => Outcome::Failed(error),
                Err(stopped) => match stopped.try_into_panic() {
                    Ok(payload) => Outcome::Panicked(panic_message(&*payload)),
                    Err(_) => Outcome::Failed(Error::new(ErrorKind::Cancelled, "the call was cancelled")),
                },
            };
            running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            completion.finish(outcome);
        });
    }

    pub(super) fn cancel(&self, id: u64) {
        if let Some(task) = self.lock().get(&id) {
            task.abort();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Drop for Instance<P> {
    /// Completes what is under way as cancelled, drops the provider where it has its runtime, and joins the threads.
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        for task in self.running.lock().unwrap_or_else(PoisonError::into_inner).values() {
            task.abort();
        }
        panics::report_to(&self.host);
        let provider = self.provider.take();
        let guard = runtime.enter();
        // Whatever it says went to the log of the host through the hook.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(provider)));
        drop(guard);
        runtime.shutdown_timeout(CLOSE_PATIENCE);
    }
}
