//! The provider over a stand-in, and over a real server where one is given.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod auth;
mod conforms;
mod faults;
mod memories;
mod real;
mod scopes;
mod searching;
mod sessions;
mod support;
mod tools;
mod versions;
