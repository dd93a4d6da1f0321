//! The terms of a question and how much each of them counts.

use std::collections::HashMap;

use super::cut;
use super::stop::Worth;

/// A question has at most this many different terms; the rest of a longer text is left out.
pub const MAX_QUERY_TERMS: usize = 256;

/// Words such as "many" or "thing" count this much.
const LITTLE: f32 = 0.5;
/// Words of the sentences before the last one count this much: the question proper comes last.
const EARLIER: f32 = 0.5;

/// One term of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term as it stands in the index.
    pub text: String,
    /// Multiplies its score; 1 for most terms.
    pub weight: f32,
}

/// The different terms of a question in the order in which they first appear, at most [`MAX_QUERY_TERMS`].
///
/// Stop words are left out unless there is nothing else; words of little meaning and those of all sentences but the
/// last count half. Of several occurrences the one that counts most decides.
pub fn query_terms(text: &str) -> Vec<QueryTerm> {
    let sentences: Vec<&str> = sentences(text);
    let mut terms = Terms::default();
    let mut stop_words = Terms::default();
    for (number, sentence) in sentences.iter().enumerate() {
        let place = if number + 1 == sentences.len() { 1.0 } else { EARLIER };
        for (token, worth) in cut(sentence) {
            match worth {
                Worth::Full => terms.add(token.text, place),
                Worth::Little => terms.add(token.text, place * LITTLE),
                Worth::Nothing => stop_words.add(token.text, 1.0),
            }
        }
    }
    let terms = if terms.list.is_empty() { stop_words.list } else { terms.list };
    terms.into_iter().take(MAX_QUERY_TERMS).collect()
}

#[derive(Default)]
struct Terms {
    list: Vec<QueryTerm>,
    places: HashMap<String, usize>,
}

impl Terms {
    fn add(&mut self, text: String, weight: f32) {
        match self.places.get(&text).and_then(|place| self.list.get_mut(*place)) {
            Some(term) => term.weight = term.weight.max(weight),
            None => {
                self.places.insert(text.clone(), self.list.len());
                self.list.push(QueryTerm { text, weight });
            }
        }
    }
}

/// The sentences of a text: they end with `.`, `!` or `?` before white space, or with `。`, `！` or `？`.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let before_space = characters.peek().is_some_and(|(_, next)| next.is_whitespace());
        let ends = matches!(character, '。' | '！' | '？') || (matches!(character, '.' | '!' | '?') && before_space);
        if ends {
            let end = at + character.len_utf8();
            sentences.extend(text.get(start..end));
            start = end;
        }
    }
    sentences.extend(text.get(start..));
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    if sentences.is_empty() { vec![text] } else { sentences }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(text: &str) -> Vec<(String, f32)> {
        query_terms(text).into_iter().map(|term| (term.text, term.weight)).collect()
    }

    fn expected(list: &[(&str, f32)]) -> Vec<(String, f32)> {
        list.iter().map(|(text, weight)| ((*text).to_owned(), *weight)).collect()
    }

    #[test]
    fn the_last_sentence_counts_most() {
        assert_eq!(
            weights("I met Ann in Paris. Where does Ann live?"),
            expected(&[("met", 0.5), ("ann", 1.0), ("pari", 0.5), ("live", 1.0)])
        );
        assert_eq!(weights("我养猫。猫叫咪咪？"), weights("我养猫。 猫叫咪咪？ "));
        assert_eq!(weights("看书。写字")[0], ("看".to_owned(), 0.5));
        assert_eq!(weights("node.js 3.12").iter().filter(|(_, weight)| *weight < 1.0).count(), 0);
    }

    #[test]
    fn light_words_count_half_and_only_stop_words_count_when_alone() {
        assert_eq!(weights("many things"), expected(&[("mani", 0.5), ("thing", 0.5)]));
        assert_eq!(weights("what is it"), expected(&[("what", 1.0), ("is", 1.0), ("it", 1.0)]));
        assert_eq!(weights("？！"), expected(&[]));
    }
}
