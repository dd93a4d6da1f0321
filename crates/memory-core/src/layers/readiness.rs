//! Getting a provider ready: once, before its first use, again while it fails, and never taken for granted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::retry::Backoff;
use super::{Sleeper, copy_of};
use crate::{Clock, Error, ErrorKind, MemoryProvider, Result, SessionContext, Timestamp};

/// Keeps track of whether a provider is ready. The attempt itself runs on its own, so that a caller who cannot wait does
/// not end it.
pub(super) struct Readiness {
    pub(super) provider: Arc<dyn MemoryProvider>,
    pub(super) name: String,
    pub(super) limit: Duration,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sleeper: Arc<dyn Sleeper>,
    pub(super) backoff: Backoff,
    pub(super) context: Mutex<SessionContext>,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    ready: bool,
    /// Failures in a row, and the last of them.
    failures: u32,
    last_error: Option<Error>,
    due: Option<Timestamp>,
    /// Closed when the attempt under way is over.
    attempt: Option<watch::Receiver<()>>,
}

impl Readiness {
    /// Returns when the provider is ready, starting an attempt where one is due. While attempts keep failing, only the
    /// `patient` wait for the next; others get the last error at once.
    pub(super) async fn ensure(self: &Arc<Self>, patient: bool) -> Result<()> {
        if self.is_ready() {
            return Ok(());
        }
        let mut attempt = self.attempt(patient)?;
        // An error means that the attempt is over, and is what is waited for.
        let _ = attempt.changed().await;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ready { Ok(()) } else { Err(self.not_ready(&state)) }
    }

    /// True when it is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ready
    }

    /// The provider turned out to be set up wrongly: it is made ready again before it is used again.
    pub(super) fn reset(&self, error: &Error) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ready {
            state.ready = false;
            self.note_failure(&mut state, copy_of(error));
        }
    }

    fn attempt(self: &Arc<Self>, patient: bool) -> Result<watch::Receiver<()>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = &state.attempt {
            return if patient || state.failures == 0 { Ok(attempt.clone()) } else { Err(self.not_ready(&state)) };
        }
        if state.due.is_some_and(|due| self.clock.now() < due) {
            return Err(self.not_ready(&state));
        }
        let (done, attempt) = watch::channel(());
        state.attempt = Some(attempt.clone());
        let this = self.clone();
        tokio::spawn(async move {
            let outcome = this.initialize().await;
            let mut state = this.state.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(()) => *state = State { ready: true, ..State::default() },
                Err(error) => {
                    tracing::warn!(provider = this.name, %error, "the provider is not ready");
                    this.note_failure(&mut state, error);
                }
            }
            state.attempt = None;
            drop(done);
        });
        if patient || state.failures == 0 { Ok(attempt) } else { Err(self.not_ready(&state)) }
    }

    async fn initialize(&self) -> Result<()> {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let provider = self.provider.clone();
        // On a task of its own: a panic in it becomes an error here.
        let mut work = tokio::spawn(async move { provider.initialize(&context).await });
        tokio::select! {
            biased;
            outcome = &mut work => outcome.unwrap_or_else(|error| {
                Err(Error::unexpected(format!("provider `{}` broke down", self.name)).with_source(error))
            }),
            () = self.sleeper.sleep(self.limit) => {
                work.abort();
                Err(Error::new(
                    ErrorKind::Timeout,
                    format!("provider `{}` was not ready after {} s", self.name, self.limit.as_secs_f64()),
                )
                .with_hint("see `memory provider check`; memory.external.initialize_timeout sets the limit"))
            }
        }
        .map_err(|error| error.with_operation("initialize"))
    }

    fn note_failure(&self, state: &mut State, error: Error) {
        state.failures = state.failures.saturating_add(1);
        let pause = self.backoff.pause(state.failures, error.retry_after_ms());
        state.due = Some(after(self.clock.now(), pause));
        state.last_error = Some(error);
    }

    fn not_ready(&self, state: &State) -> Error {
        let left = state.due.map_or(0, |due| (due.nanoseconds() - self.clock.now().nanoseconds()).max(0) / 1_000_000);
        match &state.last_error {
            Some(error) => copy_of(error).retryable(Some(u64::try_from(left).unwrap_or(0))),
            None => Error::new(ErrorKind::Unreachable, format!("provider `{}` is not ready", self.name)),
        }
    }
}

/// The moment `pause` after `now`.
pub(crate) fn after(now: Timestamp, pause: Duration) -> Timestamp {
    let pause = i64::try_from(pause.as_nanos()).unwrap_or(i64::MAX);
    Timestamp::from_nanoseconds(now.nanoseconds().saturating_add(pause))
}
