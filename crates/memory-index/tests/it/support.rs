//! Entries and indexes for tests.

use memory_index::*;
use tempfile::TempDir;

pub(crate) const FINGERPRINT: &str = "test";

pub(crate) fn mark(sequence: u64) -> Watermark {
    Watermark { sequence, fingerprint: FINGERPRINT.into() }
}

pub(crate) fn entry(rowid: i64, text: &str) -> IndexEntry {
    IndexEntry {
        key: EntryKey::new(EntryKind::Message, rowid),
        revision: 1,
        scope: "ann".into(),
        session: None,
        category: None,
        tags: Vec::new(),
        at: rowid,
        text: text.into(),
        window: None,
        vector: None,
    }
}

pub(crate) fn filter() -> IndexFilter {
    IndexFilter::scopes(["ann"])
}

pub(crate) fn question(text: &str) -> TextQuery {
    TextQuery { question: Question::Plain(text.into()), field: TextField::Text, filter: filter(), limit: 10 }
}

pub(crate) fn expression(text: &str) -> TextQuery {
    TextQuery { question: Question::Raw(text.into()), ..question("") }
}

pub(crate) fn open(directory: &TempDir) -> TantivyIndex {
    TantivyIndex::open_or_create(directory.path(), FINGERPRINT).unwrap()
}

/// An index of the given texts, numbered from 1.
pub(crate) fn index_of(texts: &[&str]) -> (TempDir, TantivyIndex) {
    let directory = TempDir::new().unwrap();
    let index = open(&directory);
    let entries: Vec<IndexEntry> = texts.iter().zip(1..).map(|(text, rowid)| entry(rowid, text)).collect();
    index.apply(&entries, &[], &mark(1)).unwrap();
    (directory, index)
}

pub(crate) fn rows(hits: &[(EntryKey, f32)]) -> Vec<i64> {
    hits.iter().map(|(key, _)| key.rowid()).collect()
}

pub(crate) fn found(index: &TantivyIndex, text: &str) -> Vec<i64> {
    let mut rows = rows(&index.search(&question(text)).unwrap());
    rows.sort_unstable();
    rows
}

/// A small generator of numbers, the same on every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn unit(&mut self, dimensions: usize) -> Vec<f32> {
        let values: Vec<f32> = (0..dimensions).map(|_| self.below(20_001) as f32 / 10_000.0 - 1.0).collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / length).collect()
    }
}
