//! Panics of a plugin go to the log of the host.

use std::cell::RefCell;
use std::sync::{Mutex, Once, PoisonError};

use super::Host;
use crate::abi;

thread_local! {
    /// The host of the instance that this thread works for.
    static HERE: RefCell<Option<Host>> = const { RefCell::new(None) };
}

/// The host of the newest instance, for threads that the plugin started itself. A library has a standard library of its own,
/// so the hook sees no panics of others.
static NEWEST: Mutex<Option<Host>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Where the log looks for panics.
const TARGET: &str = "panic";

/// Sends panics of this thread to this host from now on.
pub(super) fn report_to(host: &Host) {
    HERE.set(Some(host.clone()));
}

/// Sends panics of threads that nobody knows to this host, and those of known ones to theirs.
pub(super) fn install(host: &Host) {
    *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(host.clone());
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            // A panic while one of the two is in use must not wait for itself, nor panic again.
            let here = HERE.try_with(|host| host.try_borrow().ok()?.clone()).ok().flatten();
            let host = here.or_else(|| NEWEST.try_lock().ok()?.clone());
            if let Some(host) = host {
                host.log(abi::LOG_ERROR, TARGET, &info.to_string());
            }
        }));
    });
}
