//! The external provider as the engine uses it: reads go to it, writes go through the queue. Alone it is mode `external`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::courier::Courier;
use super::handover::Handover;
use super::outgoing::Outgoing;
use super::{DeliveryQueue, DeliveryState, External};
use crate::{
    Capability, DeleteReport, DeleteRequest, Descriptor, Error, GetReport, Guarded, Health, Hit, Id, IdGenerator,
    IdPrefix, Item, ListPage, ListRequest, MemoryProvider, Recall, RecallOutcome, RecallReason, Result, Revision,
    SearchRequest, SessionContext, ToolDefinition, Turn, UpdateRequest, Viewer, WriteReport, WriteRequest, WriteResult,
};

/// The external provider with its queue.
pub(super) struct Remote {
    pub(super) guarded: Arc<Guarded>,
    pub(super) queue: Arc<dyn DeliveryQueue>,
    pub(super) courier: Courier,
    pub(super) outgoing: Outgoing,
    pub(super) name: String,
}

/// What an id or prefix names.
pub(super) struct Target {
    /// The id here.
    pub(super) local: Id,
    /// What to ask the provider for.
    pub(super) remote: String,
    /// It has been forgotten and must not come back.
    pub(super) forgotten: bool,
}

impl Remote {
    /// `builtin` is the provider that has everything too, in mode `both`.
    pub(super) fn new(external: External, builtin: Option<Arc<dyn MemoryProvider>>) -> Self {
        let External { provider, queue, policy, sanitise, context, clock, sleeper } = external;
        let name = provider.descriptor().name;
        let guarded = Arc::new(Guarded::new(provider, policy, context, clock.clone(), sleeper.clone()));
        let handover = Handover { provider: guarded.clone(), queue: queue.clone() };
        Self {
            courier: Courier::new(handover, builtin, clock.clone(), sleeper),
            outgoing: Outgoing { sanitise, ids: IdGenerator::default(), clock },
            guarded,
            queue,
            name,
        }
    }

    /// What `asked` (an id, a prefix or a name there) stands for. `None` for a prefix that the queue does not know.
    pub(super) async fn target(&self, asked: &str) -> Result<Option<Target>> {
        let asked = asked.trim();
        let prefix = match asked.parse::<IdPrefix>() {
            Ok(prefix) => prefix,
            // A name of the provider.
            Err(_) => Id::of_foreign(asked).as_str().parse()?,
        };
        let links = self.queue.links_with_prefix(prefix.as_str()).await?;
        if let [link] = links.as_slice() {
            let (local, remote) = (link.local.clone(), link.remote.to_string());
            return Ok(Some(Target { local, remote, forgotten: link.forgotten }));
        }
        if !prefix.is_whole() {
            return Ok(None);
        }
        let local = Id::of_foreign(prefix.as_str());
        Ok(Some(Target { local, remote: asked.to_owned(), forgotten: false }))
    }

    /// Keeps what of `hits` has not been forgotten, under the ids that are known here when `as_local`.
    async fn remembered(&self, hits: Vec<Hit>, as_local: bool) -> Result<Vec<Hit>> {
        let mut kept = Vec::with_capacity(hits.len());
        for mut hit in hits {
            match self.queue.local_of(&hit.id).await? {
                Some(link) if link.forgotten => continue,
                Some(link) if as_local => hit.id = link.local,
                _ => {}
            }
            kept.push(hit);
        }
        Ok(kept)
    }

    /// The same for the items of a list or a look-up. The flag says whether an item is linked to one here.
    pub(super) async fn remembered_items(&self, items: Vec<Item>) -> Result<Vec<(Item, bool)>> {
        let mut kept = Vec::with_capacity(items.len());
        for item in items {
            let link = match id_of(&item) {
                Some(id) => self.queue.local_of(id).await?,
                None => None,
            };
            if link.as_ref().is_none_or(|link| !link.forgotten) {
                kept.push((item, link.is_some()));
            }
        }
        Ok(kept)
    }

    /// Asks the provider. Hits have the ids that are known here when `as_local`.
    pub(super) async fn recall(&self, mut request: SearchRequest, as_local: bool) -> Result<Recall> {
        let capability = self.guarded.capability();
        if !capability.search {
            return Err(Error::unsupported(&self.name, "search"));
        }
        request.query = self.outgoing.text(&request.viewer, &request.query)?;
        let asked = request.clone();
        let mut recall = self.guarded.search(request).await?;
        recall.hits = self.remembered(recall.hits, as_local).await?;
        // What the provider does not offer is made up for here.
        recall.hits.retain(|hit| {
            let at = hit.event_at.unwrap_or(hit.created_at);
            let in_time = asked.since.is_none_or(|since| at >= since) && asked.until.is_none_or(|until| at < until);
            (capability.search_by_time || in_time)
                && (capability.search_with_filter || asked.filter.as_ref().is_none_or(|filter| filter.matches(hit)))
        });
        if recall.hits.is_empty() && recall.outcome == RecallOutcome::Complete {
            (recall.outcome, recall.reason) = (RecallOutcome::Empty, Some(RecallReason::NoMatch));
        }
        Ok(recall)
    }
}

#[async_trait]
impl MemoryProvider for Remote {
    fn descriptor(&self) -> Descriptor {
        self.guarded.descriptor()
    }

    fn capability(&self) -> Capability {
        self.guarded.capability()
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        self.guarded.initialize(context).await
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.write_items(request).await
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        self.recall(request, false).await
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let mut report = GetReport::default();
        let mut asked = Vec::new();
        for id in ids {
            match self.target(id).await? {
                Some(target) if target.forgotten => report.missing.push(id.clone()),
                Some(target) => asked.push((id.clone(), target.remote)),
                None => asked.push((id.clone(), id.clone())),
            }
        }
        if asked.is_empty() {
            return Ok(report);
        }
        let remote: Vec<String> = asked.iter().map(|(_, remote)| remote.clone()).collect();
        let found = self.guarded.get(viewer, &remote).await?;
        let named = |remote: String| {
            asked.iter().find(|(_, other)| *other == remote).map_or(remote.clone(), |(id, _)| id.clone())
        };
        report.missing.extend(found.missing.into_iter().map(named));
        report.items = self.remembered_items(found.items).await?.into_iter().map(|(item, _)| item).collect();
        Ok(report)
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        let page = self.guarded.list(request).await?;
        let items = self.remembered_items(page.items).await?.into_iter().map(|(item, _)| item).collect();
        Ok(ListPage { items, next: page.next })
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        self.update_memory(request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        self.forget(request).await
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        let target = self.target(id).await?;
        if target.as_ref().is_some_and(|target| target.forgotten) {
            return Err(Error::not_found(format!("there is nothing with the id {id}")));
        }
        let remote = target.map_or_else(|| id.to_owned(), |target| target.remote);
        self.guarded.history(viewer, &remote).await
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        let deliveries = self.outgoing.turn(turn, self.guarded.capability())?;
        let Some(scope) = deliveries.first().map(|delivery| delivery.scope.clone()) else {
            return Err(Error::unsupported(&self.name, "sync_turn"));
        };
        self.queue.put(DeliveryState::Waiting, deliveries).await?;
        self.courier.nudge(&scope);
        Ok(())
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        let query = self.outgoing.text(viewer, query)?;
        self.guarded.prefetch(viewer, &query).await
    }

    async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        let delivery = self.outgoing.end_session(viewer)?;
        let scope = delivery.scope.clone();
        self.queue.put(DeliveryState::Waiting, vec![delivery]).await?;
        self.courier.nudge(&scope);
        Ok(())
    }

    /// None while the provider cannot serve them.
    fn tools(&self) -> Vec<ToolDefinition> {
        if self.guarded.can_serve() { self.guarded.tools() } else { Vec::new() }
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        let arguments = self.outgoing.arguments(viewer, arguments)?;
        self.guarded.call_tool(viewer, name, arguments).await
    }

    fn guidance(&self, language: &str) -> String {
        if self.guarded.can_serve() { self.guarded.guidance(language) } else { String::new() }
    }

    async fn health(&self) -> Health {
        let mut health = self.guarded.health().await;
        let queue = match self.queue.count().await {
            Ok((waiting, refused)) => json!({"waiting": waiting, "refused": refused}),
            Err(error) => {
                health.ok = false;
                error.to_json()
            }
        };
        health.details = json!({"provider": self.name, "provider_details": health.details, "queue": queue});
        health
    }

    /// Delivers what is due within the limit, and closes. What cannot be delivered waits in the queue, so that is no error.
    async fn shutdown(&self) -> Result<()> {
        if let Err(error) = self.courier.close(self.guarded.policy().shutdown_limit).await {
            tracing::warn!(%error, "what waits for the external provider cannot be delivered");
        }
        if let Err(error) = self.guarded.shutdown().await {
            tracing::warn!(%error, "the external provider did not close");
        }
        Ok(())
    }
}

/// The id of an item; a chunk has none that could be linked.
pub(super) fn id_of(item: &Item) -> Option<&Id> {
    match item {
        Item::Memory(memory) => Some(&memory.id),
        Item::Message(message) => Some(&message.id),
        Item::Chunk(_) => None,
    }
}
