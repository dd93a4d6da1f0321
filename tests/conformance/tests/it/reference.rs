//! The smallest provider that keeps the contract, and the suite over it.

use async_trait::async_trait;
use memory_conformance::{Need, Running, Subject};
use memory_core::{
    Capability, Clock, DeleteReport, DeleteRequest, Descriptor, Error, GetReport, Health, Hit, HitKind, Item, ListPage,
    ListRequest, Memory, MemoryProvider, NewMemory, Recall, RecallOutcome, RecallReason, Result, Revision,
    SearchRequest, SessionContext, SystemClock, ToolDefinition, Turn, UpdateRequest, Viewer, WriteItem, WriteOutcome,
    WriteReport, WriteRequest, WriteResult, strip_fences,
};
use serde_json::Value;

use crate::faulty::Defect;
use crate::shelf::{MOST_BYTES, NAME, Shelf, features, hit};

#[async_trait]
impl MemoryProvider for Shelf {
    fn descriptor(&self) -> Descriptor {
        Descriptor { name: NAME.into(), version: "1".into(), description: "a list in memory".into() }
    }

    fn capability(&self) -> Capability {
        Capability {
            write: true,
            search: true,
            search_with_filter: true,
            search_by_time: true,
            get: true,
            list: true,
            update: true,
            delete: true,
            history: !self.is(Defect::DeniesHistory),
            sync_turn: true,
            idempotent: true,
            offline: true,
            max_text_bytes: Some(MOST_BYTES),
            ..Capability::default()
        }
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        context.viewer.check()
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        let result = |item: &WriteItem| match item {
            WriteItem::Memory(new) => self.add(new, request.repeated),
            WriteItem::Message(_) => WriteResult::rejected("messages are not kept"),
        };
        Ok(WriteReport { items: request.items.iter().map(result).collect() })
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        request.viewer.check()?;
        if request.query.trim().is_empty() {
            return Err(Error::invalid("the question is empty"));
        }
        let wanted = features(&request.query);
        let ignores = self.is(Defect::IgnoresConditions);
        let fits = |hit: &Hit| {
            let at = hit.event_at.unwrap_or(hit.created_at);
            request.filter.as_ref().is_none_or(|filter| filter.matches(hit))
                && request.since.is_none_or(|since| since <= at)
                && request.until.is_none_or(|until| at < until)
                && (request.categories.is_empty()
                    || hit.category.as_ref().is_some_and(|own| request.categories.contains(own)))
                && request.tags.iter().all(|tag| hit.tags.contains(tag))
                && (request.kinds.is_empty() || request.kinds.contains(&hit.kind))
        };
        let memories = self.memories.lock().unwrap().clone();
        let mut hits: Vec<Hit> = memories
            .iter()
            .filter(|memory| self.may_read(&request.viewer, memory))
            .filter_map(|memory| {
                let common = features(&memory.body).intersection(&wanted).count();
                let score = common as f64 / wanted.len().max(1) as f64;
                (common > 0 && score >= request.min_score).then(|| hit(memory, score))
            })
            .filter(|hit| ignores || fits(hit))
            .collect();
        hits.sort_by(|one, two| two.score.total_cmp(&one.score));
        hits.truncate(request.limit);
        if hits.is_empty() {
            return Ok(Recall::empty(RecallReason::NoMatch));
        }
        Ok(Recall { outcome: RecallOutcome::Complete, reason: None, hits, ..Recall::empty(RecallReason::NoMatch) })
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let memories = self.memories.lock().unwrap();
        let mut report = GetReport::default();
        for id in ids {
            match self.position(&memories, viewer, id) {
                Some(position) => report.items.push(Item::Memory(Box::new(memories[position].clone()))),
                None => report.missing.push(id.clone()),
            }
        }
        Ok(report)
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        request.viewer.check()?;
        let limit = if request.limit == 0 { 50 } else { request.limit };
        let from: usize = request.cursor.as_deref().unwrap_or("0").parse().unwrap();
        let memories = self.memories.lock().unwrap();
        let fits = |memory: &&Memory| {
            self.may_read(&request.viewer, memory)
                && request.kind != Some(HitKind::Message)
                && (request.categories.is_empty()
                    || memory.category.as_ref().is_some_and(|own| request.categories.contains(own)))
                && request.tags.iter().all(|tag| memory.tags.contains(tag))
        };
        let all: Vec<Item> = memories.iter().filter(fits).map(|m| Item::Memory(Box::new(m.clone()))).collect();
        let end = (from + limit).min(all.len());
        Ok(ListPage { items: all[from..end].to_vec(), next: (end < all.len()).then(|| end.to_string()) })
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        let changes = request.changes;
        if changes.body.as_ref().is_some_and(|body| body.trim().is_empty()) {
            return Err(Error::invalid("the new text is empty"));
        }
        let mut memories = self.memories.lock().unwrap();
        let Some(position) = self.to_change(&memories, &request.viewer, &request.id)? else {
            return Err(Error::not_found("no such memory"));
        };
        let memory = &mut memories[position];
        if self.is(Defect::TearsUpdates) {
            let half = memory.body.len() / 2;
            memory.body.truncate(half);
        }
        memory.body = changes.body.unwrap_or(std::mem::take(&mut memory.body));
        memory.title = changes.title.unwrap_or(memory.title.take());
        memory.tags = changes.tags.unwrap_or(std::mem::take(&mut memory.tags));
        memory.revision += 1;
        memory.updated_at = SystemClock.now();
        self.remember("updated", memory);
        Ok(WriteResult::with_id(WriteOutcome::Stored, memory.id.to_string()))
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        let mut memories = self.memories.lock().unwrap();
        let mut report = DeleteReport { dry_run: request.dry_run, ..DeleteReport::default() };
        for id in &request.ids {
            match self.to_change(&memories, &request.viewer, id)? {
                None => report.missing.push(id.clone()),
                Some(position) => {
                    report.deleted.push(memories[position].id.to_string());
                    if !request.dry_run || self.is(Defect::IgnoresRehearsal) {
                        memories.remove(position);
                    }
                }
            }
        }
        if request.erase {
            report.notes.push("former states remain".into());
        }
        Ok(report)
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        let memories = self.memories.lock().unwrap();
        let position = self.position(&memories, viewer, id).ok_or_else(|| Error::not_found("no such memory"))?;
        Ok(self.former.lock().unwrap()[&memories[position].id].clone())
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        let scope = turn.viewer.conversation()?;
        for (name, text) in [("user", &turn.user_text), ("assistant", &turn.assistant_text)] {
            let text = if self.is(Defect::LearnsRecalled) { text.clone() } else { strip_fences(text) };
            let external_id = turn.external_id.as_ref().map(|id| format!("{id}/{name}"));
            self.add(&NewMemory { external_id, ..NewMemory::new(scope.clone(), text.trim()) }, turn.repeated);
        }
        Ok(())
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        viewer.check()?;
        if query.trim().is_empty() {
            return Ok(None);
        }
        let recall = self.search(SearchRequest::new(viewer.clone(), query)).await?;
        let lines: Vec<String> = recall.hits.into_iter().map(|hit| hit.text).collect();
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }

    async fn end_session(&self, _viewer: &Viewer) -> Result<()> {
        Ok(())
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    async fn call_tool(&self, _viewer: &Viewer, name: &str, _arguments: Value) -> Result<Value> {
        Err(Error::not_found(format!("unknown tool: {name}")))
    }

    fn guidance(&self, _language: &str) -> String {
        String::new()
    }

    async fn health(&self) -> Health {
        Health { ok: true, message: "it is there".into(), details: Value::Null }
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

/// The shelf, with one defect or none.
pub(crate) struct Reference(pub(crate) Option<Defect>);

#[async_trait]
impl Subject for Reference {
    fn name(&self) -> String {
        NAME.into()
    }

    fn lacks(&self) -> Vec<Need> {
        use Need::*;
        vec![
            Messages,
            Erase,
            BatchLimit,
            FieldChecks,
            FieldSearch,
            Revisions,
            Prefixes,
            StrictIds,
            Duplicates,
            NearDuplicates,
            Tombstones,
            ForeignIds,
            Secrets,
            EmptyReasons,
            Ranking,
            TimeExpressions,
            RawQueries,
            Modes,
            Transcripts,
            MessageSearch,
            Tools,
            Faults,
        ]
    }

    async fn start(&self) -> Running {
        Running::new(Shelf::with(self.0))
    }
}

memory_conformance::conformance!(Reference(None));
