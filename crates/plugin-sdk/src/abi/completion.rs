//! A completion that is called exactly once, whatever happens.

use super::{Buf, DoneFn, STATUS_CANCELLED, STATUS_ERROR, STATUS_OK, STATUS_PANIC};
use crate::wire_error;

/// How a call ended.
pub(crate) enum Outcome {
    Reply(Vec<u8>),
    Failed(memory_core::Error),
    Panicked(String),
}

/// The right to complete one call. Dropped unused, it completes the call as cancelled: exactly once by construction.
pub(crate) struct Completion {
    done: Option<DoneFn>,
    context: u64,
}

impl Completion {
    /// # Safety
    /// `done` comes from the caller of this call and may be called once with `context` from any thread.
    pub(crate) unsafe fn new(done: DoneFn, context: u64) -> Self {
        Self { done: Some(done), context }
    }

    pub(crate) fn finish(mut self, outcome: Outcome) {
        match outcome {
            Outcome::Reply(reply) => self.call(STATUS_OK, reply.into()),
            Outcome::Failed(error) if error.kind() == memory_core::ErrorKind::Cancelled => {
                self.call(STATUS_CANCELLED, wire_error::encode(&error).into());
            }
            Outcome::Failed(error) => self.call(STATUS_ERROR, wire_error::encode(&error).into()),
            Outcome::Panicked(message) => {
                let error = memory_core::Error::unexpected(message);
                self.call(STATUS_PANIC, wire_error::encode(&error).into());
            }
        }
    }

    fn call(&mut self, status: i32, payload: Buf) {
        if let Some(done) = self.done.take() {
            // SAFETY: `new` was promised that this may be called once; `take` makes it once.
            unsafe { done(self.context, status, payload) };
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.call(STATUS_CANCELLED, Buf::empty());
    }
}

/// The message of a panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic without a message".to_owned())
}
