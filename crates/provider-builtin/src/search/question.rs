//! The question, understood: its words, its vector, what may answer it.

use std::sync::Arc;

use memory_core::{Error, HitKind, Result, SearchMode, SearchRequest};
use memory_index::{EntryKind, IndexFilter, QueryTerm, query_terms};
use memory_models::{EmbedCost, Embedder, LateInteraction, Purpose, QueryTokens, Script, StaticEmbedder, script_of};

use super::mix::is_han;

/// The most hits one answer holds.
pub(crate) const MOST_HITS: usize = 1_000;

/// Longer questions are cut here, in characters: nobody asks in so many words.
const LONGEST_QUESTION: usize = 8_000;

/// The question with everything that can be known of it without looking into the store.
pub(crate) struct Question {
    /// The text that is looked up, never longer than the limit.
    pub(crate) text: String,
    /// Its distinct words as the index has them.
    pub(crate) terms: Vec<QueryTerm>,
    /// Its vector, when the mode asks for one and the embedder covers it.
    pub(crate) vector: Option<Vec<f32>>,
    /// Its tokens for late interaction, and the table they are from.
    pub(crate) tokens: Option<(QueryTokens, Arc<dyn LateInteraction>)>,
    /// What the indexes may return; several when messages are bound to a session and the rest is not.
    pub(crate) filters: Vec<IndexFilter>,
    /// The kinds of rows that may answer.
    pub(crate) kinds: Vec<EntryKind>,
    /// Set when the embedder failed: words alone answer.
    pub(crate) embedder_failed: bool,
}

impl Question {
    /// Understands a request. Nothing is locked while the embedder works.
    pub(crate) async fn of(request: &SearchRequest, embedder: &dyn Embedder, tables: &Tables) -> Result<Self> {
        let text: String = request.query.trim().chars().take(LONGEST_QUESTION).collect();
        if text.is_empty() {
            return Err(Error::invalid("the question is empty")
                .with_operation("search")
                .with_hint("write what you want to find, for example: memory search \"coffee order\""));
        }
        let kinds = kinds_of(&request.kinds);
        let covered = embedder.cost() != EmbedCost::Cheap || is_latin(&text);
        let mut embedder_failed = false;
        let mut vector = None;
        if request.mode != SearchMode::Text && !request.raw && covered {
            match embedder.embed(std::slice::from_ref(&text), Purpose::Query).await {
                Ok(vectors) => vector = vectors.into_iter().next().flatten(),
                Err(error) => {
                    tracing::warn!(%error, "the question could not be embedded, words alone answer");
                    embedder_failed = true;
                }
            }
        }
        let table = if request.mode == SearchMode::Hybrid && !request.raw { tables.for_question(&text)? } else { None };
        let tokens = match &table {
            Some(table) => Some(table.prepare_query(&text)?).filter(|tokens| !tokens.is_empty()),
            None => None,
        };
        Ok(Self {
            terms: if request.raw { Vec::new() } else { query_terms(&text) },
            filters: filters_of(request, &kinds),
            text,
            vector,
            tokens: tokens.zip(table),
            kinds,
            embedder_failed,
        })
    }
}

/// The bundled tables for late interaction, by script. They serve whatever embedder makes the vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables {
    /// False when late interaction is switched off.
    pub(crate) enabled: bool,
}

impl Tables {
    /// The table that knows the script of a question: the Chinese one for any Han character, the English one for Latin
    /// text, none for other scripts.
    fn for_question(self, question: &str) -> Result<Option<Arc<dyn LateInteraction>>> {
        if !self.enabled {
            return Ok(None);
        }
        Ok(match (is_han(question), is_latin(question)) {
            (true, _) => Some(Arc::new(StaticEmbedder::chinese()?)),
            (false, true) => Some(Arc::new(StaticEmbedder::english()?)),
            (false, false) => None,
        })
    }
}

/// True when no script other than Latin carries the text: the bundled table knows no other.
fn is_latin(text: &str) -> bool {
    !text.chars().any(|c| matches!(script_of(c), Some(Script::Han | Script::Kana | Script::Hangul)))
}

fn kinds_of(kinds: &[HitKind]) -> Vec<EntryKind> {
    let all = [HitKind::Memory, HitKind::Message, HitKind::Document];
    let wanted = if kinds.is_empty() { &all[..] } else { kinds };
    wanted
        .iter()
        .map(|kind| match kind {
            HitKind::Memory => EntryKind::Memory,
            HitKind::Message => EntryKind::Message,
            HitKind::Document => EntryKind::Chunk,
            HitKind::Fact => EntryKind::Fact,
            HitKind::Lesson => EntryKind::Lesson,
        })
        .collect()
}

/// Seconds for the indexes from a moment in nanoseconds.
pub(crate) fn seconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000_000_000)
}

fn filters_of(request: &SearchRequest, kinds: &[EntryKind]) -> Vec<IndexFilter> {
    let base = IndexFilter {
        kinds: kinds.to_vec(),
        categories: request.categories.clone(),
        tags_all: request.tags.clone(),
        since: request.since.map(|time| seconds(time.nanoseconds())),
        // The end is exclusive: a fraction of a second before it is still inside.
        until: request.until.map(|time| seconds(time.nanoseconds().saturating_add(999_999_999))),
        ..IndexFilter::scopes(request.viewer.readable_keys())
    };
    let Some(session) = &request.viewer.session else { return vec![base] };
    // A session narrows messages to itself; memories and documents are not said in a session.
    let (messages, others): (Vec<EntryKind>, Vec<EntryKind>) =
        kinds.iter().partition(|kind| **kind == EntryKind::Message);
    let mut filters = Vec::new();
    if !messages.is_empty() {
        filters.push(IndexFilter { kinds: messages, sessions: vec![session.clone()], ..base.clone() });
    }
    if !others.is_empty() {
        filters.push(IndexFilter { kinds: others, ..base });
    }
    filters
}

/// The same filter for the wholes (segments and documents) that rows of its kinds are part of; `None` when they are
/// part of none.
pub(crate) fn filter_of_wholes(filter: &IndexFilter) -> Option<IndexFilter> {
    let kinds: Vec<EntryKind> = filter
        .kinds
        .iter()
        .filter_map(|kind| match kind {
            EntryKind::Message => Some(EntryKind::Segment),
            EntryKind::Chunk => Some(EntryKind::Document),
            _ => None,
        })
        .collect();
    if kinds.is_empty() {
        return None;
    }
    // A segment stands at its last message: its members are checked one by one.
    Some(IndexFilter { kinds, since: None, until: None, ..filter.clone() })
}
