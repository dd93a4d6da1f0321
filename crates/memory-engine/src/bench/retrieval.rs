//! Recall on a data set: a folder with `messages.ndjson` (the import format) and `queries.ndjson`
//! (`id, user, query, at?, category, relevant, relevant_sessions`).
//!
//! R@k is the mean over queries of the share of relevant ids among the first k; for sessions, of the relevant sessions
//! among the first k that `--group-by session` gives.

use std::collections::BTreeMap;
use std::path::Path;

use memory_core::{Error, ErrorKind, GroupBy, Progress, Result, SearchRequest, Timestamp, Viewer};
use serde::{Deserialize, Serialize};

use crate::Memory;
use crate::transfer::{ImportFormat, ImportOptions, import};

/// The depths at which recall is measured.
const DEPTHS: [usize; 3] = [1, 5, 10];

/// A query of the data set.
#[derive(Debug, Deserialize)]
struct Query {
    user: String,
    query: String,
    at: Option<Timestamp>,
    #[serde(default)]
    category: String,
    #[serde(default)]
    relevant: Vec<String>,
    #[serde(default)]
    relevant_sessions: Vec<String>,
}

/// Recall at 1, 5 and 10.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RetrievalScores {
    /// R@1 of messages.
    pub turn_1: f64,
    /// R@5 of messages.
    pub turn_5: f64,
    /// R@10 of messages.
    pub turn_10: f64,
    /// R@1 of sessions.
    pub session_1: f64,
    /// R@5 of sessions.
    pub session_5: f64,
    /// R@10 of sessions.
    pub session_10: f64,
    /// How many queries.
    pub queries: usize,
}

/// What a data set measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetrievalReport {
    /// Messages that were imported.
    pub messages: u64,
    /// The embedder.
    pub embedder: String,
    /// Over all queries.
    pub all: RetrievalScores,
    /// By category of the query.
    pub by_category: BTreeMap<String, RetrievalScores>,
    /// Milliseconds of one search: half of them took at most this.
    pub search_p50_ms: f64,
    /// Milliseconds of one search: 99 of 100 took at most this.
    pub search_p99_ms: f64,
}

/// Imports the data set into `memory` (which should be empty), asks every query, and counts.
pub async fn retrieval(memory: &Memory, folder: &Path, progress: &dyn Progress) -> Result<RetrievalReport> {
    let builtin = memory.builtin.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "the bench measures the builtin provider")
            .with_hint("set MEMORY_ENGINE=builtin")
    })?;
    let options = ImportOptions {
        paths: vec![folder.join("messages.ndjson")],
        format: ImportFormat::Messages,
        ..ImportOptions::default()
    };
    import(memory, &options, progress).await?;
    builtin.index_pending(progress).await?;

    let queries = read_queries(&folder.join("queries.ndjson"))?;
    progress.start("search", Some(queries.len() as u64));
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    let mut total = Sums::default();
    let mut times = Vec::with_capacity(queries.len());
    for query in &queries {
        let viewer = Viewer::user(&query.user, memory_core::DEFAULT_NAME);
        let request = SearchRequest { at: query.at, limit: 10, ..SearchRequest::new(viewer, &query.query) };
        let grouped = SearchRequest { group_by: Some(GroupBy::Session), ..request.clone() };
        let turns = memory.engine.search(request).await?;
        times.push(turns.took_ms);
        let sessions = memory.engine.search(grouped).await?;
        let found: Vec<&str> = turns.hits.iter().map(|hit| hit.external_id.as_deref().unwrap_or_default()).collect();
        let found_sessions: Vec<&str> =
            sessions.hits.iter().map(|hit| hit.session_id.as_deref().unwrap_or_default()).collect();
        let turn = DEPTHS.map(|depth| recall_at(&query.relevant, &found, depth));
        let session = DEPTHS.map(|depth| recall_at(&query.relevant_sessions, &found_sessions, depth));
        total.add(turn, session);
        sums.entry(query.category.clone()).or_default().add(turn, session);
        progress.advance(1);
    }
    progress.finish();
    times.sort_by(f64::total_cmp);
    Ok(RetrievalReport {
        messages: builtin.statistics(None).await?.messages,
        embedder: builtin.status().await?.embedder,
        all: total.scores(),
        by_category: sums.into_iter().map(|(category, sums)| (category, sums.scores())).collect(),
        search_p50_ms: super::speed::percentile(&times, 0.5),
        search_p99_ms: super::speed::percentile(&times, 0.99),
    })
}

fn read_queries(path: &Path) -> Result<Vec<Query>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorKind::NotFound, "cannot read the queries")
            .with_context("path", path.display())
            .with_source(error)
    })?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| {
                Error::invalid(format!("line {} of the queries cannot be read", number + 1)).with_source(error)
            })
        })
        .collect()
}

fn recall_at(relevant: &[String], found: &[&str], depth: usize) -> f64 {
    if relevant.is_empty() {
        return 0.0;
    }
    let hits = relevant.iter().filter(|id| found.iter().take(depth).any(|found| found == id)).count();
    hits as f64 / relevant.len() as f64
}

#[derive(Default)]
struct Sums {
    turn: [f64; 3],
    session: [f64; 3],
    queries: usize,
}

impl Sums {
    fn add(&mut self, turn: [f64; 3], session: [f64; 3]) {
        self.turn.iter_mut().zip(turn).for_each(|(sum, value)| *sum += value);
        self.session.iter_mut().zip(session).for_each(|(sum, value)| *sum += value);
        self.queries += 1;
    }

    fn scores(&self) -> RetrievalScores {
        let mean = |sum: f64| (sum / self.queries.max(1) as f64 * 10_000.0).round() / 10_000.0;
        let ([turn_1, turn_5, turn_10], [session_1, session_5, session_10]) =
            (self.turn.map(mean), self.session.map(mean));
        RetrievalScores { turn_1, turn_5, turn_10, session_1, session_5, session_10, queries: self.queries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_is_the_share_of_relevant_ids_among_the_first() {
        let relevant = ["a".to_owned(), "b".to_owned()];
        assert_eq!(recall_at(&relevant, &["x", "a", "b"], 1), 0.0);
        assert_eq!(recall_at(&relevant, &["x", "a", "b"], 2), 0.5);
        assert_eq!(recall_at(&relevant, &["x", "a", "b"], 10), 1.0);
        assert_eq!(recall_at(&[], &["x"], 10), 0.0);
    }
}
