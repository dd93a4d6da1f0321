//! What a scenario needs of a provider.

use std::fmt;

use memory_core::Capability;

macro_rules! needs {
    ($($(#[doc = $text:literal])+ $name:ident $(= $offered:expr)?,)+) => {
        /// What a scenario needs. The first ones are offered as [`Capability`] says; the others are known to the subject
        /// alone.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Need {
            $($(#[doc = $text])+ $name,)+
        }

        impl Need {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Whether a capability offers it; `None` for what a capability does not say.
            pub fn offered_by(self, capability: &Capability) -> Option<bool> {
                match self {
                    $(Self::$name => {
                        let offered: Option<fn(&Capability) -> bool> = None;
                        $(let offered: Option<fn(&Capability) -> bool> = offered.or(Some($offered));)?
                        offered.map(|offered| offered(capability))
                    })+
                }
            }
        }

        impl fmt::Display for Need {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$name => concat!($($text),+).trim().trim_end_matches('.'),)+
                })
            }
        }
    };
}

needs! {
    /// Keeps memories.
    Write = |capability| capability.write,
    /// Answers questions.
    Search = |capability| capability.search,
    /// Keeps messages.
    Messages = |capability| capability.write_messages,
    /// Honours filters.
    Filters = |capability| capability.search_with_filter,
    /// Honours `since` and `until`.
    Times = |capability| capability.search_by_time,
    /// Returns memories by id.
    Get = |capability| capability.get,
    /// Lists memories.
    List = |capability| capability.list,
    /// Changes memories.
    Update = |capability| capability.update,
    /// Forgets memories.
    Delete = |capability| capability.delete,
    /// Removes forgotten text for good.
    Erase = |capability| capability.erase,
    /// Returns former states.
    History = |capability| capability.history,
    /// Takes turns of a conversation.
    Turns = |capability| capability.sync_turn,
    /// Writes what is repeated once.
    Idempotence = |capability| capability.idempotent,
    /// Limits the length of a text.
    TextLimit = |capability| capability.max_text_bytes.is_some(),
    /// Limits the size of a batch.
    BatchLimit = |capability| capability.max_batch.is_some(),

    /// Keeps title, category, tags, keywords, attributes and times with a memory.
    Fields,
    /// Refuses labels, numbers and texts that make no sense.
    FieldChecks,
    /// Finds by titles and keywords too.
    FieldSearch,
    /// Counts revisions and refuses a change of an old one.
    Revisions,
    /// Takes the first characters of an id for it.
    Prefixes,
    /// Refuses what cannot be an id as a bad request.
    StrictIds,
    /// Knows the same text again.
    Duplicates,
    /// Knows nearly the same text again.
    NearDuplicates,
    /// Refuses what was forgotten.
    Tombstones,
    /// Takes another text under the same foreign id for its new state.
    ForeignIds,
    /// Takes credentials out of a text.
    Secrets,
    /// Says why an answer is empty.
    EmptyReasons,
    /// Ranks by words of every language and script, and the same each time.
    Ranking,
    /// Understands times in a question.
    TimeExpressions,
    /// Reads operators in raw questions.
    RawQueries,
    /// Searches by words, by vectors or by both, and explains scores.
    Modes,
    /// Lists the messages of a session in order and verbatim.
    Transcripts,
    /// Finds messages, with those around them, by session.
    MessageSearch,
    /// Recalls what was said in a turn once the session has ended.
    TurnRecall,
    /// Offers tools.
    Tools,
    /// Rests on a service that can be made to fail.
    Faults,
}

impl Need {
    /// What a subject lacks: what its capability denies and what it says itself, in the order of [`Need::ALL`].
    pub(crate) fn missing(capability: &Capability, declared: &[Self]) -> Vec<Self> {
        let missing = |need: &Self| !need.offered_by(capability).unwrap_or(!declared.contains(need));
        Self::ALL.iter().copied().filter(missing).collect()
    }
}
