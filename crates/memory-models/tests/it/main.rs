//! Tests of the public surface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cache;
mod hub;
mod openai;
mod reference;
mod tiny_model;
mod transformer;
