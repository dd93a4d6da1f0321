//! Search: understand the question, gather candidates from words, vectors and the tail, let every arm score every
//! candidate, combine, answer. Search reads; it never maintains anything.

mod answer;
mod candidate;
mod gather;
mod late;
mod load;
mod mix;
mod prior;
mod question;
mod score;
mod tail;
pub mod time_expression;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use memory_core::config::Rerank;
use memory_core::{Recall, Result, SearchMode, SearchRequest};

use crate::blocking::blocking;
use crate::config::SearchSettings;
use crate::indexer::Indexes;
use crate::store::Store;
use candidate::Candidate;
use mix::Mix;
pub(crate) use mix::Weights;
pub(crate) use question::Tables;
use question::{MOST_HITS, Question};
use score::{Scoring, score};
use time_expression::Moment;

/// Answers questions.
#[derive(Clone)]
pub(crate) struct Searcher {
    pub(crate) store: Arc<Store>,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) settings: SearchSettings,
    pub(crate) tables: Tables,
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
        let question = Arc::new(Question::of(&request, self.indexes.embedder().as_ref(), &self.tables).await?);
        step("understood");
        let mut gathered = self.gather(&request, question.clone(), now).await?;
        step("gathered");

        let asked_at = request.at.unwrap_or(now);
        let offset_minutes = i32::from(asked_at.offset_minutes());
        let times = time_expression::find(&question.text, Moment { ns: asked_at.nanoseconds(), offset_minutes });
        let (vectors, late) = (question.vector.is_some(), question.tokens.is_some());
        let mix = Mix::of(self.settings.weights, &question.text, vectors, late);
        let mut scoring = Scoring { question: &question.text, mix, times: &times, offset_minutes, context: None };
        score(&mut gathered.candidates, &scoring);
        let context = self.read_best(&mut gathered.candidates, &question, &request).await?;
        if context.is_some() {
            scoring.context = context.as_deref();
            score(&mut gathered.candidates, &scoring);
        }
        step("scored");

        let limit = request.limit.clamp(1, MOST_HITS);
        let ranked = answer::rank(gathered.candidates, &request, self.settings.vector_floor);
        let (this, asked) = (self.clone(), request.clone());
        let answer::Finished { hits, explained, empty_reason } =
            blocking(move || this.store.read("search", |connection| answer::finish(connection, ranked, &asked, limit)))
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
            recall.explanation = Some(answer::explanation(&question.terms, named_times, mix, explained, steps));
        }
        Ok(recall)
    }
}

/// Candidates that a transformer reads again.
const READ_AGAIN: usize = 50;

impl Searcher {
    /// With `rerank: contextual`, lets the transformer read the best candidates token by token. Answers the weights of
    /// the question's tokens, or nothing when there is no such model or it does not cover the question.
    async fn read_best(
        &self,
        candidates: &mut [Candidate],
        question: &Question,
        request: &SearchRequest,
    ) -> Result<Option<Vec<f32>>> {
        let wanted = self.settings.rerank == Rerank::Contextual && request.mode == SearchMode::Hybrid;
        let Some(interaction) = self.indexes.embedder().late_interaction().filter(|_| wanted) else { return Ok(None) };
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|a, b| {
            let score = |index: &usize| candidates.get(*index).map_or(f32::NEG_INFINITY, |it| it.score);
            score(b).total_cmp(&score(a)).then(a.cmp(b))
        });
        order.truncate(READ_AGAIN);
        let texts: Vec<Vec<String>> =
            order.iter().filter_map(|index| candidates.get(*index)).map(Candidate::passages).collect();
        let text = question.text.clone();
        let (weights, similarities) = blocking(move || {
            let tokens = interaction.prepare_query(&text)?;
            let weights: Vec<f32> = tokens.pieces().map(|(_, weight)| weight).collect();
            Ok((weights, late::compare_tokens(&texts, &tokens, interaction.as_ref())?))
        })
        .await?;
        if weights.iter().all(|weight| *weight <= 0.0) {
            return Ok(None);
        }
        for (index, similarities) in order.into_iter().zip(similarities) {
            if let Some(candidate) = candidates.get_mut(index) {
                candidate.context = similarities;
            }
        }
        Ok(Some(weights))
    }
}
