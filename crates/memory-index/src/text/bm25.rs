//! The BM25 formula of the text index, for texts that are not in it yet.
//!
//! Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009), with k1 = 1.2 and
//! b = 0.75, idf = ln(1 + (N − n + 0.5) / (n + 0.5)), and text lengths rounded down to 256 steps as the index does.

use std::collections::HashMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::Bm25Weight;

use crate::tokenizer::{QueryTerm, Token};

/// Scores are rounded to this step, so that the order in which an engine adds them up cannot change the ranking.
const SCORE_STEP: f32 = 1.0 / 65_536.0;

/// Rounds a sum of term scores.
pub(super) fn settle(score: f32) -> f32 {
    (score / SCORE_STEP).round() * SCORE_STEP
}

/// What is known about one field, as far as some terms are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldStatistics {
    /// How many documents have the field.
    pub documents: u64,
    /// How many tokens they have together.
    pub tokens: u64,
    /// How many documents contain each of the terms, in the order of the terms.
    pub document_frequency: Vec<u64>,
}

impl FieldStatistics {
    /// The statistics of no document at all, for `terms` terms.
    pub fn empty(terms: usize) -> Self {
        Self { document_frequency: vec![0; terms], ..Self::default() }
    }

    /// Average length of a document in tokens; 0 when there is none.
    pub fn average_length(&self) -> f32 {
        if self.documents == 0 { 0.0 } else { self.tokens as f32 / self.documents as f32 }
    }

    /// Counts a document that is not in the index. `terms` are those the statistics were made for.
    pub fn include(&mut self, terms: &[QueryTerm], document: &[Token]) {
        self.documents += 1;
        self.tokens += document.len() as u64;
        for (term, frequency) in terms.iter().zip(&mut self.document_frequency) {
            *frequency += u64::from(document.iter().any(|token| token.text == term.text));
        }
    }

    /// The weight of every term. Numbers that contradict each other, as in a damaged index, are brought into range.
    pub(super) fn weights(&self) -> impl Iterator<Item = Bm25Weight> {
        let average = self.average_length();
        self.document_frequency.iter().map(move |frequency| {
            Bm25Weight::for_one_term_without_explain((*frequency).min(self.documents), self.documents, average)
        })
    }
}

/// The BM25 score of a document, given as its tokens, for `terms`: what the index would say if the document were in
/// it and the statistics still the same.
///
/// With statistics of no document, count the document itself first: [`FieldStatistics::include`].
pub fn bm25(statistics: &FieldStatistics, terms: &[QueryTerm], document: &[Token]) -> f32 {
    let mut frequencies: HashMap<&str, u32> = HashMap::new();
    for token in document {
        *frequencies.entry(&token.text).or_default() += 1;
    }
    let length = FieldNormReader::fieldnorm_to_id(u32::try_from(document.len()).unwrap_or(u32::MAX));
    let mut sum = 0.0;
    for (term, weight) in terms.iter().zip(statistics.weights()) {
        if let Some(frequency) = frequencies.get(term.text.as_str()) {
            let score = weight.score(length, *frequency) * term.weight;
            sum += if score.is_finite() { score } else { 0.0 };
        }
    }
    settle(sum)
}
