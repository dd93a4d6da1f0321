//! The parsed table: rows of int8 numbers, scales, weights, and a lookup from token to row.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memory_core::{Error, ErrorKind, Result};

use crate::fingerprint;

const MAGIC: &[u8; 4] = b"MSTB";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
const MAXIMUM_DIMENSIONS: usize = 4096;

/// A token table, checked when parsed. The numbers and the tokens are read in place from the bytes.
pub struct StaticTable {
    bytes: Cow<'static, [u8]>,
    dimensions: usize,
    scales: Vec<f32>,
    weights: Vec<f32>,
    data: Range<usize>,
    vocabulary: Range<usize>,
    /// Where each token ends within the vocabulary; a newline follows.
    ends: Vec<u32>,
    /// Open addressing over a power of two of slots, at least twice the rows.
    slots: Vec<Slot>,
    longest: usize,
    fingerprint: u64,
}

/// A row and 32 bits of its token's hash, so that a wrong token is seldom compared.
#[derive(Clone, Copy, Default)]
struct Slot {
    row_plus_one: u32,
    tag: u32,
}

/// Where a token may stand: WordPiece marks one that continues a word with `##`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Start,
    Continuation,
}

/// FNV-1a, taken byte by byte so that all prefixes of a word are hashed in one pass.
#[derive(Clone, Copy)]
pub(super) struct TokenHash(u64);

impl TokenHash {
    pub(super) fn new(position: Position) -> Self {
        Self(match position {
            Position::Start => 0xcbf2_9ce4_8422_2325,
            Position::Continuation => 0x9e37_79b9_7f4a_7c15,
        })
    }

    pub(super) fn push(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn of(position: Position, bytes: &[u8]) -> Self {
        let mut hash = Self::new(position);
        bytes.iter().for_each(|byte| hash.push(*byte));
        hash
    }

    fn slot(self, mask: usize) -> usize {
        (self.0 ^ (self.0 >> 32)) as usize & mask
    }

    fn tag(self) -> u32 {
        (self.0 >> 24) as u32
    }
}

impl StaticTable {
    /// Parses a table from its bytes. Any bytes are safe to pass: what is not a whole, sane table is an error of kind
    /// [`ErrorKind::Corrupt`].
    pub fn parse(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        let bytes = bytes.into();
        let header = Header::read(&bytes)?;
        let scales = read_floats(&bytes, header.scales)?;
        let weights = read_floats(&bytes, header.weights)?;
        let text = bytes.get(header.vocabulary.clone()).unwrap_or_default();
        let text = std::str::from_utf8(text).map_err(|_| corrupt("its vocabulary is not UTF-8"))?;
        let mut ends = Vec::with_capacity(header.rows);
        ends.extend(text.bytes().zip(0u32..).filter(|(byte, _)| *byte == b'\n').map(|(_, end)| end));
        ends.push(text.len() as u32);
        if ends.len() != header.rows {
            return Err(corrupt(&format!("it has {} rows for {} tokens", header.rows, ends.len())));
        }
        let mut table = Self {
            dimensions: header.dimensions,
            scales,
            weights,
            data: header.data,
            vocabulary: header.vocabulary,
            slots: vec![Slot::default(); (ends.len() * 2).next_power_of_two()],
            ends,
            longest: 0,
            fingerprint: fingerprint::of_bytes(&bytes),
            bytes,
        };
        table.fill_slots();
        Ok(table)
    }

    /// Enters every token; of two equal ones the first counts.
    fn fill_slots(&mut self) {
        let mask = self.slots.len() - 1;
        for row in 0..self.rows() as u32 {
            let (position, token) = split_continuation(self.token_bytes(row));
            let (length, hash) = (token.len(), TokenHash::of(position, token));
            if length == 0 || self.find_hashed(hash, position, token).is_some() {
                continue;
            }
            self.longest = self.longest.max(length);
            let mut index = hash.slot(mask);
            while let Some(slot) = self.slots.get_mut(index) {
                if slot.row_plus_one == 0 {
                    *slot = Slot { row_plus_one: row + 1, tag: hash.tag() };
                    break;
                }
                index = (index + 1) & mask;
            }
        }
    }

    /// The number of tokens.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The width of a row.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// A hash of the whole content.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The token of a row, with the `##` of a continuation; empty for a row that does not exist.
    #[must_use]
    pub fn token(&self, row: u32) -> &str {
        std::str::from_utf8(self.token_bytes(row)).unwrap_or_default()
    }

    fn token_bytes(&self, row: u32) -> &[u8] {
        let row = row as usize;
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize + 1);
        let end = self.ends.get(row).map_or(start, |end| *end as usize);
        let from = self.vocabulary.start;
        self.bytes.get(from + start..from + end).unwrap_or_default()
    }

    /// The row of a token as the vocabulary writes it, `##` included.
    #[must_use]
    pub fn find(&self, token: &str) -> Option<u32> {
        let (position, bytes) = split_continuation(token.as_bytes());
        self.find_hashed(TokenHash::of(position, bytes), position, bytes)
    }

    /// The row of the token `bytes` at `position`, whose hash is known.
    pub(super) fn find_hashed(&self, hash: TokenHash, position: Position, bytes: &[u8]) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let (mut index, tag) = (hash.slot(mask), hash.tag());
        // At most half of the slots are taken, so an empty one ends every search.
        loop {
            let slot = self.slots.get(index)?;
            let row = slot.row_plus_one.checked_sub(1)?;
            if slot.tag == tag && split_continuation(self.token_bytes(row)) == (position, bytes) {
                return Some(row);
            }
            index = (index + 1) & mask;
        }
    }

    /// The importance of a token for late interaction; 0 for special tokens, punctuation and stop words.
    #[must_use]
    pub fn weight(&self, row: u32) -> f32 {
        self.weights.get(row as usize).copied().unwrap_or_default()
    }

    /// What the numbers of a row are multiplied by; 0 for a row without meaning.
    pub(super) fn scale(&self, row: u32) -> f32 {
        self.scales.get(row as usize).copied().unwrap_or_default()
    }

    /// The numbers of a row.
    pub(super) fn numbers(&self, row: u32) -> impl Iterator<Item = i8> {
        let start = self.data.start + row as usize * self.dimensions;
        self.bytes.get(start..start + self.dimensions).unwrap_or_default().iter().map(|byte| byte.cast_signed())
    }

    /// The length of the longest token in bytes, without `##`.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

impl fmt::Debug for StaticTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaticTable({} x {}, {:016x})", self.rows(), self.dimensions, self.fingerprint)
    }
}

/// Where the parts of a table lie; all ranges are within the bytes.
struct Header {
    rows: usize,
    dimensions: usize,
    scales: Range<usize>,
    weights: Range<usize>,
    data: Range<usize>,
    vocabulary: Range<usize>,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut words = bytes.get(..HEADER_BYTES).ok_or_else(|| corrupt("it is cut short"))?.as_chunks::<4>().0.iter();
        if words.next() != Some(MAGIC) {
            return Err(corrupt("it does not begin with MSTB"));
        }
        let mut number = || words.next().map_or(0, |word| u32::from_le_bytes(*word));
        let version = number();
        if version != VERSION {
            return Err(corrupt(&format!("its version is {version}, this program reads {VERSION}")));
        }
        let (rows, dimensions, vocabulary_bytes) = (number() as usize, number() as usize, number() as usize);
        if rows == 0 || !(1..=MAXIMUM_DIMENSIONS).contains(&dimensions) {
            return Err(corrupt(&format!("it claims {rows} rows of {dimensions} numbers")));
        }
        let mut end = HEADER_BYTES;
        let mut part = |length: Option<usize>| {
            let start = end;
            end = length.and_then(|length| start.checked_add(length)).ok_or_else(|| corrupt("its sizes overflow"))?;
            Ok::<_, Error>(start..end)
        };
        let scales = part(rows.checked_mul(4))?;
        let weights = part(rows.checked_mul(4))?;
        let data = part(rows.checked_mul(dimensions))?;
        let vocabulary = part(Some(vocabulary_bytes))?;
        if vocabulary.end != bytes.len() {
            return Err(corrupt(&format!("it has {} bytes instead of {}", bytes.len(), vocabulary.end)));
        }
        Ok(Self { rows, dimensions, scales, weights, data, vocabulary })
    }
}

fn read_floats(bytes: &[u8], range: Range<usize>) -> Result<Vec<f32>> {
    let (values, _) = bytes.get(range).unwrap_or_default().as_chunks::<4>();
    let values: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    if values.iter().all(|value| value.is_finite() && *value >= 0.0) {
        Ok(values)
    } else {
        Err(corrupt("a scale or a weight is negative or not finite"))
    }
}

fn split_continuation(token: &[u8]) -> (Position, &[u8]) {
    match token.strip_prefix(b"##") {
        Some(rest) if !rest.is_empty() => (Position::Continuation, rest),
        _ => (Position::Start, token),
    }
}

fn corrupt(reason: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the token table is damaged: {reason}"))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A table in the layout of the assets; each row is its numbers times `scale`.
    pub(in crate::static_table) fn table_bytes(rows: &[(&str, f32, f32, &[i8])]) -> Vec<u8> {
        let vocabulary = rows.iter().map(|row| row.0).collect::<Vec<_>>().join("\n");
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, rows.len() as u32, rows[0].3.len() as u32, vocabulary.len() as u32, 0, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        rows.iter().for_each(|row| bytes.extend(row.1.to_le_bytes()));
        rows.iter().for_each(|row| bytes.extend(row.2.to_le_bytes()));
        rows.iter().for_each(|row| bytes.extend(row.3.iter().map(|number| number.cast_unsigned())));
        bytes.extend(vocabulary.as_bytes());
        bytes
    }

    fn sample() -> Vec<u8> {
        table_bytes(&[
            ("[UNK]", 0.0, 0.0, &[0, 0]),
            ("play", 0.5, 7.0, &[3, -4]),
            ("##ing", 0.25, 1.0, &[0, 127]),
            ("##", 1.0, 0.0, &[-128, 1]),
            ("猫", 1.0, 2.0, &[1, 1]),
        ])
    }

    #[test]
    fn a_table_reads_back() {
        let table = StaticTable::parse(sample()).unwrap();
        assert_eq!((table.rows(), table.dimensions(), table.longest()), (5, 2, 5));
        for row in 0..5 {
            assert_eq!(table.find(table.token(row)), Some(row));
        }
        assert_eq!(table.token(2), "##ing");
        assert_eq!((table.scale(1), table.weight(1)), (0.5, 7.0));
        assert_eq!(table.numbers(3).collect::<Vec<_>>(), [-128, 1]);
        assert_eq!(table.find("ing"), None);
        assert_eq!(table.find(""), None);
        assert_eq!(table.token(5), "");
        assert_eq!(table.numbers(u32::MAX).count(), 0);
    }

    #[test]
    fn damage_is_named() {
        let bytes = sample();
        for (name, position, value) in
            [("MSTB", 0, 0), ("version", 4, 2), ("bytes instead of", 8, 4), ("claims 0", 8, 0)]
        {
            let mut damaged = bytes.clone();
            damaged[position] = value;
            let error = StaticTable::parse(damaged).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(name), "{error}");
        }
        let mut infinite = bytes.clone();
        infinite[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        assert!(StaticTable::parse(infinite).is_err());
        let mut newline = bytes;
        *newline.last_mut().unwrap() = b'\n';
        assert!(StaticTable::parse(newline).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(StaticTable::parse(bytes).is_err());
        }

        #[test]
        fn any_damage_is_safe(cut in 0usize..200, position in 0usize..200, value in any::<u8>()) {
            let mut bytes = sample();
            let length = bytes.len();
            if let Some(byte) = bytes.get_mut(position) {
                *byte = value;
            }
            bytes.truncate(cut.max(1).min(length));
            match StaticTable::parse(bytes.clone()) {
                Ok(table) => {
                    prop_assert_eq!(bytes.len(), length);
                    for row in 0..=table.rows() as u32 {
                        let _ = table.find(table.token(row));
                        prop_assert!(table.numbers(row).count() <= table.dimensions());
                    }
                }
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
            }
        }
    }
}
