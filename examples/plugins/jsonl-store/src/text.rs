//! Words of every script: what is compared when texts are searched and told apart.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// True when there is nothing to read in a text.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
}

/// The text without case, width, marks and punctuation: equal for texts that say the same word by word.
pub(crate) fn normal_form(text: &str) -> String {
    let form: String = folded(text).filter(|c| c.is_alphanumeric() || is_symbol(*c)).collect();
    if form.is_empty() { text.trim().to_owned() } else { form }
}

/// The words of a text. Scripts without spaces give single characters and pairs of neighbours.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before: Option<char> = None;
    for c in folded(text) {
        let joined = is_joined(c);
        if c.is_alphanumeric() && !joined {
            word.push(c);
        } else {
            flush(&mut word, &mut words);
        }
        if joined || is_symbol(c) {
            words.push(c.to_string());
        }
        if let (true, Some(before)) = (joined, before) {
            words.push(format!("{before}{c}"));
        }
        before = joined.then_some(c);
    }
    flush(&mut word, &mut words);
    words
}

/// The words of a question. Where a pair tells more, the single characters are left out.
pub(crate) fn question_words(text: &str) -> Vec<String> {
    let mut words = words(text);
    let pairs: Vec<String> = words.iter().filter(|word| is_pair(word)).cloned().collect();
    words.retain(|word| is_pair(word) || !pairs.iter().any(|pair| pair.contains(word.as_str())));
    words.sort();
    words.dedup();
    words
}

fn is_pair(word: &str) -> bool {
    word.chars().count() == 2 && word.chars().all(is_joined)
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

fn folded(text: &str) -> impl Iterator<Item = char> {
    text.nfkd().filter(|c| !is_combining_mark(*c)).nfc().flat_map(char::to_lowercase)
}

/// Characters of scripts that are written without spaces, or with endings joined on.
fn is_joined(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '\u{0e00}'..='\u{0e7f}')
        && c.is_alphanumeric()
}

/// Emoji and other pictures.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}')
}
