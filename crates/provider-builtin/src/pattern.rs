//! Regular expressions that are part of the source.

use std::sync::OnceLock;

use regex::Regex;

/// Compiles a pattern written in the source. A wrong pattern is a fault of the source, and the unit tests of every
/// module that uses one meet it at once.
#[expect(clippy::expect_used, reason = "the pattern is a constant that the unit tests compile")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern in the source is valid")
}

/// A pattern that can only match a text with one of some words in it. Looking for words is much cheaper than compiling
/// and running a pattern, and most texts hold none of them, so a process compiles only the patterns it needs.
pub(crate) struct WordedPattern {
    words: &'static [&'static str],
    text: String,
    compiled: OnceLock<Regex>,
}

impl WordedPattern {
    /// `words` in lower case, one of which every match holds.
    pub(crate) fn new(words: &'static [&'static str], text: impl Into<String>) -> Self {
        Self { words, text: text.into(), compiled: OnceLock::new() }
    }

    /// The pattern, if the text, given in lower case, may hold a match.
    pub(crate) fn get(&self, lower_case: &str) -> Option<&Regex> {
        let may_match = self.words.iter().any(|word| lower_case.contains(word));
        may_match.then(|| self.compiled.get_or_init(|| pattern(&self.text)))
    }
}
