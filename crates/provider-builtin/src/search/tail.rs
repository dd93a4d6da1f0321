//! Rows that changed since the indexes last looked: scored in memory on the same scale, so that every reader sees its
//! own write at once.

use std::collections::{HashMap, HashSet};

use memory_core::Result;
use memory_index::{EntryKey, FieldStatistics, QueryTerm, Side, TextField, TextIndex, Token, analyze, bm25};

use super::candidate::{Candidate, Group};

/// The most changes that are looked at; what is older waits for the indexer, and the answer says so.
pub(crate) const TAIL_LIMIT: usize = 2_000;

/// The most rows that are scanned when there is no text index at all.
pub(crate) const SCAN_LIMIT: usize = 20_000;

/// The words of the question and what the index knows of them.
pub(crate) struct TermStatistics {
    terms: Vec<QueryTerm>,
    own: FieldStatistics,
    window: FieldStatistics,
}

impl TermStatistics {
    /// Asks the index, or starts from nothing when there is none.
    pub(crate) fn of(index: Option<&dyn TextIndex>, terms: &[QueryTerm]) -> Result<Self> {
        let of = |field| match index {
            Some(index) => index.statistics(field, terms),
            None => Ok(FieldStatistics::empty(terms.len())),
        };
        Ok(Self { terms: terms.to_vec(), own: of(TextField::Text)?, window: of(TextField::Window)? })
    }
}

/// Sets the text evidence of rows that the index does not hold as they are now.
pub(crate) fn score_tail(candidates: &mut [Candidate], mut statistics: TermStatistics) {
    if statistics.terms.is_empty() || candidates.is_empty() {
        return;
    }
    let tokens: Vec<Vec<Token>> = candidates.iter().map(|candidate| analyze(&candidate.text, Side::Index)).collect();
    let places: HashMap<(Group, u64), usize> =
        candidates.iter().enumerate().map(|(index, it)| ((it.group, it.place), index)).collect();
    let windows: Vec<Vec<Token>> = candidates
        .iter()
        .zip(&tokens)
        .map(|(candidate, own)| {
            let mut window = own.clone();
            if candidate.short {
                for place in [candidate.place.checked_sub(1), candidate.place.checked_add(1)].into_iter().flatten() {
                    let near = places.get(&(candidate.group, place));
                    let is_short = near.and_then(|near| candidates.get(*near)).is_some_and(|near| near.short);
                    if is_short && let Some(near) = near.and_then(|near| tokens.get(*near)) {
                        window.extend(near.iter().cloned());
                    }
                }
            }
            window
        })
        .collect();
    // An index without documents knows nothing of words: the tail speaks for itself.
    if statistics.own.documents == 0 {
        for (own, window) in tokens.iter().zip(&windows) {
            statistics.own.include(&statistics.terms, own);
            statistics.window.include(&statistics.terms, window);
        }
    }
    for ((candidate, own), window) in candidates.iter_mut().zip(&tokens).zip(&windows) {
        candidate.evidence.own = bm25(&statistics.own, &statistics.terms, own);
        candidate.evidence.window =
            if candidate.short { bm25(&statistics.window, &statistics.terms, window) } else { candidate.evidence.own };
    }
}

/// Keeps the rows of the tail that may matter: those with words of the question, and the newest of the rest while
/// their vectors can be compared.
pub(crate) fn keep_promising(mut tail: Vec<Candidate>, limit: usize) -> (Vec<Candidate>, HashSet<EntryKey>) {
    let entries = tail.iter().map(|candidate| candidate.entry).collect();
    tail.sort_by(|a, b| {
        b.evidence
            .own
            .total_cmp(&a.evidence.own)
            .then(b.evidence.window.total_cmp(&a.evidence.window))
            .then(b.entry.cmp(&a.entry))
    });
    tail.truncate(limit);
    (tail, entries)
}
