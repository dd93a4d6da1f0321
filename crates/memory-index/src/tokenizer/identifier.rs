//! Words and what joins them: `node.js`, `auth-token`, `C++`, `snake_case`, `camelCase`, `src/main.rs`, `3.12`.

use super::normalise::Unit;
use super::script::Class;

/// Longer words are not cut at capitals: they are encoded data, not names.
const LONGEST_CAMEL_CASE: usize = 64;
/// More capitals than this are not a name either.
const MOST_CAPITAL_PARTS: usize = 8;
/// What follows an apostrophe at the end of an English word and says nothing.
const ENGLISH_ENDINGS: [&str; 7] = ["s", "t", "d", "m", "re", "ve", "ll"];

/// A run of letters and digits, as a range of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Words joined by `.`, `-`, `_`, `&` or an apostrophe, perhaps with `++` or `#` behind.
#[derive(Debug)]
pub(super) struct Component {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) words: Vec<Word>,
}

impl Component {
    /// True when the component is more than its only word.
    pub(super) fn is_compound(&self) -> bool {
        self.words.first().is_none_or(|word| (word.start, word.end) != (self.start, self.end))
    }
}

/// Components joined by `/`, `\`, `:`, `::` or `@`.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) components: Vec<Component>,
    /// How many units belong to it.
    pub(super) length: usize,
}

/// Reads the path at the beginning of `units`, which begin with a word.
pub(super) fn read(units: &[Unit]) -> Path {
    let mut components = Vec::new();
    let mut length = 0;
    loop {
        let (component, next) = component(units, length);
        components.push(component);
        length = next;
        let joint = match (character(units, length), character(units, length + 1)) {
            (Some(':'), Some(':')) => 2,
            (Some('/' | '\\' | ':' | '@'), _) => 1,
            _ => 0,
        };
        if joint == 0 || !is_word(units, length + joint) {
            return Path { components, length };
        }
        length += joint;
    }
}

/// Reads the component at `start`; also returns where to read on, which is later than its end when an English
/// ending (`'s`) was dropped.
fn component(units: &[Unit], start: usize) -> (Component, usize) {
    let mut words = Vec::new();
    let mut from = start;
    let (end, next) = loop {
        let end = word_end(units, from);
        words.push(Word { start: from, end });
        match character(units, end) {
            Some('.' | '-' | '_' | '&') if is_word(units, end + 1) => from = end + 1,
            Some('\'' | '\u{2019}' | '\u{02BC}') if is_word(units, end + 1) => {
                let tail_end = word_end(units, end + 1);
                if is_english_ending(units.get(end + 1..tail_end).unwrap_or_default()) {
                    break (end, tail_end);
                }
                from = end + 1;
            }
            Some('+') if character(units, end + 1) == Some('+') && !is_word(units, end + 2) => {
                break (end + 2, end + 2);
            }
            Some('#') if has_letter(units, from, end) && !is_word(units, end + 1) => break (end + 1, end + 1),
            _ => break (end, end),
        }
    };
    (Component { start, end, words }, next)
}

/// The parts of a word whose capitals say where it is joined: `HTTPServer` is `HTTP` and `Server`. Empty when there
/// is only one part.
pub(super) fn capital_parts(units: &[Unit]) -> Vec<Word> {
    if units.len() > LONGEST_CAMEL_CASE || !units.iter().any(|unit| unit.upper) {
        return Vec::new();
    }
    let lower = |at: usize| units.get(at).is_some_and(|unit| unit.character.is_alphabetic() && !unit.upper);
    let upper = |at: usize| units.get(at).is_some_and(|unit| unit.upper);
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..units.len() {
        if upper(at) && (lower(at - 1) || lower(at + 1)) {
            parts.push(Word { start, end: at });
            start = at;
        }
    }
    parts.push(Word { start, end: units.len() });
    if (2..=MOST_CAPITAL_PARTS).contains(&parts.len()) { parts } else { Vec::new() }
}

fn character(units: &[Unit], at: usize) -> Option<char> {
    units.get(at).map(|unit| unit.character)
}

fn is_word(units: &[Unit], at: usize) -> bool {
    units.get(at).is_some_and(|unit| unit.class == Class::Word)
}

fn word_end(units: &[Unit], start: usize) -> usize {
    start + units.iter().skip(start).take_while(|unit| unit.class == Class::Word).count()
}

fn has_letter(units: &[Unit], start: usize, end: usize) -> bool {
    units.get(start..end).unwrap_or_default().iter().any(|unit| unit.character.is_alphabetic())
}

fn is_english_ending(units: &[Unit]) -> bool {
    ENGLISH_ENDINGS.iter().any(|ending| ending.chars().eq(units.iter().map(|unit| unit.character)))
}
