//! Which script a character belongs to, as far as it decides how text is cut into tokens.

/// How a character takes part in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Chinese characters: single characters and bigrams.
    Han,
    /// Kana and scripts of South-East Asia, written without spaces: bigrams.
    Syllabic,
    /// Hangul syllables: bigrams inside a word.
    Hangul,
    /// Letters and digits of scripts that put spaces between words.
    Word,
    /// Emoji and other pictures: one token each.
    Picture,
    /// Everything else separates tokens, or joins the parts of an identifier.
    Other,
}

/// The class of `character`, which is expected in normalised form.
pub(super) fn class(character: char) -> Class {
    if character.is_ascii() {
        return if character.is_ascii_alphanumeric() { Class::Word } else { Class::Other };
    }
    match u32::from(character) {
        0x3005 | 0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => Class::Han,
        0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF => Class::Syllabic,
        0x0E01..=0x0E3A | 0x0E40..=0x0E4E | 0x0E81..=0x0EDF | 0x1000..=0x103F | 0x1780..=0x17D3 => Class::Syllabic,
        0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97C | 0xAC00..=0xD7FB => Class::Hangul,
        0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x1_F000..=0x1_FAFF => Class::Picture,
        _ if character.is_alphanumeric() => Class::Word,
        _ => Class::Other,
    }
}

/// Characters that leave no trace: zero-width and direction marks, the soft hyphen, variation selectors.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(u32::from(character),
        0x00AD | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x2069 | 0xFEFF | 0xFE00..=0xFE0F
        | 0xE_0000..=0xE_01EF)
}

/// Characters that only make sense together with the one before, beyond those with a combining class:
/// vowels and final consonants of decomposed Hangul, half-width voicing marks of kana.
pub(super) fn continues(character: char) -> bool {
    matches!(u32::from(character), 0x1160..=0x11FF | 0xD7B0..=0xD7FB | 0xFF9E | 0xFF9F)
}
