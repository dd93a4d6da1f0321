//! The vectors of the rows in memory: as they are, or as one signed byte a component.

use std::ops::Range;

use crate::ranking::Best;

/// The largest code: codes are symmetric around zero.
const LARGEST_CODE: f32 = 127.0;
/// 1.5 · 2^23. Adding it to a number below 2^22 leaves the nearest whole number in the low bits: rounding that every
/// processor does for several numbers at once, which `f32::round` is not.
const ROUNDING: f32 = 12_582_912.0;

/// How vectors are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are: four bytes a component.
    Exact,
    /// As multiples of a 127th of the largest component of the row: one byte a component. A cosine is off by about a
    /// thousandth of the length of the row at most.
    Coded,
}

/// The vectors of all rows, one after the other.
pub(super) enum Vectors {
    Exact { components: Vec<f32> },
    Coded { codes: Vec<i8>, scales: Vec<f32> },
}

/// A vector to compare with, ready for both forms.
pub(super) struct Query<'a> {
    exact: &'a [f32],
    /// Sixteen bits a component, so that the error of the rows is the only one that counts.
    codes: Vec<i16>,
    scale: f32,
}

impl<'a> Query<'a> {
    pub(super) fn new(vector: &'a [f32]) -> Self {
        // No sum of products can overflow.
        let products = LARGEST_CODE as usize * vector.len().max(1);
        let largest = (i32::MAX as usize / products).clamp(1, i16::MAX as usize) as f32;
        let unit = largest_component(vector) / largest;
        let factor = if unit > 0.0 { unit.recip() } else { 0.0 };
        Self { exact: vector, codes: vector.iter().map(|value| rounded(value * factor) as i16).collect(), scale: unit }
    }
}

impl Vectors {
    pub(super) fn with_capacity(form: Form, dimensions: usize, rows: usize) -> Self {
        match form {
            Form::Exact => Self::Exact { components: Vec::with_capacity(rows * dimensions) },
            Form::Coded => {
                Self::Coded { codes: Vec::with_capacity(rows * dimensions), scales: Vec::with_capacity(rows) }
            }
        }
    }

    pub(super) fn form(&self) -> Form {
        match self {
            Self::Exact { .. } => Form::Exact,
            Self::Coded { .. } => Form::Coded,
        }
    }

    pub(super) fn push(&mut self, vector: &[f32]) {
        match self {
            Self::Exact { components } => components.extend_from_slice(vector),
            Self::Coded { codes, scales } => {
                let unit = largest_component(vector) / LARGEST_CODE;
                let factor = if unit > 0.0 { unit.recip() } else { 0.0 };
                codes.extend(vector.iter().map(|value| rounded(value * factor) as i8));
                scales.push(unit);
            }
        }
    }

    /// Puts the last vector in the place of the one at `place`.
    pub(super) fn swap_remove(&mut self, dimensions: usize, place: usize) {
        match self {
            Self::Exact { components } => move_last(components, dimensions, place),
            Self::Coded { codes, scales } => {
                move_last(codes, dimensions, place);
                scales.swap_remove(place);
            }
        }
    }

    pub(super) fn score(&self, query: &Query<'_>, place: usize) -> Option<f32> {
        let dimensions = query.exact.len();
        let range = place * dimensions..(place + 1) * dimensions;
        match self {
            Self::Exact { components } => Some(dot(query.exact, components.get(range)?)),
            Self::Coded { codes, scales } => {
                let mut wide = vec![0; dimensions];
                Some(dot_coded(query, codes.get(range)?, *scales.get(place)?, &mut wide))
            }
        }
    }

    /// Offers every row in `range` whose key is given: `None` stands for a row that the filter does not admit.
    pub(super) fn scan(
        &self,
        query: &Query<'_>,
        range: Range<usize>,
        keys: impl Iterator<Item = Option<u64>>,
        best: &mut Best,
    ) {
        let dimensions = query.exact.len();
        let part = range.start * dimensions..range.end * dimensions;
        match self {
            Self::Exact { components } => {
                let vectors = components.get(part).unwrap_or_default().chunks_exact(dimensions);
                for (key, vector) in keys.zip(vectors) {
                    if let Some(key) = key {
                        best.offer(dot(query.exact, vector), key);
                    }
                }
            }
            Self::Coded { codes, scales } => {
                let vectors = codes.get(part).unwrap_or_default().chunks_exact(dimensions);
                let mut wide = vec![0; dimensions];
                for ((key, codes), scale) in keys.zip(vectors).zip(scales.get(range).unwrap_or_default()) {
                    if let Some(key) = key {
                        best.offer(dot_coded(query, codes, *scale, &mut wide), key);
                    }
                }
            }
        }
    }
}

fn largest_component(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// `value`, the amount of which is below 2^22, as a whole number in the low bits; ties go to the even one.
fn rounded(value: f32) -> u32 {
    (value + ROUNDING).to_bits()
}

fn move_last<T: Copy>(values: &mut Vec<T>, dimensions: usize, place: usize) {
    let last = values.len() - dimensions;
    values.copy_within(last.., place * dimensions);
    values.truncate(last);
}

/// The dot product, in eight independent sums so that the processor can work on several at once.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| a * b).sum();
    for (left, right) in left.zip(right) {
        for ((sum, a), b) in sums.iter_mut().zip(left).zip(right) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// The dot product of codes. Widening them first, in a pass of its own, lets the processor read sixteen at once: in one
/// pass a scan takes twice as long.
fn dot_coded(query: &Query<'_>, codes: &[i8], scale: f32, wide: &mut [i16]) -> f32 {
    for (wide, code) in wide.iter_mut().zip(codes) {
        *wide = i16::from(*code);
    }
    let sum: i32 = query.codes.iter().zip(&*wide).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    sum as f32 * (query.scale * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coded(vector: &[f32]) -> Vectors {
        let mut vectors = Vectors::with_capacity(Form::Coded, vector.len(), 1);
        vectors.push(vector);
        vectors
    }

    #[test]
    fn codes_are_the_nearest_multiples_of_their_scale() {
        let vector = [0.5, -0.5, 0.25, 0.001, -0.003, 0.0];
        let Vectors::Coded { codes, scales } = coded(&vector) else { panic!("another form") };
        assert_eq!(codes, [127, -127, 64, 0, -1, 0]);
        for (value, code) in vector.iter().zip(&codes) {
            assert!((f32::from(*code) * scales[0] - value).abs() <= scales[0] * 0.501);
        }
    }

    #[test]
    fn no_width_overflows_and_nothing_divides_by_zero() {
        for dimensions in [1, 7, 128, 4_096, 200_000] {
            for sign in [1.0, -1.0] {
                let vector = vec![sign / (dimensions as f32).sqrt(); dimensions];
                let score = coded(&vector).score(&Query::new(&vector), 0).unwrap();
                assert!((score - 1.0).abs() < 0.02, "{dimensions}: {score}");
            }
        }
        for (row, question) in [([0.0; 3], [1.0; 3]), ([1.0; 3], [0.0; 3])] {
            assert_eq!(coded(&row).score(&Query::new(&question), 0), Some(0.0));
        }
    }
}
