//! Progress bars for long work.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use memory_core::Progress;

/// One bar at a time, with rate and time left; nothing at all where there is no terminal.
pub(crate) struct ProgressBars {
    visible: bool,
    current: Mutex<Option<ProgressBar>>,
}

impl ProgressBars {
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, current: Mutex::new(None) }
    }

    fn swap(&self, bar: Option<ProgressBar>) -> Option<ProgressBar> {
        let mut current = self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut *current, bar)
    }
}

impl Progress for ProgressBars {
    fn start(&self, step: &str, total: Option<u64>) {
        if !self.visible {
            return;
        }
        let (bar, template) = match total {
            Some(total) => {
                (ProgressBar::new(total), "{msg} {wide_bar} {human_pos}/{human_len} · {per_sec} · {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {human_pos} · {per_sec} · {elapsed}"),
        };
        // A template that does not parse would be a fault of this file; the plain bar still shows.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(step.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        if let Some(old) = self.swap(Some(bar)) {
            old.finish_and_clear();
        }
    }

    fn advance(&self, units: u64) {
        let current = self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bar) = current.as_ref() {
            bar.inc(units);
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.swap(None) {
            bar.finish_and_clear();
        }
    }
}

impl Drop for ProgressBars {
    fn drop(&mut self) {
        self.finish();
    }
}
