//! What the file says, in memory: every state of every memory, and the messages. Readers go through a [`Viewer`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use plugin_sdk::memory_core::{
    Error, ErrorKind, Id, IdGenerator, IdPrefix, Item, Memory, Message, Result, Revision, State, Timestamp, Viewer,
};

use crate::journal::{Journal, Record};

/// The file and what it says.
pub(crate) struct Records {
    journal: Journal,
    contents: Contents,
}

/// What the file says.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) ids: IdGenerator,
    memories: BTreeMap<Id, Vec<Revision>>,
    messages: BTreeMap<Id, Message>,
    /// The changes of the transaction under way.
    changes: Vec<Record>,
}

impl Records {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let mut records = Self { journal: Journal::open(path)?, contents: Contents::default() };
        records.transaction(|_| Ok(()))?;
        Ok(records)
    }

    /// Runs `work` on the current state while no other process writes, and stores what it changed: all of it or nothing.
    pub(crate) fn transaction<T>(&mut self, work: impl FnOnce(&mut Contents) -> Result<T>) -> Result<T> {
        let Self { journal, contents } = self;
        let result = journal.exclusively(|journal| {
            let news = journal.news()?;
            if news.from_the_start {
                *contents = Contents { ids: std::mem::take(&mut contents.ids), ..Contents::default() };
            }
            news.records.into_iter().for_each(|record| contents.take(record));
            let answer = work(contents)?;
            journal.append(&contents.changes)?;
            contents.changes.clear();
            Ok(answer)
        });
        if result.is_err() && !contents.changes.is_empty() {
            // What was changed in memory is not in the file: read it anew the next time.
            contents.changes.clear();
            journal.forget();
        }
        result
    }

    /// Removes memories and all their former states from the file for good.
    pub(crate) fn erase(&mut self, ids: &[Id]) -> Result<()> {
        let Self { journal, contents } = self;
        journal.exclusively(|journal| {
            let news = journal.news()?;
            if news.from_the_start {
                *contents = Contents { ids: std::mem::take(&mut contents.ids), ..Contents::default() };
            }
            news.records.into_iter().for_each(|record| contents.take(record));
            contents.memories.retain(|id, _| !ids.contains(id));
            contents.messages.retain(|id, _| !ids.contains(id));
            let result = journal.replace(&contents.records());
            if result.is_err() {
                journal.forget();
            }
            result
        })
    }
}

impl Contents {
    /// Makes a change. It is stored at the end of the transaction.
    pub(crate) fn change(&mut self, record: Record) {
        self.changes.push(record.clone());
        self.take(record);
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Memory { operation, memory } => {
                let states = self.memories.entry(memory.id.clone()).or_default();
                let revision =
                    Revision { revision: memory.revision, operation, at: memory.updated_at, memory: Some(*memory) };
                states.push(revision);
            }
            Record::Message { message } => {
                self.messages.insert(message.id.clone(), *message);
            }
            Record::Forgotten { message } => {
                self.messages.remove(&message);
            }
        }
    }

    fn records(&self) -> Vec<Record> {
        let states = self.memories.values().flatten().filter_map(|state| {
            Some(Record::Memory { operation: state.operation.clone(), memory: Box::new(state.memory.clone()?) })
        });
        let messages = self.messages.values().map(|message| Record::Message { message: Box::new(message.clone()) });
        states.chain(messages).collect()
    }

    /// The current state of every memory, forgotten ones too.
    pub(crate) fn memories(&self) -> impl Iterator<Item = &Memory> {
        self.memories.values().filter_map(|states| states.last()?.memory.as_ref())
    }

    /// Every message.
    pub(crate) fn all_messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    /// The memories that are in force and that a viewer may read, oldest first.
    pub(crate) fn visible(&self, viewer: &Viewer, now: Timestamp) -> impl Iterator<Item = &Memory> {
        let readable = viewer.readable();
        self.memories().filter(move |memory| {
            memory.state == State::Active
                && memory.expires_at.is_none_or(|end| end > now)
                && readable.contains(&memory.scope)
        })
    }

    /// The messages that a viewer may read, oldest first; a session narrows them to itself.
    pub(crate) fn messages(&self, viewer: &Viewer) -> impl Iterator<Item = &Message> {
        let (readable, session) = (viewer.readable(), viewer.session.clone());
        self.messages.values().filter(move |message| {
            readable.contains(&message.scope) && session.as_ref().is_none_or(|session| *session == message.session_id)
        })
    }

    /// The former states of a memory.
    pub(crate) fn states(&self, id: &Id) -> &[Revision] {
        self.memories.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The memory or message that an id or a unique prefix names for a viewer; forgotten memories on demand.
    pub(crate) fn find(&self, viewer: &Viewer, text: &str, forgotten_too: bool) -> Result<Option<Item>> {
        let prefix: IdPrefix = text.parse()?;
        let fits = |id: &Id| id.as_str().starts_with(prefix.as_str());
        let memories = self.memories().filter(|memory| {
            fits(&memory.id) && viewer.may_read(&memory.scope) && (forgotten_too || memory.state != State::Deleted)
        });
        let messages = self.messages.values().filter(|message| fits(&message.id) && viewer.may_read(&message.scope));
        let mut found = memories
            .map(|memory| Item::Memory(Box::new(memory.clone())))
            .chain(messages.map(|message| Item::Message(Box::new(message.clone()))));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(Error::new(ErrorKind::Conflict, format!("`{text}` fits more than one id"))
                .with_hint("give more characters of the id")),
            (first, _) => Ok(first),
        }
    }

    /// The memory that an id or a unique prefix names, when the viewer may change it.
    pub(crate) fn changeable(&self, viewer: &Viewer, text: &str) -> Result<Memory> {
        match self.find(viewer, text, false)? {
            Some(Item::Memory(memory)) if viewer.may_write(&memory.scope) => Ok(*memory),
            Some(Item::Memory(_)) => {
                Err(Error::new(ErrorKind::Forbidden, format!("`{text}` may be read, not changed")))
            }
            Some(_) => Err(Error::invalid(format!("`{text}` is not a memory"))),
            None => Err(Error::not_found(format!("there is no memory `{text}`"))),
        }
    }
}
