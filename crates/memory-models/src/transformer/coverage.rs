//! Which scripts a model knows, judged by its vocabulary, so that an English model is never asked about Chinese.

use std::collections::{BTreeMap, BTreeSet};

use crate::script::{Script, script_of};

/// A script counts as known from this many tokens on. English models carry some hundred single Chinese characters and
/// the bare alphabets of other scripts; models made for them carry thousands.
const KNOWN_FROM: usize = 800;
const HAN_KNOWN_FROM: usize = 2000;
/// Kana, Thai and Hebrew have few letters, but real models know thousands of words in them.
const SMALL_MODEL: usize = 2000;

/// The scripts of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// `None`: the vocabulary is too small to judge, and everything counts as known.
    scripts: Option<BTreeSet<Script>>,
}

impl Coverage {
    pub(super) fn of_vocabulary<'a>(tokens: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: BTreeMap<Script, usize> = BTreeMap::new();
        let mut total = 0;
        for token in tokens {
            total += 1;
            if let Some(script) = token.chars().find_map(script_of) {
                *counts.entry(script).or_default() += 1;
            }
        }
        if total < SMALL_MODEL {
            return Self { scripts: None };
        }
        let known = counts.into_iter().filter(|(script, count)| match script {
            Script::Han => *count >= HAN_KNOWN_FROM,
            _ => *count >= KNOWN_FROM,
        });
        Self { scripts: Some(known.map(|(script, _)| script).collect()) }
    }

    /// True when the text says something and at least half of its letters are in scripts the model knows.
    pub(super) fn covers(&self, text: &str) -> bool {
        let (mut known, mut foreign, mut digits) = (0usize, 0usize, false);
        for character in text.chars() {
            match (script_of(character), &self.scripts) {
                (Some(script), Some(scripts)) if !scripts.contains(&script) => foreign += 1,
                (Some(_), _) => known += 1,
                (None, _) => digits |= character.is_numeric(),
            }
        }
        known >= foreign && (known > 0 || digits)
    }

    /// The scripts known, in words; empty when the vocabulary is too small to judge.
    pub(crate) fn names(&self) -> Vec<String> {
        self.scripts.iter().flatten().map(|script| format!("{script:?}").to_lowercase()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english() -> Coverage {
        let latin: Vec<String> = (0..5000u32).map(|number| format!("word{number}")).collect();
        let han: Vec<String> =
            (0..500u32).filter_map(|offset| char::from_u32(0x4e00 + offset)).map(String::from).collect();
        Coverage::of_vocabulary(latin.iter().chain(&han).map(String::as_str))
    }

    #[test]
    fn an_english_model_does_not_cover_chinese() {
        let coverage = english();
        assert_eq!(coverage.names(), ["latin"]);
        for text in ["hello", "Zürich 2023", "42", "I said 你好 to her"] {
            assert!(coverage.covers(text), "{text}");
        }
        for text in ["我喜欢爬山", "我在用 Rust 写一个程序", "привет", "", "  ", "😀…"] {
            assert!(!coverage.covers(text), "{text}");
        }
    }

    #[test]
    fn a_tiny_vocabulary_is_not_judged() {
        let coverage = Coverage::of_vocabulary(["a", "b"].into_iter());
        assert!(coverage.covers("我") && coverage.covers("a") && !coverage.covers("?"));
        assert!(coverage.names().is_empty());
    }
}
