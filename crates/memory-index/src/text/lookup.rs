//! From keys to documents and back.

use memory_core::Result;
use tantivy::columnar::Column;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, DocSet, Searcher, SegmentReader, TERMINATED};

use super::fault::{fault, io_fault};
use super::schema::{Fields, KEY, REVISION};
use crate::entry::EntryKey;

/// Whether `doc` has not been deleted.
pub(super) fn is_alive(reader: &SegmentReader, doc: DocId) -> bool {
    reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
}

/// Where each of `keys` stands, nothing for those that are not in the index.
pub(super) fn locate(searcher: &Searcher, fields: &Fields, keys: &[EntryKey]) -> Result<Vec<Option<DocAddress>>> {
    let mut addresses = vec![None; keys.len()];
    for (ordinal, reader) in searcher.segment_readers().iter().enumerate() {
        let column = keys_of(reader)?;
        let range = column.min_value()..=column.max_value();
        let index = reader.inverted_index(fields.key).map_err(fault)?;
        for (key, address) in keys.iter().zip(&mut addresses) {
            if address.is_some() || !range.contains(&key.as_u64()) {
                continue;
            }
            let term = fields.key_term(*key);
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic).map_err(io_fault)? else {
                continue;
            };
            let mut doc = postings.doc();
            while doc != TERMINATED && !is_alive(reader, doc) {
                doc = postings.advance();
            }
            if doc != TERMINATED {
                *address = Some(DocAddress::new(ordinal as u32, doc));
            }
        }
    }
    Ok(addresses)
}

/// The key of every document of a segment.
pub(super) fn keys_of(reader: &SegmentReader) -> Result<Column<u64>> {
    reader.fast_fields().u64(KEY).map_err(fault)
}

/// The revision of a document.
pub(super) fn revision(searcher: &Searcher, address: DocAddress) -> Result<Option<u64>> {
    let column = searcher.segment_reader(address.segment_ord).fast_fields().u64(REVISION).map_err(fault)?;
    Ok(column.first(address.doc_id))
}
