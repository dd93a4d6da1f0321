//! From scored candidates to the answer.

use std::collections::{BTreeMap, HashSet};

use memory_core::{
    Explanation, GroupBy, Hit, HitKind, MemoryKind, Neighbor, Recall, RecallOutcome, RecallReason, Result,
    SearchRequest, Source,
};
use rusqlite::Connection;

use super::candidate::{Candidate, Group, Row};
use crate::provider::NAME;
use crate::store::Store;

/// The hit that a candidate makes, with score and arm scores still unset.
pub(crate) fn hit_of(candidate: &Candidate) -> Hit {
    let source = Source { provider: NAME.to_owned(), ..Source::default() };
    match &candidate.row {
        Row::Memory(row) => {
            let memory = &row.memory;
            Hit {
                id: memory.id.clone(),
                kind: if memory.kind == MemoryKind::Lesson { HitKind::Lesson } else { HitKind::Memory },
                score: 0.0,
                scores: BTreeMap::new(),
                title: memory.title.clone(),
                text: memory.body.clone(),
                category: memory.category.clone(),
                tags: memory.tags.clone(),
                scope: memory.scope.clone(),
                session_id: None,
                speaker: None,
                role: None,
                external_id: memory.external_id.clone(),
                event_at: memory.event_at,
                created_at: memory.created_at,
                attrs: memory.attrs.clone(),
                source,
                neighbors: Vec::new(),
            }
        }
        Row::Message(row) => {
            let message = &row.message;
            Hit {
                id: message.id.clone(),
                kind: HitKind::Message,
                score: 0.0,
                scores: BTreeMap::new(),
                title: None,
                text: message.content.clone(),
                category: None,
                tags: Vec::new(),
                scope: message.scope.clone(),
                session_id: Some(message.session_id.clone()),
                speaker: message.speaker.clone(),
                role: Some(message.role),
                external_id: message.external_id.clone(),
                event_at: Some(message.created_at),
                created_at: message.created_at,
                attrs: message.attrs.clone(),
                source,
                neighbors: Vec::new(),
            }
        }
        Row::Chunk(row, document) => {
            let (chunk, document_row) = (&row.chunk, document);
            let document = &document_row.document;
            Hit {
                id: chunk.id.clone(),
                kind: HitKind::Document,
                score: 0.0,
                scores: BTreeMap::new(),
                title: chunk.heading.clone().or_else(|| document.title.clone()),
                text: chunk.text.clone(),
                category: None,
                tags: document.tags.clone(),
                scope: document.scope.clone(),
                session_id: None,
                speaker: None,
                role: None,
                external_id: None,
                event_at: document_row.event_at.map(memory_core::Timestamp::from_nanoseconds),
                created_at: document.modified_at,
                attrs: memory_core::Attributes::new(),
                source: Source { path: Some(document.path.clone()), lines: Some(chunk.lines), ..source },
                neighbors: Vec::new(),
            }
        }
    }
}

/// Sorts the candidates, keeps those with evidence, gathers groups, and cuts at the limit.
pub(crate) fn rank(mut candidates: Vec<Candidate>, request: &SearchRequest, vector_floor: f32) -> Vec<Ranked> {
    candidates.retain(|candidate| candidate.has_evidence(vector_floor));
    // Equal scores keep a stable order: newest first, then by key.
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.at().cmp(&a.at())).then(a.entry.cmp(&b.entry)));
    let lowest = candidates.last().map_or(0.0, |candidate| candidate.score);
    let confidence = candidates.iter().take(5).map(confidence_of).fold(0.0, f32::max);
    if let Some(group_by) = request.group_by {
        keep_best_of_groups(&mut candidates, group_by);
    }
    let mut ranked: Vec<Ranked> =
        candidates.into_iter().map(|candidate| Ranked { order: candidate.score, candidate }).collect();
    let highest = ranked.first().map_or(0.0, |first| first.order);
    let lowest = ranked.last().map_or(lowest, |last| last.order.min(lowest));
    for hit in &mut ranked {
        let share = if highest > lowest { (hit.order - lowest) / (highest - lowest) } else { 1.0 };
        hit.order = (confidence * share).clamp(0.0, 1.0);
    }
    ranked
}

/// A candidate with its place in the answer: `order` is its score from 0 to 1.
pub(crate) struct Ranked {
    pub(crate) candidate: Candidate,
    pub(crate) order: f32,
}

/// Keeps the first, best member of each session or document; what is in none is left out.
fn keep_best_of_groups(candidates: &mut Vec<Candidate>, group_by: GroupBy) {
    let mut seen = HashSet::new();
    candidates.retain(|candidate| {
        let belongs = matches!(
            (group_by, candidate.group),
            (GroupBy::Session, Group::Session(_)) | (GroupBy::Document, Group::Document(_))
        );
        belongs && seen.insert(candidate.group)
    });
}

/// How much there is behind a candidate, from 0 to 1, whatever the others are like: the share of the question's words
/// that it covers in meaning, or how close its vector is.
fn confidence_of(candidate: &Candidate) -> f32 {
    let mean = |passage: &Vec<f32>| passage.iter().sum::<f32>() / passage.len().max(1) as f32;
    let covered = candidate.similarities.iter().map(mean).fold(0.0, f32::max);
    // Scores of words have no upper end; ten is a good match of one rare word.
    let words = candidate.evidence.own.max(candidate.evidence.window);
    let lexical = words / (words + 4.0);
    covered.max(candidate.evidence.vector).max(lexical)
}

/// Hits, what each is made of, and why there are none if there are none.
pub(crate) struct Finished {
    pub(crate) hits: Vec<Hit>,
    pub(crate) explained: Vec<BTreeMap<String, f64>>,
    pub(crate) empty_reason: RecallReason,
}

/// Makes the answer from ranked candidates.
pub(crate) fn finish(
    connection: &Connection,
    ranked: Vec<Ranked>,
    request: &SearchRequest,
    limit: usize,
) -> Result<Finished> {
    let found_any = !ranked.is_empty();
    let mut hits = Vec::new();
    let mut explained = Vec::new();
    for Ranked { candidate, order } in ranked {
        if hits.len() >= limit || f64::from(order) < request.min_score {
            break;
        }
        let mut hit = hit_of(&candidate);
        hit.score = rounded(order);
        let evidence = candidate.evidence;
        for (name, value) in [("text", evidence.own.max(evidence.window)), ("vector", evidence.vector)] {
            if value > 0.0 {
                hit.scores.insert(name.to_owned(), rounded(value));
            }
        }
        if let Row::Message(row) = &candidate.row
            && request.neighbors > 0
        {
            hit.neighbors = neighbours(connection, row, request.neighbors)?;
        }
        if request.explain {
            explained.push(candidate.parts.iter().map(|(name, part)| ((*name).to_owned(), rounded(*part))).collect());
        }
        hits.push(hit);
    }
    let empty_reason = if found_any { RecallReason::BelowThreshold } else { RecallReason::NoMatch };
    Ok(Finished { hits, explained, empty_reason })
}

fn rounded(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0
}

fn neighbours(connection: &Connection, row: &crate::store::MessageRow, reach: usize) -> Result<Vec<Neighbor>> {
    let reach = reach.min(50) as u64;
    let position = row.message.position;
    let around = Store::messages_between(
        connection,
        row.session,
        position.saturating_sub(reach),
        position.saturating_add(reach),
    )?;
    Ok(around
        .into_iter()
        .filter(|near| near.key != row.key)
        .map(|near| Neighbor {
            id: near.message.id,
            offset: i32::try_from(near.message.position as i64 - position as i64).unwrap_or(0),
            speaker: near.message.speaker,
            role: near.message.role,
            text: near.message.content,
            created_at: near.message.created_at,
        })
        .collect())
}

/// The outcome that hits and findings amount to.
pub(crate) fn outcome(
    hits: &[Hit],
    degraded: Option<RecallReason>,
    nothing_stored: bool,
    empty_reason: RecallReason,
) -> (RecallOutcome, Option<RecallReason>) {
    match (hits.is_empty(), degraded) {
        (false, None) => (RecallOutcome::Complete, None),
        // An answer that may have missed something says so, also when it is empty.
        (_, Some(reason)) => (RecallOutcome::Degraded, Some(reason)),
        (true, None) if nothing_stored => (RecallOutcome::Empty, Some(RecallReason::NothingStored)),
        (true, None) => (RecallOutcome::Empty, Some(empty_reason)),
    }
}

/// An explanation of weights, words and steps.
pub(crate) fn explanation(
    terms: &[memory_index::QueryTerm],
    times: Vec<String>,
    mix: super::mix::Mix,
    hits: Vec<BTreeMap<String, f64>>,
    steps: BTreeMap<String, f64>,
) -> Explanation {
    let weights = [
        ("text", mix.text),
        ("vector", mix.vector),
        ("late_interaction", mix.late + mix.late_window),
        ("importance", mix.importance),
    ];
    Explanation {
        terms: terms.iter().map(|term| term.text.clone()).collect(),
        times,
        weights: weights.iter().map(|(name, weight)| ((*name).to_owned(), rounded(*weight))).collect(),
        hits,
        steps,
    }
}

/// An answer from its parts.
pub(crate) fn recall(outcome: (RecallOutcome, Option<RecallReason>), hits: Vec<Hit>) -> Recall {
    Recall {
        outcome: outcome.0,
        reason: outcome.1,
        took_ms: 0.0,
        arms: BTreeMap::new(),
        index_lag: 0,
        dropped: 0,
        hits,
        explanation: None,
    }
}
