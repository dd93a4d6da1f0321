//! The engine and its layers over providers in memory, on a clock that tests move.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod both;
mod conversation;
mod external;
mod layers;
mod modes;
mod outage;
mod provider;
mod recovery;
mod setting;
mod virtual_time;
