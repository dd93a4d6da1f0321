//! The functions behind the table of a plugin. No panic leaves them: that would end the process.
#![expect(unsafe_code, reason = "these functions are called by the host with raw pointers")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use memory_core::Error;

use super::instance::Instance;
use super::{Host, Plugin};
use crate::abi::{
    Buf, Completion, DoneFn, HostApiV1, MINOR, PluginApiV1, STATUS_ERROR, STATUS_OK, STATUS_PANIC, Slice, panic_message,
};
use crate::wire_error;

/// The table of a plugin. [`export_plugin!`](crate::export_plugin) calls it.
pub const fn table<P: Plugin>() -> PluginApiV1 {
    PluginApiV1 {
        size: size_of::<PluginApiV1>() as u32,
        abi_minor: MINOR,
        open: Some(open::<P>),
        call: Some(call::<P>),
        cancel: Some(cancel::<P>),
        close: Some(close::<P>),
    }
}

unsafe extern "C" fn open<P: Plugin>(
    host: *const HostApiV1,
    config: Slice,
    out_instance: *mut *mut c_void,
    out_error: *mut Buf,
) -> i32 {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the host gives its table, and a configuration that lives as long as this call.
        let (host, config) = unsafe { (Host::from_table(host)?, config.bytes()) };
        Instance::<P>::open(host, config)
    }));
    let (status, error) = match opened {
        Ok(Ok(instance)) if !out_instance.is_null() => {
            // SAFETY: the host gives a place for the instance.
            unsafe { out_instance.write(Box::into_raw(Box::new(instance)).cast()) };
            return STATUS_OK;
        }
        Ok(Ok(_)) => (STATUS_ERROR, Error::unexpected("the host gave no place for the instance")),
        Ok(Err(error)) => (STATUS_ERROR, error),
        Err(payload) => (STATUS_PANIC, Error::unexpected(panic_message(&*payload))),
    };
    if !out_error.is_null() {
        // SAFETY: the host gives a place for the error.
        unsafe { out_error.write(wire_error::encode(&error).into()) };
    }
    status
}

unsafe extern "C" fn call<P: Plugin>(
    instance: *mut c_void,
    id: u64,
    method: Slice,
    request: Slice,
    done: DoneFn,
    context: u64,
) {
    // SAFETY: the host gives a completion of its own. Dropped in a panic, it completes the call.
    let completion = unsafe { Completion::new(done, context) };
    let _ = catch_unwind(AssertUnwindSafe(move || {
        // SAFETY: the instance is open, and the slices live as long as this call.
        let (instance, method, request) = unsafe { (borrow::<P>(instance), method.text(), request.bytes().to_vec()) };
        if let Some(instance) = instance {
            instance.call(id, method, request, completion);
        }
    }));
}

unsafe extern "C" fn cancel<P: Plugin>(instance: *mut c_void, id: u64) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the instance is open.
        if let Some(instance) = unsafe { borrow::<P>(instance) } {
            instance.cancel(id);
        }
    }));
}

unsafe extern "C" fn close<P: Plugin>(instance: *mut c_void) {
    if instance.is_null() {
        return;
    }
    // SAFETY: the pointer comes from `open`, and the host closes an instance once.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance<P>>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(instance)));
}

unsafe fn borrow<'a, P>(instance: *mut c_void) -> Option<&'a Instance<P>> {
    // SAFETY: the caller vouches that the pointer comes from `open` and is not closed.
    unsafe { instance.cast::<Instance<P>>().as_ref() }
}
