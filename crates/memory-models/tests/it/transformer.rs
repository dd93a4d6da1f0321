//! Loading and running local models, with a small one written by the test.

use std::fs;
use std::path::{Path, PathBuf};

use candle_core::DType;
use memory_core::ErrorKind;
use memory_models::{
    EmbedCost, Embedder, LateInteraction, Pooling, Purpose, TransformerEmbedder, TransformerOptions, check_directory,
    install, list_installed,
};
use tempfile::TempDir;

use crate::reference;
use crate::tiny_model::{self, HIDDEN};

fn model(name: &str, dtype: DType) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    tiny_model::write(&path, dtype);
    (directory, path)
}

fn options(path: &Path) -> TransformerOptions {
    TransformerOptions { path: path.to_owned(), ..TransformerOptions::default() }
}

fn open(path: &Path) -> TransformerEmbedder {
    TransformerEmbedder::open(&options(path)).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn embed(embedder: &TransformerEmbedder, text: &str) -> Vec<f32> {
    embedder.embed_blocking(&texts(&[text]), Purpose::Passage).unwrap().pop().unwrap().unwrap()
}

fn distance(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

#[tokio::test]
async fn a_batch_gives_what_each_text_alone_gives() {
    let (_guard, path) = model("tiny", DType::F32);
    let embedder = open(&path);
    assert_eq!((embedder.dimensions(), embedder.cost()), (HIDDEN, EmbedCost::Expensive));
    let wanted =
        texts(&["hello", "The cat sat on the mat.", "", "我 猫", "cats playing on the mat, hello world", "…", "cat"]);
    let together = embedder.embed(&wanted, Purpose::Passage).await.unwrap();
    assert_eq!(together.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true, true, false, true]);
    for (text, vector) in wanted.iter().zip(&together) {
        let Some(vector) = vector else { continue };
        assert!(distance(vector, &embed(&embedder, text)) < 1e-5, "padding changes {text}");
        assert!((vector.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-4);
    }
    assert!(distance(together[0].as_ref().unwrap(), together[6].as_ref().unwrap()) > 1e-2);
    assert!(embedder.embed(&[], Purpose::Query).await.unwrap().is_empty());
}

#[test]
fn half_precision_weights_load_and_agree() {
    let (_single, single_path) = model("tiny", DType::F32);
    let (_half, half_path) = model("tiny", DType::F16);
    let (single, half) = (open(&single_path), open(&half_path));
    assert!(distance(&embed(&single, "the cat sat"), &embed(&half, "the cat sat")) < 1e-2);
    assert_ne!(single.id(), half.id());
}

#[test]
fn vectors_agree_with_the_plain_formulas() {
    let (_guard, path) = model("tiny", DType::F32);
    let weights = tiny_model::weights(DType::F32);
    for (text, ids) in [
        ("the cat sat on the mat .", "[CLS] the cat sat on the mat . [SEP]"),
        ("Cats, 我 quux", "[CLS] cat ##s , 我 [UNK] [SEP]"),
    ] {
        let expected = reference::mean_vector(&weights, ids);
        assert!(distance(&embed(&open(&path), text), &expected) < 1e-5, "{text}");
    }
}

#[test]
fn weights_under_the_name_of_the_model_load_too() {
    let (_guard, path) = model("tiny", DType::F32);
    let expected = embed(&open(&path), "hello cat");
    let weights = tiny_model::weights(DType::F32);
    let prefixed = weights.into_iter().map(|(name, tensor)| (format!("bert.{name}"), tensor)).collect();
    tiny_model::write_weights(&path, &prefixed);
    assert_eq!(embed(&open(&path), "hello cat"), expected);
}

#[test]
fn pooling_follows_the_directory_and_the_options() {
    let (_guard, path) = model("tiny", DType::F32);
    let mean = open(&path);
    let cls = TransformerEmbedder::open(&TransformerOptions { pooling: Some(Pooling::Cls), ..options(&path) }).unwrap();
    assert!(mean.id().contains(":mean:") && cls.id().contains(":cls:"), "{} {}", mean.id(), cls.id());
    assert!(distance(&embed(&mean, "hello cat"), &embed(&cls, "hello cat")) > 1e-3);

    let write = |mode: &str| {
        fs::create_dir_all(path.join("1_Pooling")).unwrap();
        fs::write(path.join("1_Pooling/config.json"), format!(r#"{{"{mode}":true}}"#)).unwrap();
    };
    write("pooling_mode_cls_token");
    assert_eq!(open(&path).id(), cls.id());
    assert_eq!(embed(&open(&path), "hello cat"), embed(&cls, "hello cat"));
    write("pooling_mode_max_tokens");
    assert_eq!(TransformerEmbedder::open(&options(&path)).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(TransformerEmbedder::open(&TransformerOptions { pooling: Some(Pooling::Mean), ..options(&path) }).is_ok());
    fs::write(path.join("modules.json"), r#"[{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]"#)
        .unwrap();
    assert_eq!(TransformerEmbedder::open(&options(&path)).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn prefixes_come_from_name_prompts_and_options() {
    let (_guard, e5) = model("my-e5-tiny", DType::F32);
    let embedder = open(&e5);
    assert!(embedder.id().contains(r#""query: "+"passage: ""#), "{}", embedder.id());
    let (_other, plain) = model("tiny", DType::F32);
    assert!(distance(&embed(&embedder, "hello"), &embed(&open(&plain), "passage: hello")) < 1e-6);

    fs::write(plain.join("config_sentence_transformers.json"), r#"{"prompts":{"query":"cat "}}"#).unwrap();
    let query = open(&plain).embed_blocking(&texts(&["dog"]), Purpose::Query).unwrap().pop().unwrap().unwrap();
    assert!(distance(&query, &embed(&open(&plain), "cat dog")) < 1e-6);

    let none = TransformerOptions { query_prefix: Some(String::new()), ..options(&plain) };
    let query = TransformerEmbedder::open(&none).unwrap();
    let query = query.embed_blocking(&texts(&["dog"]), Purpose::Query).unwrap().pop().unwrap().unwrap();
    assert!(distance(&query, &embed(&open(&plain), "dog")) < 1e-6);
}

#[test]
fn long_texts_are_cut_at_the_limit_of_the_model() {
    let (_guard, path) = model("tiny", DType::F32);
    let embedder = open(&path);
    let (long, longer) = ("cat ".repeat(62), format!("{}dog hello", "cat ".repeat(62)));
    assert!(distance(&embed(&embedder, &long), &embed(&embedder, &longer)) < 1e-6);
    assert!(
        distance(&embed(&embedder, "cat cat cat cat cat cat dog"), &embed(&embedder, "cat cat cat cat cat cat")) > 1e-4
    );
    fs::write(path.join("sentence_bert_config.json"), r#"{"max_seq_length":4}"#).unwrap();
    let short = open(&path);
    assert!(distance(&embed(&short, "cat dog hello"), &embed(&short, "cat dog world")) < 1e-6);
    assert_ne!(short.id(), embedder.id());
    embed(&embedder, &"word ".repeat(200_000));
}

#[test]
fn token_scores_find_the_same_words() {
    let (_guard, path) = model("my-e5-tiny", DType::F32);
    let scorer = open(&path);
    let query = scorer.prepare_query("the cat, playing").unwrap();
    let pieces: Vec<&str> = query.pieces().map(|(piece, _)| piece).collect();
    assert_eq!(pieces, ["cat", "play", "##ing"], "no stop words, punctuation, prefix or special tokens");
    let scores = scorer.score(&query, &["hello world", "the cat, playing", "", "猫 狗"]).unwrap();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores[1] > scores[0] && scores[1] > scores[3], "{scores:?}");
    assert_eq!(scores[2], 0.0);
    let alone = scorer.score(&query, &["hello world"]).unwrap();
    assert!((alone[0] - scores[0]).abs() < 1e-5, "a score must not depend on the other texts");
    let nothing = scorer.prepare_query("the …").unwrap();
    assert!(nothing.is_empty());
    assert_eq!(scorer.score(&nothing, &["cat"]).unwrap(), [0.0]);
}

#[test]
fn a_directory_that_cannot_work_says_why() {
    let kind = |path: &Path| TransformerEmbedder::open(&options(path)).unwrap_err().kind();
    for missing in ["config.json", "model.safetensors", "tokenizer.json"] {
        let (_guard, path) = model("tiny", DType::F32);
        fs::remove_file(path.join(missing)).unwrap();
        let error = TransformerEmbedder::open(&options(&path)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains(missing), "{error}");
    }
    let (_guard, path) = model("tiny", DType::F32);
    let config = fs::read_to_string(path.join("config.json")).unwrap();
    for (from, to, expected) in [
        (r#""bert""#, r#""t5""#, ErrorKind::Unsupported),
        (r#""gelu""#, r#""swish""#, ErrorKind::Unsupported),
        (r#""num_attention_heads":4"#, r#""num_attention_heads":0"#, ErrorKind::Unsupported),
        ("{", "", ErrorKind::Corrupt),
    ] {
        fs::write(path.join("config.json"), config.replacen(from, to, 1)).unwrap();
        assert_eq!(kind(&path), expected, "{to}");
    }
    // Sizes that do not fit the weights show when the model loads.
    fs::write(path.join("config.json"), config.replace(r#""hidden_size":32"#, r#""hidden_size":64"#)).unwrap();
    let error = open(&path).embed_blocking(&texts(&["cat"]), Purpose::Query).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    fs::write(path.join("config.json"), config).unwrap();
    let weights = fs::read(path.join("model.safetensors")).unwrap();
    fs::write(path.join("model.safetensors"), &weights[..weights.len() / 2]).unwrap();
    let embedder = open(&path);
    assert_eq!(embedder.embed_blocking(&texts(&["cat"]), Purpose::Query).unwrap_err().kind(), ErrorKind::Corrupt);
    // A failed load is not remembered.
    fs::write(path.join("model.safetensors"), &weights).unwrap();
    embed(&embedder, "cat");
}

#[tokio::test]
async fn preparing_loads_and_reports_damage() {
    let (_guard, path) = model("tiny", DType::F32);
    open(&path).prepare().await.unwrap();
    fs::write(path.join("tokenizer.json"), "{}").unwrap();
    assert_eq!(open(&path).prepare().await.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_model_is_checked_installed_and_listed() {
    let (_guard, source) = model("tiny-e5", DType::F16);
    let report = check_directory(&source).unwrap();
    assert_eq!((report.dimensions, report.pooling, report.maximum_tokens), (HIDDEN, Pooling::Mean, 64));
    assert_eq!(report.template.query_prefix, "query: ");
    assert_eq!(report.samples.len(), 2);
    assert!(report.samples.iter().all(|sample| sample.paraphrase.is_some()));
    assert!(report.text_ms > 0.0 && report.load_ms > 0.0);

    let home = tempfile::tempdir().unwrap();
    let models = home.path().join("models");
    assert!(list_installed(&models).unwrap().is_empty());
    let installed = install(&source, &models, "renamed").unwrap();
    assert_eq!(installed, models.join("renamed"));
    // The new name no longer says E5, yet the model is used the same way.
    assert_eq!(open(&installed).id(), open(&source).id());
    fs::create_dir(models.join("empty")).unwrap();
    let listed = list_installed(&models).unwrap();
    assert_eq!(listed.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["empty", "renamed"]);
    assert!(listed[0].problem.as_deref().unwrap().contains("config.json"));
    assert!(listed[1].problem.is_none() && listed[1].bytes > 1000);

    assert_eq!(install(&source, &models, "renamed").unwrap_err().kind(), ErrorKind::Conflict);
    for name in ["", "../up", "a/b", ".hidden", "模型"] {
        assert_eq!(install(&source, &models, name).unwrap_err().kind(), ErrorKind::InvalidRequest, "{name}");
    }
    fs::write(source.join("model.safetensors"), "damaged").unwrap();
    assert_eq!(install(&source, &models, "broken").unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(list_installed(&models).unwrap().len(), 2, "a failed installation leaves nothing");
    assert!(fs::read_dir(&models).unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with('.')));
}
