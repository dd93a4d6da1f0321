//! Writes a small BERT with random weights, so that the code that loads real models always runs.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde_json::json;

pub(crate) const HIDDEN: usize = 32;
pub(crate) const LAYERS: usize = 2;
pub(crate) const HEADS: usize = 4;
const INNER: usize = 64;
const POSITIONS: usize = 64;
pub(crate) const WORDS: &str =
    "[PAD] [UNK] [CLS] [SEP] [MASK] , . ! : the a cat dog sat on mat query passage ##s ##ing play hello world 猫 狗 我";

/// A generator of numbers that are the same everywhere (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    }

    fn tensor(&mut self, shape: &[usize]) -> Tensor {
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| self.next()).collect();
        Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
    }
}

fn ones(size: usize) -> Tensor {
    Tensor::ones(size, DType::F32, &Device::Cpu).unwrap()
}

pub(crate) fn weights(dtype: DType) -> HashMap<String, Tensor> {
    let mut numbers = Numbers(7);
    let mut tensors = HashMap::new();
    let vocabulary = WORDS.split(' ').count();
    for (name, rows) in [("word", vocabulary), ("position", POSITIONS), ("token_type", 2)] {
        tensors.insert(format!("embeddings.{name}_embeddings.weight"), numbers.tensor(&[rows, HIDDEN]));
    }
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in 0..LAYERS {
        let prefix = format!("encoder.layer.{layer}.");
        for (name, rows, columns) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ] {
            tensors.insert(format!("{prefix}{name}.weight"), numbers.tensor(&[rows, columns]));
            tensors.insert(format!("{prefix}{name}.bias"), numbers.tensor(&[rows]));
        }
        norms.push(format!("{prefix}attention.output.LayerNorm"));
        norms.push(format!("{prefix}output.LayerNorm"));
    }
    for norm in norms {
        tensors.insert(format!("{norm}.weight"), ones(HIDDEN));
        tensors.insert(format!("{norm}.bias"), numbers.tensor(&[HIDDEN]));
    }
    tensors.into_iter().map(|(name, tensor)| (name, tensor.to_dtype(dtype).unwrap())).collect()
}

/// Writes the model to a directory, which is made.
pub(crate) fn write(directory: &Path, dtype: DType) {
    std::fs::create_dir_all(directory).unwrap();
    write_weights(directory, &weights(dtype));
    let words: Vec<&str> = WORDS.split(' ').collect();
    let config = json!({
        "model_type": "bert", "vocab_size": words.len(), "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "intermediate_size": INNER, "hidden_act": "gelu",
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
    });
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
    let vocabulary: serde_json::Map<String, serde_json::Value> =
        words.iter().zip(0..).map(|(word, id)| ((*word).to_owned(), json!(id))).collect();
    let special = |id: usize| {
        json!({"id": id, "content": words[id], "special": true, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false})
    };
    let tokenizer = json!({
        "version": "1.0",
        // As real files have them: both must be overruled.
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": (0..5).map(special).collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                               "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    std::fs::write(directory.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

pub(crate) fn write_weights(directory: &Path, weights: &HashMap<String, Tensor>) {
    candle_core::safetensors::save(weights, directory.join("model.safetensors")).unwrap();
}
