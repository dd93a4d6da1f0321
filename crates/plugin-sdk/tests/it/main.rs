//! The loader with real libraries: good ones, hostile ones, and everything around them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod checking;
mod conforms;
mod directory;
mod faults;
mod hostile;
mod support;
mod template;
mod trust;
