//! What waits to be handed to the external provider. The engine decides what is put in and when it is handed over; where it
//! is kept (a database) is the business of whoever implements [`DeliveryQueue`].

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Id, MemoryChanges, Result, Scope, Timestamp, Turn, Viewer, WriteItem};

/// One thing to be done at the external provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum DeliveryWork {
    /// Write one item. Its external id is set and makes it idempotent.
    Write {
        /// The item.
        item: WriteItem,
        /// Write it in spite of tombstones and duplicates there.
        force: bool,
    },
    /// Change the memory that is known here as `id`.
    Update {
        /// Who asked.
        viewer: Viewer,
        /// The id here.
        id: Id,
        /// What changes.
        changes: MemoryChanges,
    },
    /// Forget what is known here as `id`.
    Delete {
        /// Who asked.
        viewer: Viewer,
        /// The id here.
        id: Id,
        /// Remove it for good.
        erase: bool,
    },
    /// Take a turn of a conversation. Its external id is set and makes it idempotent.
    Turn {
        /// The turn.
        turn: Turn,
    },
    /// End a session.
    EndSession {
        /// Whose session.
        viewer: Viewer,
    },
}

/// Something to be kept until it is delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDelivery {
    /// The order is kept among deliveries of one scope.
    pub scope: Scope,
    /// Names this delivery; a second one with the same key is the same delivery.
    pub key: String,
    /// The id under which its subject is known here, when it is known already.
    pub local_id: Option<Id>,
    /// What is to be done.
    pub work: DeliveryWork,
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The builtin provider is being written first. What stays in this state belongs to a process that died, and is
    /// written there once more.
    Prepared,
    /// It waits its turn.
    Waiting,
    /// The provider refused it for good; it stands aside until someone retries or drops it.
    Refused,
}

/// A delivery that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its place in the order.
    pub number: i64,
    /// The scope whose order it is part of.
    pub scope: Scope,
    /// Its name.
    pub key: String,
    /// The id under which its subject is known here.
    pub local_id: Option<Id>,
    /// What is to be done.
    pub work: DeliveryWork,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it has been tried, the present attempt included. Beyond 1 its effect may be there already.
    pub attempts: u32,
    /// When it was put in.
    pub created_at: Timestamp,
    /// When it is tried next.
    pub due_at: Timestamp,
    /// What went wrong last.
    pub last_error: Option<String>,
}

/// That something known here as `local` is known there as `remote`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The id here.
    pub local: Id,
    /// The id there, in the form of an [`Id`].
    pub remote: Id,
    /// It was forgotten, here or there, and must not come back.
    pub forgotten: bool,
}

/// Keeps deliveries and links durably for one external provider. Every change is on disk when it returns. Several processes
/// share one queue.
#[async_trait]
pub trait DeliveryQueue: Send + Sync {
    /// Keeps deliveries in order, in one transaction, and answers their numbers. One whose key is there already is not
    /// kept twice: it stays as it is, and its number is the answer.
    async fn put(&self, state: DeliveryState, deliveries: Vec<NewDelivery>) -> Result<Vec<i64>>;
    /// Lets a prepared delivery be delivered, under the id it has got here. Does nothing to one that is not prepared; an id
    /// of `None` leaves the one it has.
    async fn release(&self, number: i64, local_id: Option<Id>) -> Result<()>;
    /// Removes a delivery that there is no reason to make any more.
    async fn cancel(&self, number: i64) -> Result<()>;
    /// Prepared deliveries whose process is gone (older than `before`).
    async fn abandoned(&self, before: Timestamp) -> Result<Vec<Delivery>>;
    /// Takes a delivery for nobody else to take until `until`, and counts an attempt. Only the first waiting one of a scope
    /// can be taken, once it is due at `now`, and only while no other of its scope is taken; so a postponed one holds up
    /// what comes after it. Prepared and refused ones hold nothing up. `scope` narrows it to one scope; otherwise the one
    /// with the lowest number is taken.
    async fn take(&self, scope: Option<&Scope>, now: Timestamp, until: Timestamp) -> Result<Option<Delivery>>;
    /// It is delivered: removes it and keeps the links that it made, in one transaction. A link takes the place of an
    /// older one of the same local id, but what was forgotten stays forgotten.
    async fn delivered(&self, number: i64, links: Vec<Link>) -> Result<()>;
    /// It could not be delivered now: it stays first of its scope, and waits until `due_at`.
    async fn postpone(&self, number: i64, due_at: Timestamp, error: &str) -> Result<()>;
    /// The provider refused it for good: it stands aside, so that what comes after it is delivered.
    async fn refuse(&self, number: i64, error: &str) -> Result<()>;
    /// How many wait, prepared ones included, and how many stand aside.
    async fn count(&self) -> Result<(u64, u64)>;
    /// When [`DeliveryQueue::take`] can give something next: the earliest due time among the first waiting ones of each
    /// scope; one that is taken counts from the moment it may be taken again.
    async fn next_due(&self) -> Result<Option<Timestamp>>;
    /// The link of an id here.
    async fn remote_of(&self, local: &Id) -> Result<Option<Link>>;
    /// The link of an id there.
    async fn local_of(&self, remote: &Id) -> Result<Option<Link>>;
    /// Marks what is known here as `local` as forgotten. That holds also for a link that is made later, when what is
    /// forgotten has not been delivered yet.
    async fn forget(&self, local: &Id) -> Result<()>;
    /// The first delivery, in any state, whose subject is known here as `local`.
    async fn pending(&self, local: &Id) -> Result<Option<Delivery>>;
    /// The links of which either side begins with `prefix`, in canonical form.
    async fn links_with_prefix(&self, prefix: &str) -> Result<Vec<Link>>;
}
