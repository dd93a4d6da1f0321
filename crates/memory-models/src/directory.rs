//! Model directories: check one, install one, list those installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use memory_core::{Error, ErrorKind, Result};
use serde::Serialize;

use crate::embedder::{Embedder, Purpose};
use crate::transformer::{Pooling, SETTINGS_FILE, Settings, TextTemplate, TransformerEmbedder, TransformerOptions};

/// The files of a model that are copied, when they exist.
pub(crate) const FILES: &[&str] = &[
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "README.md",
    "LICENSE",
];

/// For each language a sentence, the same said otherwise, and one about something else.
const SAMPLES: &[(&str, [&str; 3])] = &[
    (
        "english",
        [
            "She adopted a small cat last week",
            "Last week she took a kitten home",
            "The invoice is payable within a month",
        ],
    ),
    ("chinese", ["她上周领养了一只小猫", "上个星期她带了一只猫咪回家", "这张发票须在一个月内付款"]),
];

/// How alike a model finds a paraphrase and a sentence about something else.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleSimilarity {
    /// The language of the three sentences.
    pub language: &'static str,
    /// Cosine of two sentences that say the same; `None` when the model does not cover the language.
    pub paraphrase: Option<f32>,
    /// Cosine of two sentences about different things.
    pub unrelated: Option<f32>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelReport {
    /// The directory.
    pub path: PathBuf,
    /// The fingerprint of the embedder that uses it.
    pub id: String,
    /// The width of its vectors.
    pub dimensions: usize,
    /// How token states become one vector.
    pub pooling: Pooling,
    /// The words before a text.
    pub template: TextTemplate,
    /// The longest text in tokens.
    pub maximum_tokens: usize,
    /// The scripts its vocabulary knows well; empty when the vocabulary is too small to judge.
    pub scripts: Vec<String>,
    /// Similarities of sample sentences.
    pub samples: Vec<SampleSimilarity>,
    /// Milliseconds to load the model.
    pub load_ms: f64,
    /// Milliseconds for one short text, the mean of a few.
    pub text_ms: f64,
}

/// One model of [`list_installed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledModel {
    /// The name it was installed under.
    pub name: String,
    /// Its directory.
    pub path: PathBuf,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// Why it cannot be used, when it cannot.
    pub problem: Option<String>,
}

/// Loads the model in a directory, embeds samples with it and reports what it is. Takes seconds on large models: run it
/// on a blocking thread.
pub fn check_directory(path: &Path) -> Result<ModelReport> {
    let embedder = TransformerEmbedder::open(&TransformerOptions { path: path.to_owned(), ..Default::default() })?;
    let start = Instant::now();
    let scripts = embedder.coverage()?.names();
    let load_ms = milliseconds(start);
    let mut samples = Vec::new();
    let (mut texts, start) = (0usize, Instant::now());
    for (language, sentences) in SAMPLES {
        let mut vectors = Vec::new();
        for sentence in sentences {
            vectors.extend(embedder.embed_blocking(&[(*sentence).to_owned()], Purpose::Passage)?);
        }
        texts += vectors.iter().flatten().count();
        let cosine = |left: usize, right: usize| {
            let (left, right) = (vectors.get(left)?.as_ref()?, vectors.get(right)?.as_ref()?);
            Some(left.iter().zip(right).map(|(left, right)| left * right).sum())
        };
        samples.push(SampleSimilarity { language, paraphrase: cosine(0, 1), unrelated: cosine(0, 2) });
    }
    let settings = embedder.settings();
    Ok(ModelReport {
        path: settings.directory.clone(),
        id: embedder.id().to_owned(),
        dimensions: embedder.dimensions(),
        pooling: settings.pooling,
        template: settings.template.clone(),
        maximum_tokens: settings.maximum_tokens,
        scripts,
        samples,
        load_ms,
        text_ms: milliseconds(start) / texts.max(1) as f64,
    })
}

/// Checks the model in `source` and copies it to `models_directory/name`: whole, or not at all. Settings that follow
/// from its original name or place are written down beside it. Returns the new directory.
pub fn install(source: &Path, models_directory: &Path, name: &str) -> Result<PathBuf> {
    check_name(name)?;
    let target = models_directory.join(name);
    if target.exists() {
        return Err(Error::new(ErrorKind::Conflict, format!("a model `{name}` is installed already"))
            .with_context("path", target.display())
            .with_hint("choose another name, or remove that directory first"));
    }
    let report = check_directory(source)?;
    let settings = Settings::read(&TransformerOptions { path: report.path.clone(), ..Default::default() })?;
    let partial = models_directory.join(format!(".{name}.{}.partial", std::process::id()));
    let copied = copy_model(&settings, &partial)
        .and_then(|()| fs::rename(&partial, &target).map_err(|error| storage("install the model as", &target, error)));
    if copied.is_err()
        && partial.exists()
        && let Err(error) = fs::remove_dir_all(&partial)
    {
        tracing::warn!(path = %partial.display(), %error, "a partial copy of a model is left behind");
    }
    copied.map(|()| target)
}

/// The models in a directory, by name. A directory that does not exist has none.
pub fn list_installed(models_directory: &Path) -> Result<Vec<InstalledModel>> {
    let entries = match fs::read_dir(models_directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(storage("list", models_directory, error)),
    };
    let mut models = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| storage("list", models_directory, error))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !path.is_dir() || name.starts_with('.') {
            continue;
        }
        let problem = Settings::read(&TransformerOptions { path: path.clone(), ..Default::default() }).err();
        let bytes = FILES.iter().filter_map(|file| fs::metadata(path.join(file)).ok()).map(|file| file.len()).sum();
        models.push(InstalledModel { name, bytes, problem: problem.map(|error| error.to_string()), path });
    }
    models.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(models)
}

fn copy_model(settings: &Settings, partial: &Path) -> Result<()> {
    fs::create_dir_all(partial).map_err(|error| storage("create", partial, error))?;
    for file in FILES {
        let (from, to) = (settings.directory.join(file), partial.join(file));
        if !from.is_file() {
            continue;
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| storage("create", parent, error))?;
        }
        fs::copy(&from, &to).map_err(|error| storage("copy", &from, error))?;
        sync(&to)?;
    }
    let path = partial.join(SETTINGS_FILE);
    fs::write(&path, settings.to_installed()?).map_err(|error| storage("write", &path, error))?;
    sync(&path)
}

fn sync(path: &Path) -> Result<()> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(|error| storage("write", path, error))
}

fn check_name(name: &str) -> Result<()> {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::invalid(format!("`{}` is no name for a model", name.escape_debug()))
        .with_hint("use up to 64 letters, digits, `-`, `_` and `.`, not beginning with `.`"))
}

fn storage(what: &str, path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot {what} {}", path.display())).with_source(error)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
