//! Regular expressions that are part of the source.

use regex::Regex;

/// Compiles a pattern written in the source. A wrong pattern is a fault of the source, and the unit tests of every
/// module that uses one meet it at once.
#[expect(clippy::expect_used, reason = "the pattern is a constant that the unit tests compile")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern in the source is valid")
}
