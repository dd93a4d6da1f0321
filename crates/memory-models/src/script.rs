//! Writing systems, as far as embedders must tell them apart.

/// The writing system of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Script {
    /// Latin letters with all their accents.
    Latin,
    /// Chinese characters, in Japanese and Korean too.
    Han,
    /// Hiragana and katakana.
    Kana,
    /// Korean syllables and letters.
    Hangul,
    /// Russian and its neighbours.
    Cyrillic,
    /// Greek.
    Greek,
    /// Arabic, Persian, Urdu.
    Arabic,
    /// Hebrew.
    Hebrew,
    /// Hindi, Marathi, Nepali.
    Devanagari,
    /// Thai.
    Thai,
    /// Any other letter.
    Other,
}

/// The writing system of a letter; `None` for digits, punctuation, marks, symbols and emoji.
/// Ranges after the blocks of the Unicode Standard, version 16.
#[must_use]
pub fn script_of(character: char) -> Option<Script> {
    if character.is_ascii() {
        return character.is_ascii_alphabetic().then_some(Script::Latin);
    }
    if !character.is_alphabetic() {
        return None;
    }
    Some(match character {
        '\u{00aa}'..='\u{02b8}'
        | '\u{1d00}'..='\u{1dbf}'
        | '\u{1e00}'..='\u{1eff}'
        | '\u{2071}'..='\u{209c}'
        | '\u{2c60}'..='\u{2c7f}'
        | '\u{a722}'..='\u{a7ff}'
        | '\u{ab30}'..='\u{ab6f}'
        | '\u{fb00}'..='\u{fb06}'
        | '\u{ff21}'..='\u{ff5a}' => Script::Latin,
        '\u{0370}'..='\u{03ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{0400}'..='\u{052f}' | '\u{1c80}'..='\u{1c8f}' | '\u{2de0}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}' => {
            Script::Cyrillic
        }
        '\u{0590}'..='\u{05ff}' => Script::Hebrew,
        '\u{0600}'..='\u{06ff}'
        | '\u{0750}'..='\u{077f}'
        | '\u{08a0}'..='\u{08ff}'
        | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{feff}' => Script::Arabic,
        '\u{0900}'..='\u{097f}' => Script::Devanagari,
        '\u{0e00}'..='\u{0e7f}' => Script::Thai,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' => {
            Script::Hangul
        }
        '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Script::Kana,
        '\u{3005}'..='\u{3007}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Script::Han,
        _ => Script::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_a_script_and_signs_have_none() {
        for (text, script) in [
            ("aZéßōﬁＡ", Script::Latin),
            ("我𠀀々", Script::Han),
            ("カなー", Script::Kana),
            ("한ㄱ", Script::Hangul),
            ("Жя", Script::Cyrillic),
            ("Ωλ", Script::Greek),
            ("سلام", Script::Arabic),
            ("שלום", Script::Hebrew),
            ("नम", Script::Devanagari),
            ("กข", Script::Thai),
            ("ქ", Script::Other),
        ] {
            for character in text.chars() {
                assert_eq!(script_of(character), Some(script), "{character}");
            }
        }
        for character in "1٣.。—😀 \u{301}\0\u{fffd}".chars() {
            assert_eq!(script_of(character), None, "{character:?}");
        }
    }
}
