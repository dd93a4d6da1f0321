//! Words that carry little or no meaning of their own in a question.

use std::collections::HashSet;
use std::sync::LazyLock;

static STOP_ENGLISH: LazyLock<HashSet<&'static str>> = LazyLock::new(|| lines(include_str!("../../data/stop_en.txt")));
static LIGHT_ENGLISH: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lines(include_str!("../../data/light_en.txt")));
static STOP_HAN: LazyLock<HashSet<&'static str>> = LazyLock::new(|| lines(include_str!("../../data/stop_zh.txt")));

/// How much a word says in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// Nothing: it is left out.
    Nothing,
    /// A little: it counts half.
    Little,
    /// As much as its rarity says.
    Full,
}

/// The worth of `word`, in normal form and before stemming.
pub(super) fn worth(word: &str) -> Worth {
    if !word.is_ascii() {
        if is_stop_character(word) { Worth::Nothing } else { Worth::Full }
    } else if STOP_ENGLISH.contains(word) {
        Worth::Nothing
    } else if LIGHT_ENGLISH.contains(word) {
        Worth::Little
    } else {
        Worth::Full
    }
}

/// Whether `character` is a Chinese character that says nothing alone.
pub(super) fn is_stop_character(character: &str) -> bool {
    STOP_HAN.contains(character)
}

fn lines(file: &'static str) -> HashSet<&'static str> {
    file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}
