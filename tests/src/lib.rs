//! What tests across crates share: homes, child processes and seeded numbers.
//!
//! Everything is real: a real store in a temporary folder, the built binary, processes that really die.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod child;
mod files;
mod home;
mod numbers;

pub use child::{Run, finish, run_to_end};
pub use files::{any_file_holds, copy_folder, files_below};
pub use home::{Home, binary, number_of};
pub use numbers::Numbers;
