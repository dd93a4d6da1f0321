//! Changes in mode `both`: prepared in the queue, carried out here, then released for delivery there. A process that dies
//! in between leaves them prepared, and they are carried out here once more.

use super::both::Both;
use super::outgoing::check_capability;
use super::remote::id_of;
use super::{DeliveryState, NewDelivery};
use crate::{
    DeleteReport, DeleteRequest, Id, Item, MemoryProvider, Result, Scope, UpdateRequest, WriteItem, WriteOutcome,
    WriteReport, WriteRequest, WriteResult,
};

impl Both {
    pub(super) async fn write_both(&self, mut request: WriteRequest) -> Result<WriteReport> {
        let mut places = Vec::with_capacity(request.items.len());
        let mut deliveries = Vec::new();
        for item in &mut request.items {
            self.remote.outgoing.name(item);
            let delivery = self.mirror(item, request.force);
            places.push(delivery.is_some());
            deliveries.extend(delivery);
        }
        let prepared = self.prepare(deliveries).await?;
        let report = match self.builtin.write(request).await {
            Ok(report) => report,
            Err(error) => {
                self.cancel(prepared.into_iter().map(|(number, _)| number)).await;
                return Err(error);
            }
        };
        let mut prepared = prepared.into_iter();
        for (result, is_prepared) in report.items.iter().zip(places) {
            let Some((number, scope)) = (if is_prepared { prepared.next() } else { None }) else { continue };
            let id = result.id.as_ref().map(|id| Id::of_foreign(id));
            match result.outcome {
                WriteOutcome::Stored | WriteOutcome::Queued => self.remote.queue.release(number, id).await?,
                WriteOutcome::Superseded => {
                    self.remote.queue.release(number, id).await?;
                    let old = result.superseded.as_ref().filter(|old| Some(*old) != result.id.as_ref());
                    if let Some(old) = old.map(|old| Id::of_foreign(old)) {
                        let viewer = super::recover::viewer_of(&scope);
                        let delete = self.remote.outgoing.delete(scope.clone(), viewer, old.clone(), false);
                        self.remote.queue.put(DeliveryState::Waiting, vec![delete]).await?;
                        self.remote.queue.forget(&old).await?;
                    }
                }
                WriteOutcome::Deduped | WriteOutcome::Rejected => {
                    self.cancel(std::iter::once(number)).await;
                    continue;
                }
            }
            self.remote.courier.nudge(&scope);
        }
        Ok(report)
    }

    /// The delivery of an item, unless it must not leave or the external provider keeps no such thing.
    fn mirror(&self, item: &WriteItem, force: bool) -> Option<NewDelivery> {
        if check_capability(item, self.remote.capability(), &self.remote.name).is_err() {
            return None;
        }
        match self.remote.outgoing.write(item.clone(), force) {
            // The id here is known when it is written here.
            Ok(delivery) => Some(NewDelivery { local_id: None, ..delivery }),
            Err(error) => {
                tracing::debug!(%error, "an item does not leave for the external provider");
                None
            }
        }
    }

    pub(super) async fn update_both(&self, request: UpdateRequest) -> Result<WriteResult> {
        let Some(item) = self.local(&request.viewer, &request.id).await? else {
            return self.remote.update(request).await;
        };
        let Item::Memory(memory) = item else { return self.builtin.update(request).await };
        let request = UpdateRequest { id: memory.id.to_string(), ..request };
        let mut deliveries = Vec::new();
        if self.remote.capability().update {
            let (viewer, changes) = (request.viewer.clone(), request.changes.clone());
            let delivery = self.remote.outgoing.update(memory.scope.clone(), viewer, memory.id.clone(), changes);
            match delivery {
                Ok(delivery) => deliveries.push(delivery),
                Err(error) => tracing::debug!(%error, "a change does not leave for the external provider"),
            }
        }
        let prepared = self.prepare(deliveries).await?;
        let written = self.builtin.update(request).await;
        let is_done = written.as_ref().is_ok_and(|result| result.outcome != WriteOutcome::Rejected);
        for (number, scope) in prepared {
            if is_done {
                self.remote.queue.release(number, None).await?;
                self.remote.courier.nudge(&scope);
            } else {
                self.cancel(std::iter::once(number)).await;
            }
        }
        written
    }

    pub(super) async fn delete_both(&self, request: DeleteRequest) -> Result<DeleteReport> {
        let DeleteRequest { viewer, ids, erase, dry_run } = request;
        let (mut here, mut there, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for id in ids {
            match self.local(&viewer, &id).await? {
                Some(item) => {
                    here.push(id_of(&item).map_or(id, Id::to_string));
                    items.push(item);
                }
                None => there.push(id),
            }
        }
        let mut report = DeleteReport { dry_run, ..DeleteReport::default() };
        if !here.is_empty() {
            let request = DeleteRequest { viewer: viewer.clone(), ids: here, erase, dry_run };
            report = self.delete_here(request, &items).await?;
        }
        if there.is_empty() {
            return Ok(report);
        }
        match self.remote.forget(DeleteRequest { viewer, ids: there.clone(), erase, dry_run }).await {
            Ok(rest) => {
                report.deleted.extend(rest.deleted);
                report.missing.extend(rest.missing);
                report.notes.extend(rest.notes);
            }
            // What is done here stands, and the rest is told.
            Err(error) if !report.deleted.is_empty() => {
                report.notes.push(format!("`{}` could not be asked: {error}", self.remote.name));
                report.missing.extend(there);
            }
            Err(error) => return Err(error),
        }
        Ok(report)
    }

    async fn delete_here(&self, request: DeleteRequest, items: &[Item]) -> Result<DeleteReport> {
        if request.dry_run {
            return self.builtin.delete(request).await;
        }
        let can_forget = self.remote.capability().delete;
        let delivery = |item: &Item| {
            let (id, scope) = (id_of(item)?.clone(), scope_of_item(item)?.clone());
            can_forget.then(|| self.remote.outgoing.delete(scope, request.viewer.clone(), id, request.erase))
        };
        let deliveries: Vec<NewDelivery> = items.iter().filter_map(delivery).collect();
        let ids: Vec<Id> = deliveries.iter().filter_map(|delivery| delivery.local_id.clone()).collect();
        let prepared = self.prepare(deliveries).await?;
        let mut report = match self.builtin.delete(request).await {
            Ok(report) => report,
            Err(error) => {
                self.cancel(prepared.into_iter().map(|(number, _)| number)).await;
                return Err(error);
            }
        };
        let is_deleted = |id: &Id| report.deleted.iter().any(|deleted| deleted == id.as_str());
        for ((number, scope), id) in prepared.into_iter().zip(ids) {
            if is_deleted(&id) {
                self.remote.queue.release(number, None).await?;
                self.remote.courier.nudge(&scope);
            } else {
                self.cancel(std::iter::once(number)).await;
            }
        }
        let mut notes = Vec::new();
        for item in items {
            let Some(id) = id_of(item).filter(|id| is_deleted(id)) else { continue };
            let is_known = self.remote.queue.remote_of(id).await?.is_some();
            self.remote.queue.forget(id).await?;
            if is_known && !can_forget {
                notes.push(format!("`{}` cannot forget {id}; it is hidden in answers", self.remote.name));
            } else if !is_known && matches!(item, Item::Message(_)) && self.remote.capability().sync_turn {
                notes.push(format!("what `{}` may have learned from {id} is not known, and stays", self.remote.name));
            }
        }
        report.notes.extend(notes);
        Ok(report)
    }
}

fn scope_of_item(item: &Item) -> Option<&Scope> {
    match item {
        Item::Memory(memory) => Some(&memory.scope),
        Item::Message(message) => Some(&message.scope),
        Item::Chunk(_) => None,
    }
}
