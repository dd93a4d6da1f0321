//! The input layer of BERT: word, position and type vectors, summed and normalised.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{LayerNorm, Module, VarBuilder};
use candle_transformers::models::bert;

/// The word table stays in the precision of its file and only the rows in use are widened: in multilingual models it is
/// most of the weights.
pub(super) struct Embeddings {
    words: Tensor,
    positions: Tensor,
    /// The vector of type 0, the only one a single text has.
    kind: Tensor,
    norm: LayerNorm,
}

impl Embeddings {
    pub(super) fn load(weights: &VarBuilder<'_>, config: &bert::Config, word_precision: DType) -> Result<Self> {
        let hidden = config.hidden_size;
        let table = |name: &str, rows: usize, precision: DType| {
            weights.pp(name).to_dtype(precision).get((rows, hidden), "weight")
        };
        Ok(Self {
            words: table("word_embeddings", config.vocab_size, word_precision)?,
            positions: table("position_embeddings", config.max_position_embeddings, DType::F32)?,
            kind: table("token_type_embeddings", config.type_vocab_size, DType::F32)?.get(0)?,
            norm: candle_nn::layer_norm(hidden, config.layer_norm_eps, weights.pp("LayerNorm"))?,
        })
    }

    /// The input states of `ids`, which are `count` sequences of `length` tokens.
    pub(super) fn forward(&self, ids: Vec<u32>, count: usize, length: usize) -> Result<Tensor> {
        let ids = Tensor::from_vec(ids, count * length, &Device::Cpu)?;
        let words = self.words.index_select(&ids, 0)?.to_dtype(DType::F32)?;
        let (_, hidden) = words.dims2()?;
        let states = words.reshape((count, length, hidden))?.broadcast_add(&self.positions.narrow(0, 0, length)?)?;
        self.norm.forward(&states.broadcast_add(&self.kind)?)
    }
}
