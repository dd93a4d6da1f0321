//! A loaded model: tokeniser and weights.

use std::path::Path;
use std::sync::OnceLock;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::BertEncoder;
use memory_core::{Error, ErrorKind, Result};
use safetensors::{Dtype, SafeTensors};
use tokenizers::models::ModelWrapper;
use tokenizers::{Tokenizer, TruncationParams};

use super::batches;
use super::coverage::Coverage;
use super::embeddings::Embeddings;
use super::settings::{Pooling, Settings};

/// No token of any language is longer on average; what is beyond would be cut after tokenising anyway.
const CHARACTERS_PER_TOKEN: usize = 32;

pub(super) struct Model {
    tokenizer: Tokenizer,
    embeddings: Embeddings,
    encoder: BertEncoder,
    pub(super) coverage: Coverage,
    pooling: Pooling,
    maximum_tokens: usize,
    vocabulary_size: usize,
    padding: u32,
    pub(super) dimensions: usize,
    log_probabilities: OnceLock<Vec<f32>>,
}

/// The tokens of one text, with the model's own at both ends.
pub(super) struct Sequence {
    pub(super) ids: Vec<u32>,
    /// True for the model's own tokens.
    pub(super) special: Vec<bool>,
}

impl Model {
    pub(super) fn load(settings: &Settings) -> Result<Self> {
        let path = settings.path("tokenizer.json");
        let damaged = |path: &Path, error: Box<dyn std::error::Error + Send + Sync>| {
            Error::new(ErrorKind::Corrupt, format!("{} does not load", path.display())).with_source(error)
        };
        let mut tokenizer = Tokenizer::from_file(&path).map_err(|error| damaged(&path, error))?;
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: settings.maximum_tokens, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| damaged(&path, error))?;

        let path = settings.path("model.safetensors");
        let bytes = std::fs::read(&path).map_err(|error| {
            Error::new(ErrorKind::Storage, format!("cannot read {}", path.display())).with_source(error)
        })?;
        let (embeddings, encoder) = load_weights(&bytes, settings).map_err(|error| damaged(&path, error))?;
        let vocabulary = tokenizer.get_vocab(false);
        Ok(Self {
            coverage: Coverage::of_vocabulary(vocabulary.keys().map(String::as_str)),
            tokenizer,
            embeddings,
            encoder,
            pooling: settings.pooling,
            maximum_tokens: settings.maximum_tokens,
            vocabulary_size: settings.bert.vocab_size,
            padding: settings.bert.pad_token_id as u32,
            dimensions: settings.bert.hidden_size,
            log_probabilities: OnceLock::new(),
        })
    }

    /// The tokens of `prefix` + `text`, cut to the model's limit.
    pub(super) fn tokenise(&self, prefix: &str, text: &str) -> Result<Sequence> {
        let limit = self.maximum_tokens.saturating_mul(CHARACTERS_PER_TOKEN);
        let end = text.char_indices().nth(limit).map_or(text.len(), |(end, _)| end);
        let input = format!("{prefix}{}", text.get(..end).unwrap_or(text));
        let encoding = self
            .tokenizer
            .encode_fast(input, true)
            .map_err(|error| Error::unexpected("the model's tokeniser failed").with_source(error))?;
        if let Some(id) = encoding.get_ids().iter().find(|id| **id as usize >= self.vocabulary_size) {
            let message = format!("tokenizer.json has token {id}, the model knows {} only", self.vocabulary_size);
            return Err(Error::new(ErrorKind::Corrupt, message)
                .with_hint("take config.json, model.safetensors and tokenizer.json from one model"));
        }
        Ok(Sequence {
            ids: encoding.get_ids().to_vec(),
            special: encoding.get_special_tokens_mask().iter().map(|mask| *mask == 1).collect(),
        })
    }

    /// Calls `each(index, states)` for every sequence, in any order, with the last hidden states of its tokens one after
    /// the other.
    pub(super) fn states(&self, sequences: &[Sequence], mut each: impl FnMut(usize, &[f32])) -> Result<()> {
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.ids.len()).collect();
        for batch in batches::plan(&lengths) {
            let members: Vec<(usize, &Sequence)> =
                batch.iter().filter_map(|index| Some((*index, sequences.get(*index)?))).collect();
            let longest = members.iter().map(|(_, sequence)| sequence.ids.len()).max().unwrap_or(0);
            if longest == 0 {
                continue;
            }
            let states = self
                .forward(&members, longest)
                .map_err(|error| Error::unexpected("the model failed on a text").with_source(error))?;
            for ((index, sequence), states) in members.iter().zip(states.chunks(longest * self.dimensions)) {
                each(*index, states.get(..sequence.ids.len() * self.dimensions).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn forward(&self, members: &[(usize, &Sequence)], longest: usize) -> candle_core::Result<Vec<f32>> {
        let mut ids = Vec::with_capacity(members.len() * longest);
        // Added to the attention scores: nothing for a token, as much as takes all attention away for padding.
        let mut mask = Vec::with_capacity(members.len() * longest);
        for (_, sequence) in members {
            let length = sequence.ids.len();
            ids.extend(&sequence.ids);
            ids.extend(std::iter::repeat_n(self.padding, longest - length));
            mask.extend(std::iter::repeat_n(0.0, length));
            mask.extend(std::iter::repeat_n(f32::MIN, longest - length));
        }
        let states = self.embeddings.forward(ids, members.len(), longest)?;
        let mask = Tensor::from_vec(mask, (members.len(), 1, 1, longest), &Device::Cpu)?;
        self.encoder.forward(&states, &mask)?.flatten_all()?.to_vec1()
    }

    /// One vector from the states of a text's tokens; not normalised.
    pub(super) fn pool(&self, states: &[f32]) -> Vec<f32> {
        let mut tokens = states.chunks_exact(self.dimensions);
        match self.pooling {
            Pooling::Cls => tokens.next().unwrap_or_default().to_vec(),
            Pooling::Mean => {
                let mut sum = vec![0.0; self.dimensions];
                for token in tokens {
                    sum.iter_mut().zip(token).for_each(|(sum, state)| *sum += state);
                }
                sum
            }
        }
    }

    /// The text of a token.
    pub(super) fn piece(&self, id: u32) -> String {
        self.tokenizer.id_to_token(id).unwrap_or_default()
    }

    /// -ln p of a token: from the scores of a unigram tokeniser, else after Zipf's law, since vocabularies are ordered
    /// by frequency.
    pub(super) fn surprise(&self, id: u32) -> f32 {
        let known = self.log_probabilities.get_or_init(|| match self.tokenizer.get_model() {
            ModelWrapper::Unigram(unigram) => unigram.iter().map(|(_, score)| *score as f32).collect(),
            _ => Vec::new(),
        });
        match known.get(id as usize) {
            Some(score) => (-score).max(0.0),
            None => ((id as f32 + 1.0) * (self.vocabulary_size as f32 + 1.0).ln()).ln().max(0.0),
        }
    }
}

fn load_weights(
    bytes: &[u8],
    settings: &Settings,
) -> std::result::Result<(Embeddings, BertEncoder), Box<dyn std::error::Error + Send + Sync>> {
    // Models saved with a head on top have all names of the encoder under `bert.`.
    const WORDS: &str = "embeddings.word_embeddings.weight";
    let header = SafeTensors::deserialize(bytes)?;
    let (prefix, words) = match header.tensor(WORDS) {
        Ok(words) => (None, words),
        Err(_) => (Some("bert"), header.tensor(&format!("bert.{WORDS}"))?),
    };
    let word_precision = match words.dtype() {
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        _ => DType::F32,
    };
    // All other weights are widened once: processors compute in single precision.
    let weights = VarBuilder::from_slice_safetensors(bytes, DType::F32, &Device::Cpu)?;
    let weights = prefix.map_or_else(|| weights.clone(), |prefix| weights.pp(prefix));
    let embeddings = Embeddings::load(&weights.pp("embeddings"), &settings.bert, word_precision)?;
    Ok((embeddings, BertEncoder::load(weights.pp("encoder"), &settings.bert)?))
}
