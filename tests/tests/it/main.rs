//! Tests across crates: what must survive, who may see what, and what every provider fulfils.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod builtin_conforms;
mod crash;
mod disk;
mod hostile;
mod index_damage;
mod kill;
mod model;
mod outage;
mod processes;
mod scopes;
