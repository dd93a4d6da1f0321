//! The embedder over a token table.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use memory_core::{Error, Result};

use super::segment::{Segmentation, Segmenter};
use super::table::StaticTable;
use crate::embedder::{EmbedCost, Embedder, Purpose, normalise};
use crate::late_interaction::LateInteraction;

/// Texts embedded before other tasks of the runtime get a turn: about ten milliseconds of work.
const TEXTS_BETWEEN_YIELDS: usize = 256;

static ENGLISH: LazyLock<std::result::Result<Arc<StaticTable>, String>> = LazyLock::new(|| {
    let bytes: &'static [u8] = include_bytes!("../../assets/static-en.bin");
    StaticTable::parse(bytes).map(Arc::new).map_err(|error| error.to_string())
});

static CHINESE: LazyLock<std::result::Result<Arc<StaticTable>, String>> = LazyLock::new(|| {
    let bytes: &'static [u8] = include_bytes!("../../assets/static-zh.bin");
    StaticTable::parse(bytes).map(Arc::new).map_err(|error| error.to_string())
});

/// Embeds a text as the normalised sum of its tokens' rows. Covers the script of its table only: texts in other scripts
/// get no vector, and of a mixed text only the covered part counts.
#[derive(Debug, Clone)]
pub struct StaticEmbedder {
    pub(super) table: Arc<StaticTable>,
    pub(super) segmentation: Segmentation,
    id: String,
}

impl StaticEmbedder {
    /// The bundled English table. The first call parses it (milliseconds), later ones share it.
    pub fn english() -> Result<Self> {
        match &*ENGLISH {
            Ok(table) => Ok(Self::latin(table.clone())),
            Err(reason) => Err(Error::unexpected(format!("the bundled English table cannot be used: {reason}"))),
        }
    }

    /// The bundled table of Chinese words. Its vectors add too little to be worth an index of their own; search uses it
    /// for late interaction only.
    pub fn chinese() -> Result<Self> {
        match &*CHINESE {
            Ok(table) => Ok(Self::han(table.clone())),
            Err(reason) => Err(Error::unexpected(format!("the bundled Chinese table cannot be used: {reason}"))),
        }
    }

    /// A table of WordPiece tokens for text in Latin script.
    #[must_use]
    pub fn latin(table: Arc<StaticTable>) -> Self {
        Self::new(table, Segmentation::LatinWordPiece, "latin-wordpiece")
    }

    /// A table of Chinese words, cut by forward maximum matching. Its vectors are a space of their own, never to be
    /// mixed with those of a Latin table.
    #[must_use]
    pub fn han(table: Arc<StaticTable>) -> Self {
        Self::new(table, Segmentation::HanWords, "han-words")
    }

    fn new(table: Arc<StaticTable>, segmentation: Segmentation, name: &str) -> Self {
        let id = format!("static:{name}:{:016x}:{}:sum:plain", table.fingerprint(), table.dimensions());
        Self { table, segmentation, id }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &StaticTable {
        &self.table
    }

    /// The vector of one text, at once; `None` when the table does not cover it.
    #[must_use]
    pub fn embed_text(&self, text: &str) -> Option<Vec<f32>> {
        self.embed_with(&mut Segmenter::default(), &mut Vec::new(), text)
    }

    fn embed_with(&self, segmenter: &mut Segmenter, rows: &mut Vec<u32>, text: &str) -> Option<Vec<f32>> {
        if !segmenter.split(&self.table, self.segmentation, text, rows) {
            return None;
        }
        let mut sum = vec![0.0; self.table.dimensions()];
        for row in rows {
            let scale = self.table.scale(*row);
            for (sum, number) in sum.iter_mut().zip(self.table.numbers(*row)) {
                *sum += scale * f32::from(number);
            }
        }
        normalise(sum)
    }
}

#[async_trait]
impl Embedder for StaticEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Cheap
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        let (mut segmenter, mut rows) = (Segmenter::default(), Vec::new());
        let mut vectors = Vec::with_capacity(texts.len());
        for (number, batch) in texts.chunks(TEXTS_BETWEEN_YIELDS).enumerate() {
            if number > 0 {
                tokio::task::yield_now().await;
            }
            vectors.extend(batch.iter().map(|text| self.embed_with(&mut segmenter, &mut rows, text)));
        }
        Ok(vectors)
    }

    fn late_interaction(&self) -> Option<Arc<dyn LateInteraction>> {
        Some(Arc::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table_bytes;
    use super::*;

    fn cosine(embedder: &StaticEmbedder, left: &str, right: &str) -> f32 {
        let (left, right) = (embedder.embed_text(left).unwrap(), embedder.embed_text(right).unwrap());
        left.iter().zip(&right).map(|(left, right)| left * right).sum()
    }

    #[test]
    fn a_text_is_the_normalised_sum_of_its_rows() {
        let table = table_bytes(&[("a", 2.0, 1.0, &[1, 0]), ("b", 0.5, 1.0, &[0, 6]), ("x", 0.0, 1.0, &[0, 0])]);
        let embedder = StaticEmbedder::latin(Arc::new(StaticTable::parse(table).unwrap()));
        // 2 × (2, 0) + (0, 3) = (4, 3), of length 5.
        assert_eq!(embedder.embed_text("A b, a").unwrap(), [0.8, 0.6]);
        assert_eq!(embedder.embed_text("x"), None);
    }

    #[test]
    fn the_bundled_table_knows_related_words() {
        let english = StaticEmbedder::english().unwrap();
        let near = cosine(&english, "The cat sat on the sofa", "A kitten is resting on the couch");
        let far = cosine(&english, "The cat sat on the sofa", "Quarterly revenue grew by nine percent");
        assert!(near > far + 0.3, "{near} {far}");
        assert!(english.table().weight(english.table().find("revenue").unwrap()) > 1.0);
        assert_eq!(english.table().weight(english.table().find("the").unwrap()), 0.0);
    }

    #[test]
    fn the_english_table_is_never_asked_about_other_scripts() {
        let english = StaticEmbedder::english().unwrap();
        for text in ["我喜欢爬山", "東京タワー", "안녕하세요", "Привет", "2023年5月", "😀", ""]
        {
            assert_eq!(english.embed_text(text), None, "{text}");
        }
        assert_eq!(english.embed_text("我喜欢 Rust 语言"), english.embed_text("rust"));
    }

    #[test]
    fn the_fingerprint_tells_tables_apart() {
        let one = Arc::new(StaticTable::parse(table_bytes(&[("a", 1.0, 1.0, &[1])])).unwrap());
        let two = Arc::new(StaticTable::parse(table_bytes(&[("a", 1.0, 1.0, &[2])])).unwrap());
        let ids = [
            StaticEmbedder::latin(one.clone()).id().to_owned(),
            StaticEmbedder::han(one).id().to_owned(),
            StaticEmbedder::latin(two).id().to_owned(),
        ];
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
        assert_eq!(StaticEmbedder::english().unwrap().id(), StaticEmbedder::english().unwrap().id());
    }

    #[tokio::test]
    async fn a_batch_keeps_its_order() {
        let english = StaticEmbedder::english().unwrap();
        let texts: Vec<String> = (0..600).map(|number| format!("note number {number} about cats 猫")).collect();
        let vectors = english.embed(&texts, Purpose::Passage).await.unwrap();
        assert_eq!(vectors.len(), texts.len());
        assert_eq!(vectors[599], english.embed_text(&texts[599]));
        assert_ne!(vectors[599], vectors[1]);
    }
}
