//! Candidates: what each arm finds, the rest of the best sessions and documents, and the messages around.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use memory_core::{ErrorKind, RecallReason, Result, SearchMode, SearchRequest, Timestamp};
use memory_index::{
    EntryKey, EntryKind, LanceIndex, Question as TextQuestion, TantivyIndex, TextField, TextIndex, TextQuery,
    VectorIndex,
};
use memory_models::EmbedCost;
use rusqlite::Connection;

use super::Searcher;
use super::candidate::Candidate;
use super::late::compare_tokens;
use super::load::{Admission, load, load_members, load_neighbours, newest_entries};
use super::question::{Question, filter_of_wholes};
use super::tail::{SCAN_LIMIT, TAIL_LIMIT, TermStatistics, keep_promising, score_tail};
use crate::blocking::blocking;
use crate::store::Store;

/// Sessions and documents whose members all become candidates.
const BEST_WHOLES: usize = 5;

/// Everything that was found, scored by each arm.
pub(crate) struct Gathered {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) arms: BTreeMap<String, usize>,
    pub(crate) index_lag: u64,
    pub(crate) degraded: Option<RecallReason>,
    pub(crate) nothing_stored: bool,
}

/// The indexes as far as they can be used for this search.
#[derive(Clone)]
struct Opened {
    text: Option<Arc<TantivyIndex>>,
    vector: Option<Arc<LanceIndex>>,
    text_mark: u64,
    vector_mark: u64,
    /// True when the text index should be there but cannot be read.
    text_lost: bool,
    vector_lost: bool,
}

/// What waits for the indexer, and what each arm finds.
struct Found {
    waiting: Vec<(u64, EntryKey)>,
    text: TextFound,
    vectors: Vec<(EntryKey, f32)>,
}

/// What the text arm finds.
#[derive(Default)]
struct TextFound {
    own: Vec<(EntryKey, f32)>,
    window: Vec<(EntryKey, f32)>,
    wholes: Vec<(EntryKey, f32)>,
}

impl Searcher {
    pub(crate) async fn gather(
        &self,
        request: &SearchRequest,
        question: Arc<Question>,
        now: Timestamp,
    ) -> Result<Gathered> {
        // What waits is noted before the indexes are looked at: a change that leaves the outbox in between is in them.
        let this = self.clone();
        let waiting =
            blocking(move || this.store.read("search", |connection| Store::newest_outbox(connection, TAIL_LIMIT)))
                .await?;
        let mut opened = self.open_indexes(question.vector.is_some()).await;
        let text_found = match (&opened.text, request.mode) {
            (Some(index), SearchMode::Hybrid | SearchMode::Text) => {
                let (index, question, raw, limit) =
                    (index.clone(), question.clone(), request.raw, self.settings.candidates);
                blocking(move || search_text(&index, &question, raw, limit)).await
            }
            _ => Ok(TextFound::default()),
        };
        let text_found = match text_found {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::InvalidRequest => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "the text index cannot be searched");
                opened.text = None;
                opened.text_lost = true;
                TextFound::default()
            }
        };
        let vectors = self.search_vectors(&mut opened, &question).await;
        let found = Found { waiting, text: text_found, vectors };

        let this = self.clone();
        let (shared, asked, usable) = (question.clone(), request.clone(), opened.clone());
        let (mut gathered, tail) = blocking(move || {
            this.store.read("search", |connection| this.collect(connection, &asked, &shared, &usable, found, now))
        })
        .await?;
        self.complete_evidence(&mut gathered.candidates, &tail, &question, &opened, request).await?;
        gathered.degraded = gathered.degraded.or(match (opened.text_lost, opened.vector_lost) {
            (true, true) => Some(RecallReason::IndexesUnavailable),
            (true, false) => Some(RecallReason::TextIndexUnavailable),
            (false, true) => Some(RecallReason::VectorIndexUnavailable),
            (false, false) => question.embedder_failed.then_some(RecallReason::EmbedderFailed),
        });
        Ok(gathered)
    }

    async fn open_indexes(&self, with_vectors: bool) -> Opened {
        let mut opened =
            Opened { text: None, vector: None, text_mark: 0, vector_mark: 0, text_lost: false, vector_lost: false };
        match self.indexes.text().await {
            Ok(Some((state, index))) => {
                let marked = index.clone();
                match blocking(move || marked.watermark()).await {
                    // The commit's own mark is exact; an index that lost its mark lost its data too.
                    Ok(Some(mark)) => {
                        opened.text_mark = mark.sequence;
                        opened.text = Some(index);
                    }
                    Ok(None) => opened.text_lost = state.applied > 0,
                    Err(error) => {
                        tracing::warn!(%error, "the text index cannot be read");
                        opened.text_lost = true;
                    }
                }
            }
            // No generation yet: the outbox holds everything, unless an old one had to be given up.
            Ok(None) => opened.text_lost = self.has_generation(crate::indexer::TEXT).await,
            Err(error) => {
                tracing::warn!(%error, "the text index cannot be opened");
                opened.text_lost = true;
            }
        }
        if !with_vectors {
            // Nothing asks for vectors: their lag does not matter.
            opened.vector_mark = u64::MAX;
            return opened;
        }
        match self.indexes.vector().await {
            Ok(Some((state, index))) => {
                opened.vector_mark = state.applied;
                opened.vector = Some(index);
            }
            Ok(None) => opened.vector_lost = self.has_generation(crate::indexer::VECTOR).await,
            Err(error) => {
                tracing::warn!(%error, "the vector index cannot be opened");
                opened.vector_lost = true;
            }
        }
        opened
    }

    async fn has_generation(&self, kind: &'static str) -> bool {
        let this = self.clone();
        let states =
            blocking(move || this.store.read("find an index", |connection| Store::index_states(connection, kind)));
        states.await.is_ok_and(|states| !states.is_empty())
    }

    async fn search_vectors(&self, opened: &mut Opened, question: &Question) -> Vec<(EntryKey, f32)> {
        let (Some(index), Some(vector)) = (&opened.vector, &question.vector) else { return Vec::new() };
        let mut found = Vec::new();
        for filter in &question.filters {
            match index.search(vector, filter, self.settings.candidates).await {
                Ok(more) => found.extend(more),
                Err(error) => {
                    tracing::warn!(%error, "the vector index cannot be searched");
                    opened.vector = None;
                    opened.vector_lost = true;
                    return Vec::new();
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(self.settings.candidates);
        found
    }

    /// Rows for what the arms found, the tail, the members of the best wholes and the neighbours. Answers the keys of
    /// the tail too, whose text evidence is final.
    fn collect(
        &self,
        connection: &Connection,
        request: &SearchRequest,
        question: &Question,
        opened: &Opened,
        Found { waiting, text, vectors }: Found,
        now: Timestamp,
    ) -> Result<(Gathered, HashSet<EntryKey>)> {
        let scope_keys = request.viewer.readable_keys();
        let admission =
            Admission { request, scopes: scope_keys.iter().cloned().collect(), kinds: &question.kinds, now };
        let mark = opened.text_mark.min(opened.vector_mark);
        let index_lag = Store::outbox_length(connection, mark)?;
        let mut degraded = None;

        let changed = if opened.text_lost {
            newest_entries(connection, SCAN_LIMIT)?
        } else {
            // The operators of a raw question are the index's: it finds nothing in the tail.
            if index_lag > TAIL_LIMIT as u64 || (request.raw && index_lag > 0) {
                degraded = Some(RecallReason::IndexLag);
            }
            waiting.into_iter().filter(|(sequence, _)| *sequence > mark).map(|(_, entry)| entry).collect()
        };
        let mut tail = load(connection, changed, &admission)?;
        if request.mode != SearchMode::Vector {
            let statistics = TermStatistics::of(opened.text.as_deref().map(|index| index as _), &question.terms)?;
            score_tail(&mut tail, statistics);
        }
        let (tail, tail_entries) = keep_promising(tail, 2 * self.settings.candidates);

        let mut arms = BTreeMap::new();
        arms.insert("text".to_owned(), text.own.len().max(text.window.len()));
        arms.insert("vector".to_owned(), vectors.len());
        arms.insert("tail".to_owned(), tail.len());

        let found: BTreeSet<EntryKey> = text
            .own
            .iter()
            .chain(&text.window)
            .chain(&vectors)
            .map(|(entry, _)| *entry)
            .filter(|entry| !tail_entries.contains(entry))
            .collect();
        let mut candidates = tail;
        candidates.extend(load(connection, found, &admission)?);
        if request.raw {
            return Ok((raw_answer(candidates, &text.own, arms, index_lag), tail_entries));
        }
        let wholes: Vec<EntryKey> = text.wholes.iter().map(|(entry, _)| *entry).collect();
        add_new(&mut candidates, load_members(connection, &wholes, &admission)?);
        let neighbours = load_neighbours(connection, &candidates, &admission)?;
        add_new(&mut candidates, neighbours);

        let nothing_stored = candidates.is_empty() && {
            let scopes = Store::known_scope_numbers(connection, &scope_keys)?;
            !Store::anything_stored(connection, &scopes)?
        };
        let gathered = Gathered { candidates, arms, index_lag, degraded, nothing_stored };
        Ok((gathered, tail_entries))
    }

    /// Lets every arm score every candidate, so that all are compared by the same evidence.
    async fn complete_evidence(
        &self,
        candidates: &mut Vec<Candidate>,
        tail: &HashSet<EntryKey>,
        question: &Arc<Question>,
        opened: &Opened,
        request: &SearchRequest,
    ) -> Result<()> {
        if let Some(vector) = &question.vector {
            self.score_vectors(candidates, vector, opened).await?;
        }
        let mut taken = std::mem::take(candidates);
        let (tail, question, opened, request) = (tail.clone(), question.clone(), opened.clone(), request.clone());
        *candidates = blocking(move || {
            if let Some(index) = &opened.text
                && request.mode != SearchMode::Vector
                && !request.raw
            {
                score_text(&mut taken, &tail, index, &question.text)?;
            }
            if let Some((tokens, table)) = &question.tokens {
                let texts: Vec<Vec<String>> = taken.iter().map(Candidate::passages).collect();
                for (candidate, similarities) in taken.iter_mut().zip(compare_tokens(&texts, tokens, table.as_ref())?) {
                    candidate.similarities = similarities;
                }
            }
            Ok(taken)
        })
        .await?;
        Ok(())
    }

    async fn score_vectors(&self, candidates: &mut [Candidate], vector: &[f32], opened: &Opened) -> Result<()> {
        let keys: Vec<EntryKey> = candidates.iter().map(|candidate| candidate.entry).collect();
        let mut missing = Vec::new();
        let known = match &opened.vector {
            Some(index) => index.score(vector, &keys).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the vector index cannot score");
                vec![None; keys.len()]
            }),
            None => vec![None; keys.len()],
        };
        for (position, (candidate, cosine)) in candidates.iter_mut().zip(known).enumerate() {
            match cosine {
                Some(cosine) => candidate.evidence.vector = cosine.max(0.0),
                None => missing.push(position),
            }
        }
        // Rows without a vector yet: a cheap embedder makes one on the spot.
        let embedder = self.indexes.embedder();
        if missing.is_empty() || embedder.cost() != EmbedCost::Cheap {
            return Ok(());
        }
        let texts: Vec<String> =
            missing.iter().filter_map(|position| candidates.get(*position)).map(|it| it.text.clone()).collect();
        let vectors = embedder.embed(&texts, memory_models::Purpose::Passage).await?;
        for (position, made) in missing.into_iter().zip(vectors) {
            if let (Some(candidate), Some(made)) = (candidates.get_mut(position), made) {
                let cosine: f32 = made.iter().zip(vector).map(|(a, b)| a * b).sum();
                candidate.evidence.vector = cosine.max(0.0);
            }
        }
        Ok(())
    }
}

fn search_text(index: &TantivyIndex, question: &Question, raw: bool, limit: usize) -> Result<TextFound> {
    let asked = || match raw {
        true => TextQuestion::Raw(question.text.clone()),
        false => TextQuestion::Plain(question.text.clone()),
    };
    let mut found = TextFound::default();
    for filter in &question.filters {
        let search = |field, filter: &memory_index::IndexFilter, limit| {
            index.search(&TextQuery { question: asked(), field, filter: filter.clone(), limit })
        };
        found.own.extend(search(TextField::Text, filter, limit)?);
        if raw {
            continue;
        }
        if filter.kinds.contains(&EntryKind::Message) {
            let messages = memory_index::IndexFilter { kinds: vec![EntryKind::Message], ..filter.clone() };
            found.window.extend(search(TextField::Window, &messages, limit)?);
        }
        if let Some(wholes) = filter_of_wholes(filter) {
            found.wholes.extend(search(TextField::Segment, &wholes, BEST_WHOLES)?);
        }
    }
    Ok(found)
}

/// What an expression with operators finds: exactly that, by the index's own scores. What is not indexed yet cannot be
/// judged by it, and the answer says so.
fn raw_answer(
    mut candidates: Vec<Candidate>,
    found: &[(EntryKey, f32)],
    arms: BTreeMap<String, usize>,
    index_lag: u64,
) -> Gathered {
    let scores: HashMap<EntryKey, f32> = found.iter().copied().collect();
    candidates.retain_mut(|candidate| {
        let score = scores.get(&candidate.entry).copied().unwrap_or(0.0);
        candidate.evidence.own = score;
        candidate.evidence.window = score;
        score > 0.0
    });
    let degraded = (index_lag > 0).then_some(RecallReason::IndexLag);
    Gathered { candidates, arms, index_lag, degraded, nothing_stored: false }
}

/// Sets the text evidence of all candidates that the index holds as they are now.
fn score_text(candidates: &mut [Candidate], tail: &HashSet<EntryKey>, index: &TantivyIndex, asked: &str) -> Result<()> {
    let keys: Vec<EntryKey> = candidates.iter().map(|candidate| candidate.entry).collect();
    let own = index.score(asked, TextField::Text, &keys)?;
    let window = index.score(asked, TextField::Window, &keys)?;
    let wholes: Vec<EntryKey> =
        candidates.iter().filter_map(Candidate::whole).collect::<BTreeSet<_>>().into_iter().collect();
    let whole_scores: HashMap<EntryKey, f32> =
        wholes.iter().copied().zip(index.score(asked, TextField::Segment, &wholes)?).collect();
    for ((candidate, own), window) in candidates.iter_mut().zip(own).zip(window) {
        if let Some(whole) = candidate.whole() {
            candidate.evidence.whole = whole_scores.get(&whole).copied().unwrap_or(0.0);
        }
        if tail.contains(&candidate.entry) {
            continue;
        }
        candidate.evidence.own = own;
        // Long texts stand for themselves.
        candidate.evidence.window = if candidate.short { window } else { own };
    }
    Ok(())
}

fn add_new(candidates: &mut Vec<Candidate>, more: Vec<Candidate>) {
    let mut known: HashSet<EntryKey> = candidates.iter().map(|candidate| candidate.entry).collect();
    candidates.extend(more.into_iter().filter(|candidate| known.insert(candidate.entry)));
}
