//! One limit over everything that a call consists of.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::Sleeper;

/// Time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elapsed;

/// A limit that runs from when it is made, over any number of steps.
pub(crate) struct Deadline<'a> {
    // `None` once it has passed: a future that has completed is not polled again.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
}

impl<'a> Deadline<'a> {
    /// A limit of `duration` from now.
    pub(crate) fn after(sleeper: &'a dyn Sleeper, duration: Duration) -> Self {
        Self { end: Some(sleeper.sleep(duration)) }
    }

    /// The output of `step`, unless time is up before. A step that is done at the last moment counts.
    pub(crate) async fn bound<T>(&mut self, step: impl Future<Output = T>) -> Result<T, Elapsed> {
        let end = self.end.as_mut().ok_or(Elapsed)?;
        tokio::select! {
            biased;
            output = step => Ok(output),
            () = end => {
                self.end = None;
                Err(Elapsed)
            }
        }
    }
}
