//! The contract of providers over a loaded plugin: what comes back is checked before it is passed on.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use memory_core::{
    Capability, DeleteReport, DeleteRequest, Descriptor, Error, ErrorKind, GetReport, Health, Item, ListPage,
    ListRequest, MemoryProvider, Recall, Result, Revision, Scope, SearchRequest, SessionContext, ToolDefinition, Turn,
    UpdateRequest, Viewer, WriteItem, WriteReport, WriteRequest, WriteResult,
};
use serde_json::{Map, Value, json};

use super::provider::PluginProvider;
use crate::message::{
    CallToolReply, CallToolRequest, DescribeRequest, GetRequest, HistoryReply, HistoryRequest, PrefetchReply,
    PrefetchRequest, ViewerRequest,
};
use crate::wire_error;

fn scope_of(item: &Item) -> &Scope {
    match item {
        Item::Memory(memory) => &memory.scope,
        Item::Message(message) => &message.scope,
        Item::Chunk(chunk) => &chunk.document.scope,
    }
}

#[async_trait]
impl MemoryProvider for PluginProvider {
    fn descriptor(&self) -> Descriptor {
        let description = match self.description.as_str() {
            "" => wire_error::clean(&self.seen().description.description),
            said => wire_error::clean(said),
        };
        Descriptor { name: self.name.clone(), version: self.version.clone(), description }
    }

    fn capability(&self) -> Capability {
        self.seen().capability
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        context.viewer.check()?;
        self.call::<Map<String, Value>>("initialize", context).await?;
        let request = DescribeRequest { languages: self.options.languages.clone() };
        let description = self.call("describe", &request).await?;
        self.described(description)
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        for item in &request.items {
            match item {
                WriteItem::Memory(memory) => memory.scope.check()?,
                WriteItem::Message(message) => message.scope.check()?,
            }
        }
        let report: WriteReport = self.call("write", &request).await?;
        if report.items.len() != request.items.len() {
            let (asked, got) = (request.items.len(), report.items.len());
            let message = format!("the plugin answers {got} results for {asked} items");
            return Err(Error::new(ErrorKind::BadReply, message)
                .with_context("plugin", &self.name)
                .with_operation("write"));
        }
        Ok(report)
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        request.viewer.check()?;
        let capability = self.capability();
        // An answer that ignores a condition would be wrong.
        if request.filter.is_some() && !capability.search_with_filter {
            return Err(Error::unsupported(&self.name, "search with a filter"));
        }
        if (request.since.is_some() || request.until.is_some()) && !capability.search_by_time {
            return Err(Error::unsupported(&self.name, "search by time"));
        }
        let mut recall: Recall = self.call("search", &request).await?;
        self.keep_readable(&request.viewer, &mut recall.hits, |hit| &hit.scope);
        for hit in &mut recall.hits {
            hit.score = hit.score.clamp(0.0, 1.0);
            if hit.source.provider.is_empty() {
                hit.source.provider.clone_from(&self.name);
            }
        }
        recall.hits.sort_by(|one, two| two.score.total_cmp(&one.score));
        recall.hits.truncate(request.limit);
        Ok(recall)
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        viewer.check()?;
        let request = GetRequest { viewer: viewer.clone(), ids: ids.to_vec() };
        let mut report: GetReport = self.call("get", &request).await?;
        self.keep_readable(viewer, &mut report.items, scope_of);
        Ok(report)
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        request.viewer.check()?;
        let mut page: ListPage = self.call("list", &request).await?;
        self.keep_readable(&request.viewer, &mut page.items, scope_of);
        Ok(page)
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        request.viewer.check()?;
        self.call("update", &request).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        request.viewer.check()?;
        let mut report: DeleteReport = self.call("delete", &request).await?;
        if request.erase
            && !request.dry_run
            && !report.deleted.is_empty()
            && !self.capability().erase
            && report.notes.is_empty()
        {
            report.notes.push(format!("`{}` forgets, and does not say that it removes the text for good", self.name));
        }
        Ok(report)
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        viewer.check()?;
        let request = HistoryRequest { viewer: viewer.clone(), id: id.to_owned() };
        let reply: HistoryReply = self.call("history", &request).await?;
        let foreign =
            |revision: &Revision| revision.memory.as_ref().is_some_and(|memory| !viewer.may_read(&memory.scope));
        if reply.revisions.iter().any(foreign) {
            return Err(Error::not_found(format!("there is no memory `{id}`")));
        }
        Ok(reply.revisions)
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        turn.viewer.check()?;
        self.call::<Map<String, Value>>("sync_turn", &turn).await.map(drop)
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        viewer.check()?;
        let request = PrefetchRequest { viewer: viewer.clone(), query: query.to_owned() };
        let reply: PrefetchReply = self.call("prefetch", &request).await?;
        Ok(reply.text.filter(|text| !text.trim().is_empty()))
    }

    async fn end_session(&self, viewer: &Viewer) -> Result<()> {
        viewer.check()?;
        let request = ViewerRequest { viewer: viewer.clone() };
        self.call::<Map<String, Value>>("end_session", &request).await.map(drop)
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        self.seen().description.tools
    }

    async fn call_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        viewer.check()?;
        let request = CallToolRequest { viewer: viewer.clone(), name: name.to_owned(), arguments };
        Ok(self.call::<CallToolReply>("call_tool", &request).await?.result)
    }

    fn guidance(&self, language: &str) -> String {
        let mut guidance = self.seen().description.guidance;
        guidance.remove(language).or_else(|| guidance.remove("en")).unwrap_or_default()
    }

    async fn health(&self) -> Health {
        let mut health = match self.call::<Health>("health", &json!({})).await {
            Ok(health) => health,
            Err(error) => Health { ok: false, message: error.to_string(), details: Value::Null },
        };
        if !health.details.is_object() {
            health.details = Value::Object(Map::new());
        }
        if let Some(details) = health.details.as_object_mut() {
            let quarantine = self.quarantine();
            details.insert("panics".to_owned(), quarantine.total().into());
            details.insert("quarantined".to_owned(), quarantine.is_shut().into());
            details.insert("stray_completions".to_owned(), self.instance.strays().into());
        }
        health
    }

    /// Drains and closes, each within the deadline of a call. Also closes what could not be drained.
    async fn shutdown(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let drained = match self.call::<Map<String, Value>>("shutdown", &json!({})).await {
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            _ => Ok(()),
        };
        self.instance.take_panics();
        let closed = self.instance.close(self.options.call_deadline).await.and_then(|_| {
            match self.instance.take_panics().into_iter().next() {
                Some(panic) => Err(Error::unexpected(format!("the plugin panicked while it was closed: {panic}"))),
                None => Ok(()),
            }
        });
        let closed = closed.map_err(|error| {
            error.with_operation("shutdown").with_context("plugin", &self.name).with_context("version", &self.version)
        });
        drained.and(closed)
    }
}
