//! Reading: search and look-up. Whatever Mem0 answers, the viewer's rights and the conditions decide here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use memory_core::{
    Error, ErrorKind, Explanation, GetReport, GroupBy, Hit, HitKind, Id, IdPrefix, Item, Recall, RecallOutcome,
    RecallReason, Result, SearchRequest, State, Timestamp, Viewer,
};
use serde_json::{Value, json};

use crate::client::{Client, Dialect, MOST};
use crate::error;
use crate::filter::Selection;
use crate::provider::{Mem0Provider, NAME};
use crate::record::Record;
use crate::scope::View;

/// A longer question is cut: no embedder reads further, in characters.
const LONGEST_QUESTION: usize = 8_000;

/// What is asked of Mem0.
#[derive(Debug, Default)]
pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    pub(crate) top_k: usize,
    pub(crate) threshold: f64,
    pub(crate) rerank: bool,
    pub(crate) at: Option<Timestamp>,
    pub(crate) explain: bool,
}

/// What Mem0 answers.
pub(crate) struct Answer {
    /// What of it the viewer may read, best first.
    pub(crate) records: Vec<Record>,
    /// How many there were in all.
    pub(crate) count: usize,
}

/// How a thing is named.
enum Name {
    Uuid(String),
    Prefix(IdPrefix),
}

fn name_of(text: &str) -> Result<Name> {
    let text = text.trim();
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    if digits == 32 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
        return Ok(Name::Uuid(Id::of_foreign(text).to_uuid()));
    }
    let prefix: IdPrefix = text.parse().map_err(|_| error::no_id())?;
    if prefix.is_whole() {
        let id: Id = prefix.as_str().parse().map_err(|_| error::no_id())?;
        return Ok(Name::Uuid(id.to_uuid()));
    }
    Ok(Name::Prefix(prefix))
}

impl Mem0Provider {
    /// One question, without the conditions that only this side can check.
    pub(crate) async fn ask(
        &self,
        client: &Client,
        view: &View<'_>,
        selection: Selection,
        question: &Question<'_>,
    ) -> Result<Answer> {
        let text: String = question.text.trim().chars().take(LONGEST_QUESTION).collect();
        let mut body = json!({ "query": text, "top_k": question.top_k, "threshold": question.threshold });
        let mut set = |key: &str, value: Value| body.as_object_mut().map(|body| body.insert(key.to_owned(), value));
        match client.dialect() {
            Dialect::Platform => {
                set("filters", selection.filters());
                set("rerank", question.rerank.into());
                if let Some(at) = question.at {
                    set("reference_date", at.to_string().into());
                }
            }
            Dialect::SelfHosted => {
                set("filters", selection.top_level_filters());
                if question.explain {
                    set("explain", true.into());
                }
            }
        }
        let items = client.search(&body).await?;
        let count = items.len();
        let mut records: Vec<Record> =
            items.into_iter().filter_map(|item| Some(Record { scope: view.scope_of(&item)?, item })).collect();
        records.sort_by(|a, b| b.score().total_cmp(&a.score()));
        Ok(Answer { records, count })
    }

    pub(crate) async fn recall(&self, request: &SearchRequest, rerank: bool) -> Result<Recall> {
        if request.query.trim().is_empty() {
            return Err(Error::invalid("the question is empty").with_hint("say what you are looking for"));
        }
        if request.raw {
            return Err(Error::new(ErrorKind::Unsupported, "Mem0 has no operators in questions")
                .with_hint("ask in plain words, or ask the builtin provider"));
        }
        let begin = Instant::now();
        request.viewer.check()?;
        let client = self.client().await?;
        let view = View::new(self.config(), &request.viewer);
        let limit = if request.limit == 0 { 10 } else { request.limit };
        let mut hits = Vec::new();
        let (mut count, mut below) = (0, false);
        // What others may not read and what conditions exclude takes places of the answer: then it is asked for the most.
        for top_k in [limit.min(MOST), MOST] {
            let question = Question {
                text: &request.query,
                top_k,
                threshold: self.config().section.threshold,
                rerank,
                at: request.at,
                explain: request.explain,
            };
            let selection = view.selection().with_categories(&request.categories);
            let answer = self.ask(client, &view, selection, &question).await?;
            let now = self.now();
            let fitting: Vec<Hit> = answer
                .records
                .iter()
                .filter(|record| record.state(now) == State::Active && fits(record, request))
                .map(Record::hit)
                .filter(|hit| request.filter.as_ref().is_none_or(|filter| filter.matches(hit)))
                .collect();
            below = fitting.iter().any(|hit| hit.score < request.min_score);
            hits = grouped(fitting, request);
            count = answer.count;
            if hits.len() >= limit || answer.count < top_k {
                break;
            }
        }
        hits.truncate(limit);
        if request.neighbors > 0 {
            self.add_neighbors(client, &view, &mut hits, request.neighbors).await?;
        }
        let mut recall = Recall {
            outcome: RecallOutcome::Complete,
            reason: None,
            arms: BTreeMap::from([(NAME.to_owned(), count)]),
            ..Recall::empty(RecallReason::NoMatch)
        };
        if hits.is_empty() {
            recall.outcome = RecallOutcome::Empty;
            recall.reason = Some(match (below, count) {
                (true, _) => RecallReason::BelowThreshold,
                (false, _) if self.is_empty(client, &view).await? => RecallReason::NothingStored,
                _ => RecallReason::NoMatch,
            });
        }
        if request.explain {
            let hits = hits.iter().map(|hit| hit.scores.clone()).collect();
            recall.explanation = Some(Explanation { hits, ..Explanation::default() });
        }
        recall.hits = hits;
        recall.took_ms = begin.elapsed().as_secs_f64() * 1000.0;
        Ok(recall)
    }

    /// True when there is nothing at all that the viewer may read.
    async fn is_empty(&self, client: &Client, view: &View<'_>) -> Result<bool> {
        let selection = view.selection();
        let mut number = 1;
        loop {
            let page = client.page(&selection, number, false).await?;
            if page.items.iter().any(|item| view.scope_of(item).is_some()) {
                return Ok(false);
            }
            if !page.more || page.items.is_empty() {
                return Ok(true);
            }
            number += 1;
        }
    }

    /// Everything selected that the viewer may read, and how much was looked at.
    pub(crate) async fn collect(
        &self,
        client: &Client,
        view: &View<'_>,
        selection: &Selection,
        show_expired: bool,
    ) -> Result<(Vec<Record>, usize)> {
        let (mut records, mut seen, mut known) = (Vec::new(), 0, BTreeSet::new());
        for number in 1.. {
            let page = client.page(selection, number, show_expired).await?;
            let count = page.items.len();
            seen += count;
            for item in page.items {
                // A page moves when something is written meanwhile.
                if known.insert(item.id.clone())
                    && let Some(scope) = view.scope_of(&item)
                {
                    records.push(Record { item, scope });
                }
            }
            if !page.more || count == 0 {
                break;
            }
        }
        Ok((records, seen))
    }

    /// What `name` names, when the viewer may read it.
    pub(crate) async fn resolve(&self, client: &Client, view: &View<'_>, name: &str) -> Result<Option<Record>> {
        match name_of(name)? {
            Name::Uuid(uuid) => {
                let item = client.get(&uuid).await?;
                Ok(item.and_then(|item| Some(Record { scope: view.scope_of(&item)?, item })))
            }
            Name::Prefix(prefix) => {
                let (mut records, _) = self.collect(client, view, &view.selection(), true).await?;
                records.retain(|record| record.id().as_str().starts_with(prefix.as_str()));
                if records.len() > 1 {
                    let message = format!("`{name}` is the beginning of {} ids", records.len());
                    return Err(Error::new(ErrorKind::Conflict, message).with_hint("write more of the id"));
                }
                Ok(records.pop())
            }
        }
    }

    pub(crate) async fn look_up(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        viewer.check()?;
        for id in ids {
            name_of(id)?;
        }
        let client = self.client().await?;
        let view = View::new(self.config(), viewer);
        let mut report = GetReport::default();
        for id in ids {
            match self.resolve(client, &view, id).await? {
                Some(record) if record.kind() == HitKind::Message => {
                    let position = self.position(client, &view, &record).await?;
                    report.items.push(Item::Message(Box::new(record.message(position))));
                }
                Some(record) => report.items.push(Item::Memory(Box::new(record.memory(self.now())))),
                None => report.missing.push(id.clone()),
            }
        }
        Ok(report)
    }
}

/// True for what has one of the categories and all of the labels.
pub(crate) fn has(record: &Record, categories: &[String], tags: &[String]) -> bool {
    let own = record.tags();
    let ours = record.category();
    let given = || record.item.categories.iter().flatten();
    (categories.is_empty() || ours.iter().chain(given()).any(|category| categories.contains(category)))
        && tags.iter().all(|tag| own.contains(tag))
}

fn fits(record: &Record, request: &SearchRequest) -> bool {
    let at = record.happened_at();
    let kind = record.kind();
    let in_session = match (&request.viewer.session, kind) {
        (Some(session), HitKind::Message) => record.session().as_ref() == Some(session),
        _ => true,
    };
    in_session
        && (request.kinds.is_empty() || request.kinds.contains(&kind))
        && has(record, &request.categories, &request.tags)
        && request.since.is_none_or(|since| at >= since)
        && request.until.is_none_or(|until| at < until)
}

/// The hits that score enough, one for each session when so asked.
fn grouped(hits: Vec<Hit>, request: &SearchRequest) -> Vec<Hit> {
    let mut sessions = BTreeSet::new();
    let by_session = request.group_by == Some(GroupBy::Session);
    let mut one_each = |hit: &Hit| match &hit.session_id {
        Some(session) if by_session => sessions.insert(session.clone()),
        _ => true,
    };
    hits.into_iter().filter(|hit| hit.score >= request.min_score && one_each(hit)).collect()
}
