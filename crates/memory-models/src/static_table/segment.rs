//! Splits text into the rows of a token table.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::table::{Position, StaticTable, TokenHash};
use crate::script::{Script, script_of};

/// Longer words are noise (base64, hashes) and no tokeniser of the BERT family looks into them.
const MAXIMUM_WORD_BYTES: usize = 100;

/// How a table cuts text, which also settles which script it covers. Letters of another script are left out: a table
/// knows their single characters at best, and those say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segmentation {
    /// BERT's uncased WordPiece over Latin words, digits and punctuation.
    LatinWordPiece,
    /// Forward maximum matching of the vocabulary's words over runs of Han characters.
    HanWords,
}

/// Buffers that one thread keeps from text to text.
#[derive(Default)]
pub(super) struct Segmenter {
    word: String,
    /// Prefixes of what is left of a word: length and hash.
    prefixes: Vec<(usize, TokenHash)>,
}

impl Segmenter {
    /// Replaces `rows` by the rows of the text's tokens. False, and no rows, when the table knows no word of its script
    /// in the text: numbers and punctuation alone are no text.
    pub(super) fn split(&mut self, table: &StaticTable, how: Segmentation, text: &str, rows: &mut Vec<u32>) -> bool {
        rows.clear();
        let covered = match how {
            Segmentation::LatinWordPiece if text.is_ascii() => self.split_ascii(table, text, rows),
            Segmentation::LatinWordPiece => self.split_latin(table, text, rows),
            Segmentation::HanWords => self.split_han(table, text, rows),
        };
        if !covered {
            rows.clear();
        }
        covered
    }

    fn split_ascii(&mut self, table: &StaticTable, text: &str, rows: &mut Vec<u32>) -> bool {
        let mut covered = false;
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() {
                self.word.push(byte.to_ascii_lowercase().into());
                continue;
            }
            covered |= self.end_word(table, rows);
            if byte.is_ascii_punctuation() {
                push_sign(table, byte.into(), rows);
            }
        }
        covered | self.end_word(table, rows)
    }

    fn split_latin(&mut self, table: &StaticTable, text: &str, rows: &mut Vec<u32>) -> bool {
        let mut covered = false;
        // Compatibility decomposition folds full-width letters and ligatures and parts accents from their letters.
        for character in text.nfkd() {
            let script = script_of(character);
            if script == Some(Script::Latin) || character.is_ascii_digit() {
                self.word.extend(character.to_lowercase().filter(|lower| !is_combining_mark(*lower)));
            } else if !is_combining_mark(character) {
                covered |= self.end_word(table, rows);
                if script.is_none() && !character.is_whitespace() && !character.is_control() {
                    push_sign(table, character, rows);
                }
            }
        }
        covered | self.end_word(table, rows)
    }

    fn split_han(&mut self, table: &StaticTable, text: &str, rows: &mut Vec<u32>) -> bool {
        for character in text.nfkc() {
            if script_of(character) == Some(Script::Han) {
                self.word.push(character);
            } else {
                self.end_han_run(table, rows);
            }
        }
        self.end_han_run(table, rows);
        !rows.is_empty()
    }

    /// Adds the rows of the word gathered so far. True when it is a known word with a letter in it.
    fn end_word(&mut self, table: &StaticTable, rows: &mut Vec<u32>) -> bool {
        if self.word.is_empty() {
            return false;
        }
        let word = std::mem::take(&mut self.word);
        let start = rows.len();
        let known = word.len() <= MAXIMUM_WORD_BYTES && self.push_pieces(table, &word, rows);
        if !known {
            rows.truncate(start);
        }
        let letters = word.bytes().any(|byte| !byte.is_ascii_digit());
        self.word = word;
        self.word.clear();
        known && letters
    }

    /// Greedy longest match; false when a part of the word is unknown.
    fn push_pieces(&mut self, table: &StaticTable, word: &str, rows: &mut Vec<u32>) -> bool {
        let (mut rest, mut position) = (word, Position::Start);
        while !rest.is_empty() {
            let Some((row, length)) = self.longest_match(table, position, rest) else { return false };
            rows.push(row);
            rest = rest.get(length..).unwrap_or_default();
            position = Position::Continuation;
        }
        true
    }

    fn end_han_run(&mut self, table: &StaticTable, rows: &mut Vec<u32>) {
        let run = std::mem::take(&mut self.word);
        let mut rest = run.as_str();
        while let Some(first) = rest.chars().next() {
            let step = match self.longest_match(table, Position::Start, rest) {
                Some((row, length)) => {
                    rows.push(row);
                    length
                }
                None => first.len_utf8(),
            };
            rest = rest.get(step..).unwrap_or_default();
        }
        self.word = run;
        self.word.clear();
    }

    /// The row and the length in bytes of the longest token that `text` begins with.
    fn longest_match(&mut self, table: &StaticTable, position: Position, text: &str) -> Option<(u32, usize)> {
        self.prefixes.clear();
        let mut hash = TokenHash::new(position);
        for (before, byte) in text.bytes().take(table.longest()).enumerate() {
            hash.push(byte);
            if text.is_char_boundary(before + 1) {
                self.prefixes.push((before + 1, hash));
            }
        }
        self.prefixes.iter().rev().find_map(|(length, hash)| {
            let row = table.find_hashed(*hash, position, text.as_bytes().get(..*length)?)?;
            Some((row, *length))
        })
    }
}

fn push_sign(table: &StaticTable, sign: char, rows: &mut Vec<u32>) {
    rows.extend(table.find(sign.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::table::tests::table_bytes;
    use super::*;

    fn tokens(words: &[&str], how: Segmentation, text: &str) -> Option<Vec<String>> {
        let rows: Vec<(&str, f32, f32, &[i8])> = words.iter().map(|word| (*word, 1.0, 1.0, [1].as_slice())).collect();
        let table = StaticTable::parse(table_bytes(&rows)).unwrap();
        let mut rows = Vec::new();
        let covered = Segmenter::default().split(&table, how, text, &mut rows);
        covered.then(|| rows.iter().map(|row| table.token(*row).to_owned()).collect())
    }

    const WORDS: &[&str] =
        &["un", "##aff", "##able", "##a", "cafe", "don", "t", "'", "!", "7", "##7", "—", "我", "и", "ß", "fi", "##x"];

    #[test]
    fn words_are_cut_as_bert_does() {
        let latin = |text| tokens(WORDS, Segmentation::LatinWordPiece, text);
        assert_eq!(latin("Unaffable!").unwrap(), ["un", "##aff", "##able", "!"]);
        assert_eq!(latin("CAFÉ\u{301}").unwrap(), ["cafe"]);
        assert_eq!(latin("don't\n").unwrap(), ["don", "'", "t"]);
        assert_eq!(latin("ﬁx—ｃａｆｅ ß").unwrap(), ["fi", "##x", "—", "cafe", "ß"]);
        assert_eq!(latin("cafe 77").unwrap(), ["cafe", "7", "##7"]);
        // A word with an unknown part is unknown as a whole, and does not hide the next.
        assert_eq!(latin("unz cafe").unwrap(), ["cafe"]);
        assert_eq!(latin(&format!("{} cafe", "a".repeat(200))).unwrap(), ["cafe"]);
    }

    #[test]
    fn foreign_scripts_are_left_out_and_alone_are_not_covered() {
        let latin = |text| tokens(WORDS, Segmentation::LatinWordPiece, text);
        assert_eq!(latin("我 и"), None);
        assert_eq!(latin("我在77天!"), None);
        assert_eq!(latin("我去cafe了").unwrap(), ["cafe"]);
        assert_eq!(latin("カフェcafe한국").unwrap(), ["cafe"]);
        assert_eq!(latin("77 7!"), None);
        assert_eq!(latin("zzz"), None);
        assert_eq!(latin(""), None);
        assert_eq!(latin("😀\0"), None);
    }

    #[test]
    fn han_runs_match_the_longest_words() {
        let words = &["北京", "北京大学", "学", "大学生", "生活"];
        let han = |text| tokens(words, Segmentation::HanWords, text);
        assert_eq!(han("北京大学生活").unwrap(), ["北京大学", "生活"]);
        assert_eq!(han("在北京,学Rust").unwrap(), ["北京", "学"]);
        assert_eq!(han("北 京"), None);
        assert_eq!(han("hello"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_safe(text in any::<String>()) {
            let latin = tokens(WORDS, Segmentation::LatinWordPiece, &text);
            prop_assert!(latin.is_none_or(|tokens| !tokens.is_empty()));
            tokens(&["我", "我们"], Segmentation::HanWords, &text);
        }

        #[test]
        fn the_ascii_path_agrees_with_the_other(text in "[ -~\\n]{0,60}") {
            let ascii = tokens(WORDS, Segmentation::LatinWordPiece, &text);
            prop_assert_eq!(ascii, tokens(WORDS, Segmentation::LatinWordPiece, &format!("{text}\u{3000}")));
        }
    }
}
