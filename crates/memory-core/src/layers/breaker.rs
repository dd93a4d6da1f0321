//! A circuit breaker: a provider that keeps failing is left alone for a while, then tried with one call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::{Clock, Error, ErrorKind, Result, Timestamp};

/// Closed, open, or half open with one probe under way.
pub(super) struct Breaker {
    failures: u32,
    cooldown: Duration,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<Timestamp>,
    probing: bool,
}

/// Leave to make one call, whose result must be told with [`Admission::settle`]. Dropped without that, as when the caller
/// gives up, it counts as neither success nor failure.
pub(super) struct Admission<'a> {
    breaker: &'a Breaker,
    probe: bool,
}

impl Breaker {
    /// Opens after `failures` failures in a row, for `cooldown`.
    pub(super) fn new(failures: u32, cooldown: Duration, clock: Arc<dyn Clock>) -> Self {
        Self { failures, cooldown, clock, state: Mutex::default() }
    }

    /// Leave to call the provider named `name`, or an error that says how long it is left alone.
    pub(super) fn admit(&self, name: &str) -> Result<Admission<'_>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open_until) = state.open_until else { return Ok(Admission { breaker: self, probe: false }) };
        let now = self.clock.now();
        if now >= open_until && !state.probing {
            state.probing = true;
            return Ok(Admission { breaker: self, probe: true });
        }
        let left = u64::try_from(open_until.nanoseconds().saturating_sub(now.nanoseconds())).unwrap_or(0) / 1_000_000;
        let message = format!("provider `{name}` failed {} times in a row and is left alone for now", state.failures);
        Err(Error::new(ErrorKind::Unreachable, message)
            .with_context("seconds", left.div_ceil(1000))
            .with_hint("see `memory provider check`")
            .retryable(Some(left)))
    }

    /// True when a call would be let through.
    pub(super) fn is_closed(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open_until.is_none_or(|until| self.clock.now() >= until && !state.probing)
    }
}

impl Admission<'_> {
    /// True for the one call that tries whether the provider is back.
    pub(super) fn is_probe(&self) -> bool {
        self.probe
    }

    /// Tells how the call ended. Only errors that may pass count as failures: an answer like "bad request" or "no such
    /// thing" comes from a provider that is there.
    pub(super) fn settle<T>(&self, outcome: &Result<T>) {
        let failed = outcome.as_ref().is_err_and(|error| error.status() != crate::ErrorStatus::Permanent);
        let mut state = self.breaker.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !failed {
            *state = State::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if self.probe || state.failures >= self.breaker.failures {
            let cooldown = i64::try_from(self.breaker.cooldown.as_nanos()).unwrap_or(i64::MAX);
            let until = self.breaker.clock.now().nanoseconds().saturating_add(cooldown);
            state.open_until = Some(Timestamp::from_nanoseconds(until));
        }
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if self.probe {
            self.breaker.state.lock().unwrap_or_else(PoisonError::into_inner).probing = false;
        }
    }
}
