//! The calls that have not been completed. A plugin gets a number and never a pointer: a completion that comes twice, late or
//! with an invented number finds nothing, is counted, and does no harm.
#![expect(unsafe_code, reason = "defines the completion that plugins call, and takes their buffers")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use crate::abi::{Buf, DoneFn};

/// Numbers of calls have the number of their instance above these bits.
const CALL_BITS: u32 = 40;

static INSTANCES: LazyLock<Mutex<HashMap<u64, Weak<Pending>>>> = LazyLock::new(Mutex::default);
static NEXT_INSTANCE: AtomicU64 = AtomicU64::new(1);
static UNKNOWN: AtomicU64 = AtomicU64::new(0);

/// A completion.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: i32,
    /// `None` when it was larger than the interface allows.
    pub(super) payload: Option<Vec<u8>>,
}

type Sink = Box<dyn FnOnce(Reply) + Send>;

struct Call {
    /// Without it nobody waits any more, and the completion is still to come.
    sink: Option<Sink>,
    /// Whether the plugin was called: a call may be overtaken by the closing.
    begun: bool,
}

/// The calls of one instance.
pub(super) struct Pending {
    instance: u64,
    next: AtomicU64,
    calls: Mutex<HashMap<u64, Call>>,
    strays: AtomicU64,
}

impl Pending {
    pub(super) fn new() -> Arc<Self> {
        let instance = NEXT_INSTANCE.fetch_add(1, Ordering::Relaxed);
        let pending =
            Arc::new(Self { instance, next: AtomicU64::new(1), calls: Mutex::default(), strays: AtomicU64::new(0) });
        lock(&INSTANCES).insert(instance, Arc::downgrade(&pending));
        pending
    }

    /// A number for a call whose completion goes to `sink`.
    pub(super) fn register(&self, sink: Sink) -> u64 {
        let call = self.next.fetch_add(1, Ordering::Relaxed) & ((1 << CALL_BITS) - 1);
        let id = self.instance << CALL_BITS | call;
        lock(&self.calls).insert(id, Call { sink: Some(sink), begun: false });
        id
    }

    /// Nobody waits for this call any more. True when its completion is still to come.
    pub(super) fn abandon(&self, id: u64) -> bool {
        lock(&self.calls).get_mut(&id).map(|call| call.sink = None).is_some()
    }

    /// The plugin is called now.
    pub(super) fn begin(&self, id: u64) {
        if let Some(call) = lock(&self.calls).get_mut(&id) {
            call.begun = true;
        }
    }

    /// How many calls have begun and have not been completed.
    pub(super) fn outstanding(&self) -> usize {
        lock(&self.calls).values().filter(|call| call.begun).count()
    }

    /// How many completions belonged to no call.
    pub(super) fn strays(&self) -> u64 {
        self.strays.load(Ordering::Relaxed)
    }

    /// Drops all sinks: whoever waits learns that nothing will come.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut *lock(&self.calls));
        drop(calls);
    }

    fn complete(&self, id: u64, reply: Reply) {
        let call = lock(&self.calls).remove(&id);
        match call {
            Some(Call { sink: Some(sink), .. }) => sink(reply),
            Some(Call { sink: None, .. }) => {}
            None => {
                self.strays.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        lock(&INSTANCES).remove(&self.instance);
    }
}

/// How many completions belonged to no open plugin at all.
pub fn unknown_completions() -> u64 {
    UNKNOWN.load(Ordering::Relaxed)
}

/// What every plugin gets to complete its calls.
pub(super) const DONE: DoneFn = done;

unsafe extern "C" fn done(context: u64, status: i32, payload: Buf) {
    // Nothing may unwind into the plugin.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: the plugin hands over a buffer of its own, once.
        let reply = Reply { status, payload: unsafe { payload.take() } };
        let instance = lock(&INSTANCES).get(&(context >> CALL_BITS)).and_then(Weak::upgrade);
        match instance {
            Some(instance) => instance.complete(context, reply),
            None => {
                UNKNOWN.fetch_add(1, Ordering::Relaxed);
            }
        }
    }));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(id: u64) {
        // SAFETY: the payload is an empty buffer, which needs no release.
        unsafe { DONE(id, 0, Buf::empty()) };
    }

    #[test]
    fn one_completion_arrives_and_the_others_are_counted() {
        let pending = Pending::new();
        let arrived = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&arrived);
        let id = pending.register(Box::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        complete(id);
        complete(id);
        complete(id + 1);
        assert_eq!((arrived.load(Ordering::Relaxed), pending.strays(), pending.outstanding()), (1, 2, 0));
        let before = unknown_completions();
        complete(0xdead_beef);
        assert!(unknown_completions() > before);
    }

    #[test]
    fn a_late_completion_of_an_abandoned_call_is_no_fault() {
        let pending = Pending::new();
        let id = pending.register(Box::new(|_| panic!("nobody waits")));
        assert_eq!(pending.outstanding(), 0);
        pending.begin(id);
        assert_eq!(pending.outstanding(), 1);
        assert!(pending.abandon(id));
        complete(id);
        assert_eq!((pending.strays(), pending.outstanding()), (0, 0));
        assert!(!pending.abandon(id));
    }
}
