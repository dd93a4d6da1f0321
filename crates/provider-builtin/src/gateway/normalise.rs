//! One form of a text for storing it, and one for telling whether two texts say the same.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

/// The form in which a text is stored: NFC, `\n` line ends, no control characters but tab and line end, no byte order
/// mark, no space at the end of a line and no blank line at the end. Nothing a person can see is lost.
///
/// Applying it twice gives the same as once.
pub fn normalise(text: &str) -> String {
    let unified = text.replace("\r\n", "\n");
    let cleaned = unified.chars().filter_map(|character| match character {
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\n' | '\t' => Some(character),
        '\u{feff}' => None,
        _ if character.is_control() => None,
        _ => Some(character),
    });
    let composed: String = cleaned.nfc().collect();
    let mut stored = String::with_capacity(composed.len());
    for line in composed.split('\n') {
        stored.push_str(line.trim_end());
        stored.push('\n');
    }
    stored.truncate(stored.trim_end().len());
    stored
}

/// The form in which two texts that say the same are equal: NFKC, lower case, full width folded, invisible characters and
/// the punctuation of sentences removed, spaces collapsed and dropped beside Chinese and Japanese characters.
///
/// Signs that carry meaning stay (`C++`, `C#`, `-5`, `3.5`, `10%`, `node.js`). A text that is nothing but punctuation stays
/// as it is, so only a blank text gives an empty form.
pub fn canonical(text: &str) -> String {
    let folded = fold(text);
    let characters: Vec<char> = folded.chars().collect();
    let mut form = String::with_capacity(folded.len());
    let mut gap = false;
    for (position, &character) in characters.iter().enumerate() {
        let before = position.checked_sub(1).and_then(|before| characters.get(before)).copied();
        let after = characters.get(position + 1).copied();
        if character.is_whitespace() || is_removed(before, character, after) {
            gap = true;
            continue;
        }
        let last = form.chars().next_back();
        if gap && last.is_some_and(|last| !is_unspaced(last)) && !is_unspaced(character) {
            form.push(' ');
        }
        gap = false;
        form.push(character);
    }
    if form.is_empty() { folded.split_whitespace().collect::<Vec<_>>().join(" ") } else { form }
}

/// SHA-256 of the canonical form as 64 lower-case hexadecimal digits: the key for exact duplicates and for tombstones.
pub fn content_hash(text: &str) -> String {
    let form = canonical(text);
    // Text that is only invisible characters has an empty form; it is told apart by itself.
    let hashed = if form.is_empty() { text } else { form.as_str() };
    Sha256::digest(hashed.as_bytes()).iter().fold(String::with_capacity(64), |mut hash, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

/// NFKC and lower case, to a fixed point for all practical text, without invisible characters.
fn fold(text: &str) -> String {
    let lower: String =
        text.nfkc().filter(|character| !is_invisible(*character)).flat_map(char::to_lowercase).collect();
    let mut folded = String::with_capacity(lower.len());
    for character in lower.nfkc() {
        match character {
            'ß' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bc}' | '`' | '´' => folded.push('\''),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => folded.push('-'),
            _ => folded.push(character),
        }
    }
    folded
}

fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        || (character.is_control() && !character.is_whitespace())
}

/// True for punctuation that only divides text at this place.
fn is_removed(before: Option<char>, character: char, after: Option<char>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c));
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    match character {
        '.' => !is_word(after),
        ',' | ':' => !(is_digit(before) && is_digit(after)),
        '\'' => !(is_word(before) && is_word(after)),
        '-' => !is_word(after),
        ';' | '!' | '?' | '"' | '(' | ')' | '[' | ']' | '{' | '}' => true,
        '¡' | '¿' | '«' | '»' | '‹' | '›' | '…' | '·' | '•' | '。' | '、' | '・' | '؟' | '،' | '؛' | '।' => {
            true
        }
        '\u{201a}'..='\u{201f}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' => true,
        _ => false,
    }
}

/// True for scripts written without spaces between words, where a space says nothing.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stored_form() {
        for (text, expected) in [
            ("a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
            ("nul\0 bell\u{7} esc\u{1b}[0m\ttab", "nul bell esc[0m\ttab"),
            ("e\u{301}te\u{301}", "été"),
            ("  kept  \n\n  end \u{3000}\n \n", "  kept\n\n  end"),
            ("\u{feff}你好，世界！ ", "你好，世界！"),
            ("👨‍👩‍👧 می‌خواهم", "👨‍👩‍👧 می‌خواهم"),
            ("ｆｕｌｌ ①", "ｆｕｌｌ ①"),
            ("\0\u{1}", ""),
        ] {
            assert_eq!(normalise(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_that_say_the_same() {
        for (a, b) in [
            ("User likes tea.", "user  likes TEA"),
            ("\"User\" likes tea!", "User likes tea"),
            ("我喜欢喝茶。", "我喜欢喝茶"),
            ("我 喜欢，喝茶！", "我喜欢喝茶"),
            ("我用 Rust 写代码", "我用Rust写代码"),
            ("ＡＢＣ１２３", "abc123"),
            ("ｶﾌｪ", "カフェ"),
            ("don’t", "don't"),
            ("Straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("cafe\u{301}", "CAFÉ"),
            ("zero\u{200b}width", "zerowidth"),
            ("3：30", "3:30"),
            ("a — b", "a b"),
            ("❤\u{fe0f}", "❤"),
        ] {
            assert_eq!(canonical(a), canonical(b), "{a:?} {b:?}");
            assert_eq!(content_hash(a), content_hash(b));
        }
    }

    #[test]
    fn texts_that_say_something_else() {
        for (a, b) in [
            ("likes C++", "likes C"),
            ("likes C#", "likes C"),
            ("it is -5 degrees", "it is 5 degrees"),
            ("costs 3.5", "costs 35"),
            ("at 10:30", "at 1030"),
            ("10%", "10"),
            ("node.js", "node js"),
            ("喜欢茶", "不喜欢茶"),
            ("👍", "👎"),
            ("чай", "чаи"),
            ("ชา", "ชะ"),
            ("です", "てす"),
            ("!!!", "???"),
            ("。。。", "……"),
            ("\u{200b}", "\u{200c}"),
        ] {
            assert_ne!(content_hash(a), content_hash(b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn no_script_collapses_to_nothing() {
        for text in ["茶", "お茶", "차를 좋아해요", "чай", "شاي", "चाय", "ชา", "תה", "☕", "。", "???", "ー", "𠮷"]
        {
            assert!(!canonical(text).is_empty(), "{text}");
        }
        assert_eq!(canonical(" \n\t"), "");
    }

    proptest! {
        #[test]
        fn the_stored_form_is_stable_and_says_the_same(text in any::<String>()) {
            let stored = normalise(&text);
            prop_assert_eq!(normalise(&stored), stored.clone());
            prop_assert!(!stored.contains(['\r', '\0']));
        }

        #[test]
        fn letters_and_digits_never_vanish(text in "\\PC{0,30}") {
            let form = canonical(&text);
            prop_assert!(!text.chars().any(char::is_alphanumeric) || !form.is_empty());
            prop_assert!(form.trim() == form && !form.contains("  "));
        }
    }
}
