//! Mode `both`: the builtin provider first, and the external one beside it.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::merge::{merge, partial};
use super::remote::Remote;
use super::{DeliveryState, DeliveryWork, NewDelivery};
use crate::{
    Capability, DeleteReport, DeleteRequest, Descriptor, ErrorKind, GetReport, Health, Item, ListPage, ListRequest,
    MemoryProvider, Recall, Result, Revision, Scope, SearchRequest, SessionContext, ToolDefinition, Turn,
    UpdateRequest, Viewer, WriteReport, WriteRequest, WriteResult,
};

/// Marks the cursor of a page of the external provider.
const THERE: &str = "external:";

/// The builtin provider and the external one.
pub(super) struct Both {
    pub(super) builtin: Arc<dyn MemoryProvider>,
    pub(super) remote: Arc<Remote>,
}

impl Both {
    /// The page that follows the last one of the builtin provider: what the external provider has beyond it.
    async fn list_there(&self, request: ListRequest) -> Result<ListPage> {
        let page = self.remote.guarded.list(request).await?;
        let items = self.remote.remembered_items(page.items).await?;
        Ok(ListPage {
            items: items.into_iter().filter(|(_, linked)| !linked).map(|(item, _)| item).collect(),
            next: page.next.map(|next| format!("{THERE}{next}")),
        })
    }

    /// Looks up at the external provider what is not here. An id there may stand for something here.
    async fn get_there(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let mut report = GetReport::default();
        let mut asked = Vec::new();
        for id in ids {
            match self.remote.target(id).await? {
                Some(target) if target.forgotten => report.missing.push(id.clone()),
                Some(target) => {
                    let here = self.builtin.get(viewer, &[target.local.to_string()]).await?.items;
                    if here.is_empty() { asked.push(id.clone()) } else { report.items.extend(here) }
                }
                None => asked.push(id.clone()),
            }
        }
        if !asked.is_empty() && self.remote.guarded.capability().get {
            let found = self.remote.get(viewer, &asked).await?;
            report.items.extend(found.items);
            report.missing.extend(found.missing);
        } else {
            report.missing.extend(asked);
        }
        Ok(report)
    }
}

#[async_trait]
impl MemoryProvider for Both {
    fn descriptor(&self) -> Descriptor {
        let (here, there) = (self.builtin.descriptor(), self.remote.descriptor());
        Descriptor { name: format!("{}+{}", here.name, there.name), ..here }
    }

    fn capability(&self) -> Capability {
        self.builtin.capability()
    }

    /// Fails only when the builtin provider does. The external one is tried again before it is used.
    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        let (here, there) = tokio::join!(self.builtin.initialize(context), self.remote.initialize(context));
        if let Err(error) = there {
            tracing::debug!(%error, "the external provider is not ready yet");
        }
        here
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.write_both(request).await
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        let started = Instant::now();
        if !self.remote.guarded.capability().search {
            return self.builtin.search(request).await;
        }
        let (here, there) =
            tokio::join!(self.builtin.search(request.clone()), self.remote.recall(request.clone(), true));
        let mut recall = match there {
            Ok(there) => merge(&request, here?, there, &self.remote.name),
            Err(error) => {
                tracing::warn!(%error, "the external provider took no part in an answer");
                partial(here?)
            }
        };
        recall.took_ms = started.elapsed().as_secs_f64() * 1e3;
        Ok(recall)
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let mut report = self.builtin.get(viewer, ids).await?;
        if report.missing.is_empty() {
            return Ok(report);
        }
        match self.get_there(viewer, &report.missing).await {
            Ok(there) => {
                report.items.extend(there.items);
                report.missing = there.missing;
            }
            // With nothing found here, "missing" would be a claim about a provider that was not asked.
            Err(error) if report.items.is_empty() && error.kind() != ErrorKind::NotFound => return Err(error),
            Err(error) => tracing::warn!(%error, "the external provider could not be asked for ids"),
        }
        Ok(report)
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        let there = |limit: usize, cursor: Option<String>| ListRequest { limit, cursor, ..request.clone() };
        if let Some(cursor) = request.cursor.as_ref().and_then(|cursor| cursor.strip_prefix(THERE)) {
            let cursor = Some(cursor.to_owned()).filter(|cursor| !cursor.is_empty());
            return self.list_there(there(request.limit, cursor)).await;
        }
        let limit = if request.limit == 0 { 50 } else { request.limit };
        let mut page = self.builtin.list(request.clone()).await?;
        if page.next.is_some() || !self.remote.guarded.capability().list {
            return Ok(page);
        }
        match limit.saturating_sub(page.items.len()) {
            0 => page.next = Some(THERE.to_owned()),
            left => match self.list_there(there(left, None)).await {
                Ok(rest) => {
                    page.items.extend(rest.items);
                    page.next = rest.next;
                }
                Err(error) => tracing::warn!(%error, "the external provider took no part in a list"),
            },
        }
        Ok(page)
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        self.update_both(request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        self.delete_both(request).await
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        let not_here = match self.builtin.history(viewer, id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => error,
            other => return other,
        };
        let Some(target) = self.remote.target(id).await? else { return Err(not_here) };
        match self.builtin.history(viewer, target.local.as_str()).await {
            Err(error) if error.kind() == ErrorKind::NotFound && !target.forgotten => {
                if self.remote.guarded.capability().history {
                    self.remote.history(viewer, id).await
                } else {
                    Err(not_here)
                }
            }
            other => other,
        }
    }

    async fn sync_turn(&self, mut turn: Turn) -> Result<()> {
        let deliveries = match self.remote.outgoing.turn(turn.clone(), self.remote.capability()) {
            Ok(deliveries) => deliveries,
            Err(error) => {
                tracing::warn!(%error, "a turn is not given to the external provider");
                Vec::new()
            }
        };
        // Both know the turn by one name.
        if let Some(DeliveryWork::Turn { turn: sent }) = deliveries.first().map(|delivery| &delivery.work) {
            (turn.external_id, turn.at) = (sent.external_id.clone(), sent.at);
        }
        let numbers = self.prepare(deliveries).await?;
        if let Err(error) = self.builtin.sync_turn(turn).await {
            self.cancel(numbers.into_iter().map(|(number, _)| number)).await;
            return Err(error);
        }
        for (number, scope) in numbers {
            self.remote.queue.release(number, None).await?;
            self.remote.courier.nudge(&scope);
        }
        Ok(())
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        let (here, there) = tokio::join!(self.builtin.prefetch(viewer, query), self.remote.prefetch(viewer, query));
        Ok(super::prefetch::join(here?, there.unwrap_or_default()))
    }

    async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        let (here, there) = tokio::join!(self.builtin.end_session(viewer), self.remote.end_session(viewer));
        here.and(there)
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        let mut tools = self.builtin.tools();
        let there = self.remote.tools().into_iter().filter(|tool| tools.iter().all(|own| own.name != tool.name));
        tools.extend(there.collect::<Vec<_>>());
        tools
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        let is_there = !self.builtin.tools().iter().any(|tool| tool.name == name)
            && self.remote.guarded.tools().iter().any(|tool| tool.name == name);
        if is_there {
            self.remote.call_tool(viewer, name, arguments).await
        } else {
            self.builtin.call_tool(viewer, name, arguments).await
        }
    }

    fn guidance(&self, language: &str) -> String {
        let parts = [self.builtin.guidance(language), self.remote.guidance(language)];
        parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// It can serve while the builtin provider can.
    async fn health(&self) -> Health {
        let (here, there) = tokio::join!(self.builtin.health(), self.remote.health());
        let state = if there.ok { "" } else { " (not available)" };
        Health {
            ok: here.ok,
            message: format!("{}; {}{state}: {}", here.message, self.remote.name, there.message),
            details: json!({"builtin": here.details, "external": there.details, "external_ok": there.ok}),
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.remote.shutdown().await?;
        self.builtin.shutdown().await
    }
}

impl Both {
    /// Keeps deliveries as prepared, each under a name of its own, so that one that is cancelled is never another's.
    pub(super) async fn prepare(&self, mut deliveries: Vec<NewDelivery>) -> Result<Vec<(i64, Scope)>> {
        if deliveries.is_empty() {
            return Ok(Vec::new());
        }
        for delivery in &mut deliveries {
            delivery.key = format!("{}/{}", delivery.key, self.remote.outgoing.fresh());
        }
        let scopes: Vec<_> = deliveries.iter().map(|delivery| delivery.scope.clone()).collect();
        let numbers = self.remote.queue.put(DeliveryState::Prepared, deliveries).await?;
        Ok(numbers.into_iter().zip(scopes).collect())
    }

    /// Takes prepared deliveries back. What cannot be taken back now is written once more later, which does no harm.
    pub(super) async fn cancel(&self, numbers: impl Iterator<Item = i64>) {
        for number in numbers {
            if let Err(error) = self.remote.queue.cancel(number).await {
                tracing::warn!(%error, "a delivery cannot be taken back");
            }
        }
    }

    /// The item here that `asked` names: as an id here, or as an id there.
    pub(super) async fn local(&self, viewer: &Viewer, asked: &str) -> Result<Option<Item>> {
        if let Some(item) = self.builtin.get(viewer, &[asked.to_owned()]).await?.items.pop() {
            return Ok(Some(item));
        }
        let Some(target) = self.remote.target(asked).await? else { return Ok(None) };
        Ok(self.builtin.get(viewer, &[target.local.to_string()]).await?.items.pop())
    }
}
