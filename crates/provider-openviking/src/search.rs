//! Questions: the server finds, and everything it finds is checked here once more.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use memory_core::{
    Error, Explanation, Hit, HitKind, Id, Memory, Recall, RecallOutcome, RecallReason, Result, SearchRequest, Source,
    State, Timestamp, Viewer,
};

use crate::client::Caller;
use crate::files::{File, Question};
use crate::identity::Place;
use crate::wire::Found;

/// The name of the provider.
pub(crate) const NAME: &str = "openviking";

/// Where conditions are checked here, more is asked for than wanted: at first so much, at last so much.
const FEWEST_CANDIDATES: usize = 50;
const MOST_CANDIDATES: usize = 800;

/// Hits less related than this are unrelated; the arithmetic of servers does not give zero exactly.
const UNRELATED: f64 = 1e-4;

/// How many memories and how many resources go into a prompt.
const PREFETCHED: usize = 3;

impl Caller<'_> {
    /// Answers a question.
    pub(crate) async fn answer(&self, request: &SearchRequest) -> Result<Recall> {
        self.answer_below(request, None, None).await
    }

    /// Answers a question from what is below an address; `deep` lets the server's model think, in the light of a session.
    pub(crate) async fn answer_below(
        &self,
        request: &SearchRequest,
        below: Option<&str>,
        deep: Option<&str>,
    ) -> Result<Recall> {
        let started = Instant::now();
        let wants = |kind| request.kinds.is_empty() || request.kinds.contains(&kind);
        let (memories, resources) = (wants(HitKind::Memory), wants(HitKind::Document));
        if request.query.trim().is_empty() {
            return Err(Error::invalid("the question is empty"));
        }
        if request.limit == 0 || !(memories || resources) {
            return Ok(Recall::empty(RecallReason::NoMatch));
        }
        let places = self.places(&request.viewer);
        let mut known = HashMap::new();
        let mut limit = (request.limit + 5).max(if is_narrow(request) { FEWEST_CANDIDATES } else { 0 });
        let (hits, candidates, weak) = loop {
            let question = Question { query: request.query.trim(), limit, memories, resources, below, deep };
            let found = self.find(question, &places).await?;
            let candidates = found.memories.len() + found.resources.len();
            let memories: Vec<Found> = found.memories.into_iter().filter(is_related).collect();
            let mut hits: Vec<Hit> =
                self.read_found(&memories, &places, &mut known).await?.into_iter().filter_map(hit_of_file).collect();
            for found in found.resources.iter().filter(|found| is_related(found)) {
                if found.uri.starts_with("viking://resources/") {
                    hits.push(self.hit_of_resource(&request.viewer, found).await?);
                }
            }
            hits.retain(|hit| fits(request, hit));
            let whole = hits.len();
            hits.retain(|hit| hit.score >= request.min_score);
            let weak = whole - hits.len();
            if hits.len() >= request.limit || candidates < limit || limit >= MOST_CANDIDATES {
                break (hits, candidates, weak);
            }
            limit *= 4;
        };
        let mut hits = hits;
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        let dropped = hits.len().saturating_sub(request.limit);
        hits.truncate(request.limit);
        let reason = match (hits.is_empty(), weak) {
            (false, _) => None,
            (true, 0) => Some(RecallReason::NoMatch),
            (true, _) => Some(RecallReason::BelowThreshold),
        };
        let explanation = request.explain.then(|| Explanation {
            hits: hits.iter().map(|hit| hit.scores.clone()).collect(),
            ..Explanation::default()
        });
        Ok(Recall {
            outcome: if hits.is_empty() { RecallOutcome::Empty } else { RecallOutcome::Complete },
            reason,
            took_ms: started.elapsed().as_secs_f64() * 1000.0,
            arms: BTreeMap::from([(NAME.to_owned(), candidates)]),
            index_lag: 0,
            dropped,
            hits,
            explanation,
        })
    }

    /// A resource by its summary; it belongs to the account, and its text may be a whole book.
    async fn hit_of_resource(&self, viewer: &Viewer, found: &Found) -> Result<Hit> {
        let scope = memory_core::Scope { user: viewer.user.clone(), space: viewer.space.clone(), ..Default::default() };
        let place = Place { scope, peer: None, root: "viking://resources".to_owned() };
        let modified = self.modified(None, &found.uri).await?;
        let title = found.uri.rsplit('/').next().map(str::to_owned);
        let summary = found.summary.clone().filter(|summary| !summary.trim().is_empty());
        Ok(Hit {
            id: Id::of_foreign(&found.uri),
            kind: HitKind::Document,
            score: found.relatedness(),
            scores: BTreeMap::from([(NAME.to_owned(), found.score)]),
            text: summary.or_else(|| title.clone()).unwrap_or_default(),
            title,
            category: None,
            tags: Vec::new(),
            scope: place.scope,
            session_id: None,
            speaker: None,
            role: None,
            external_id: Some(found.uri.clone()),
            event_at: None,
            created_at: modified,
            attrs: Default::default(),
            source: Source { provider: NAME.to_owned(), path: Some(found.uri.clone()), ..Source::default() },
            neighbors: Vec::new(),
        })
    }

    /// What is recalled for a prompt: the best memories, then the best resources.
    pub(crate) async fn recall_for_prompt(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        let recall = self.answer(&SearchRequest::new(viewer.clone(), query)).await?;
        let mut lines = Vec::new();
        for kind in [HitKind::Memory, HitKind::Document] {
            for hit in recall.hits.iter().filter(|hit| hit.kind == kind).take(PREFETCHED) {
                let text = hit.text.split_whitespace().collect::<Vec<_>>().join(" ");
                let uri = hit.source.path.as_deref().unwrap_or_default();
                lines.push(format!("- [{:.2}] {text} ({uri})", hit.score));
            }
        }
        Ok((!lines.is_empty()).then(|| format!("## OpenViking Context\n{}", lines.join("\n"))))
    }
}

fn is_related(found: &Found) -> bool {
    found.relatedness() > UNRELATED
}

/// True when conditions are checked here that the server does not know.
fn is_narrow(request: &SearchRequest) -> bool {
    request.filter.is_some()
        || request.since.is_some()
        || request.until.is_some()
        || !request.categories.is_empty()
        || !request.tags.is_empty()
}

fn hit_of_file((score, raw, file): (f64, f64, File)) -> Option<Hit> {
    if file.memory.state != State::Active {
        return None;
    }
    let path = file.uri.clone();
    let Memory { id, scope, category, title, body, tags, attrs, external_id, event_at, created_at, .. } =
        file.outward();
    Some(Hit {
        id,
        kind: HitKind::Memory,
        score,
        scores: BTreeMap::from([(NAME.to_owned(), raw)]),
        title,
        text: body,
        category,
        tags,
        scope,
        session_id: None,
        speaker: None,
        role: None,
        external_id,
        event_at,
        created_at,
        attrs,
        source: Source { provider: NAME.to_owned(), path: Some(path), ..Source::default() },
        neighbors: Vec::new(),
    })
}

fn fits(request: &SearchRequest, hit: &Hit) -> bool {
    let at: Timestamp = hit.event_at.unwrap_or(hit.created_at);
    request.viewer.may_read(&hit.scope)
        && (request.categories.is_empty() || hit.category.as_ref().is_some_and(|one| request.categories.contains(one)))
        && request.tags.iter().all(|tag| hit.tags.contains(tag))
        && request.since.is_none_or(|since| at >= since)
        && request.until.is_none_or(|until| at < until)
        && request.filter.as_ref().is_none_or(|filter| filter.matches(hit))
}
