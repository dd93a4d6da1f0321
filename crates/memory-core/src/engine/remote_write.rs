//! Writes to the external provider: durable in the queue first, then delivered at once when it answers in time.

use std::collections::HashSet;

use super::handover::Settled;
use super::outgoing::{Outgoing, check_capability, personal, scope_of, ticket};
use super::remote::{Remote, Target, id_of};
use super::{DeliveryState, Link, NewDelivery};
use crate::{
    DeleteReport, DeleteRequest, Error, Id, Item, MemoryProvider, NewMemory, Result, Scope, UpdateRequest, Viewer,
    WriteItem, WriteOutcome, WriteReport, WriteRequest, WriteResult,
};

impl Remote {
    /// Writes items: through the queue, and at once when that can be done in time.
    pub(super) async fn write_items(&self, request: WriteRequest) -> Result<WriteReport> {
        let (mut results, mut deliveries) = (Vec::new(), Vec::new());
        for item in request.items {
            match self.admit(item, request.force).await? {
                Ok(delivery) => {
                    results.push(None);
                    deliveries.push(delivery);
                }
                Err(result) => results.push(Some(result)),
            }
        }
        let tickets: Vec<Id> = deliveries.iter().filter_map(|delivery| delivery.local_id.clone()).collect();
        let settled = if deliveries.is_empty() { Vec::new() } else { self.deliver(deliveries).await? };
        let mut settled = tickets.into_iter().zip(settled);
        let mut items = Vec::with_capacity(results.len());
        for result in results {
            items.push(match result {
                Some(result) => result,
                None => match settled.next() {
                    Some((ticket, (number, settled))) => self.result_of(&ticket, number, settled).await?,
                    None => return Err(Error::unexpected("a delivery got lost on its way into the queue")),
                },
            });
        }
        Ok(WriteReport { items })
    }

    /// Changes a memory, in the same way.
    pub(super) async fn update_memory(&self, request: UpdateRequest) -> Result<WriteResult> {
        let missing = || Error::not_found(format!("there is nothing with the id {}", request.id));
        let target = self.whole(&request.viewer, &request.id).await?.filter(|target| !target.forgotten);
        let target = target.ok_or_else(missing)?;
        if request.expected_revision.is_some() {
            // It means something only now.
            return self.guarded.update(UpdateRequest { id: target.remote, ..request }).await;
        }
        let UpdateRequest { viewer, changes, .. } = &request;
        let scope = match self.waiting(viewer, &target.local).await? {
            Waiting::Hidden => return Err(missing()),
            waiting => waiting.scope_or(viewer),
        };
        let delivery = self.outgoing.update(scope, viewer.clone(), target.local.clone(), changes.clone())?;
        match self.deliver(vec![delivery]).await?.pop() {
            Some((_, Some(Settled::Done(Some(result))))) => Ok(result),
            Some((_, Some(Settled::Gone))) => Err(missing()),
            Some((number, Some(Settled::Refused(error)))) => {
                self.queue.cancel(number).await?;
                Err(error)
            }
            _ => Ok(WriteResult::with_id(WriteOutcome::Queued, target.local.to_string())),
        }
    }

    /// Puts deliveries into the queue, has them delivered at once if that can be done within the budget, and answers what
    /// became of each; `None` for one that waits.
    async fn deliver(&self, deliveries: Vec<NewDelivery>) -> Result<Vec<(i64, Option<Settled>)>> {
        let scopes: HashSet<Scope> = deliveries.iter().map(|delivery| delivery.scope.clone()).collect();
        let numbers = self.queue.put(DeliveryState::Waiting, deliveries).await?;
        let mut settled = self.courier.hand_over(scopes, numbers.clone(), self.guarded.policy().patience).await;
        Ok(numbers.into_iter().map(|number| (number, settled.remove(&number))).collect())
    }

    /// What became of a written item that has `ticket`.
    async fn result_of(&self, ticket: &Id, number: i64, settled: Option<Settled>) -> Result<WriteResult> {
        match settled {
            Some(Settled::Done(Some(result))) => return Ok(result),
            Some(Settled::Refused(error)) => {
                // The caller is told, so there is nothing left to decide about it.
                self.queue.cancel(number).await?;
                return Ok(WriteResult::rejected(error.to_string()));
            }
            _ => {}
        }
        // Another process may have delivered it.
        if let Some(link) = self.queue.remote_of(ticket).await? {
            return Ok(WriteResult::with_id(WriteOutcome::Stored, link.remote.to_string()));
        }
        let mut result = WriteResult::with_id(WriteOutcome::Queued, ticket.to_string());
        match self.queue.pending(ticket).await? {
            Some(delivery) if delivery.state == DeliveryState::Refused => {
                self.queue.cancel(delivery.number).await?;
                return Ok(WriteResult::rejected(delivery.last_error.unwrap_or_default()));
            }
            Some(delivery) => result.reason = delivery.last_error,
            None => {}
        }
        Ok(result)
    }

    /// The delivery of an item, or what there is to say about it already.
    async fn admit(&self, mut item: WriteItem, force: bool) -> Result<Result<NewDelivery, WriteResult>> {
        scope_of(&item).check()?;
        if let Err(error) = check_capability(&item, self.guarded.capability(), &self.name) {
            return Ok(Err(WriteResult::rejected(error.to_string())));
        }
        let named_by_text = !force && Outgoing::name_by_text(&mut item);
        self.outgoing.name(&mut item);
        let mut link = self.queue.remote_of(&ticket(&item)).await?;
        if named_by_text
            && let (Some(known), WriteItem::Memory(memory)) = (&link, &mut item)
            && !known.forgotten
            && !self.still_says(known, memory).await
        {
            // It was changed since: this is another one.
            memory.external_id = Some(self.outgoing.fresh().to_string());
            link = None;
        }
        let mut delivery = match self.outgoing.write(item, force) {
            Ok(delivery) => delivery,
            Err(error) => return Ok(Err(WriteResult::rejected(error.to_string()))),
        };
        match link {
            None => {}
            Some(link) if !link.forgotten => {
                return Ok(Err(WriteResult::with_id(WriteOutcome::Deduped, link.remote.to_string())));
            }
            Some(_) if !force => {
                return Ok(Err(WriteResult::rejected("it was forgotten before; force writes it again")));
            }
            Some(_) => {
                // What was forgotten stays forgotten: this is another one.
                let other = self.outgoing.fresh();
                delivery = NewDelivery { key: format!("write/{other}"), local_id: Some(other), ..delivery };
            }
        }
        Ok(Ok(delivery))
    }

    /// Forgets things of the provider. The ids must not name anything here.
    pub(super) async fn forget(&self, request: DeleteRequest) -> Result<DeleteReport> {
        let DeleteRequest { viewer, ids, erase, dry_run } = request;
        let mut report = DeleteReport { dry_run, ..DeleteReport::default() };
        let (mut asked, mut deliveries) = (Vec::new(), Vec::new());
        for id in ids {
            let target = self.whole(&viewer, &id).await?.filter(|target| !target.forgotten);
            let waiting = match &target {
                Some(target) => self.waiting(&viewer, &target.local).await?,
                None => Waiting::Hidden,
            };
            let (Some(target), Waiting::No | Waiting::In(_)) = (target, &waiting) else {
                report.missing.push(id);
                continue;
            };
            let waits = matches!(waiting, Waiting::In(_));
            if dry_run {
                let found = waits || self.is_there(&viewer, &target.remote).await?;
                if found { &mut report.deleted } else { &mut report.missing }.push(id);
                continue;
            }
            let scope = waiting.scope_or(&viewer);
            deliveries.push(self.outgoing.delete(scope, viewer.clone(), target.local.clone(), erase));
            asked.push((id, target.local, waits));
        }
        if deliveries.is_empty() {
            return Ok(report);
        }
        for ((id, local, waits), (number, settled)) in asked.into_iter().zip(self.deliver(deliveries).await?) {
            match settled {
                Some(Settled::Gone) => report.missing.push(id),
                Some(Settled::Refused(error)) => {
                    self.queue.cancel(number).await?;
                    return Err(error);
                }
                Some(Settled::Done(_)) => report.deleted.push(id),
                Some(Settled::Postponed(_)) | None => {
                    // Only of what waits itself is it known here that this viewer may forget it.
                    if waits {
                        self.queue.forget(&local).await?;
                    }
                    report.notes.push(format!("`{}` forgets {id} once it can be reached", self.name));
                    report.deleted.push(id);
                }
            }
        }
        Ok(report)
    }

    /// Whether the provider still has a memory as it was written; assumed while it cannot be asked.
    async fn still_says(&self, link: &Link, memory: &NewMemory) -> bool {
        let viewer = super::recover::viewer_of(&memory.scope);
        match self.guarded.get(&viewer, &[link.remote.to_string()]).await {
            Ok(report) => report.items.iter().any(|item| match item {
                Item::Memory(known) => known.body.trim() == memory.body.trim(),
                Item::Message(_) | Item::Chunk(_) => false,
            }),
            Err(_) => true,
        }
    }

    async fn is_there(&self, viewer: &Viewer, remote: &str) -> Result<bool> {
        Ok(!self.guarded.get(viewer, &[remote.to_owned()]).await?.items.is_empty())
    }

    /// Like [`Remote::target`], and asks the provider about a prefix.
    async fn whole(&self, viewer: &Viewer, asked: &str) -> Result<Option<Target>> {
        if let Some(target) = self.target(asked).await? {
            return Ok(Some(target));
        }
        let found = self.guarded.get(viewer, &[asked.to_owned()]).await?.items;
        Ok(found.first().and_then(id_of).map(|id| Target {
            local: id.clone(),
            remote: id.to_string(),
            forgotten: false,
        }))
    }

    /// Whether what is known here as `local` waits in the queue.
    async fn waiting(&self, viewer: &Viewer, local: &Id) -> Result<Waiting> {
        Ok(match self.queue.pending(local).await?.map(|delivery| delivery.scope) {
            None => Waiting::No,
            Some(scope) if viewer.may_write(&scope) => Waiting::In(scope),
            Some(_) => Waiting::Hidden,
        })
    }
}

/// Whether something waits in the queue, as far as a viewer may know.
enum Waiting {
    No,
    /// In the order of this scope, where whatever is done to it comes after it.
    In(Scope),
    /// It belongs to somebody else.
    Hidden,
}

impl Waiting {
    fn scope_or(self, viewer: &Viewer) -> Scope {
        match self {
            Self::In(scope) => scope,
            Self::No | Self::Hidden => personal(viewer),
        }
    }
}
