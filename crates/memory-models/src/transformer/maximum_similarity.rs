//! Late interaction over the model's last hidden states: a strong re-ranker, at the cost of running every text.

use memory_core::Result;

use super::embedder::{Shared, TransformerEmbedder};
use super::model::{Model, Sequence};
use crate::embedder::Purpose;
use crate::late_interaction::{LateInteraction, MAXIMUM_QUERY_TOKENS, QueryTokens};
use crate::script::{Script, script_of};
use crate::static_table::StaticEmbedder;

/// Some models (the E5 family) press all states into a narrow cone, where every cosine is high. Taking off what states
/// have in common spreads them; this share of common length is where it begins to matter.
const NARROW_CONE: f32 = 0.5;

/// Everyday sentences from which the common state is taken.
const SAMPLE: &[&str] = &[
    "The meeting moved to Thursday afternoon because two people were ill.",
    "She bought fresh bread, olives and a bottle of water on her way home.",
    "Our server ran out of disk space and the backup failed last night.",
    "Do you remember the small hotel near the lake where we stayed?",
    "The doctor said that he should walk more and drink less coffee.",
    "I finished the book about whales, and now I am reading poems.",
    "会议改到了星期四下午，因为有两个人生病了。",
    "她在回家的路上买了面包、水果和一瓶水。",
    "服务器的磁盘满了，昨晚的备份没有成功。",
    "你还记得我们住过的湖边那家小旅馆吗？",
    "医生说他应该多走路，少喝咖啡。",
    "我看完了那本关于鲸鱼的书，现在开始读诗。",
];

impl LateInteraction for TransformerEmbedder {
    fn prepare_query(&self, text: &str) -> Result<QueryTokens> {
        let model = self.shared.model()?;
        let Some(states) = self.shared.token_states(&model, &[text], Purpose::Query)?.into_iter().next().flatten()
        else {
            return Ok(QueryTokens::default());
        };
        let table = StaticEmbedder::english()?;
        let mut query = QueryTokens::default();
        for (id, vector) in states.ids.into_iter().zip(states.vectors.chunks_exact(model.dimensions)) {
            let piece = model.piece(id);
            let weight = weight(&table, &piece, || model.surprise(id));
            if weight > 0.0 && query.ids.len() < MAXIMUM_QUERY_TOKENS {
                query.pieces.push(piece);
                query.ids.push(id);
                query.weights.push(weight);
                query.vectors.extend(vector);
            }
        }
        Ok(query)
    }

    fn similarities(&self, query: &QueryTokens, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if query.is_empty() {
            return Ok(vec![vec![0.0; query.ids.len()]; texts.len()]);
        }
        let model = self.shared.model()?;
        let texts = self.shared.token_states(&model, texts, Purpose::Passage)?;
        let best_of = |states: &Option<TokenStates>| {
            let others = states.as_ref().map_or(&[][..], |states| &states.vectors);
            let tokens = query.vectors.chunks_exact(model.dimensions);
            tokens
                .map(|token| {
                    let similarities = others.chunks_exact(model.dimensions).map(|other| dot(token, other));
                    similarities.fold(0.0, f32::max)
                })
                .collect()
        };
        Ok(texts.iter().map(best_of).collect())
    }
}

/// The tokens of a text without the model's own and without those of the prefix; vectors of length 1.
#[derive(Default)]
struct TokenStates {
    ids: Vec<u32>,
    vectors: Vec<f32>,
}

impl Shared {
    fn token_states(&self, model: &Model, texts: &[&str], purpose: Purpose) -> Result<Vec<Option<TokenStates>>> {
        let common = match self.common_state.get() {
            Some(common) => common,
            None => {
                let common = self.find_common_state(model)?;
                self.common_state.get_or_init(|| common)
            }
        };
        let mut states: Vec<Option<TokenStates>> = texts.iter().map(|_| None).collect();
        self.each_token(model, texts, purpose, |place, id, vector| {
            let Some(slot) = states.get_mut(place) else { return };
            let states = slot.get_or_insert_default();
            states.ids.push(id);
            let start = states.vectors.len();
            states.vectors.extend(vector);
            let added = states.vectors.get_mut(start..).unwrap_or_default();
            scale_to_unit(added);
            if !common.is_empty() {
                added.iter_mut().zip(common).for_each(|(state, common)| *state -= common);
                scale_to_unit(added);
            }
        })?;
        Ok(states)
    }

    /// The mean unit state over the sample; empty when states share little.
    fn find_common_state(&self, model: &Model) -> Result<Vec<f32>> {
        let (mut sum, mut count) = (vec![0.0; model.dimensions], 0.0);
        self.each_token(model, SAMPLE, Purpose::Passage, |_, _, vector| {
            let mut unit = vector.to_vec();
            scale_to_unit(&mut unit);
            sum.iter_mut().zip(&unit).for_each(|(sum, state)| *sum += state);
            count += 1.0;
        })?;
        if count > 0.0 {
            sum.iter_mut().for_each(|value| *value /= count);
        }
        tracing::debug!(length = dot(&sum, &sum).sqrt(), "common token state");
        Ok(if dot(&sum, &sum).sqrt() > NARROW_CONE { sum } else { Vec::new() })
    }

    /// Calls `each(index of the text, id, state)` for the tokens of the texts the model covers.
    fn each_token(
        &self,
        model: &Model,
        texts: &[&str],
        purpose: Purpose,
        mut each: impl FnMut(usize, u32, &[f32]),
    ) -> Result<()> {
        let prefix = self.settings.template.prefix(purpose);
        let own = |sequence: &Sequence| sequence.special.iter().filter(|special| !**special).count();
        let skip = if prefix.is_empty() { 0 } else { own(&model.tokenise(prefix.trim_end(), "")?) };
        let (mut places, mut sequences) = (Vec::new(), Vec::new());
        for (place, text) in texts.iter().enumerate().filter(|(_, text)| model.coverage.covers(text)) {
            places.push(place);
            sequences.push(model.tokenise(prefix, text)?);
        }
        model.states(&sequences, |index, states| {
            let (Some(place), Some(sequence)) = (places.get(index), sequences.get(index)) else { return };
            let tokens = sequence.ids.iter().zip(&sequence.special).zip(states.chunks_exact(model.dimensions));
            for ((id, _), state) in tokens.filter(|((_, special), _)| !**special).skip(skip) {
                each(*place, *id, state);
            }
        })
    }
}

/// The importance of a token: the bundled table's for Latin pieces it knows, so that English stop words weigh nothing;
/// else its surprise. Punctuation and unknown tokens weigh nothing.
fn weight(table: &StaticEmbedder, piece: &str, surprise: impl FnOnce() -> f32) -> f32 {
    let table = table.table();
    let is_unknown = matches!(piece, "[UNK]" | "<unk>");
    if is_unknown || !piece.chars().any(char::is_alphanumeric) {
        return 0.0;
    }
    if piece.chars().find_map(script_of).is_some_and(|script| script != Script::Latin) {
        return surprise();
    }
    // Unigram vocabularies mark the start of a word by U+2581 where WordPiece marks the continuation.
    let row = match piece.strip_prefix('\u{2581}') {
        Some(word) => table.find(&word.to_lowercase()),
        None => table.find(&piece.to_lowercase()),
    };
    row.map_or_else(surprise, |row| table.weight(row))
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    // Eight running sums, so that the compiler may add in parallel.
    let (left_blocks, left_rest) = left.as_chunks::<8>();
    let (right_blocks, right_rest) = right.as_chunks::<8>();
    let mut sums = [0.0f32; 8];
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

fn scale_to_unit(vector: &mut [f32]) {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_and_punctuation_weigh_nothing_in_both_kinds_of_vocabulary() {
        let table = StaticEmbedder::english().unwrap();
        let fallback = || 42.0;
        for piece in ["the", "\u{2581}The", "[UNK]", ",", "\u{2581}", "。"] {
            assert_eq!(weight(&table, piece, fallback), 0.0, "{piece}");
        }
        for piece in ["kitten", "\u{2581}Kitten", "##ing"] {
            let weight = weight(&table, piece, fallback);
            assert!(weight > 1.0 && weight < 42.0, "{piece} {weight}");
        }
        assert_eq!(weight(&table, "\u{2581}爬山", fallback), 42.0);
        assert_eq!(weight(&table, "我", fallback), 42.0);
    }

    #[test]
    fn dot_adds_every_product() {
        let left: Vec<f32> = (0..19u8).map(f32::from).collect();
        assert_eq!(dot(&left, &left), (0..19u16).map(|number| f32::from(number * number)).sum::<f32>());
    }
}
