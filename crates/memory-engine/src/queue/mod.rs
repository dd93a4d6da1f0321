//! The durable queue to the external provider: `external.db` in the home. Several processes share it; each provider has a
//! queue of its own in it, so that a switch of providers delivers nothing to the wrong one.

mod deliveries;
mod links;
mod row;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use memory_core::{
    Clock, Delivery, DeliveryQueue, DeliveryState, Error, ErrorKind, Id, Link, NewDelivery, Result, Scope, Timestamp,
};
use provider_builtin::sqlite;
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Every migration, in order. Never change one that has been released; add another.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_deliveries.sql")];

/// Seconds after which a delivery that still waits is a sign of trouble.
const STUCK_AFTER: i64 = 3_600;

/// The deliveries and links of one provider. Cheap to clone; every clone is the same queue.
#[derive(Clone)]
pub struct SqliteQueue(Arc<Parts>);

struct Parts {
    path: PathBuf,
    provider: String,
    clock: Arc<dyn Clock>,
    connection: Mutex<Connection>,
}

/// Deliveries that someone names: one by its number, or all that stand aside or wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// This one.
    Number(i64),
    /// All of them.
    All,
}

/// The store is another file, and sound: a damaged queue is told apart from it.
fn of_queue(path: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt {
        return error;
    }
    let message = format!("the queue to the external provider is damaged ({})", path.display());
    Error::new(ErrorKind::Corrupt, message)
        .with_hint("move that file away: what waited in it is lost, what is stored here is not touched; then run `memory provider sync`")
        .with_source(error)
}

impl SqliteQueue {
    /// The file of the queues of a home.
    pub fn path_in(home: &Path) -> PathBuf {
        home.join("external.db")
    }

    /// Opens the queue of `provider` in the file at `path`, making or migrating the file where needed.
    pub async fn open(path: PathBuf, provider: impl Into<String>, clock: Arc<dyn Clock>) -> Result<Self> {
        let provider = provider.into();
        sqlite::blocking(move || {
            let connection = sqlite::open(&path, MIGRATIONS).map_err(|error| of_queue(&path, error))?;
            Ok(Self(Arc::new(Parts { path, provider, clock, connection: Mutex::new(connection) })))
        })
        .await
    }

    /// The provider whose queue it is.
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// The file it lies in.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What is wrong with it, in one line: something was refused, or the first one has been waiting for long.
    pub async fn trouble(&self) -> Result<Option<String>> {
        let (waiting, refused) = self.count().await?;
        let provider = &self.0.provider;
        if refused > 0 {
            return Ok(Some(format!("{provider} refused {refused}; {waiting} wait")));
        }
        let now = self.0.clock.now();
        let first = self.list(0, 1).await?.into_iter().next();
        Ok(first.filter(|first| first.created_at.plus_seconds(STUCK_AFTER) < now).map(|first| {
            let error = first.last_error.map(|error| format!(": {error}")).unwrap_or_default();
            format!("{waiting} wait for {provider}, the first one since {}{error}", first.created_at)
        }))
    }

    /// Deliveries after `number` in order, at most `limit`, whatever their state.
    pub async fn list(&self, after: i64, limit: usize) -> Result<Vec<Delivery>> {
        self.run("list the queue", move |transaction, parts| {
            deliveries::list(transaction, &parts.provider, after, limit)
        })
        .await
    }

    /// Makes deliveries due now, those that stand aside and those that wait. Answers how many.
    pub async fn retry(&self, chosen: Chosen) -> Result<u64> {
        self.run("retry a delivery", move |transaction, parts| {
            deliveries::retry(transaction, &parts.provider, chosen, parts.clock.now())
        })
        .await
    }

    /// Gives deliveries up: they are removed and never made. Answers how many.
    pub async fn drop_deliveries(&self, chosen: Chosen) -> Result<u64> {
        self.run("drop a delivery", move |transaction, parts| deliveries::remove(transaction, &parts.provider, chosen))
            .await
    }

    /// Keeps links that were found by comparing both sides.
    pub async fn link(&self, links: Vec<Link>) -> Result<()> {
        self.run("keep a link", move |transaction, parts| links::keep(transaction, &parts.provider, &links)).await
    }

    /// Takes back that what is known here as `local` was forgotten: it was brought back.
    pub async fn remember(&self, local: &Id) -> Result<()> {
        let local = local.clone();
        self.run("keep a link", move |transaction, parts| links::remember(transaction, &parts.provider, &local)).await
    }

    /// Every provider that has something in the queue, with how many wait and how many stand aside.
    pub async fn providers(&self) -> Result<Vec<(String, u64, u64)>> {
        self.run("read the queue", |transaction, _| deliveries::providers(transaction)).await
    }

    /// Every link, oldest first.
    pub async fn links(&self) -> Result<Vec<Link>> {
        self.run("read links", |transaction, parts| links::all(transaction, &parts.provider)).await
    }

    /// Runs `work` in one transaction on a thread that may block. It is on disk when this returns.
    async fn run<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>, &Parts) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let parts = self.0.clone();
        sqlite::blocking(move || {
            let mut connection = parts.connection.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let answer = transaction.and_then(|transaction| {
                let answer = work(&transaction, &parts)?;
                transaction.commit()?;
                Ok(answer)
            });
            answer.map_err(|error| {
                of_queue(&parts.path, damaged_or(operation, error).with_context("queue", parts.path.display()))
            })
        })
        .await
    }
}

/// A row that cannot be read is damage, everything else is an error of SQLite.
fn damaged_or(operation: &'static str, error: rusqlite::Error) -> Error {
    match error {
        rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) => {
            Error::new(ErrorKind::Corrupt, "an entry of the queue is damaged")
                .with_operation(operation)
                .with_source(error)
        }
        error => sqlite::from_sqlite(operation, error),
    }
}

#[async_trait]
impl DeliveryQueue for SqliteQueue {
    async fn put(&self, state: DeliveryState, deliveries: Vec<NewDelivery>) -> Result<Vec<i64>> {
        self.run("queue a delivery", move |transaction, parts| {
            let now = parts.clock.now();
            deliveries.iter().map(|new| deliveries::put(transaction, &parts.provider, state, new, now)).collect()
        })
        .await
    }

    async fn release(&self, number: i64, local_id: Option<Id>) -> Result<()> {
        self.run("release a delivery", move |transaction, _| {
            deliveries::release(transaction, number, local_id.as_ref())
        })
        .await
    }

    async fn cancel(&self, number: i64) -> Result<()> {
        self.run("cancel a delivery", move |transaction, parts| {
            deliveries::remove(transaction, &parts.provider, Chosen::Number(number)).map(drop)
        })
        .await
    }

    async fn abandoned(&self, before: Timestamp) -> Result<Vec<Delivery>> {
        self.run("read the queue", move |transaction, parts| {
            deliveries::abandoned(transaction, &parts.provider, before)
        })
        .await
    }

    async fn take(&self, scope: Option<&Scope>, now: Timestamp, until: Timestamp) -> Result<Option<Delivery>> {
        let scope = scope.map(Scope::key);
        self.run("take a delivery", move |transaction, parts| {
            deliveries::take(transaction, &parts.provider, scope.as_deref(), now, until)
        })
        .await
    }

    async fn delivered(&self, number: i64, links: Vec<Link>) -> Result<()> {
        self.run("complete a delivery", move |transaction, parts| {
            deliveries::remove(transaction, &parts.provider, Chosen::Number(number))?;
            links::keep(transaction, &parts.provider, &links)
        })
        .await
    }

    async fn postpone(&self, number: i64, due_at: Timestamp, error: &str) -> Result<()> {
        let error = error.to_owned();
        self.run("postpone a delivery", move |transaction, _| deliveries::postpone(transaction, number, due_at, &error))
            .await
    }

    async fn refuse(&self, number: i64, error: &str) -> Result<()> {
        let error = error.to_owned();
        self.run("put a delivery aside", move |transaction, _| deliveries::refuse(transaction, number, &error)).await
    }

    async fn count(&self) -> Result<(u64, u64)> {
        self.run("count the queue", |transaction, parts| deliveries::count(transaction, &parts.provider)).await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>> {
        self.run("read the queue", |transaction, parts| deliveries::next_due(transaction, &parts.provider)).await
    }

    async fn remote_of(&self, local: &Id) -> Result<Option<Link>> {
        let local = local.clone();
        self.run("read links", move |transaction, parts| links::remote_of(transaction, &parts.provider, &local)).await
    }

    async fn local_of(&self, remote: &Id) -> Result<Option<Link>> {
        let remote = remote.clone();
        self.run("read links", move |transaction, parts| links::local_of(transaction, &parts.provider, &remote)).await
    }

    async fn forget(&self, local: &Id) -> Result<()> {
        let local = local.clone();
        self.run("forget a link", move |transaction, parts| links::forget(transaction, &parts.provider, &local)).await
    }

    async fn pending(&self, local: &Id) -> Result<Option<Delivery>> {
        let local = local.clone();
        self.run("read the queue", move |transaction, parts| deliveries::pending(transaction, &parts.provider, &local))
            .await
    }

    async fn links_with_prefix(&self, prefix: &str) -> Result<Vec<Link>> {
        let prefix = prefix.to_owned();
        self.run("read links", move |transaction, parts| links::with_prefix(transaction, &parts.provider, &prefix))
            .await
    }
}

impl std::fmt::Debug for SqliteQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteQueue").field("provider", &self.0.provider).finish_non_exhaustive()
    }
}
