//! A deterministic embedder without a model, for tests: shared words and shared characters make vectors similar.

use async_trait::async_trait;
use memory_core::Result;
use unicode_normalization::UnicodeNormalization;

use crate::embedder::{EmbedCost, Embedder, Purpose, normalise};
use crate::fingerprint;

const DEFAULT_DIMENSIONS: usize = 256;
const WORD_WEIGHT: f32 = 1.0;
const GRAM_WEIGHT: f32 = 0.5;

/// Feature hashing (Weinberger et al. 2009) of words and of character bigrams and trigrams, in any script. The same
/// vector on every platform and in every version with the same [`Embedder::id`].
#[derive(Debug, Clone)]
pub struct HashEmbedder {
    dimensions: usize,
    id: String,
}

impl HashEmbedder {
    /// An embedder of that many dimensions, at least 1.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        let dimensions = dimensions.max(1);
        Self { dimensions, id: format!("hash:words+bigrams+trigrams:1:{dimensions}:sum:plain") }
    }

    /// The vector of one text; `None` for a text without letters and digits.
    #[must_use]
    pub fn embed_text(&self, text: &str) -> Option<Vec<f32>> {
        let mut vector = vec![0.0; self.dimensions];
        let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
        for word in folded.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
            self.add(&mut vector, "w", word, WORD_WEIGHT);
            let mut ends: Vec<usize> = word.char_indices().map(|(start, _)| start).collect();
            ends.push(word.len());
            for size in [2, 3] {
                for (start, end) in ends.iter().zip(ends.iter().skip(size)) {
                    self.add(&mut vector, "g", word.get(*start..*end).unwrap_or_default(), GRAM_WEIGHT);
                }
            }
        }
        normalise(vector)
    }

    fn add(&self, vector: &mut [f32], kind: &str, feature: &str, weight: f32) {
        let hash = fingerprint::of_bytes(format!("{kind}{feature}").as_bytes());
        let sign = if hash >> 63 == 0 { weight } else { -weight };
        // The low bits of a multiplicative hash are its weakest; the upper half picks the place.
        let place = (hash >> 20) as usize % self.dimensions;
        if let Some(value) = vector.get_mut(place) {
            *value += sign;
        }
    }
}

impl Default for HashEmbedder {
    fn default() -> Self {
        Self::new(DEFAULT_DIMENSIONS)
    }
}

#[async_trait]
impl Embedder for HashEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Cheap
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        Ok(texts.iter().map(|text| self.embed_text(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(left: &str, right: &str) -> f32 {
        let embedder = HashEmbedder::default();
        let (left, right) = (embedder.embed_text(left).unwrap(), embedder.embed_text(right).unwrap());
        left.iter().zip(&right).map(|(left, right)| left * right).sum()
    }

    #[test]
    fn shared_words_make_texts_similar_in_any_script() {
        assert!(
            cosine("the quick brown fox", "a quick brown dog") > cosine("the quick brown fox", "entirely unrelated")
        );
        assert!(cosine("我喜欢在周末爬山", "他喜欢爬山") > cosine("我喜欢在周末爬山", "发票已经开好了"));
        assert!(cosine("東京タワーの写真", "東京タワー") > cosine("東京タワーの写真", "大阪城"));
        assert!(cosine("안녕하세요 여러분", "안녕하세요") > cosine("안녕하세요 여러분", "고양이"));
        assert!((cosine("Ｒｕｓｔ", "rust") - 1.0).abs() < 1e-6);
        assert_eq!(HashEmbedder::default().embed_text("😀 …"), None);
    }

    #[test]
    fn vectors_stay_the_same_from_version_to_version() {
        let vector = HashEmbedder::new(8).embed_text("memory 记忆").unwrap();
        let rounded: Vec<i32> = vector.iter().map(|value| (value * 1000.0).round() as i32).collect();
        assert_eq!(rounded, GOLDEN);
    }

    /// Change the version in the id when this must change.
    const GOLDEN: [i32; 8] = [730, 0, 365, 0, -365, -183, -365, -183];

    proptest! {
        #[test]
        fn any_text_gives_a_unit_vector_or_none(text in any::<String>(), dimensions in 0usize..40) {
            let embedder = HashEmbedder::new(dimensions);
            if let Some(vector) = embedder.embed_text(&text) {
                prop_assert_eq!(vector.len(), embedder.dimensions());
                let length: f32 = vector.iter().map(|value| value * value).sum();
                prop_assert!((length - 1.0).abs() < 1e-4);
            }
        }
    }
}
