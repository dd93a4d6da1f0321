//! Finding entries by words and by meaning: a text index on tantivy and a vector index on lancedb, each behind a small
//! trait. Both only project the truth kept elsewhere: deleting their files loses nothing.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod entry;
mod generations;
mod ranking;
mod text;
mod tokenizer;
mod vector;

pub use entry::{EntryKey, EntryKind, IndexEntry, IndexFilter};
pub use generations::Generations;
pub use text::{
    FieldStatistics, MAX_TEXT_LIMIT, Question, TantivyIndex, TextField, TextIndex, TextQuery, Watermark, bm25,
    text_format,
};
pub use tokenizer::{
    MAX_QUERY_TERMS, MAX_TOKEN_CHARS, MemoryTokenStream, MemoryTokenizer, QueryTerm, Side, TOKENIZER_VERSION, Token,
    analyze, query_terms,
};
pub use vector::{LanceIndex, MAX_VECTOR_LIMIT, VectorIndex, vector_format};
