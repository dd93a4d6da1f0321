//! A thread for each instance, on which all functions of its table are called: one after the other, and however long they
//! block, nobody else waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use memory_core::{Error, ErrorKind, Result};
use tokio::sync::oneshot;

use super::library::{OpenInstance, Table};
use super::pending::{Pending, Reply};
use super::services::{HostTable, Services};

/// What to open.
pub(super) struct Opening {
    pub(super) library: PathBuf,
    pub(super) sha256: String,
    pub(super) abi: String,
    pub(super) config: Vec<u8>,
}

enum Job {
    Call { id: u64, method: String, request: Vec<u8> },
    Cancel(u64),
    Close(Box<dyn FnOnce() + Send>),
}

/// A running instance. Dropped, it is closed in the background.
pub(super) struct Instance {
    jobs: Sender<Job>,
    pending: Arc<Pending>,
    services: Arc<Services>,
}

impl Instance {
    /// Loads and opens; waits at most `deadline` and blocks meanwhile.
    pub(super) fn open(
        opening: Opening,
        services: Arc<Services>,
        table: HostTable,
        deadline: Duration,
    ) -> Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        let (opened, answer) = mpsc::sync_channel(1);
        let pending = Pending::new();
        let instance = Self { jobs, pending: Arc::clone(&pending), services: Arc::clone(&services) };
        let work = move || {
            let result = Table::load(&opening.library, &opening.sha256, &opening.abi)
                .and_then(|plugin| plugin.open(&table, &opening.config));
            match result {
                Ok(open) => {
                    // Without a taker the deadline has passed, and the instance is closed again.
                    if opened.send(Ok(())).is_ok() {
                        serve(open, &inbox, &pending);
                    }
                }
                Err(error) => drop(opened.send(Err(error))),
            }
            pending.clear();
            services.release();
        };
        std::thread::Builder::new()
            .name("memory-plugin-host".to_owned())
            .spawn(work)
            .map_err(|error| Error::unexpected("cannot start a thread for the plugin").with_source(error))?;
        match answer.recv_timeout(deadline) {
            Ok(result) => result.map(|()| instance),
            Err(RecvTimeoutError::Timeout) => Err(Error::new(
                ErrorKind::Timeout,
                format!("the plugin was not open after {} seconds", deadline.as_secs_f64()),
            )),
            Err(RecvTimeoutError::Disconnected) => Err(Error::unexpected("the thread of the plugin stopped")),
        }
    }

    /// Calls a method and waits for its completion. Dropped or too late, the call is cancelled.
    pub(super) async fn call(&self, method: &str, request: Vec<u8>, deadline: Duration) -> Result<Reply> {
        let (sender, receiver) = oneshot::channel();
        let call = self.start(method, request, move |reply| drop(sender.send(reply)))?;
        let answer = tokio::time::timeout(deadline, receiver).await;
        drop(call);
        match answer {
            Ok(reply) => reply.map_err(|_| closed()),
            Err(_) => Err(too_late(deadline)),
        }
    }

    /// The same, blocking: for the time before there is anything to await on.
    pub(super) fn call_blocking(&self, method: &str, request: Vec<u8>, deadline: Duration) -> Result<Reply> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let call = self.start(method, request, move |reply| drop(sender.send(reply)))?;
        let answer = receiver.recv_timeout(deadline);
        drop(call);
        answer.map_err(|error| match error {
            RecvTimeoutError::Timeout => too_late(deadline),
            RecvTimeoutError::Disconnected => closed(),
        })
    }

    fn start(&self, method: &str, request: Vec<u8>, sink: impl FnOnce(Reply) + Send + 'static) -> Result<Call<'_>> {
        let id = self.pending.register(Box::new(sink));
        let call = Call { instance: self, id };
        self.jobs.send(Job::Call { id, method: method.to_owned(), request }).map_err(|_| closed())?;
        Ok(call)
    }

    /// Asks to cancel a number that may be anything. For `check`.
    pub(super) fn cancel(&self, id: u64) {
        // A closed instance has nothing to cancel.
        let _ = self.jobs.send(Job::Cancel(id));
    }

    /// Closes and waits at most `deadline`. Answers how many calls the plugin left without completion. Later calls fail.
    pub(super) async fn close(&self, deadline: Duration) -> Result<usize> {
        let (sender, receiver) = oneshot::channel();
        let pending = Arc::clone(&self.pending);
        let job = Job::Close(Box::new(move || {
            // Nobody waits for it when the deadline has passed.
            let _ = sender.send(pending.outstanding());
        }));
        if self.jobs.send(job).is_err() {
            return Ok(0);
        }
        match tokio::time::timeout(deadline, receiver).await {
            Ok(outstanding) => Ok(outstanding.unwrap_or(0)),
            Err(_) => Err(Error::new(
                ErrorKind::Timeout,
                format!("the plugin was not closed after {} seconds", deadline.as_secs_f64()),
            )),
        }
    }

    /// Completions that belonged to no call.
    pub(super) fn strays(&self) -> u64 {
        self.pending.strays()
    }

    /// Panics that the plugin reported through its log since the last time.
    pub(super) fn take_panics(&self) -> Vec<String> {
        self.services.take_panics()
    }
}

/// A call under way: dropped before its completion came, it is cancelled.
struct Call<'a> {
    instance: &'a Instance,
    id: u64,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.instance.pending.abandon(self.id) {
            self.instance.cancel(self.id);
        }
    }
}

fn serve(open: OpenInstance, inbox: &mpsc::Receiver<Job>, pending: &Pending) {
    for job in inbox {
        match job {
            Job::Call { id, method, request } => {
                pending.begin(id);
                open.call(id, &method, &request);
            }
            Job::Cancel(id) => open.cancel(id),
            Job::Close(closed) => {
                drop(open);
                closed();
                pending.clear();
                return;
            }
        }
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Unreachable, "the plugin is closed")
}

fn too_late(deadline: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the plugin did not answer within {} seconds", deadline.as_secs_f64()))
}
