//! Tests of the indexes on real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod damage;
mod filters;
mod generations;
mod support;
mod text;
mod text_scores;
mod vector;
mod vector_codes;
mod vector_damage;
