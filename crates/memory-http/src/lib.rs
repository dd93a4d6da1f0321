//! Calls of a JSON service, made carefully: one fixed host, no redirects that could carry credentials elsewhere, replies of
//! bounded size, and one translation of failures into [`memory_core::Error`].
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod client;
mod error;
mod reply;

pub use client::{JsonClient, JsonClientBuilder};
pub use error::{Service, of_nonsense, of_status, of_transport};
pub use reply::Reply;
pub use reqwest::Method;
