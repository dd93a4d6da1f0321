//! What is searched: keys, entries and the filter that decides who may see which.

use memory_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// What an entry stands for. The numbers are part of the stored keys: never change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum EntryKind {
    /// A memory: one statement worth keeping.
    Memory = 1,
    /// One message of a session.
    Message = 2,
    /// A part of a document.
    Chunk = 3,
    /// A run of messages of one session, taken as one text.
    Segment = 4,
    /// A fact with subject, predicate and object.
    Fact = 5,
    /// A lesson drawn from experience.
    Lesson = 6,
    /// A whole document, taken as one text.
    Document = 7,
}

impl EntryKind {
    /// Every kind, in the order of its number.
    pub const ALL: [EntryKind; 7] =
        [Self::Memory, Self::Message, Self::Chunk, Self::Segment, Self::Fact, Self::Lesson, Self::Document];

    /// The name used in indexes and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Message => "message",
            Self::Chunk => "chunk",
            Self::Segment => "segment",
            Self::Fact => "fact",
            Self::Lesson => "lesson",
            Self::Document => "document",
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Identifies an entry in every index: the kind in the top byte, the SQLite row id in the seven bytes below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey(u64);

impl EntryKey {
    const ROWID_BITS: u32 = 56;
    const ROWID_MASK: u64 = (1 << Self::ROWID_BITS) - 1;

    /// The key of row `rowid` of `kind`. Row ids count up from one, so the 56 bits kept of them never run out.
    pub fn new(kind: EntryKind, rowid: i64) -> Self {
        Self(((kind as u64) << Self::ROWID_BITS) | (rowid.cast_unsigned() & Self::ROWID_MASK))
    }

    /// Reads a key back from an index. A number that no [`EntryKey::new`] makes is [`ErrorKind::Corrupt`].
    pub fn from_u64(raw: u64) -> Result<Self> {
        let key = Self(raw);
        match EntryKind::from_number(key.kind_number()) {
            Some(_) => Ok(key),
            None => Err(Error::new(ErrorKind::Corrupt, format!("{raw:#018x} is not the key of an entry"))),
        }
    }

    /// The number kept in an index.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// What the entry stands for.
    pub fn kind(self) -> EntryKind {
        EntryKind::from_number(self.kind_number()).unwrap_or(EntryKind::Memory)
    }

    /// The row of the table of its kind.
    pub fn rowid(self) -> i64 {
        (self.0 & Self::ROWID_MASK).cast_signed()
    }

    fn kind_number(self) -> u8 {
        (self.0 >> Self::ROWID_BITS) as u8
    }
}

/// One thing to be found, with everything an index needs to find and to filter it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexEntry {
    /// Which row this is.
    pub key: EntryKey,
    /// Counts the changes of the row. An index never replaces a newer revision by an older one.
    pub revision: u64,
    /// The canonical scope: who the entry belongs to.
    pub scope: String,
    /// The session it was said in.
    pub session: Option<String>,
    /// Its category.
    pub category: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// When it happened, in the unit the caller uses throughout (seconds since 1970 in this project).
    pub at: i64,
    /// The text with its header, such as `[8 May 2023] Ann: words`.
    pub text: String,
    /// The text together with its short neighbours, where that helps.
    pub window: Option<String>,
    /// The normalised embedding, when the embedder could make one.
    pub vector: Option<Vec<f32>>,
}

impl IndexEntry {
    /// What the entry stands for: part of its key.
    pub fn kind(&self) -> EntryKind {
        self.key.kind()
    }
}

/// Which entries a search may return. Applied inside the indexes, before anything is ranked.
///
/// An empty list means "any", except for `scopes`: a viewer who may read nothing gets nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexFilter {
    /// The scopes the viewer may read.
    pub scopes: Vec<String>,
    /// Kinds wanted.
    pub kinds: Vec<EntryKind>,
    /// Sessions wanted.
    pub sessions: Vec<String>,
    /// Categories wanted.
    pub categories: Vec<String>,
    /// Tags an entry must carry, all of them.
    pub tags_all: Vec<String>,
    /// Tags of which an entry must carry at least one.
    pub tags_any: Vec<String>,
    /// Not before this moment (inclusive), in the unit of [`IndexEntry::at`].
    pub since: Option<i64>,
    /// Before this moment (exclusive).
    pub until: Option<i64>,
}

impl IndexFilter {
    /// A filter that lets everything of `scopes` pass.
    pub fn scopes<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self { scopes: scopes.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// True when no entry can pass: no scope is readable, or the time range is empty.
    pub fn admits_nothing(&self) -> bool {
        self.scopes.is_empty() || matches!((self.since, self.until), (Some(since), Some(until)) if since >= until)
    }

    /// True when only the scope is asked for.
    pub fn is_scope_only(&self) -> bool {
        let Self { scopes: _, kinds, sessions, categories, tags_all, tags_any, since, until } = self;
        kinds.is_empty()
            && sessions.is_empty()
            && categories.is_empty()
            && tags_all.is_empty()
            && tags_any.is_empty()
            && since.is_none()
            && until.is_none()
    }

    /// Whether `entry` passes: the meaning every index has to reproduce.
    pub fn admits(&self, entry: &IndexEntry) -> bool {
        fn wanted<T: PartialEq>(list: &[T], value: Option<&T>) -> bool {
            list.is_empty() || value.is_some_and(|value| list.contains(value))
        }
        self.scopes.contains(&entry.scope)
            && wanted(&self.kinds, Some(&entry.kind()))
            && wanted(&self.sessions, entry.session.as_ref())
            && wanted(&self.categories, entry.category.as_ref())
            && self.tags_all.iter().all(|tag| entry.tags.contains(tag))
            && (self.tags_any.is_empty() || self.tags_any.iter().any(|tag| entry.tags.contains(tag)))
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_keeps_kind_and_row() {
        for kind in EntryKind::ALL {
            for rowid in [1, 2, 40_000_000_000, (1 << 56) - 1] {
                let key = EntryKey::new(kind, rowid);
                assert_eq!((key.kind(), key.rowid()), (kind, rowid));
                assert_eq!(EntryKey::from_u64(key.as_u64()).unwrap(), key);
                assert!(i64::try_from(key.as_u64()).is_ok(), "must fit a signed column");
            }
        }
    }

    #[test]
    fn foreign_numbers_are_no_keys() {
        for raw in [0, 7, u64::MAX, 9 << 56] {
            assert_eq!(EntryKey::from_u64(raw).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}
