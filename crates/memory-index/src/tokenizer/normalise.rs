//! Normal form of characters, each with its place in the original text.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::script::{Class, class, continues, is_invisible};

/// One character of the normalised text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    /// In normal form and lower case.
    pub(super) character: char,
    /// Bytes of the original text that this character comes from.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) class: Class,
    /// Whether the original was upper case: `camelCase` is cut there.
    pub(super) upper: bool,
}

/// Replaces `units` by the normal form of `text`, which begins at byte `offset` of the whole.
///
/// The form is NFKC in lower case (full-width letters become ordinary ones, decomposed Hangul is composed); accents
/// of Latin letters are dropped, because people leave them out when they search.
pub(super) fn normalise(text: &str, offset: usize, units: &mut Vec<Unit>) {
    units.clear();
    let mut characters = text.char_indices().peekable();
    while let Some((at, first)) = characters.next() {
        if is_invisible(first) {
            continue;
        }
        let mut end = at + first.len_utf8();
        while let Some((next_at, next)) = characters.next_if(|(_, next)| belongs(*next)) {
            end = next_at + next.len_utf8();
        }
        let (start, stop) = (offset + at, offset + end);
        if first.is_ascii() && end == at + 1 {
            units.push(Unit {
                character: first.to_ascii_lowercase(),
                start,
                end: stop,
                class: class(first),
                upper: first.is_ascii_uppercase(),
            });
        } else if let Some(cluster) = text.get(at..end) {
            normalise_cluster(cluster, start, stop, first.is_uppercase(), units);
        }
    }
}

/// Whether `character` forms one cluster with what stands before it.
fn belongs(character: char) -> bool {
    !character.is_ascii() && (is_combining_mark(character) || continues(character) || is_invisible(character))
}

/// A base character with its marks.
fn normalise_cluster(cluster: &str, start: usize, end: usize, upper: bool, units: &mut Vec<Unit>) {
    let visible = || cluster.chars().filter(|character| !is_invisible(*character));
    let latin = visible().nfkd().next().is_some_and(|base| base.is_ascii());
    let mut push = |character: char, class: Class| units.push(Unit { character, start, end, class, upper });
    if latin {
        for character in visible().nfkd().flat_map(char::to_lowercase).filter(|c| !is_combining_mark(*c)) {
            push(character, class(character));
        }
        return;
    }
    let mut base = Class::Other;
    for character in visible().nfkc().flat_map(char::to_lowercase) {
        if !is_combining_mark(character) {
            base = class(character);
            push(character, base);
        } else if matches!(base, Class::Word | Class::Syllabic) {
            push(character, base);
        }
    }
}
