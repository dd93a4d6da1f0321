//! Deliveries whose process died between preparing them and releasing them: the builtin provider is given them once more,
//! which it takes once, and then they are released.

use super::courier::Parts;
use super::{Delivery, DeliveryWork};
use crate::layers::after;
use crate::{
    DeleteRequest, ErrorStatus, Id, Item, MemoryProvider, Owner, Result, Scope, Team, TeamRole, UpdateRequest, Viewer,
    WriteItem, WriteOutcome, WriteRequest,
};

/// A delivery that has been prepared for so long belongs to a process that is gone.
const ABANDONED_AFTER: std::time::Duration = std::time::Duration::from_secs(600);

/// What to do with an abandoned delivery.
enum Decision {
    Release(Option<Id>),
    Cancel,
}

impl Parts {
    /// Takes care of abandoned deliveries. Without a builtin provider they are left for when there is one again.
    pub(super) async fn recover(&self) -> Result<()> {
        let Some(builtin) = &self.builtin else { return Ok(()) };
        let now = self.clock.now();
        let before = after(now, std::time::Duration::ZERO).plus_seconds(-(ABANDONED_AFTER.as_secs() as i64));
        for delivery in self.queue.abandoned(before).await? {
            match self.decide(&**builtin, &delivery).await {
                Ok(Decision::Release(id)) => self.queue.release(delivery.number, id).await?,
                Ok(Decision::Cancel) => self.queue.cancel(delivery.number).await?,
                Err(error) if error.status() == ErrorStatus::Permanent => {
                    tracing::warn!(%error, key = delivery.key, "an abandoned delivery is not made");
                    self.queue.cancel(delivery.number).await?;
                }
                Err(error) => {
                    tracing::warn!(%error, key = delivery.key, "an abandoned delivery cannot be recovered yet")
                }
            }
        }
        Ok(())
    }

    async fn decide(&self, builtin: &dyn MemoryProvider, delivery: &Delivery) -> Result<Decision> {
        match delivery.work.clone() {
            DeliveryWork::Write { item, force } => {
                let request = WriteRequest { items: vec![item.clone()], force, repeated: true };
                let Some(result) = builtin.write(request).await?.items.pop() else { return Ok(Decision::Cancel) };
                let id = result.id.as_ref().map(|id| Id::of_foreign(id));
                let ours = match result.outcome {
                    WriteOutcome::Stored | WriteOutcome::Superseded | WriteOutcome::Queued => true,
                    WriteOutcome::Rejected => false,
                    WriteOutcome::Deduped => is_same(builtin, &item, result.id).await?,
                };
                Ok(if ours { Decision::Release(id) } else { Decision::Cancel })
            }
            DeliveryWork::Update { viewer, id, changes } => {
                let request = UpdateRequest { viewer, id: id.to_string(), changes, expected_revision: None };
                builtin.update(request).await?;
                Ok(Decision::Release(None))
            }
            DeliveryWork::Delete { viewer, id, erase } => {
                builtin.delete(DeleteRequest { viewer, ids: vec![id.to_string()], erase, dry_run: false }).await?;
                self.queue.forget(&id).await?;
                Ok(Decision::Release(None))
            }
            DeliveryWork::Turn { turn } => {
                builtin.sync_turn(turn).await?;
                Ok(Decision::Release(None))
            }
            DeliveryWork::EndSession { .. } => Ok(Decision::Release(None)),
        }
    }
}

/// True when the thing with `id` is the item itself, written before the process died, and not another one that says the
/// same.
async fn is_same(builtin: &dyn MemoryProvider, item: &WriteItem, id: Option<String>) -> Result<bool> {
    let Some(id) = id else { return Ok(false) };
    let (scope, external_id) = match item {
        WriteItem::Memory(memory) => (&memory.scope, &memory.external_id),
        WriteItem::Message(message) => (&message.scope, &message.external_id),
    };
    let found = builtin.get(&viewer_of(scope), &[id]).await?.items;
    Ok(found.iter().any(|found| match found {
        Item::Memory(memory) => memory.external_id == *external_id,
        Item::Message(message) => message.external_id == *external_id,
        Item::Chunk(_) => false,
    }))
}

/// The viewer who owns a scope.
pub(super) fn viewer_of(scope: &Scope) -> Viewer {
    let mut viewer = Viewer::user(scope.user.clone(), scope.space.clone());
    match scope.owner.clone() {
        Owner::User => {}
        Owner::Agent(name) => viewer.agent = Some(name),
        Owner::Workspace(name) => viewer.workspace = Some(name),
        Owner::Team(name) => viewer.team = Some(Team { name, role: TeamRole::Leader }),
        Owner::Member { team, member } => viewer.team = Some(Team { name: team, role: TeamRole::Member(member) }),
        Owner::Session(id) => viewer.session = Some(id),
    }
    viewer
}
