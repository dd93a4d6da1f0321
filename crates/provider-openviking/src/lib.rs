//! OpenViking as a provider of memory.
//!
//! OpenViking keeps contexts as files of a virtual file system and extracts memories from sessions by itself. Here it is
//! used for both:
//! - a memory that is written is a Markdown file `…/memories/notes/ID.md`, whose last line carries our own fields. Its name
//!   follows from its foreign id, else from its text, so that writing it twice is writing it once;
//! - a turn or message goes into a session; ending the session commits it, and the server extracts memories from it;
//! - each user, space and owner has a folder of its own: the configured user's default one is `viking://user/USER`, every
//!   other a peer `viking://user/USER/peers/PEER`, where sessions of that scope put what is extracted from them, too.
//!
//! Servers 0.3 to 0.5 are spoken to, each in its own way; see [`OpenVikingConfig`] for the settings.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod client;
mod config;
mod document;
mod error;
mod files;
mod identity;
mod memories;
mod provider;
mod search;
mod session;
mod tools;
mod wire;

pub use config::OpenVikingConfig;
pub use provider::OpenVikingProvider;
