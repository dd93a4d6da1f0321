//! A candidate: a row that may answer the question, with what each arm thinks of it.

use std::collections::HashMap;

use memory_core::Role;
use memory_index::EntryKey;

use crate::projection;
use crate::store::{ChunkRow, DocumentRow, MemoryRow, MessageRow};

/// The row behind a candidate.
#[derive(Debug, Clone)]
pub(crate) enum Row {
    Memory(Box<MemoryRow>),
    Message(Box<MessageRow>),
    Chunk(Box<ChunkRow>, Box<DocumentRow>),
}

/// Where a candidate stands among others: the session or document it is part of, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Group {
    /// A session, by its number.
    Session(i64),
    /// A document, by its number.
    Document(i64),
    /// A memory stands alone.
    Alone(i64),
}

/// What the arms say. Scores are on each arm's own scale; 0 is nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence {
    pub(crate) own: f32,
    pub(crate) window: f32,
    pub(crate) whole: f32,
    pub(crate) vector: f32,
}

/// A row that may answer the question.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) entry: EntryKey,
    pub(crate) row: Row,
    /// The text that stands for the row in the indexes.
    pub(crate) text: String,
    pub(crate) group: Group,
    pub(crate) place: u64,
    pub(crate) short: bool,
    pub(crate) evidence: Evidence,
    /// For each passage of the text and each token of the query the greatest similarity with a token of the passage.
    pub(crate) similarities: Vec<Vec<f32>>,
    /// The same by the states of a transformer, for the candidates that it has read.
    pub(crate) context: Vec<Vec<f32>>,
    /// The final score; see [`super::score`].
    pub(crate) score: f32,
    /// What the final score is made of, kept for `--explain`.
    pub(crate) parts: Vec<(&'static str, f32)>,
}

impl Candidate {
    pub(crate) fn memory(row: MemoryRow) -> Self {
        let text = projection::memory_text(&row.memory);
        Self::new(row.entry(), Group::Alone(row.key), 0, false, text, Row::Memory(Box::new(row)))
    }

    pub(crate) fn message(row: MessageRow) -> Self {
        let text = projection::message_text(&row.message);
        let short = projection::is_short(&row.message);
        let place = row.message.position;
        Self::new(row.entry(), Group::Session(row.session), place, short, text, Row::Message(Box::new(row)))
    }

    pub(crate) fn chunk(row: ChunkRow, document: DocumentRow) -> Self {
        let text = projection::chunk_text(&document, &row);
        let (group, place) = (Group::Document(document.key), u64::from(row.chunk.ordinal));
        Self::new(row.entry(), group, place, false, text, Row::Chunk(Box::new(row), Box::new(document)))
    }

    fn new(entry: EntryKey, group: Group, place: u64, short: bool, text: String, row: Row) -> Self {
        Self {
            entry,
            row,
            text,
            group,
            place,
            short,
            evidence: Evidence::default(),
            similarities: Vec::new(),
            context: Vec::new(),
            score: 0.0,
            parts: Vec::new(),
        }
    }

    /// The text in passages that late interaction can compare: long texts would match every question somewhere.
    pub(crate) fn passages(&self) -> Vec<String> {
        passages(&self.text)
    }

    /// The key of the whole that the candidate is part of, in the text index.
    pub(crate) fn whole(&self) -> Option<EntryKey> {
        match &self.row {
            Row::Memory(_) => None,
            Row::Message(row) => Some(row.segment_entry()),
            Row::Chunk(_, document) => Some(document.entry()),
        }
    }

    /// The speaker's name, where a person's name is known.
    pub(crate) fn speaker(&self) -> Option<&str> {
        match &self.row {
            Row::Message(row) => row.message.speaker.as_deref(),
            _ => None,
        }
    }

    /// Who speaks, for messages.
    pub(crate) fn role(&self) -> Option<Role> {
        match &self.row {
            Row::Message(row) => Some(row.message.role),
            _ => None,
        }
    }

    /// When it happened, in nanoseconds.
    pub(crate) fn at(&self) -> i64 {
        match &self.row {
            Row::Memory(row) => row.memory.event_at.unwrap_or(row.memory.created_at).nanoseconds(),
            Row::Message(row) => row.message.created_at.nanoseconds(),
            Row::Chunk(_, document) => document.event_at.unwrap_or_else(|| document.document.modified_at.nanoseconds()),
        }
    }

    /// True when some arm found something in the candidate itself or close to it.
    pub(crate) fn has_evidence(&self, vector_floor: f32) -> bool {
        let Evidence { own, window, vector, .. } = self.evidence;
        own > 0.0 || window > 0.0 || vector >= vector_floor
    }
}

/// The longest passage that is compared as one, in characters.
const PASSAGE: usize = 1_000;

/// Cuts a text at ends of lines and sentences into passages.
fn passages(text: &str) -> Vec<String> {
    if text.chars().nth(PASSAGE).is_none() {
        return vec![text.to_owned()];
    }
    let mut passages = vec![String::new()];
    let mut length = 0;
    for sentence in text.split_inclusive(['\n', '.', '!', '?', '。', '！', '？']) {
        let mut rest: Vec<char> = sentence.chars().collect();
        while !rest.is_empty() {
            if length > 0 && length + rest.len() > PASSAGE {
                passages.push(String::new());
                length = 0;
            }
            let taken: String = rest.drain(..rest.len().min(PASSAGE)).collect();
            length += taken.chars().count();
            if let Some(last) = passages.last_mut() {
                last.push_str(&taken);
            }
        }
    }
    passages
}

/// Finds candidates by group and place.
pub(crate) struct Places(HashMap<(Group, u64), usize>);

impl Places {
    pub(crate) fn of(candidates: &[Candidate]) -> Self {
        Self(candidates.iter().enumerate().map(|(index, it)| ((it.group, it.place), index)).collect())
    }

    /// The candidate `offset` places after (before, when negative) the given one in its session or document.
    pub(crate) fn near<'a>(
        &self,
        candidates: &'a [Candidate],
        of: &Candidate,
        offset: i64,
    ) -> Option<(usize, &'a Candidate)> {
        if matches!(of.group, Group::Alone(_)) {
            return None;
        }
        let place = of.place.checked_add_signed(offset)?;
        let index = *self.0.get(&(of.group, place))?;
        candidates.get(index).map(|candidate| (index, candidate))
    }
}
