//! Makes the builtin store and the external provider agree: what one side has and the other lacks, and what was forgotten.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    DeleteRequest, DeliveryQueue, Error, ErrorKind, HitKind, Id, Item, Link, ListRequest, Memory as Record,
    MemoryProvider, NewMemory, Result, State, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use provider_builtin::BuiltinProvider;
use provider_builtin::gateway::normalise::content_hash;
use serde::Serialize;

use crate::{Memory, SqliteQueue};

/// Memories of a page.
const PAGE: usize = 500;

/// A memory that a comparison is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SyncEntry {
    /// Its id on the side where it is.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Why it could not be reconciled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What one side has and the other lacks. After a reconciliation: what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SyncReport {
    /// The external provider.
    pub provider: String,
    /// True when nothing was changed.
    pub dry_run: bool,
    /// How many are here.
    pub here: usize,
    /// How many are there.
    pub there: usize,
    /// How many are on both sides.
    pub on_both: usize,
    /// Here and not there: they are written there.
    pub push: Vec<SyncEntry>,
    /// There and not here: they are written here.
    pub pull: Vec<SyncEntry>,
    /// There, and forgotten here: they are forgotten there.
    pub forget: Vec<SyncEntry>,
    /// Here; they were there, and are not any more. They stay here and are not written there again.
    pub gone: Vec<SyncEntry>,
    /// Here, on their way there through the queue.
    pub queued: usize,
}

impl SyncReport {
    /// How many could not be reconciled.
    pub fn problems(&self) -> usize {
        [&self.push, &self.pull, &self.forget].into_iter().flatten().filter(|entry| entry.problem.is_some()).count()
    }
}

struct Sides<'a> {
    viewer: &'a Viewer,
    here: &'a BuiltinProvider,
    there: &'a dyn MemoryProvider,
    queue: &'a SqliteQueue,
}

/// Compares both sides for what `viewer` may read, and reconciles them unless `dry_run`. What cannot be reconciled is in the
/// report with its reason and does not stop the rest; a second run goes on where the first one ended.
pub async fn sync(memory: &Memory, viewer: &Viewer, dry_run: bool) -> Result<SyncReport> {
    let (Some(here), Some(there), Some(queue)) = (&memory.builtin, memory.engine.external(), &memory.queue) else {
        let mode = memory.engine.mode();
        return Err(Error::new(ErrorKind::Unsupported, format!("there are no two sides: memory.engine is `{mode}`"))
            .with_operation("provider sync")
            .with_hint("set memory.engine (MEMORY_ENGINE) to both"));
    };
    let capability = there.capability();
    if !capability.list {
        return Err(Error::unsupported(queue.provider(), "list")
            .with_hint("without a list there is nothing to compare; new writes reach it through the queue"));
    }
    let sides = Sides { viewer, here, there: there.as_ref(), queue };
    let (mut report, plan) = sides.compare().await?;
    report.dry_run = dry_run;
    if !dry_run {
        sides.reconcile(plan, &mut report).await?;
    }
    Ok(report)
}

/// What is to be done, in the order of the report.
#[derive(Default)]
struct Plan {
    links: Vec<Link>,
    /// Forgotten here once, and brought back since.
    remember: Vec<Id>,
    push: Vec<Record>,
    pull: Vec<Record>,
    forget: Vec<(Record, Option<Id>)>,
}

impl Sides<'_> {
    async fn compare(&self) -> Result<(SyncReport, Plan)> {
        let here = self.all(self.here).await?;
        let there = self.all(self.there).await?;
        let links = self.queue.links().await?;
        let by_local: BTreeMap<&Id, &Link> = links.iter().map(|link| (&link.local, link)).collect();
        let by_remote: BTreeMap<&Id, &Link> = links.iter().map(|link| (&link.remote, link)).collect();
        let index = Index::of(&here);
        let former = |record: &Record| by_remote.get(&record.id).map(|link| &link.local);
        let asked: Vec<_> = there.iter().map(|record| (record, former(record))).collect();
        let forgotten = self.here.were_forgotten(&asked).await?;
        let alive = self.alive(asked.iter().filter_map(|(_, local)| *local)).await?;

        let mut plan = Plan::default();
        let mut matched: BTreeSet<Id> = BTreeSet::new();
        for (record, forgotten) in there.iter().zip(forgotten) {
            let link = by_remote.get(&record.id).copied();
            let linked = link.map(|link| &link.local).filter(|local| alive.contains(*local));
            if let Some(known) = linked.or_else(|| index.like(record)) {
                matched.insert(known.clone());
                if link.is_some_and(|link| link.forgotten && link.local == *known) {
                    plan.remember.push(known.clone());
                }
                if !by_local.contains_key(known) {
                    plan.links.push(Link { local: known.clone(), remote: record.id.clone(), forgotten: false });
                }
            } else if forgotten || link.is_some_and(|link| link.forgotten) {
                plan.forget.push((record.clone(), link.map(|link| link.local.clone())));
            } else {
                plan.pull.push(record.clone());
            }
        }
        let mut report = SyncReport {
            provider: self.queue.provider().to_owned(),
            here: here.len(),
            there: there.len(),
            on_both: matched.len(),
            ..SyncReport::default()
        };
        for record in &here {
            if matched.contains(&record.id) {
            } else if self.queue.pending(&record.id).await?.is_some() {
                report.queued += 1;
            } else if by_local.get(&record.id).is_some_and(|link| !link.forgotten) {
                report.gone.push(entry(record));
            } else {
                // Also what was forgotten and brought back here since.
                plan.push.push(record.clone());
            }
        }
        report.push = plan.push.iter().map(entry).collect();
        report.pull = plan.pull.iter().map(entry).collect();
        report.forget = plan.forget.iter().map(|(record, _)| entry(record)).collect();
        Ok((report, plan))
    }

    /// Those of the ids that name something here, a memory in whatever state but forgotten or a message.
    async fn alive(&self, ids: impl Iterator<Item = &Id>) -> Result<BTreeSet<Id>> {
        let ids: Vec<String> = ids.map(Id::to_string).collect();
        let found = self.here.get(self.viewer, &ids).await?;
        let ids = found.items.into_iter().filter_map(|item| match item {
            Item::Memory(memory) => Some(memory.id),
            Item::Message(message) => Some(message.id),
            Item::Chunk(_) => None,
        });
        Ok(ids.collect())
    }

    /// Every active memory of one side that the viewer may read.
    async fn all(&self, side: &dyn MemoryProvider) -> Result<Vec<Record>> {
        let mut request = ListRequest {
            viewer: self.viewer.clone(),
            kind: Some(HitKind::Memory),
            limit: PAGE,
            ..ListRequest::default()
        };
        let mut records = Vec::new();
        loop {
            let page = side.list(request.clone()).await?;
            records.extend(page.items.into_iter().filter_map(|item| match item {
                Item::Memory(memory) if memory.state == State::Active => Some(*memory),
                _ => None,
            }));
            match page.next {
                Some(next) if request.cursor.as_ref() != Some(&next) => request.cursor = Some(next),
                _ => return Ok(records),
            }
        }
    }

    async fn reconcile(&self, plan: Plan, report: &mut SyncReport) -> Result<()> {
        self.queue.link(plan.links).await?;
        for local in &plan.remember {
            self.queue.remember(local).await?;
        }
        for ((record, local), entry) in plan.forget.into_iter().zip(&mut report.forget) {
            entry.problem = self.forget(&record, local).await.err().map(|error| error.to_string());
        }
        for (record, entry) in plan.push.into_iter().zip(&mut report.push) {
            entry.problem = self.push(record).await.err().map(|error| error.to_string());
        }
        for (record, entry) in plan.pull.into_iter().zip(&mut report.pull) {
            entry.problem = self.pull(record).await.err().map(|error| error.to_string());
        }
        Ok(())
    }

    async fn forget(&self, record: &Record, local: Option<Id>) -> Result<()> {
        let ids = vec![record.id.to_string()];
        let request = DeleteRequest { viewer: self.viewer.clone(), ids, erase: false, dry_run: false };
        self.there.delete(request).await?;
        match local {
            Some(local) => self.queue.forget(&local).await,
            None => Ok(()),
        }
    }

    async fn push(&self, record: Record) -> Result<()> {
        let local = record.id.clone();
        let external_id = record.external_id.clone().unwrap_or_else(|| local.to_string());
        let new = NewMemory { external_id: Some(external_id), ..new_memory(record) };
        // Marked as repeated, because a run before may have written it and lost the answer.
        let request = WriteRequest { items: vec![WriteItem::Memory(Box::new(new))], force: true, repeated: true };
        let remote = written(self.there.write(request).await?)?;
        self.queue.remember(&local).await?;
        match remote {
            Some(remote) => self.queue.link(vec![Link { local, remote, forgotten: false }]).await,
            None => Ok(()),
        }
    }

    async fn pull(&self, record: Record) -> Result<()> {
        let remote = record.id.clone();
        let external_id = record.external_id.clone().unwrap_or_else(|| remote.to_string());
        let new = NewMemory { external_id: Some(external_id), ..new_memory(record) };
        let request = WriteRequest { items: vec![WriteItem::Memory(Box::new(new))], force: false, repeated: false };
        match written(self.here.write(request).await?)? {
            Some(local) => self.queue.link(vec![Link { local, remote, forgotten: false }]).await,
            None => Ok(()),
        }
    }
}

/// The id that a single write led to.
fn written(report: memory_core::WriteReport) -> Result<Option<Id>> {
    let result = report.items.into_iter().next().ok_or_else(|| Error::unexpected("a write had no answer"))?;
    if result.outcome == WriteOutcome::Rejected {
        return Err(Error::invalid(result.reason.unwrap_or_else(|| "it was refused".to_owned())));
    }
    Ok(result.id.as_deref().map(Id::of_foreign))
}

fn new_memory(record: Record) -> NewMemory {
    NewMemory {
        scope: record.scope,
        id: None,
        kind: record.kind,
        category: record.category,
        title: record.title,
        body: record.body,
        tags: record.tags,
        keywords: record.keywords,
        relevance: record.relevance,
        quality: Some(record.quality),
        attrs: record.attrs,
        place: record.place,
        origin: record.origin,
        source_sessions: record.source_sessions,
        external_id: record.external_id,
        event_at: record.event_at,
        observed_at: Some(record.observed_at),
        created_at: Some(record.created_at),
        expires_at: record.expires_at,
        pinned: record.pinned,
    }
}

fn entry(record: &Record) -> SyncEntry {
    SyncEntry { id: record.id.to_string(), text: record.body.clone(), problem: None }
}

/// Memories here by what a memory there may be known by.
struct Index<'a> {
    ids: BTreeMap<&'a str, &'a Id>,
    external_ids: BTreeMap<&'a str, &'a Id>,
    texts: BTreeMap<(String, String), &'a Id>,
}

impl<'a> Index<'a> {
    fn of(records: &'a [Record]) -> Self {
        let external = |record: &'a Record| record.external_id.as_deref().map(|external_id| (external_id, &record.id));
        let text = |record: &'a Record| ((record.scope.key(), content_hash(&record.body)), &record.id);
        Self {
            ids: records.iter().map(|record| (record.id.as_str(), &record.id)).collect(),
            external_ids: records.iter().filter_map(external).collect(),
            texts: records.iter().map(text).collect(),
        }
    }

    /// The memory here that a memory there is the same as: it carries its id or foreign id, it was taken from there, or it
    /// says the same in the same scope.
    fn like(&self, record: &Record) -> Option<&'a Id> {
        let external_id = record.external_id.as_deref();
        let by_name = external_id.and_then(|name| self.ids.get(name).or_else(|| self.external_ids.get(name)));
        by_name
            .or_else(|| self.external_ids.get(record.id.as_str()))
            .or_else(|| self.texts.get(&(record.scope.key(), content_hash(&record.body))))
            .copied()
    }
}
