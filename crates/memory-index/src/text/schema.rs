//! The fields of the text index. No bodies are stored: the truth has them.

use memory_core::Result;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{TantivyDocument, Term};

use super::TextField;
use super::fault::fault;
use crate::entry::{EntryKey, EntryKind, IndexEntry};

/// Changes whenever the fields change.
pub(super) const SCHEMA_VERSION: u32 = 1;
/// Name of our tokeniser inside the index.
pub(super) const TOKENIZER: &str = "memory";
const RAW: &str = "raw";

pub(super) const KEY: &str = "key";
pub(super) const REVISION: &str = "revision";
pub(super) const AT: &str = "at";
pub(super) const SCOPE: &str = "scope";
pub(super) const SESSION: &str = "session";
pub(super) const CATEGORY: &str = "category";
pub(super) const TAGS: &str = "tags";

/// Handles of the fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) key: Field,
    pub(super) scope: Field,
    pub(super) session: Field,
    revision: Field,
    at: Field,
    category: Field,
    tags: Field,
    /// Which text fields the entry has: lets statistics be taken for each of them.
    has: Field,
    text: Field,
    window: Field,
    segment: Field,
}

pub(super) fn schema() -> Schema {
    let indexed = |tokenizer, record| TextFieldIndexing::default().set_tokenizer(tokenizer).set_index_option(record);
    let term = || indexed(RAW, IndexRecordOption::Basic).set_fieldnorms(false);
    let words = |record| TextOptions::default().set_indexing_options(indexed(TOKENIZER, record));
    let number: NumericOptions = FAST.into();

    let mut builder = Schema::builder();
    builder.add_u64_field(KEY, INDEXED | FAST);
    builder.add_u64_field(REVISION, number.clone());
    builder.add_i64_field(AT, number);
    builder.add_text_field(SCOPE, TextOptions::default().set_indexing_options(term()).set_fast(RAW));
    builder.add_text_field(SESSION, TextOptions::default().set_indexing_options(term()).set_fast(RAW));
    builder.add_text_field(CATEGORY, TextOptions::default().set_fast(RAW));
    builder.add_text_field(TAGS, TextOptions::default().set_fast(RAW));
    builder.add_text_field("has", TextOptions::default().set_indexing_options(term()));
    builder.add_text_field("text", words(IndexRecordOption::WithFreqsAndPositions));
    builder.add_text_field("window", words(IndexRecordOption::WithFreqs));
    builder.add_text_field("segment", words(IndexRecordOption::WithFreqs));
    builder.build()
}

impl Fields {
    pub(super) fn of(schema: &Schema) -> Result<Self> {
        let field = |name| schema.get_field(name).map_err(fault);
        Ok(Self {
            key: field(KEY)?,
            revision: field(REVISION)?,
            at: field(AT)?,
            scope: field(SCOPE)?,
            session: field(SESSION)?,
            category: field(CATEGORY)?,
            tags: field(TAGS)?,
            has: field("has")?,
            text: field("text")?,
            window: field("window")?,
            segment: field("segment")?,
        })
    }

    pub(super) fn text(&self, field: TextField) -> Field {
        match field {
            TextField::Text => self.text,
            TextField::Window => self.window,
            TextField::Segment => self.segment,
        }
    }

    /// The term that every entry with `field` carries.
    pub(super) fn has_term(&self, field: TextField) -> Term {
        Term::from_field_text(self.has, has_name(field))
    }

    pub(super) fn key_term(&self, key: EntryKey) -> Term {
        Term::from_field_u64(self.key, key.as_u64())
    }

    pub(super) fn document(&self, entry: &IndexEntry) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_u64(self.key, entry.key.as_u64());
        document.add_u64(self.revision, entry.revision);
        document.add_i64(self.at, entry.at);
        document.add_text(self.scope, &entry.scope);
        if let Some(session) = &entry.session {
            document.add_text(self.session, session);
        }
        if let Some(category) = &entry.category {
            document.add_text(self.category, category);
        }
        for tag in &entry.tags {
            document.add_text(self.tags, tag);
        }
        let own = match entry.kind() {
            EntryKind::Segment | EntryKind::Document => TextField::Segment,
            _ => TextField::Text,
        };
        let window = entry.window.as_deref().map(|window| (TextField::Window, window));
        for (field, text) in [Some((own, entry.text.as_str())), window].into_iter().flatten() {
            document.add_text(self.has, has_name(field));
            document.add_text(self.text(field), text);
        }
        document
    }
}

fn has_name(field: TextField) -> &'static str {
    match field {
        TextField::Text => "text",
        TextField::Window => "window",
        TextField::Segment => "segment",
    }
}
