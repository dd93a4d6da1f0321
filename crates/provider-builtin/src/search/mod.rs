//! Search: understand the question, gather candidates from words, vectors and the tail, let every arm score every
//! candidate, combine, answer. Search reads; it never maintains anything.

mod answer;
mod candidate;
mod gather;
mod load;
mod question;
mod score;
mod tail;
pub mod time_expression;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use memory_core::{Recall, Result, SearchRequest};

use crate::blocking::blocking;
use crate::config::SearchSettings;
use crate::indexer::Indexes;
use crate::store::Store;
use question::{MOST_HITS, Question};
pub(crate) use score::Weights;
use score::{Scoring, score};
use time_expression::Moment;

/// Answers questions.
#[derive(Clone)]
pub(crate) struct Searcher {
    pub(crate) store: Arc<Store>,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) settings: SearchSettings,
}

impl Searcher {
    /// Answers a question from what `request.viewer` may read.
    pub(crate) async fn search(&self, request: SearchRequest) -> Result<Recall> {
        let begin = Instant::now();
        let mut steps = BTreeMap::new();
        let mut step = |name: &str| {
            steps.insert(name.to_owned(), begin.elapsed().as_secs_f64() * 1000.0);
        };
        request.viewer.check()?;
        let now = self.store.clock().now();
        let late = self.settings.weights.late > 0.0;
        let question = Arc::new(Question::of(&request, self.indexes.embedder().as_ref(), late).await?);
        step("understood");
        let mut gathered = self.gather(&request, question.clone(), now).await?;
        step("gathered");

        let asked_at = request.at.unwrap_or(now);
        let offset_minutes = i32::from(asked_at.offset_minutes());
        let times = time_expression::find(&question.text, Moment { ns: asked_at.nanoseconds(), offset_minutes });
        let weights = self.settings.weights.available(question.vector.is_some(), question.tokens.is_some());
        let scoring = Scoring { query: &question.text, weights, times: &times, offset_minutes };
        score(&mut gathered.candidates, &scoring);
        step("scored");

        let limit = request.limit.clamp(1, MOST_HITS);
        let ranked = answer::rank(gathered.candidates, &request, self.settings.vector_floor);
        let (this, asked) = (self.clone(), request.clone());
        let (hits, explained, empty_reason) = blocking(move || {
            this.store.read("search", |connection| answer::finish(connection, ranked, &asked, limit))
        })
        .await?;
        let outcome = answer::outcome(&hits, gathered.degraded, gathered.nothing_stored, empty_reason);
        let mut recall = answer::recall(outcome, hits);
        recall.arms = gathered.arms;
        recall.index_lag = gathered.index_lag;
        recall.took_ms = (begin.elapsed().as_secs_f64() * 10_000.0).round() / 10.0;
        step("answered");
        if request.explain {
            let named_times =
                times.iter().filter_map(|time| question.text.get(time.range.clone())).map(str::to_owned).collect();
            recall.explanation = Some(answer::explanation(&question.terms, named_times, weights, explained, steps));
        }
        Ok(recall)
    }
}
