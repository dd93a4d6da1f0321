//! From what the arms say to one score. Every step was measured; the figures are in docs/retrieval.md.

use std::collections::HashMap;

use super::candidate::{Candidate, Group, Places};
use super::late::{over_context, over_table};
use super::mix::Mix;
use super::prior::{Priors, importance};
use super::time_expression::TimeHint;

/// Standardised scores are divided by this, which gives the weights the size they would have with scores scaled to 0..1.
const SPREAD: f32 = 6.0;

/// How much of the best score of its session or document a candidate gets.
const GROUP: f32 = 0.3;

/// How much the words of the whole segment or document count.
const WHOLE: f32 = 0.3;

/// Everything about the question that scoring needs.
#[derive(Debug, Clone)]
pub(crate) struct Scoring<'a> {
    pub(crate) question: &'a str,
    pub(crate) mix: Mix,
    /// The times it names, and the offset of the asker's calendar in minutes.
    pub(crate) times: &'a [TimeHint],
    pub(crate) offset_minutes: i32,
    /// Weights of the query's tokens, once the best candidates have been read by a transformer.
    pub(crate) context: Option<&'a [f32]>,
}

/// Sets the score of every candidate.
pub(crate) fn score(candidates: &mut [Candidate], scoring: &Scoring<'_>) {
    let mix = scoring.mix;
    let places = Places::of(candidates);
    let own = standardised(candidates.iter().map(|it| it.evidence.own));
    let window = standardised(candidates.iter().map(|it| it.evidence.window));
    let lexical = standardised(own.iter().zip(&window).map(|(own, window)| own + mix.window * window));
    let vector = standardised(candidates.iter().map(|it| it.evidence.vector));
    let late = over_table(candidates, &places);
    let (late_own, late_window) = (standardised(late.own.into_iter()), standardised(late.window.into_iter()));
    let context = contextual(candidates, &places, scoring);

    let base: Vec<f32> = (0..candidates.len())
        .map(|index| {
            mix.text * at(&lexical, index)
                + mix.late * at(&late_own, index)
                + mix.late_window * at(&late_window, index)
                + mix.vector * at(&vector, index)
                + at(&context, index)
        })
        .collect();
    let priors = Priors::of(candidates, scoring.question, scoring.times, scoring.offset_minutes);
    let standing: Vec<f32> = candidates
        .iter()
        .zip(&base)
        .map(|(candidate, score)| {
            score + neighbour_evidence(candidates, &places, candidate, mix, &base) + priors.bonus(candidate)
        })
        .collect();

    let mut best_of_group: HashMap<Group, f32> = HashMap::new();
    for (candidate, score) in candidates.iter().zip(&standing) {
        let best = best_of_group.entry(candidate.group).or_insert(f32::NEG_INFINITY);
        *best = best.max(*score);
    }
    // A memory is its own whole.
    let whole = standardised(candidates.iter().map(|it| match it.group {
        Group::Alone(_) => it.evidence.own,
        _ => it.evidence.whole,
    }));
    for (index, candidate) in candidates.iter_mut().enumerate() {
        let score = at(&standing, index);
        let parts = [
            ("text", mix.text * at(&lexical, index)),
            ("vector", mix.vector * at(&vector, index)),
            ("late_interaction", mix.late * at(&late_own, index) + mix.late_window * at(&late_window, index)),
            ("context", at(&context, index)),
            ("neighbours_and_priors", score - at(&base, index)),
            ("group", GROUP * best_of_group.get(&candidate.group).copied().unwrap_or(score)),
            ("whole", WHOLE * at(&whole, index)),
            ("importance", mix.importance * importance(candidate)),
        ];
        candidate.score = parts.iter().map(|(_, part)| part).sum();
        candidate.parts = parts.to_vec();
    }
}

/// The part of a transformer that has read the best candidates. The others stand like the least of those.
fn contextual(candidates: &[Candidate], places: &Places, scoring: &Scoring<'_>) -> Vec<f32> {
    let Some(weights) = scoring.context else { return vec![0.0; candidates.len()] };
    let late = over_context(candidates, places, weights);
    let read: Vec<bool> = candidates.iter().map(|it| !it.context.is_empty()).collect();
    let among_read = |values: &[f32]| {
        let chosen = values.iter().zip(&read).filter(|(_, read)| **read).map(|(value, _)| *value);
        let mut standard = standardised(chosen).into_iter();
        let all: Vec<Option<f32>> = read.iter().map(|read| if *read { standard.next() } else { None }).collect();
        let least = all.iter().flatten().copied().fold(0.0, f32::min);
        all.into_iter().map(|value| value.unwrap_or(least)).collect::<Vec<f32>>()
    };
    let (own, window) = (among_read(&late.own), among_read(&late.window));
    own.iter()
        .zip(&window)
        .map(|(own, window)| scoring.mix.context * own + scoring.mix.context_window * window)
        .collect()
}

/// Evidence spills over to the messages around: an answer follows its question.
fn neighbour_evidence(candidates: &[Candidate], places: &Places, of: &Candidate, mix: Mix, base: &[f32]) -> f32 {
    if !of.short {
        return 0.0;
    }
    [(-1, mix.previous), (1, mix.next)]
        .iter()
        .filter_map(|(offset, share)| {
            let (index, near) = places.near(candidates, of, *offset)?;
            Some(share * if near.short { 1.0 } else { 0.5 } * at(base, index))
        })
        .sum()
}

fn at(values: &[f32], index: usize) -> f32 {
    values.get(index).copied().unwrap_or(0.0)
}

/// Each value as its distance from the mean in units of [`SPREAD`] standard deviations; all 0 where there is no spread.
fn standardised(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let values: Vec<f32> = values.collect();
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count).sqrt();
    if deviation <= f32::EPSILON {
        return vec![0.0; values.len()];
    }
    values.iter().map(|value| (value - mean) / (SPREAD * deviation)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_scores_have_no_mean_and_a_fixed_spread() {
        let scores = standardised([1.0, 2.0, 3.0].into_iter());
        assert!(scores.iter().sum::<f32>().abs() < 1e-6);
        assert!((scores[2] - 1.0 / (6.0 * (2.0_f32 / 3.0).sqrt())).abs() < 1e-6);
        assert_eq!(standardised([5.0, 5.0].into_iter()), [0.0, 0.0]);
        assert!(standardised(std::iter::empty()).is_empty());
    }
}
