//! The vocabulary of `memory`: scopes, viewers, memories, messages, recalls, errors, the provider contract, the engine
//! and the configuration. No database, no HTTP client.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod config;
mod engine;
mod error;
mod fence;
mod filter;
mod id;
mod layers;
mod memory;
mod progress;
mod provider;
mod registry;
mod scope;
mod search;
mod secret;
mod time;
mod write;

pub use engine::{
    Conversation, ConversationSettings, Courier, CourierReport, Delivery, DeliveryQueue, DeliveryState, DeliveryWork,
    Engine, EngineBuilder, External, Link, LiveEngine, NewDelivery, Prefetch, Sanitise, TurnKind, TurnOutcome,
    TurnRecord, VolatileQueue, raw_user_text,
};
pub use error::{Error, ErrorKind, ErrorStatus, Result};
pub use fence::{FENCE_TAG, fence, fence_hits, strip_fences};
pub use filter::Filter;
pub use id::{ID_LENGTH, Id, IdGenerator, IdPrefix, SHORTEST_PREFIX};
pub use layers::{GuardPolicy, Guarded, Sleeper, SystemSleeper};
pub use memory::{
    Attributes, Chunk, Compression, Document, Memory, MemoryKind, Message, Origin, Relevance, Role, State,
};
pub use progress::{NoProgress, Progress};
pub use provider::{
    Capability, ChunkItem, Descriptor, GetReport, Health, Item, ListPage, ListRequest, ListSort, MemoryProvider,
    Revision, SessionContext, ToolDefinition, Turn,
};
pub use registry::{ProviderFactory, ProviderRegistry};
pub use scope::{DEFAULT_NAME, LONGEST_NAME, Owner, Scope, Team, TeamRole, Viewer};
pub use search::{
    Explanation, GroupBy, Hit, HitKind, Neighbor, Recall, RecallOutcome, RecallReason, SearchMode, SearchRequest,
    Source,
};
pub use secret::{SafeUrl, Secret};
pub use time::{Clock, ManualClock, SystemClock, Timestamp};
pub use write::{
    DeleteReport, DeleteRequest, MemoryChanges, NewMemory, NewMessage, UpdateRequest, WriteItem, WriteOutcome,
    WriteReport, WriteRequest, WriteResult,
};
