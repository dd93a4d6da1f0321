//! Late interaction: for each token of the question the best match among the tokens of a text (Khattab and Zaharia,
//! *ColBERT*, 2020), here over rows of a static table or states of a transformer.

use memory_core::Result;
use memory_models::{LateInteraction, QueryTokens};

use super::candidate::{Candidate, Places};

/// Two tokens with a cosine above this count as the same.
const SAME_TOKEN: f32 = 0.99;

/// A neighbour's token counts this much of an own one.
const NEIGHBOUR_TOKEN: f32 = 0.8;

/// Scores of the texts themselves, and of the texts together with their neighbours.
pub(super) struct Late {
    pub(super) own: Vec<f32>,
    pub(super) window: Vec<f32>,
}

/// The similarities of texts with a question: for each text, for each of its passages, for each token of the question.
pub(super) fn compare_tokens(
    texts: &[Vec<String>],
    tokens: &QueryTokens,
    interaction: &dyn LateInteraction,
) -> Result<Vec<Vec<Vec<f32>>>> {
    let passages: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let mut similarities = interaction.similarities(tokens, &passages)?.into_iter();
    Ok(texts.iter().map(|passages| similarities.by_ref().take(passages.len()).collect()).collect())
}

/// Over the bundled table. The weight of a query token is its inverse document frequency among the candidates.
pub(super) fn over_table(candidates: &[Candidate], places: &Places) -> Late {
    let tokens = candidates.iter().flat_map(|it| &it.similarities).map(Vec::len).max().unwrap_or(0);
    let total = candidates.len() as f32;
    let holds = |it: &Candidate, token: usize| it.similarities.iter().any(|passage| at(passage, token) > SAME_TOKEN);
    let weights: Vec<f32> = (0..tokens)
        .map(|token| candidates.iter().filter(|it| holds(it, token)).count() as f32)
        .map(|frequency| (1.0 + (total - frequency + 0.5) / (frequency + 0.5)).ln())
        .collect();
    let passages: Vec<&Vec<Vec<f32>>> = candidates.iter().map(|it| &it.similarities).collect();
    score(candidates, places, &weights, &passages)
}

/// Over the states of a transformer, for the candidates that have them; the others score 0. What every candidate has in
/// common says nothing: each token counts from its least similarity up.
pub(super) fn over_context(candidates: &[Candidate], places: &Places, weights: &[f32]) -> Late {
    let least: Vec<f32> = (0..weights.len())
        .map(|token| {
            let read = candidates.iter().filter(|it| !it.context.is_empty());
            read.map(|it| best(&it.context, token)).fold(f32::INFINITY, f32::min)
        })
        .collect();
    let spread: Vec<Vec<Vec<f32>>> = candidates
        .iter()
        .map(|it| {
            let above = |passage: &Vec<f32>| {
                passage.iter().zip(&least).map(|(value, least)| (value - least).max(0.0)).collect()
            };
            it.context.iter().map(above).collect()
        })
        .collect();
    score(candidates, places, weights, &spread)
}

/// The weighted mean of the best matches; a long text counts as its best passage. `passages` holds the similarities of
/// each candidate.
fn score<P: std::borrow::Borrow<Vec<Vec<f32>>>>(
    candidates: &[Candidate],
    places: &Places,
    weights: &[f32],
    passages: &[P],
) -> Late {
    let sum: f32 = weights.iter().sum();
    if sum <= 0.0 {
        return Late { own: vec![0.0; candidates.len()], window: vec![0.0; candidates.len()] };
    }
    let weighted = |similarity_of: &dyn Fn(usize) -> f32| {
        weights.iter().enumerate().map(|(token, weight)| weight * similarity_of(token)).sum::<f32>() / sum
    };
    let own: Vec<f32> = passages
        .iter()
        .map(|it| it.borrow().iter().map(|passage| weighted(&|token| at(passage, token))).fold(0.0, f32::max))
        .collect();
    let window = candidates
        .iter()
        .zip(passages)
        .zip(&own)
        .map(|((it, passages_of_it), own)| {
            if !it.short {
                return *own;
            }
            let near = [-1, 1].map(|offset| {
                places.near(candidates, it, offset).and_then(|(index, _)| passages.get(index)).map(P::borrow)
            });
            weighted(&|token| {
                let around = near.iter().flatten().map(|near| NEIGHBOUR_TOKEN * best(near, token));
                around.fold(best(passages_of_it.borrow(), token), f32::max)
            })
        })
        .collect();
    Late { own, window }
}

fn best(passages: &[Vec<f32>], token: usize) -> f32 {
    passages.iter().map(|passage| at(passage, token)).fold(0.0, f32::max)
}

fn at(values: &[f32], index: usize) -> f32 {
    values.get(index).copied().unwrap_or(0.0)
}
