//! Configuration: what can be set ([`KEYS`]), where it is read from ([`Loader`]), where each value came from ([`show`]),
//! and whether it makes sense ([`check()`]).
//!
//! figment lays the sources over one another; everything users see (checks, messages, origins) is our own, because a
//! message must name file, line and key, and must never repeat a value.

mod check;
mod dotenv;
mod environment;
mod example;
mod interpolate;
mod keys;
mod kind;
mod layer;
mod load;
mod nearest;
mod origin;
mod problem;
mod types;
mod yaml;

pub use check::{Finding, Severity, check};
pub use environment::Environment;
pub use example::{environment_markdown, example_yaml, starter_yaml};
pub use keys::{GENERIC_PREFIX, KEYS, Key};
pub use kind::Kind;
pub use load::{Loaded, Loader};
pub use origin::{Setting, SettingOrigin, show};
pub use types::*;

use keys::{CONFIG, DOTENV_FIRST, HOME};

#[cfg(test)]
mod tests;
