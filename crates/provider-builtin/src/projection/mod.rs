//! From truth to what the indexes hold: which text stands for a row, and which entries a change touches.

mod read;
mod render;

pub(crate) use read::{Projection, project, touched_entries};
pub(crate) use render::{chunk_text, is_short, memory_text, message_text};
