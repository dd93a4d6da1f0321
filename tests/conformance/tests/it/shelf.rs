//! What the reference provider keeps: a list in memory, looked through word by word, with one defect or none.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use memory_core::{
    Clock, Error, ErrorKind, Hit, HitKind, Id, IdGenerator, Memory, NewMemory, Result, Revision, Source, State,
    SystemClock, Viewer, WriteOutcome, WriteResult,
};

use crate::faulty::Defect;

pub(crate) const NAME: &str = "shelf";
pub(crate) const MOST_BYTES: usize = 4096;

#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) memories: Mutex<Vec<Memory>>,
    pub(crate) former: Mutex<HashMap<Id, Vec<Revision>>>,
    ids: IdGenerator,
    defect: Option<Defect>,
}

impl Shelf {
    pub(crate) fn with(defect: Option<Defect>) -> Self {
        Self { defect, ..Self::default() }
    }

    pub(crate) fn is(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    pub(crate) fn may_read(&self, viewer: &Viewer, memory: &Memory) -> bool {
        viewer.may_read(&memory.scope)
            || self.is(Defect::MixesUsers)
            || self.is(Defect::MixesOwners) && viewer.user == memory.scope.user && viewer.space == memory.scope.space
    }

    pub(crate) fn remember(&self, operation: &str, memory: &Memory) {
        let revision = Revision {
            revision: memory.revision,
            operation: operation.into(),
            at: memory.updated_at,
            memory: Some(memory.clone()),
        };
        self.former.lock().unwrap().entry(memory.id.clone()).or_default().push(revision);
    }

    pub(crate) fn add(&self, new: &NewMemory, repeated: bool) -> WriteResult {
        let mut body = new.body.trim_end().to_owned();
        if body.trim().is_empty() || body.len() > MOST_BYTES {
            return WriteResult::rejected("the text is empty or too long");
        }
        if let Err(error) = new.scope.check() {
            return WriteResult::rejected(error.message());
        }
        if self.is(Defect::DropsEmoji) {
            body.retain(|c| c < '\u{1f000}');
        }
        let mut memories = self.memories.lock().unwrap();
        let known = memories.iter().find(|m| m.scope == new.scope && m.external_id == new.external_id);
        if let (true, Some(_), Some(known)) = (repeated && !self.is(Defect::Repeats), &new.external_id, known) {
            return WriteResult::with_id(WriteOutcome::Deduped, known.id.to_string());
        }
        let now = SystemClock.now();
        let memory = Memory {
            id: self.ids.next(now),
            scope: new.scope.clone(),
            kind: new.kind,
            category: new.category.clone(),
            title: new.title.clone(),
            body,
            tags: new.tags.clone(),
            keywords: new.keywords.clone(),
            relevance: new.relevance,
            quality: new.quality.unwrap_or(0.5),
            attrs: new.attrs.clone(),
            place: new.place.clone(),
            origin: new.origin,
            source_sessions: new.source_sessions.clone(),
            external_id: new.external_id.clone(),
            event_at: new.event_at,
            observed_at: now,
            created_at: now,
            updated_at: now,
            accessed_at: None,
            access_count: 0,
            expires_at: new.expires_at,
            state: State::Active,
            compression: Default::default(),
            pinned: new.pinned,
            revision: 1,
        };
        self.remember("created", &memory);
        let result = WriteResult::with_id(WriteOutcome::Stored, memory.id.to_string());
        if !self.is(Defect::ForgetsWrites) {
            memories.push(memory);
        }
        result
    }

    pub(crate) fn position(&self, memories: &[Memory], viewer: &Viewer, id: &str) -> Option<usize> {
        memories.iter().position(|m| m.id.as_str().eq_ignore_ascii_case(id) && self.may_read(viewer, m))
    }

    pub(crate) fn to_change(&self, memories: &[Memory], viewer: &Viewer, id: &str) -> Result<Option<usize>> {
        let Some(position) = self.position(memories, viewer, id) else { return Ok(None) };
        if viewer.may_write(&memories[position].scope) || self.defect.is_some() {
            return Ok(Some(position));
        }
        Err(Error::new(ErrorKind::Forbidden, "only a leader changes what is the team's"))
    }
}

/// Words in lower case, and pairs of other characters.
pub(crate) fn features(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned);
    let wide: Vec<char> = lower.chars().filter(|c| *c > '\u{2000}').collect();
    words.chain(wide.windows(2).map(|pair| pair.iter().collect())).collect()
}

pub(crate) fn hit(memory: &Memory, score: f64) -> Hit {
    Hit {
        id: memory.id.clone(),
        kind: HitKind::Memory,
        score,
        scores: Default::default(),
        title: memory.title.clone(),
        text: memory.body.clone(),
        category: memory.category.clone(),
        tags: memory.tags.clone(),
        scope: memory.scope.clone(),
        session_id: None,
        speaker: None,
        role: None,
        external_id: memory.external_id.clone(),
        event_at: memory.event_at,
        created_at: memory.created_at,
        attrs: memory.attrs.clone(),
        source: Source { provider: NAME.into(), ..Source::default() },
        neighbors: Vec::new(),
    }
}
