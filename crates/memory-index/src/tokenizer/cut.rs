//! Cuts normalised characters into tokens.

use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer, TokenStream};

use super::identifier::{self, Word};
use super::normalise::Unit;
use super::script::Class;
use super::stop::{Worth, is_stop_character, worth};
use super::{MAX_TOKEN_CHARS, Token};

/// Collects the tokens of one text, piece by piece.
pub(super) struct Cutter {
    stemmer: TextAnalyzer,
    position: usize,
    /// The tokens, each with what it says in a question.
    pub(super) tokens: Vec<(Token, Worth)>,
}

impl Cutter {
    pub(super) fn new() -> Self {
        let stemmer = TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(Language::English)).build();
        Self { stemmer, position: 0, tokens: Vec::new() }
    }

    /// Cuts a piece of text without white space inside.
    pub(super) fn cut(&mut self, units: &[Unit]) {
        let mut rest = units;
        while let Some(first) = rest.first() {
            let length = match first.class {
                Class::Other => 1,
                Class::Picture => {
                    self.emit(rest.get(..1).unwrap_or_default());
                    self.position += 1;
                    1
                }
                Class::Han | Class::Syllabic => self.unspaced(rest),
                Class::Hangul => self.hangul(rest),
                Class::Word => self.identifier(rest),
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// A run of Chinese or kana: every pair of neighbours, and every Chinese character that says something alone.
    fn unspaced(&mut self, units: &[Unit]) -> usize {
        let length = run(units, |class| matches!(class, Class::Han | Class::Syllabic));
        for (at, unit) in units.iter().take(length).enumerate() {
            if length == 1 || (unit.class == Class::Han && !is_stop_character(unit.character.encode_utf8(&mut [0; 4])))
            {
                self.emit(units.get(at..at + 1).unwrap_or_default());
            }
            if at + 1 < length {
                self.emit(units.get(at..at + 2).unwrap_or_default());
            }
            self.position += 1;
        }
        length
    }

    /// A run of Hangul: every pair of syllables, or the only one.
    fn hangul(&mut self, units: &[Unit]) -> usize {
        let length = run(units, |class| class == Class::Hangul);
        for pair in units.get(..length).unwrap_or_default().windows(length.min(2)) {
            self.emit(pair);
            self.position += 1;
        }
        length
    }

    /// A word, or words joined to an identifier or a path: the whole, its components, and every word.
    fn identifier(&mut self, units: &[Unit]) -> usize {
        let path = identifier::read(units);
        if path.components.len() > 1 {
            self.emit(units.get(..path.length).unwrap_or_default());
        }
        for component in &path.components {
            if component.is_compound() {
                self.emit(units.get(component.start..component.end).unwrap_or_default());
            }
            for word in &component.words {
                self.word(units, *word);
            }
        }
        path.length
    }

    /// One word and, where capitals join several, each of them.
    fn word(&mut self, units: &[Unit], word: Word) {
        let units = units.get(word.start..word.end).unwrap_or_default();
        let parts = identifier::capital_parts(units);
        self.emit(units);
        for (number, part) in parts.iter().enumerate() {
            self.position += usize::from(number > 0);
            self.emit(units.get(part.start..part.end).unwrap_or_default());
        }
        self.position += 1;
    }

    /// Adds the token that `units` spell, at the current position.
    fn emit(&mut self, units: &[Unit]) {
        let (Some(first), Some(last)) = (units.first(), units.last()) else { return };
        let spelled: String = units.iter().take(MAX_TOKEN_CHARS).map(|unit| unit.character).collect();
        let worth = worth(&spelled);
        let text = self.stem(spelled);
        self.tokens.push((Token { text, start: first.start, end: last.end, position: self.position }, worth));
    }

    fn stem(&mut self, word: String) -> String {
        if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return word;
        }
        let mut stream = self.stemmer.token_stream(&word);
        match stream.advance() {
            true => std::mem::take(&mut stream.token_mut().text),
            false => word.clone(),
        }
    }
}

/// How many of the first units have a class that fits.
fn run(units: &[Unit], fits: impl Fn(Class) -> bool) -> usize {
    units.iter().take_while(|unit| fits(unit.class)).count()
}
