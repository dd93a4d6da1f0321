//! Layers around a provider: readiness, circuit breaker, concurrency limit, time limit, retry, tracing. All calls go
//! through one function, [`Guarded::call`], in that order.

mod breaker;
mod concurrency;
mod guarded;
mod policy;
mod readiness;
mod retry;
mod sleeper;
mod timeout;

pub use guarded::Guarded;
pub use policy::GuardPolicy;
pub use sleeper::{Sleeper, SystemSleeper};

pub(crate) use readiness::after;
pub(crate) use retry::Backoff;
pub(crate) use timeout::Deadline;

use crate::Error;

/// The same error once more, for a second caller. Its cause becomes part of the message.
pub(crate) fn copy_of(error: &Error) -> Error {
    let mut copy = Error::new(error.kind(), error.to_string()).with_operation(error.operation());
    for hint in error.hints() {
        copy = copy.with_hint(hint.clone());
    }
    if error.is_retryable() { copy.retryable(error.retry_after_ms()) } else { copy }
}
