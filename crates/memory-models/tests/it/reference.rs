//! BERT by its formulas (Devlin et al. 2019), one number at a time in double precision: what the fast code must agree
//! with.

use std::collections::HashMap;

use candle_core::Tensor;

use crate::tiny_model::{HEADS, HIDDEN, LAYERS, WORDS};

type Matrix = Vec<Vec<f64>>;

struct Reference<'a>(&'a HashMap<String, Tensor>);

impl Reference<'_> {
    fn vector(&self, name: &str) -> Vec<f64> {
        self.0[name].to_vec1::<f32>().unwrap().into_iter().map(f64::from).collect()
    }

    fn matrix(&self, name: &str) -> Matrix {
        let rows = self.0[name].to_vec2::<f32>().unwrap();
        rows.into_iter().map(|row| row.into_iter().map(f64::from).collect()).collect()
    }

    fn dense(&self, states: &Matrix, name: &str) -> Matrix {
        let (weight, bias) = (self.matrix(&format!("{name}.weight")), self.vector(&format!("{name}.bias")));
        let row = |state: &Vec<f64>| weight.iter().zip(&bias).map(|(row, bias)| dot(row, state) + bias).collect();
        states.iter().map(row).collect()
    }

    fn norm(&self, states: &Matrix, name: &str) -> Matrix {
        let (weight, bias) = (self.vector(&format!("{name}.weight")), self.vector(&format!("{name}.bias")));
        let row = |state: &Vec<f64>| {
            let mean = state.iter().sum::<f64>() / HIDDEN as f64;
            let variance = state.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / HIDDEN as f64;
            let unit = state.iter().map(|value| (value - mean) / (variance + 1e-12).sqrt());
            unit.zip(weight.iter().zip(&bias)).map(|(value, (weight, bias))| value * weight + bias).collect()
        };
        states.iter().map(row).collect()
    }

    fn attention(&self, states: &Matrix, prefix: &str) -> Matrix {
        let part = |name: &str| self.dense(states, &format!("{prefix}attention.self.{name}"));
        let (query, key, value) = (part("query"), part("key"), part("value"));
        let size = HIDDEN / HEADS;
        let mut mixed = vec![vec![0.0; HIDDEN]; states.len()];
        for head in 0..HEADS {
            let range = head * size..(head + 1) * size;
            for token in 0..states.len() {
                let scores: Vec<f64> = key
                    .iter()
                    .map(|key| (dot(&query[token][range.clone()], &key[range.clone()]) / (size as f64).sqrt()).exp())
                    .collect();
                let total: f64 = scores.iter().sum();
                for (score, value) in scores.iter().zip(&value) {
                    for place in range.clone() {
                        mixed[token][place] += score / total * value[place];
                    }
                }
            }
        }
        mixed
    }
}

/// The normalised mean of the last hidden states of the tokens.
pub(crate) fn mean_vector(weights: &HashMap<String, Tensor>, tokens: &str) -> Vec<f32> {
    let model = Reference(weights);
    let ids = tokens.split(' ').map(|token| WORDS.split(' ').position(|word| word == token).unwrap());
    let words = model.matrix("embeddings.word_embeddings.weight");
    let positions = model.matrix("embeddings.position_embeddings.weight");
    let kinds = model.matrix("embeddings.token_type_embeddings.weight");
    let states = ids.zip(&positions).map(|(id, position)| add(&add(&words[id], position), &kinds[0])).collect();
    let mut states = model.norm(&states, "embeddings.LayerNorm");
    for layer in 0..LAYERS {
        let prefix = format!("encoder.layer.{layer}.");
        let attended = model.dense(&model.attention(&states, &prefix), &format!("{prefix}attention.output.dense"));
        states = model.norm(&sum(&states, &attended), &format!("{prefix}attention.output.LayerNorm"));
        let inner = model.dense(&states, &format!("{prefix}intermediate.dense"));
        let inner = inner.iter().map(|row| row.iter().map(|value| gelu(*value)).collect()).collect();
        let outer = model.dense(&inner, &format!("{prefix}output.dense"));
        states = model.norm(&sum(&states, &outer), &format!("{prefix}output.LayerNorm"));
    }
    let total = states.iter().skip(1).fold(states[0].clone(), |total, state| add(&total, state));
    let length = dot(&total, &total).sqrt();
    total.iter().map(|value| (value / length) as f32).collect()
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn add(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left + right).collect()
}

fn sum(left: &Matrix, right: &Matrix) -> Matrix {
    left.iter().zip(right).map(|(left, right)| add(left, right)).collect()
}

/// x Φ(x), with the error function by its Taylor series: exact enough for the small values here.
fn gelu(value: f64) -> f64 {
    let x = value / 2f64.sqrt();
    if x.abs() > 5.0 {
        return value.max(0.0);
    }
    let (mut term, mut series) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        series += term / f64::from(2 * n + 1);
    }
    value * 0.5 * (1.0 + series * 2.0 / std::f64::consts::PI.sqrt())
}
