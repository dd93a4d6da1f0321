//! One tokeniser for indexing, querying and scoring texts that are not indexed yet.
//!
//! Normal form is NFKC in lower case without Latin accents. English words are stemmed (Snowball). Chinese gives bigrams
//! and those single characters that say something alone, kana and Hangul give bigrams. Identifiers give the whole and
//! its parts. A question loses its stop words, unless it has nothing else.

mod cut;
mod identifier;
mod normalise;
mod question;
mod script;
mod stop;

use tantivy::tokenizer::{TokenStream, Tokenizer};

pub use question::{MAX_QUERY_TERMS, QueryTerm, query_terms};
use stop::Worth;

/// Longer tokens are cut to this many characters, so that they stay findable.
pub const MAX_TOKEN_CHARS: usize = 100;

/// Changes whenever the same text may give other tokens than before: part of an index fingerprint.
pub const TOKENIZER_VERSION: u32 = 1;

/// Who asks for the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A text to be found: every token.
    Index,
    /// A question: without stop words, unless there is nothing else.
    Query,
}

/// One token and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The term as it stands in the index.
    pub text: String,
    /// First byte in the original text; always a character boundary.
    pub start: usize,
    /// One past the last byte in the original text; always a character boundary.
    pub end: usize,
    /// Number of the word in the text. A whole and its first part share a position.
    pub position: usize,
}

/// Cuts `text` into tokens, ordered by position.
pub fn analyze(text: &str, side: Side) -> Vec<Token> {
    let tokens = cut(text);
    let keep_all = side == Side::Index || tokens.iter().all(|(_, worth)| *worth == Worth::Nothing);
    tokens.into_iter().filter(|(_, worth)| keep_all || *worth != Worth::Nothing).map(|(token, _)| token).collect()
}

fn cut(text: &str) -> Vec<(Token, Worth)> {
    let mut cutter = cut::Cutter::new();
    let mut units = Vec::new();
    let mut offset = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        normalise::normalise(piece, offset, &mut units);
        cutter.cut(&units);
        offset += piece.len();
    }
    cutter.tokens
}

/// The index side of [`analyze`] for tantivy.
#[derive(Debug, Clone, Default)]
pub struct MemoryTokenizer;

impl Tokenizer for MemoryTokenizer {
    type TokenStream<'a> = MemoryTokenStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> MemoryTokenStream {
        MemoryTokenStream {
            tokens: analyze(text, Side::Index).into_iter(),
            current: tantivy::tokenizer::Token::default(),
        }
    }
}

/// The tokens of one text, handed out one by one.
#[derive(Debug)]
pub struct MemoryTokenStream {
    tokens: std::vec::IntoIter<Token>,
    current: tantivy::tokenizer::Token,
}

impl TokenStream for MemoryTokenStream {
    fn advance(&mut self) -> bool {
        let Some(token) = self.tokens.next() else { return false };
        self.current.offset_from = token.start;
        self.current.offset_to = token.end;
        self.current.position = token.position;
        self.current.text = token.text;
        true
    }

    fn token(&self) -> &tantivy::tokenizer::Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut tantivy::tokenizer::Token {
        &mut self.current
    }
}

#[cfg(test)]
mod tests;
