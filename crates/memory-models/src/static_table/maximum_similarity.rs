//! Late interaction over the rows of a token table: no transformer, nothing stored.

use memory_core::Result;

use super::embedder::StaticEmbedder;
use super::segment::Segmenter;
use super::table::StaticTable;
use crate::late_interaction::{LateInteraction, MAXIMUM_QUERY_TOKENS, QueryTokens};

impl LateInteraction for StaticEmbedder {
    fn prepare_query(&self, text: &str) -> Result<QueryTokens> {
        let mut rows = Vec::new();
        Segmenter::default().split(&self.table, self.segmentation, text, &mut rows);
        rows.retain(|row| self.table.weight(*row) > 0.0 && self.table.scale(*row) > 0.0);
        rows.truncate(MAXIMUM_QUERY_TOKENS);
        Ok(QueryTokens {
            pieces: rows.iter().map(|row| self.table.token(*row).to_owned()).collect(),
            weights: rows.iter().map(|row| self.table.weight(*row)).collect(),
            ids: rows,
            vectors: Vec::new(),
        })
    }

    fn similarities(&self, query: &QueryTokens, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut similarities = Similarities::new(&self.table, &query.ids);
        let (mut segmenter, mut rows) = (Segmenter::default(), Vec::new());
        let best_of = |text: &&str| {
            segmenter.split(&self.table, self.segmentation, text, &mut rows);
            let mut best = vec![0.0f32; query.ids.len()];
            for row in &rows {
                for (best, similarity) in best.iter_mut().zip(similarities.of(*row)) {
                    *best = best.max(*similarity);
                }
            }
            best
        };
        Ok(texts.iter().map(best_of).collect())
    }
}

/// Cosines between the query's tokens and each token seen, computed once for each token of the table.
struct Similarities<'a> {
    table: &'a StaticTable,
    /// Numbers and length of each query token. A row's scale cancels out of a cosine.
    query: Vec<(Vec<i16>, f32)>,
    /// For each row of the table: 1 + the number of its block in `known`, or 0.
    blocks: Vec<u32>,
    known: Vec<f32>,
    numbers: Vec<i16>,
}

impl<'a> Similarities<'a> {
    fn new(table: &'a StaticTable, query: &[u32]) -> Self {
        let query = query
            .iter()
            .map(|row| {
                let numbers: Vec<i16> = table.numbers(*row).map(i16::from).collect();
                let length = (dot(&numbers, &numbers) as f32).sqrt();
                (numbers, length)
            })
            .collect();
        Self { table, query, blocks: vec![0; table.rows()], known: Vec::new(), numbers: Vec::new() }
    }

    /// One cosine for each query token.
    fn of(&mut self, row: u32) -> &[f32] {
        let width = self.query.len();
        let block = match self.blocks.get(row as usize).and_then(|block| block.checked_sub(1)) {
            Some(block) => block as usize,
            None => self.add(row),
        };
        self.known.get(block * width..(block + 1) * width).unwrap_or_default()
    }

    fn add(&mut self, row: u32) -> usize {
        let block = self.known.len() / self.query.len().max(1);
        if let Some(entry) = self.blocks.get_mut(row as usize) {
            *entry = block as u32 + 1;
        }
        self.numbers.clear();
        self.numbers.extend(self.table.numbers(row).map(i16::from));
        let length = (dot(&self.numbers, &self.numbers) as f32).sqrt();
        let meaningful = self.table.scale(row) > 0.0;
        self.known.extend(self.query.iter().map(|(numbers, query_length)| {
            let product = length * query_length;
            if meaningful && product > 0.0 { dot(numbers, &self.numbers) as f32 / product } else { 0.0 }
        }));
        block
    }
}

/// At most 4,096 products of two int8 numbers: far below the limit of `i32`.
fn dot(left: &[i16], right: &[i16]) -> i32 {
    left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::table::tests::table_bytes;
    use super::*;

    fn embedder() -> StaticEmbedder {
        let table = table_bytes(&[
            ("cat", 0.1, 3.0, &[10, 0]),
            ("dog", 2.0, 1.0, &[0, 5]),
            ("pet", 1.0, 2.0, &[3, 4]),
            ("the", 1.0, 0.0, &[1, 1]),
            ("void", 0.0, 9.0, &[0, 0]),
            ("anti", 1.0, 1.0, &[-1, 0]),
        ]);
        StaticEmbedder::latin(Arc::new(StaticTable::parse(table).unwrap()))
    }

    #[test]
    fn scores_follow_the_formula() {
        let embedder = embedder();
        let query = embedder.prepare_query("The cat, void dog").unwrap();
        assert_eq!(query.pieces().collect::<Vec<_>>(), [("cat", 3.0), ("dog", 1.0)]);
        let scores = embedder.score(&query, &["pet", "dog cat", "anti", "的", "", "pet dog"]).unwrap();
        // "pet" has cosine .6 with "cat" and .8 with "dog".
        let expected = [(3.0 * 0.6 + 0.8) / 4.0, 1.0, 0.0, 0.0, 0.0, (3.0 * 0.6 + 1.0) / 4.0];
        for (score, expected) in scores.iter().zip(expected) {
            assert!((score - expected).abs() < 1e-6, "{scores:?}");
        }
    }

    #[test]
    fn a_query_without_weight_scores_nothing() {
        let embedder = embedder();
        for text in ["the", "你好", ""] {
            let query = embedder.prepare_query(text).unwrap();
            assert!(query.is_empty());
            assert_eq!(embedder.score(&query, &["cat", "dog"]).unwrap(), [0.0, 0.0]);
        }
        let long = "cat ".repeat(1000);
        assert_eq!(embedder.prepare_query(&long).unwrap().pieces().count(), MAXIMUM_QUERY_TOKENS);
    }

    #[test]
    fn replaced_weights_count() {
        let embedder = embedder();
        let mut query = embedder.prepare_query("cat dog").unwrap();
        query.reweigh(|piece, _| if piece == "dog" { 1.0 } else { 0.0 });
        assert_eq!(embedder.score(&query, &["dog", "cat"]).unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn the_bundled_table_ranks_the_answer_first() {
        let english = StaticEmbedder::english().unwrap();
        let query = english.prepare_query("Where did Anna adopt her kitten?").unwrap();
        let texts = ["The invoice is due on Friday", "Anna took a cat home from the shelter", "Bob sold his car"];
        let scores = english.score(&query, &texts).unwrap();
        assert!(scores[1] > scores[0] + 0.1 && scores[1] > scores[2] + 0.1, "{scores:?}");
    }
}
