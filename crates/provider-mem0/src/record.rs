//! A memory of Mem0 in the shapes of this project.

use memory_core::{Attributes, Compression, Hit, HitKind, Id, Memory, Message, Role, Scope, Source, State, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::metadata::{self as names, MESSAGE};
use crate::provider::NAME;
use crate::wire::{RemoteMemory, moment};

/// Seconds of the day on which an expiry date still counts.
const DAY_SECONDS: i64 = 86_400;

/// A memory there that the viewer may read, and where it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) item: RemoteMemory,
    pub(crate) scope: Scope,
}

impl Record {
    fn field(&self, key: &str) -> Option<&Value> {
        self.item.metadata.as_ref()?.get(key)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.field(key)?.as_str().map(str::to_owned)
    }

    fn time(&self, key: &str) -> Option<Timestamp> {
        moment(self.field(key)?.as_str())
    }

    /// A field of a known type; what another program wrote under its name is not ours.
    fn read<T: DeserializeOwned + Default>(&self, key: &str) -> T {
        self.field(key).and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
    }

    /// The id here.
    pub(crate) fn id(&self) -> Id {
        Id::of_foreign(&self.item.id)
    }

    /// The foreign id it was written with.
    pub(crate) fn external_id(&self) -> Option<String> {
        self.text(names::EXTERNAL_ID)
    }

    /// Memory or message.
    pub(crate) fn kind(&self) -> HitKind {
        if self.field(names::ITEM).and_then(Value::as_str) == Some(MESSAGE) {
            HitKind::Message
        } else {
            HitKind::Memory
        }
    }

    /// The session it was said in.
    pub(crate) fn session(&self) -> Option<String> {
        self.text(names::SESSION).or_else(|| self.item.run().map(str::to_owned))
    }

    /// When it was written or said.
    pub(crate) fn created_at(&self) -> Timestamp {
        self.time(names::WRITTEN_AT).unwrap_or_else(|| self.item.made_at())
    }

    /// When it was last changed.
    pub(crate) fn updated_at(&self) -> Timestamp {
        moment(self.item.updated_at.as_deref()).unwrap_or_else(|| self.created_at())
    }

    /// When it happened, as far as that is known.
    pub(crate) fn happened_at(&self) -> Timestamp {
        self.time(names::EVENT_AT).unwrap_or_else(|| self.created_at())
    }

    /// When it expires. Mem0 keeps a day, and shows the memory until that day is over.
    fn expires_at(&self) -> Option<Timestamp> {
        let day = || moment(self.item.expiration_date.as_deref()).map(|day| day.plus_seconds(DAY_SECONDS));
        self.time(names::EXPIRES_AT).or_else(day)
    }

    /// Active or expired.
    pub(crate) fn state(&self, now: Timestamp) -> State {
        if self.expires_at().is_some_and(|end| end <= now) { State::Expired } else { State::Active }
    }

    /// Its category: ours, or the first that Mem0 gave it.
    pub(crate) fn category(&self) -> Option<String> {
        self.text(names::CATEGORY).or_else(|| self.item.categories.as_ref()?.first().cloned())
    }

    /// Its labels.
    pub(crate) fn tags(&self) -> Vec<String> {
        self.read(names::TAGS)
    }

    /// Counts changes, from 1.
    pub(crate) fn revision(&self) -> u64 {
        self.field(names::REVISION).and_then(Value::as_u64).unwrap_or(1)
    }

    /// The attributes that were written from here.
    pub(crate) fn own_attrs(&self) -> Attributes {
        self.read(names::ATTRS)
    }

    /// Ours, and what another program put into the metadata.
    pub(crate) fn attrs(&self) -> Attributes {
        let foreign =
            self.item.metadata.iter().flatten().filter(|(key, value)| !names::is_ours(key) && !value.is_null());
        let mut attrs: Attributes = foreign.map(|(key, value)| (key.clone(), value.clone())).collect();
        attrs.extend(self.own_attrs());
        attrs
    }

    fn role(&self) -> Role {
        self.read(names::SPEAKER_ROLE)
    }

    /// Its score from 0 to 1: what the reranker gave, else what the search gave.
    pub(crate) fn score(&self) -> f64 {
        let score = self.item.rerank_score.or(self.item.score).unwrap_or(0.0);
        if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// As a memory.
    pub(crate) fn memory(&self, now: Timestamp) -> Memory {
        let created_at = self.created_at();
        let sessions: Vec<String> = self.read(names::SESSIONS);
        Memory {
            id: self.id(),
            scope: self.scope.clone(),
            kind: self.read(names::KIND),
            category: self.category(),
            title: self.text(names::TITLE),
            body: self.item.body().to_owned(),
            tags: self.tags(),
            keywords: self.read(names::KEYWORDS),
            relevance: self.read(names::RELEVANCE),
            quality: self.field(names::QUALITY).and_then(Value::as_f64).unwrap_or(0.5),
            attrs: self.attrs(),
            place: self.text(names::PLACE),
            origin: self.read(names::ORIGIN),
            source_sessions: if sessions.is_empty() { self.session().into_iter().collect() } else { sessions },
            external_id: Some(self.external_id().unwrap_or_else(|| self.item.id.clone())),
            event_at: self.time(names::EVENT_AT),
            observed_at: self.time(names::OBSERVED_AT).unwrap_or(created_at),
            created_at,
            updated_at: self.updated_at(),
            accessed_at: None,
            access_count: 0,
            expires_at: self.expires_at(),
            state: self.state(now),
            compression: Compression::Raw,
            pinned: self.read(names::PINNED),
            revision: self.revision(),
        }
    }

    /// As a message at a place of its session.
    pub(crate) fn message(&self, position: u64) -> Message {
        Message {
            id: self.id(),
            scope: self.scope.clone(),
            session_id: self.session().unwrap_or_else(|| memory_core::DEFAULT_NAME.to_owned()),
            position,
            role: self.role(),
            speaker: self.text(names::SPEAKER),
            content: self.item.body().to_owned(),
            created_at: self.created_at(),
            external_id: Some(self.external_id().unwrap_or_else(|| self.item.id.clone())),
            attrs: self.attrs(),
        }
    }

    /// As a hit.
    pub(crate) fn hit(&self) -> Hit {
        let kind = self.kind();
        let is_message = kind == HitKind::Message;
        let parts = self.item.score_breakdown.iter().chain(&self.item.score_details).flatten();
        let mut scores: std::collections::BTreeMap<String, f64> =
            parts.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect();
        scores.extend(self.item.score.map(|score| (NAME.to_owned(), score)));
        scores.extend(self.item.rerank_score.map(|score| ("rerank".to_owned(), score)));
        Hit {
            id: self.id(),
            kind,
            score: self.score(),
            scores,
            title: self.text(names::TITLE),
            text: self.item.body().to_owned(),
            category: self.category(),
            tags: self.tags(),
            scope: self.scope.clone(),
            session_id: self.session(),
            speaker: self.text(names::SPEAKER),
            role: is_message.then(|| self.role()),
            external_id: Some(self.external_id().unwrap_or_else(|| self.item.id.clone())),
            event_at: self.time(names::EVENT_AT),
            created_at: self.created_at(),
            attrs: self.attrs(),
            source: Source { provider: NAME.to_owned(), ..Source::default() },
            neighbors: Vec::new(),
        }
    }
}
