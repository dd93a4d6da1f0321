//! From what the arms say to one score. Every step was measured; the figures are in docs/retrieval.md.

use std::collections::HashMap;

use memory_core::Role;

use super::candidate::{Candidate, Group, Places};
use super::time_expression::{Moment, TimeHint};

/// Standardised scores are divided by this, which gives the weights below the size they would have with scores
/// scaled to 0..1.
const SPREAD: f32 = 6.0;

/// Cosines of token vectors below this say nothing.
const SIMILARITY_FLOOR: f32 = 0.2;

/// Two tokens with a cosine above this count as the same.
const SAME_TOKEN: f32 = 0.99;

/// A neighbour's token counts this much of an own one.
const NEIGHBOUR_TOKEN: f32 = 0.8;

/// What falls into a time that the question names is raised by this.
const TIME_BOOST: f32 = 0.2;

/// How the arms are weighed against each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weights {
    /// Words, in the text itself and in its window.
    pub(crate) text: f32,
    /// Vectors.
    pub(crate) vector: f32,
    /// Late interaction over tokens.
    pub(crate) late: f32,
    /// Importance of memories.
    pub(crate) importance: f32,
}

impl Weights {
    /// The weights that apply when an arm is missing: those of the others, scaled up.
    pub(crate) fn available(self, vectors: bool, late: bool) -> Self {
        let vector = if vectors { self.vector } else { 0.0 };
        let late = if late { self.late } else { 0.0 };
        let sum = self.text + vector + late;
        if sum <= 0.0 {
            return Self { text: 1.0, vector: 0.0, late: 0.0, ..self };
        }
        Self { text: self.text / sum, vector: vector / sum, late: late / sum, ..self }
    }
}

/// Everything about the question that scoring needs.
#[derive(Debug, Clone)]
pub(crate) struct Scoring<'a> {
    pub(crate) query: &'a str,
    pub(crate) weights: Weights,
    /// The times it names, and the offset of the asker's calendar in minutes.
    pub(crate) times: &'a [TimeHint],
    pub(crate) offset_minutes: i32,
}

/// Sets the score of every candidate.
pub(crate) fn score(candidates: &mut [Candidate], scoring: &Scoring<'_>) {
    let weights = scoring.weights;
    let places = Places::of(candidates);
    let own = standardised(candidates.iter().map(|it| it.evidence.own));
    let window = standardised(candidates.iter().map(|it| it.evidence.window));
    let lexical = standardised(own.iter().zip(&window).map(|(own, window)| own + 0.75 * window));
    let vector = standardised(candidates.iter().map(|it| it.evidence.vector));
    let (late_own, late_window) = late_interaction(candidates, &places);
    let late_own = standardised(late_own.into_iter());
    let late_window = standardised(late_window.into_iter());

    let base: Vec<f32> = candidates
        .iter()
        .enumerate()
        .map(|(index, _)| {
            weights.text * at(&lexical, index)
                + weights.late * 0.5 * (at(&late_own, index) + at(&late_window, index))
                + weights.vector * at(&vector, index)
        })
        .collect();

    let speaker = named_speaker(candidates, scoring.query);
    let both_roles = [Role::User, Role::Assistant]
        .iter()
        .all(|role| candidates.iter().any(|candidate| candidate.role() == Some(*role)));
    let own_score: Vec<f32> = candidates
        .iter()
        .enumerate()
        .map(|(index, candidate)| {
            let mut score = at(&base, index) + neighbour_evidence(candidates, &places, candidate, &base);
            if speaker.is_some() && candidate.speaker() == speaker.as_deref() {
                score += 0.15;
            }
            // Where people and assistants speak, what people say themselves, here or as a memory, is asked for more.
            if both_roles && candidate.role().is_none_or(|role| role == Role::User) {
                score += 0.2;
            }
            score += time_boost(candidate, scoring);
            score
        })
        .collect();

    let mut best_of_group: HashMap<Group, f32> = HashMap::new();
    for (candidate, score) in candidates.iter().zip(&own_score) {
        let best = best_of_group.entry(candidate.group).or_insert(f32::NEG_INFINITY);
        *best = best.max(*score);
    }
    // A memory is its own whole.
    let whole = standardised(candidates.iter().map(|it| match it.group {
        Group::Alone(_) => it.evidence.own,
        _ => it.evidence.whole,
    }));
    for (index, candidate) in candidates.iter_mut().enumerate() {
        let score = at(&own_score, index);
        let group = best_of_group.get(&candidate.group).copied().unwrap_or(score);
        let importance = weights.importance * importance(candidate);
        candidate.score = score + 0.3 * group + 0.3 * at(&whole, index) + importance;
        candidate.parts = vec![
            ("text", weights.text * at(&lexical, index)),
            ("vector", weights.vector * at(&vector, index)),
            ("late_interaction", weights.late * 0.5 * (at(&late_own, index) + at(&late_window, index))),
            ("neighbours_and_priors", score - at(&base, index)),
            ("group", 0.3 * group),
            ("whole", 0.3 * at(&whole, index)),
            ("importance", importance),
        ];
    }
}

/// The score of each group: its best member, and how its best segment stands among the groups.
pub(crate) fn score_groups(candidates: &[Candidate]) -> HashMap<Group, f32> {
    let mut best: HashMap<Group, (f32, f32)> = HashMap::new();
    for candidate in candidates {
        let entry = best.entry(candidate.group).or_insert((f32::NEG_INFINITY, 0.0));
        entry.0 = entry.0.max(candidate.score);
        entry.1 = entry.1.max(candidate.evidence.whole);
    }
    let mut groups: Vec<(Group, (f32, f32))> = best.into_iter().collect();
    groups.sort_unstable_by_key(|(group, _)| *group);
    let whole = standardised(groups.iter().map(|(_, (_, whole))| *whole));
    groups.iter().zip(whole).map(|((group, (score, _)), whole)| (*group, score + 0.3 * whole)).collect()
}

fn at(values: &[f32], index: usize) -> f32 {
    values.get(index).copied().unwrap_or(0.0)
}

/// Each value as its distance from the mean in units of six standard deviations; all 0 where there is no spread.
fn standardised(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let values: Vec<f32> = values.collect();
    let count = values.len() as f32;
    let mean = values.iter().sum::<f32>() / count.max(1.0);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count.max(1.0);
    let deviation = variance.sqrt();
    if deviation <= f32::EPSILON {
        return vec![0.0; values.len()];
    }
    values.iter().map(|value| (value - mean) / (SPREAD * deviation)).collect()
}

/// Late interaction of the text itself, and of the text with its neighbours. The weight of a query token is its
/// inverse document frequency among the candidates.
fn late_interaction(candidates: &[Candidate], places: &Places) -> (Vec<f32>, Vec<f32>) {
    let tokens = candidates.iter().map(|it| it.similarities.len()).max().unwrap_or(0);
    if tokens == 0 {
        return (vec![0.0; candidates.len()], vec![0.0; candidates.len()]);
    }
    let total = candidates.len() as f32;
    let frequency: Vec<f32> = (0..tokens)
        .map(|token| candidates.iter().filter(|it| at(&it.similarities, token) > SAME_TOKEN).count() as f32)
        .map(|frequency| (1.0 + (total - frequency + 0.5) / (frequency + 0.5)).ln())
        .collect();
    let sum: f32 = frequency.iter().sum();
    let rescaled = |similarity: f32| ((similarity - SIMILARITY_FLOOR) / (1.0 - SIMILARITY_FLOOR)).max(0.0);
    let weighted = |similarity_of: &dyn Fn(usize) -> f32| {
        frequency.iter().enumerate().map(|(token, weight)| weight * similarity_of(token)).sum::<f32>() / sum
    };
    let own = candidates.iter().map(|it| weighted(&|token| rescaled(at(&it.similarities, token)))).collect();
    let with_neighbours = candidates
        .iter()
        .map(|it| {
            let near = |offset| if it.short { places.near(candidates, it, offset).map(|(_, near)| near) } else { None };
            let (previous, next) = (near(-1), near(1));
            weighted(&|token| {
                let of = |near: Option<&Candidate>| {
                    near.map_or(0.0, |near| NEIGHBOUR_TOKEN * rescaled(at(&near.similarities, token)))
                };
                rescaled(at(&it.similarities, token)).max(of(previous)).max(of(next))
            })
        })
        .collect();
    (own, with_neighbours)
}

/// Evidence spills over to the messages around: an answer follows its question.
fn neighbour_evidence(candidates: &[Candidate], places: &Places, of: &Candidate, base: &[f32]) -> f32 {
    if !of.short {
        return 0.0;
    }
    [(-1, 0.2), (1, 0.1)]
        .iter()
        .filter_map(|(offset, share)| {
            let (index, near) = places.near(candidates, of, *offset)?;
            Some(share * if near.short { 1.0 } else { 0.5 } * at(base, index))
        })
        .sum()
}

/// The one speaker that the question names, when it names exactly one.
fn named_speaker(candidates: &[Candidate], query: &str) -> Option<String> {
    let words: Vec<String> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let query = query.to_lowercase();
    let mut named: Option<&str> = None;
    for speaker in candidates.iter().filter_map(Candidate::speaker) {
        let name = speaker.to_lowercase();
        if matches!(name.as_str(), "user" | "assistant" | "system" | "tool" | "用户" | "助手") || named == Some(speaker) {
            continue;
        }
        // Names of several words, and names in scripts without spaces, are looked for as they stand.
        let is_word = name.chars().all(|c| c.is_alphanumeric() && c.is_ascii());
        if if is_word { words.contains(&name) } else { query.contains(&name) } {
            if named.is_some() {
                return None;
            }
            named = Some(speaker);
        }
    }
    named.map(str::to_owned)
}

/// What happened in, or near, a time that the question names is a little more likely; nothing is ruled out.
fn time_boost(candidate: &Candidate, scoring: &Scoring<'_>) -> f32 {
    let moment = Moment { ns: candidate.at(), offset_minutes: scoring.offset_minutes };
    let closeness = scoring.times.iter().map(|time| time.strength * time.closeness(moment)).fold(0.0, f64::max);
    TIME_BOOST * closeness as f32
}

/// Declared relevance and learned quality of a memory, from -0.5 to 0.5; nothing for other rows.
fn importance(candidate: &Candidate) -> f32 {
    match &candidate.row {
        super::candidate::Row::Memory(row) => {
            let relevance = match row.memory.relevance {
                memory_core::Relevance::Low => 0.0,
                memory_core::Relevance::Medium => 0.5,
                memory_core::Relevance::High => 1.0,
            };
            0.5 * (relevance + row.memory.quality as f32) - 0.5
        }
        _ => 0.0,
    }
}
