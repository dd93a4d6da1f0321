//! The suite itself: a provider that does everything passes it, and each thing it does wrong is found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod faulty;
mod reference;
mod shelf;
