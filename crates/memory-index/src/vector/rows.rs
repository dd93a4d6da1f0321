//! The rows of the vector table.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use memory_core::{Error, Result};

use super::fault::{arrow_fault, malformed};
use crate::entry::{EntryKey, IndexEntry};

pub(super) const KEY: &str = "key";
pub(super) const REVISION: &str = "revision";
pub(super) const KIND: &str = "kind";
pub(super) const AT: &str = "at";
pub(super) const SCOPE: &str = "scope";
pub(super) const SESSION: &str = "session";
pub(super) const CATEGORY: &str = "category";
pub(super) const TAGS: &str = "tags";
pub(super) const VECTOR: &str = "vector";

/// Stands around every tag in the column of tags, and in no tag.
const TAG_FRAME: char = '\u{1F}';

pub(super) fn schema(dimensions: usize) -> Result<SchemaRef> {
    let width = i32::try_from(dimensions).ok().filter(|width| *width > 0);
    let width = width.ok_or_else(|| Error::invalid(format!("a vector cannot have {dimensions} dimensions")))?;
    // Half precision would save 256 bytes a row, and cost ten times the time of a search: processors without instructions
    // for it convert every number one by one.
    let component = Arc::new(Field::new("item", DataType::Float32, true));
    Ok(Arc::new(Schema::new(vec![
        Field::new(KEY, DataType::Int64, false),
        Field::new(REVISION, DataType::Int64, false),
        Field::new(KIND, DataType::Int64, false),
        Field::new(AT, DataType::Int64, false),
        Field::new(SCOPE, DataType::Utf8, false),
        Field::new(SESSION, DataType::Utf8, true),
        Field::new(CATEGORY, DataType::Utf8, true),
        Field::new(TAGS, DataType::Utf8, false),
        Field::new(VECTOR, DataType::FixedSizeList(component, width), false),
    ])))
}

/// How a tag appears in the column of tags.
pub(super) fn tag_mark(tag: &str) -> String {
    let tag = tag.replace(TAG_FRAME, "\u{FFFD}");
    format!("{TAG_FRAME}{tag}{TAG_FRAME}")
}

/// The column of tags: every tag between two frames, neighbours sharing one.
fn tag_column(tags: &[String]) -> String {
    let mut column = String::new();
    for tag in tags {
        column.truncate(column.len().saturating_sub(TAG_FRAME.len_utf8()));
        column.push_str(&tag_mark(tag));
    }
    column
}

/// Entries with a vector as one batch.
pub(super) fn batch(schema: &SchemaRef, dimensions: usize, entries: &[&IndexEntry]) -> Result<RecordBatch> {
    let numbers = |value: fn(&IndexEntry) -> i64| -> ArrayRef {
        Arc::new(entries.iter().map(|entry| value(entry)).collect::<Int64Array>())
    };
    let texts = |value: fn(&IndexEntry) -> Option<&str>| -> ArrayRef {
        Arc::new(entries.iter().map(|entry| value(entry)).collect::<StringArray>())
    };
    let tags: StringArray = entries.iter().map(|entry| Some(tag_column(&entry.tags))).collect();
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), schema_width(dimensions));
    for entry in entries {
        for value in entry.vector.iter().flatten() {
            vectors.values().append_value(*value);
        }
        vectors.append(true);
    }
    RecordBatch::try_new(
        schema.clone(),
        vec![
            numbers(|entry| entry.key.as_u64().cast_signed()),
            numbers(|entry| i64::try_from(entry.revision).unwrap_or(i64::MAX)),
            numbers(|entry| i64::from(entry.kind() as u8)),
            numbers(|entry| entry.at),
            texts(|entry| Some(&entry.scope)),
            texts(|entry| entry.session.as_deref()),
            texts(|entry| entry.category.as_deref()),
            Arc::new(tags),
            Arc::new(vectors.finish()),
        ],
    )
    .map_err(arrow_fault)
}

fn schema_width(dimensions: usize) -> i32 {
    i32::try_from(dimensions).unwrap_or(i32::MAX)
}

/// The tags in a value of the column of tags.
pub(super) fn tags(column: &str) -> impl Iterator<Item = &str> {
    column
        .strip_prefix(TAG_FRAME)
        .and_then(|rest| rest.strip_suffix(TAG_FRAME))
        .into_iter()
        .flat_map(|tags| tags.split(TAG_FRAME))
}

/// The keys of a batch.
pub(super) fn keys(batch: &RecordBatch) -> Result<Vec<EntryKey>> {
    integers(batch, KEY)?.values().iter().map(|key| EntryKey::from_u64(key.cast_unsigned())).collect()
}

/// A column of whole numbers.
pub(super) fn integers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a PrimitiveArray<Int64Type>> {
    column(batch, name)?.as_primitive_opt().ok_or_else(|| malformed(name))
}

/// A column of texts, some of which may be missing.
pub(super) fn strings<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a StringArray> {
    column(batch, name)?.as_string_opt().ok_or_else(|| malformed(name))
}

/// The components of all vectors of a batch, one after the other.
pub(super) fn components(batch: &RecordBatch, dimensions: usize) -> Result<&[f32]> {
    let list = column(batch, VECTOR)?.as_fixed_size_list_opt().ok_or_else(|| malformed(VECTOR))?;
    let values = list.values().as_primitive_opt::<Float32Type>().ok_or_else(|| malformed(VECTOR))?;
    let start = list.offset() * dimensions;
    values.values().get(start..start + list.len() * dimensions).ok_or_else(|| malformed(VECTOR))
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| malformed(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_survive_their_column() {
        for wanted in [vec![], vec!["a"], vec!["a", "b"], vec!["", "标签", ""]] {
            let owned: Vec<String> = wanted.iter().map(|tag| (*tag).to_owned()).collect();
            let column = tag_column(&owned);
            assert_eq!(tags(&column).collect::<Vec<_>>(), wanted);
            assert!(owned.iter().all(|tag| column.contains(&tag_mark(tag))));
        }
        assert!(!tag_column(&["ab".to_owned()]).contains(&tag_mark("a")));
        assert!(!tag_column(&["a".to_owned(), "b".to_owned()]).contains(&tag_mark("")));
    }
}
