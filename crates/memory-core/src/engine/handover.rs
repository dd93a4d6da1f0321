//! Carrying out one delivery at the external provider.

use std::sync::Arc;

use super::{Delivery, DeliveryQueue, DeliveryState, DeliveryWork, Link};
use crate::{
    DeleteRequest, Error, ErrorKind, ErrorStatus, Guarded, Id, MemoryProvider, Result, Turn, UpdateRequest, Viewer,
    WriteOutcome, WriteRequest, WriteResult,
};

/// A delivery that keeps failing for a reason that waiting should not mend stands aside after so many attempts.
const MOST_ATTEMPTS: u32 = 10;

/// What became of a delivery.
#[derive(Debug)]
pub(super) enum Settled {
    /// It is carried out.
    Done(Option<WriteResult>),
    /// What it is about is not there, so there is nothing to do.
    Gone,
    /// The provider refuses it for good.
    Refused(Error),
    /// It is to be tried again.
    Postponed(Error),
}

/// Carries deliveries out.
pub(super) struct Handover {
    pub(super) provider: Arc<Guarded>,
    pub(super) queue: Arc<dyn DeliveryQueue>,
}

impl Handover {
    /// Carries one out. Answers the links that it made, too.
    pub(super) async fn perform(&self, delivery: &Delivery) -> (Settled, Vec<Link>) {
        match self.attempt(delivery).await {
            Ok(settled) => settled,
            Err(error) if is_refusal(&error, delivery.attempts) => (Settled::Refused(error), Vec::new()),
            Err(error) => (Settled::Postponed(error), Vec::new()),
        }
    }

    async fn attempt(&self, delivery: &Delivery) -> Result<(Settled, Vec<Link>)> {
        let repeated = delivery.attempts > 1;
        match delivery.work.clone() {
            DeliveryWork::Write { item, force } => {
                let request = WriteRequest { items: vec![item], force, repeated };
                let result = self.provider.write(request).await?.items.pop().ok_or_else(|| {
                    Error::new(ErrorKind::BadReply, "the provider did not say what became of what was written")
                })?;
                Ok(written(delivery, result))
            }
            DeliveryWork::Update { viewer, id, changes } => {
                let Some(remote) = self.remote_of(delivery, &id).await? else { return Ok((Settled::Gone, Vec::new())) };
                let request =
                    UpdateRequest { viewer: viewer.clone(), id: remote.to_string(), changes, expected_revision: None };
                match self.provider.update(request).await {
                    Ok(result) => Ok(written(delivery, result)),
                    Err(error) => self.gone(&viewer, &remote, error).await.map(|()| (Settled::Gone, Vec::new())),
                }
            }
            DeliveryWork::Delete { viewer, id, erase } => {
                let Some(remote) = self.remote_of(delivery, &id).await? else { return Ok((Settled::Gone, Vec::new())) };
                let link = Link { local: id, remote: remote.clone(), forgotten: true };
                let request =
                    DeleteRequest { viewer: viewer.clone(), ids: vec![remote.to_string()], erase, dry_run: false };
                match self.provider.delete(request).await {
                    // Not there for this viewer, which says nothing about others.
                    Ok(report) if report.deleted.is_empty() => Ok((Settled::Gone, Vec::new())),
                    Ok(_) => Ok((Settled::Done(None), vec![link])),
                    Err(error) => self.gone(&viewer, &remote, error).await.map(|()| (Settled::Gone, Vec::new())),
                }
            }
            DeliveryWork::Turn { turn } => {
                self.provider.sync_turn(Turn { repeated: turn.repeated || repeated, ..turn }).await?;
                Ok((Settled::Done(None), Vec::new()))
            }
            DeliveryWork::EndSession { viewer } => {
                self.provider.end_session(&viewer).await?;
                Ok((Settled::Done(None), Vec::new()))
            }
        }
    }

    /// The id there of what is known here as `id`; `None` when there is nothing there. An error when it is on its way.
    /// Without a link it may be an id of the provider itself.
    async fn remote_of(&self, delivery: &Delivery, id: &Id) -> Result<Option<Id>> {
        if let Some(link) = self.queue.remote_of(id).await? {
            return Ok(Some(link.remote));
        }
        match self.queue.pending(id).await? {
            Some(write) if write.number < delivery.number && matches!(write.work, DeliveryWork::Write { .. }) => {
                match write.state {
                    DeliveryState::Refused => Ok(None),
                    DeliveryState::Prepared | DeliveryState::Waiting => {
                        Err(Error::new(ErrorKind::Busy, "what it is about has not been delivered yet"))
                    }
                }
            }
            _ => Ok(Some(id.clone())),
        }
    }

    /// "Not found" may mean that the thing is gone, or that the address is wrong. `Ok` when the thing is gone; otherwise
    /// the error.
    async fn gone(&self, viewer: &Viewer, remote: &Id, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        match self.provider.get(viewer, &[remote.to_string()]).await {
            Ok(report) if report.items.is_empty() => Ok(()),
            Ok(_) => Err(error),
            Err(error) => Err(error),
        }
    }
}

fn written(delivery: &Delivery, result: WriteResult) -> (Settled, Vec<Link>) {
    if result.outcome == WriteOutcome::Rejected {
        let reason = result.reason.unwrap_or_else(|| "the provider refused it without a reason".to_owned());
        return (Settled::Refused(Error::invalid(reason)), Vec::new());
    }
    let link = |(local, remote): (&Id, &String)| Link {
        local: local.clone(),
        remote: Id::of_foreign(remote),
        forgotten: false,
    };
    let links = delivery.local_id.as_ref().zip(result.id.as_ref()).map(link).into_iter().collect();
    (Settled::Done(Some(result)), links)
}

/// True for the answer of a provider that is there, is set up rightly, and does not want this. What is not clear is tried
/// a number of times first.
fn is_refusal(error: &Error, attempts: u32) -> bool {
    if error.status() != ErrorStatus::Permanent {
        return false;
    }
    match error.kind() {
        ErrorKind::InvalidRequest | ErrorKind::Unsupported | ErrorKind::Conflict | ErrorKind::Forbidden => true,
        ErrorKind::Unauthorized
        | ErrorKind::ConfigInvalid
        | ErrorKind::Unreachable
        | ErrorKind::Timeout
        | ErrorKind::Busy
        | ErrorKind::Disabled
        | ErrorKind::NotFound => false,
        _ => attempts >= MOST_ATTEMPTS,
    }
}
