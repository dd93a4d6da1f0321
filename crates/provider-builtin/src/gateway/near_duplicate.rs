//! Whether two short memories say the same thing in nearly the same words.
//!
//! A memory wrongly taken for a duplicate is lost, one wrongly kept is a little noise. So likeness alone is never enough:
//! one text must hold all words of the other in the same order, and what it adds must carry no number, negation, name
//! or quotation.

mod words;

use std::collections::BTreeSet;

use super::normalise::{canonical, content_hash};

use self::words::{Word, quotations, words_of};

/// Likeness from which two memories count as the same, unless configured otherwise.
pub const DEFAULT_THRESHOLD: f64 = 0.75;

/// Characters in a shingle.
const SHINGLE: usize = 3;
/// Keys of a fingerprint, and how many minima make one: two texts with likeness 0.75 share a key with probability
/// 1 - (1 - 0.75^3)^8 = 0.985, two with likeness 0.1 with 0.008.
const KEYS: usize = 8;
const MINIMA_IN_KEY: usize = 3;

/// What must be known of a text to compare it; made once, compared often.
#[derive(Debug, Clone, PartialEq)]
pub struct Fingerprint {
    hash: String,
    words: Vec<Word>,
    shingles: BTreeSet<u64>,
    quotations: BTreeSet<String>,
}

/// Why two texts that look alike are not the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A number, date or time differs.
    Number,
    /// One denies what the other says.
    Negation,
    /// A name differs.
    Name,
    /// A text in quotation marks differs.
    Quotation,
    /// Both have words that the other has not, or the order differs.
    Words,
    /// They are not alike enough.
    Likeness,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same but for case, punctuation and spaces.
    Exact,
    /// The same in other words.
    Near,
    /// Two different statements.
    Different(Guard),
}

/// How two texts relate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Likeness of the two in 0..=1: shared shingles over all shingles (Jaccard).
    pub similarity: f64,
    /// Whether they say the same.
    pub verdict: Verdict,
    /// Whether the second text has words that the first has not, so that keeping the second loses nothing.
    pub second_adds: bool,
}

impl Comparison {
    /// True when only one of the two need be kept.
    pub fn is_duplicate(&self) -> bool {
        matches!(self.verdict, Verdict::Exact | Verdict::Near)
    }
}

impl Fingerprint {
    /// The fingerprint of `text`.
    pub fn new(text: &str) -> Self {
        let words = words_of(text);
        let content: String = words.iter().map(|word| word.stem.as_str()).collect::<Vec<_>>().join(" ");
        // Text of a script without spaces is compared without the spaces between its characters.
        let content = canonical(&content);
        let content = if content.is_empty() { canonical(text) } else { content };
        Self { hash: content_hash(text), shingles: shingles(&content), words, quotations: quotations(text) }
    }

    /// The hash of the canonical form: equal for exact duplicates.
    pub fn content_hash(&self) -> &str {
        &self.hash
    }

    /// Keys to look up candidates by: texts that are nearly the same almost surely share one (min-hash). The same text
    /// gives the same keys in every version of the program.
    pub fn keys(&self) -> [i64; KEYS] {
        std::array::from_fn(|key| {
            let mut combined = mix(key as u64);
            for row in 0..MINIMA_IN_KEY {
                let seed = mix((key * MINIMA_IN_KEY + row) as u64 + 1);
                let minimum = self.shingles.iter().map(|shingle| mix(shingle ^ seed)).min().unwrap_or(0);
                combined = mix(combined ^ minimum);
            }
            i64::from_ne_bytes(combined.to_ne_bytes())
        })
    }

    /// Compares two texts; `threshold` is the likeness in 0..=1 from which they count as the same.
    pub fn compare(&self, second: &Self, threshold: f64) -> Comparison {
        let similarity = jaccard(&self.shingles, &second.shingles);
        let second_adds = second.words.len() > self.words.len();
        let verdict = if self.hash == second.hash {
            Verdict::Exact
        } else {
            self.difference(second, similarity, threshold).map_or(Verdict::Near, Verdict::Different)
        };
        let similarity = if verdict == Verdict::Exact { 1.0 } else { similarity };
        Comparison { similarity, verdict, second_adds }
    }

    fn difference(&self, second: &Self, similarity: f64, threshold: f64) -> Option<Guard> {
        for guard in [Guard::Number, Guard::Negation] {
            let guarded = |words: &[Word]| -> Vec<String> {
                words.iter().filter(|word| word.guard == Some(guard)).map(|word| word.stem.clone()).collect()
            };
            if guarded(&self.words) != guarded(&second.words) {
                return Some(guard);
            }
        }
        // A name may be written small on the other side, but it must be there.
        let lacks_name = |words: &[Word], others: &[Word]| {
            let mut names = words.iter().filter(|word| word.guard == Some(Guard::Name));
            names.any(|name| !others.iter().any(|other| other.stem == name.stem))
        };
        if lacks_name(&self.words, &second.words) || lacks_name(&second.words, &self.words) {
            return Some(Guard::Name);
        }
        if self.quotations != second.quotations {
            return Some(Guard::Quotation);
        }
        let is_longer = self.words.len() > second.words.len();
        let (short, long) = if is_longer { (&second.words, &self.words) } else { (&self.words, &second.words) };
        let mut rest = long.iter();
        if !short.iter().all(|word| rest.any(|other| other.stem == word.stem)) {
            return Some(Guard::Words);
        }
        (similarity < threshold).then_some(Guard::Likeness)
    }
}

/// Compares two texts with the default threshold.
pub fn compare(first: &str, second: &str) -> Comparison {
    Fingerprint::new(first).compare(&Fingerprint::new(second), DEFAULT_THRESHOLD)
}

/// Hashes of all runs of three characters, with a space before and after the text.
fn shingles(form: &str) -> BTreeSet<u64> {
    let characters: Vec<char> = std::iter::once(' ').chain(form.chars()).chain(std::iter::once(' ')).collect();
    characters
        .windows(SHINGLE.min(characters.len()))
        .map(|window| window.iter().fold(0, |hash, character| mix(hash ^ u64::from(u32::from(*character)))))
        .collect()
}

fn jaccard(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// The finaliser of SplitMix64: spreads every bit of the input over the whole output.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests;
