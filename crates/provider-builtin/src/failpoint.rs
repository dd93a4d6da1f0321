//! Places where a test may kill the process, to prove that nothing acknowledged is lost.
//!
//! Debug builds read `MEMORY_TEST_FAILPOINT=name[:count]` once and abort the process when the named place is reached for the
//! `count`-th time (default 1). Release builds contain none of this.

/// Marks a place. Does nothing in a release build.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn reach(_name: &str) {}

/// Marks a place: aborts the process when a test asked for it.
#[cfg(debug_assertions)]
pub(crate) fn reach(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static WANTED: OnceLock<Option<(String, usize)>> = OnceLock::new();
    static REACHED: AtomicUsize = AtomicUsize::new(0);

    let wanted = WANTED.get_or_init(|| {
        let value = std::env::var("MEMORY_TEST_FAILPOINT").ok()?;
        match value.split_once(':') {
            Some((name, count)) => Some((name.to_owned(), count.parse().ok()?)),
            None => Some((value, 1)),
        }
    });
    if let Some((wanted_name, count)) = wanted
        && wanted_name == name
        && REACHED.fetch_add(1, Ordering::SeqCst) + 1 == *count
    {
        std::process::abort();
    }
}
