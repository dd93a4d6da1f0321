//! Cuts a line that is over the budget at the end of a sentence, else between words, else between graphemes.

use unicode_segmentation::UnicodeSegmentation;

use super::character_weight;

/// Pieces of `line`, in order and without gap, each at most `max` in weight. A single grapheme that is over the budget
/// (a letter with hundreds of marks) is the one thing cut inside, between characters.
pub(super) fn split_long_line(line: &str, max: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let length = prefix_length(rest, max);
        let cut = if length == rest.len() { length } else { best_cut(rest, length) };
        let (piece, after) = rest.split_at(cut);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Length in bytes of the longest start of `text` within `max`, at least one character.
fn prefix_length(text: &str, max: usize) -> usize {
    let mut total = 0;
    for (position, character) in text.char_indices() {
        total += character_weight(character);
        if total > max && position > 0 {
            return position;
        }
    }
    text.len()
}

/// Where to cut `text` at or before `length`. The window reaches a little further, so that the rules of Unicode see
/// what follows the cut.
fn best_cut(text: &str, length: usize) -> usize {
    let beyond = text.get(length..).map_or(0, |rest| rest.chars().take(16).map(char::len_utf8).sum());
    let window = text.get(..length + beyond).unwrap_or(text);
    let enough = length / 3;
    let last = |bounds: &mut dyn Iterator<Item = usize>| bounds.filter(|bound| (1..=length).contains(bound)).last();

    let sentence = last(&mut window.split_sentence_bound_indices().map(|(position, _)| position));
    if let Some(cut) = sentence.filter(|cut| *cut >= enough) {
        return cut;
    }
    let starts_word = |(position, word): (usize, &str)| (!word.trim().is_empty()).then_some(position);
    let word = last(&mut window.split_word_bound_indices().filter_map(starts_word));
    if let Some(cut) = word.filter(|cut| *cut >= enough) {
        return cut;
    }
    last(&mut window.grapheme_indices(true).map(|(position, _)| position)).unwrap_or(length)
}
