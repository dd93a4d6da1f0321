//! How alike a question and a text are to a stand-in: which of the question's words the text has. Real services compare
//! meanings; for scenarios it is enough that what shares words is found and what shares none is not.

use std::collections::BTreeSet;

/// The share of the words of `question` that `text` has, 0 to 1.
pub(super) fn overlap(question: &str, text: &str) -> f64 {
    let (asked, known) = (words(question), words(text));
    if asked.is_empty() {
        return 0.0;
    }
    asked.intersection(&known).count() as f64 / asked.len() as f64
}

/// Words in lower case; in scripts without spaces, each pair of neighbouring characters; every emoji.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let folded: String = text.chars().flat_map(fold).collect();
    words.extend(folded.chars().filter(|c| *c >= '\u{1f000}' && !c.is_alphanumeric()).map(String::from));
    for run in folded.split(|c: char| !c.is_alphanumeric()) {
        let mut plain = String::new();
        let mut wide: Vec<char> = Vec::new();
        for c in run.chars().chain(['\0']) {
            if !is_wide(c) && !wide.is_empty() {
                match wide.as_slice() {
                    [one] => drop(words.insert(one.to_string())),
                    many => words.extend(many.windows(2).map(|pair| pair.iter().collect::<String>())),
                }
                wide.clear();
            }
            if is_wide(c) {
                wide.push(c);
            }
            if (is_wide(c) || c == '\0') && !plain.is_empty() {
                words.insert(std::mem::take(&mut plain));
            }
            if !is_wide(c) && c != '\0' {
                plain.push(c);
            }
        }
    }
    words
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}')
}

/// Lower case, full-width letters as plain ones, ligatures taken apart.
fn fold(c: char) -> Vec<char> {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).into_iter().flat_map(char::to_lowercase).collect(),
        'ﬂ' => vec!['f', 'l'],
        'ﬁ' => vec!['f', 'i'],
        c => c.to_lowercase().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn words_of_every_script_count() {
        assert_eq!(overlap("ＤＥＮＴＩＳＴ", "The dentist appointment"), 1.0);
        assert_eq!(overlap("过敏", "妈妈对海鲜过敏"), 1.0);
        assert_eq!(overlap("귤 주문", "제주도에서 귤을 한 상자 주문했어요"), 0.5);
        assert_eq!(overlap("🦩", "the 🦩 stands"), 1.0);
        assert_eq!(overlap("tea", "coffee"), 0.0);
        assert_eq!(overlap("!!", "coffee"), 0.0);
    }
}
