//! What a model directory says about its model, read without loading the weights.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use candle_transformers::models::bert;
use memory_core::{Error, ErrorKind, Result};
use regex::Regex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::embedder::Purpose;

/// Our own file in an installed model: what its original directory's name and files said about it.
pub(crate) const SETTINGS_FILE: &str = "memory-model.json";

/// How the states of a text's tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The state of the first token.
    Cls,
}

/// The words a model wants before a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTemplate {
    /// Before a question, such as `query: `.
    pub query_prefix: String,
    /// Before a text to be found, such as `passage: `.
    pub passage_prefix: String,
}

impl TextTemplate {
    pub(super) fn prefix(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.query_prefix,
            Purpose::Passage => &self.passage_prefix,
        }
    }
}

/// Where a model is, and what to take instead of what its directory says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformerOptions {
    /// The directory with `config.json`, `model.safetensors` and `tokenizer.json`, or a file in it.
    pub path: PathBuf,
    /// Before a question; `None`: as the model's directory says.
    pub query_prefix: Option<String>,
    /// Before a text to be found; `None`: as the model's directory says.
    pub passage_prefix: Option<String>,
    /// `None`: as the model's directory says, else the mean.
    pub pooling: Option<Pooling>,
    /// The longest text in tokens; `None`: as the model's directory says.
    pub maximum_tokens: Option<usize>,
}

/// Everything about a model but its weights and its vocabulary.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) directory: PathBuf,
    pub(crate) pooling: Pooling,
    pub(crate) template: TextTemplate,
    /// The longest sequence in tokens, the model's own at its ends included.
    pub(crate) maximum_tokens: usize,
    pub(crate) bert: bert::Config,
}

impl Settings {
    pub(crate) fn read(options: &TransformerOptions) -> Result<Self> {
        let directory = directory_of(&options.path)?;
        let config: ModelConfig = required(&directory, "config.json")?;
        for name in ["model.safetensors", "tokenizer.json"] {
            if !directory.join(name).is_file() {
                return Err(incomplete(&directory, name));
            }
        }
        let bert = config.bert(&directory)?;
        let installed: Installed = optional(&directory, SETTINGS_FILE)?.unwrap_or_default();
        let pooling = match options.pooling.or(installed.pooling) {
            Some(pooling) => pooling,
            None => read_pooling(&directory)?,
        };
        let template = match installed.template {
            Some(template) => template,
            None => read_template(&directory, config.name_or_path.as_deref())?,
        };
        let maximum_tokens = match options.maximum_tokens.or(installed.maximum_tokens) {
            Some(maximum) => maximum,
            None => read_maximum_tokens(&directory)?.unwrap_or(bert.max_position_embeddings),
        };
        Ok(Self {
            pooling,
            template: TextTemplate {
                query_prefix: options.query_prefix.clone().unwrap_or(template.query_prefix),
                passage_prefix: options.passage_prefix.clone().unwrap_or(template.passage_prefix),
            },
            // Two tokens are the model's own, before and after the text.
            maximum_tokens: maximum_tokens.clamp(3, bert.max_position_embeddings.max(3)),
            bert,
            directory,
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The content of [`SETTINGS_FILE`] for a copy of this model under another name.
    pub(crate) fn to_installed(&self) -> Result<String> {
        let installed = Installed {
            pooling: Some(self.pooling),
            template: Some(self.template.clone()),
            maximum_tokens: Some(self.maximum_tokens),
        };
        serde_json::to_string_pretty(&installed)
            .map_err(|error| Error::unexpected("cannot write the model's settings").with_source(error))
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Installed {
    pooling: Option<Pooling>,
    template: Option<TextTemplate>,
    maximum_tokens: Option<usize>,
}

/// The keys of `config.json` that matter; defaults as in the `transformers` library's `BertConfig`.
#[derive(Deserialize)]
struct ModelConfig {
    model_type: Option<String>,
    #[serde(rename = "_name_or_path")]
    name_or_path: Option<String>,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Option<String>,
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    layer_norm_eps: Option<f64>,
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
}

impl ModelConfig {
    fn bert(&self, directory: &Path) -> Result<bert::Config> {
        let unsupported = |what: String| {
            Error::new(ErrorKind::Unsupported, format!("the model in {} {what}", directory.display()))
                .with_hint("use a BERT model, such as all-MiniLM-L6-v2 (English) or multilingual-e5-small")
        };
        let model_type = self.model_type.as_deref().unwrap_or("bert");
        if model_type != "bert" {
            return Err(unsupported(format!("is of type `{model_type}`, not `bert`")));
        }
        if let Some(position) = self.position_embedding_type.as_deref().filter(|position| *position != "absolute") {
            return Err(unsupported(format!("has `{position}` position embeddings")));
        }
        let hidden_act = match self.hidden_act.as_deref().unwrap_or("gelu") {
            "gelu" => bert::HiddenAct::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => bert::HiddenAct::GeluApproximate,
            "relu" => bert::HiddenAct::Relu,
            other => return Err(unsupported(format!("has the activation `{other}`"))),
        };
        let divisible = self.num_attention_heads > 0 && self.hidden_size.is_multiple_of(self.num_attention_heads);
        if self.hidden_size == 0 || self.max_position_embeddings == 0 || !divisible {
            return Err(unsupported("has a `config.json` whose sizes make no sense".to_owned()));
        }
        Ok(bert::Config {
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            intermediate_size: self.intermediate_size,
            hidden_act,
            max_position_embeddings: self.max_position_embeddings,
            type_vocab_size: self.type_vocab_size.unwrap_or(2),
            layer_norm_eps: self.layer_norm_eps.unwrap_or(1e-12),
            pad_token_id: self.pad_token_id.unwrap_or(0),
            ..bert::Config::default()
        })
    }
}

fn directory_of(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::new(ErrorKind::ConfigInvalid, "no model directory is configured for the transformer")
            .with_hint(
                "set the path of the embedder to a directory with config.json, model.safetensors, tokenizer.json",
            ));
    }
    if path.is_dir() {
        Ok(path.to_owned())
    } else if path.is_file() {
        Ok(path.parent().unwrap_or(Path::new(".")).to_owned())
    } else {
        Err(Error::not_found(format!("there is no model at {}", path.display()))
            .with_hint("`memory model list` shows the installed models"))
    }
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
}

/// Pooling after the files of the sentence-transformers library; the mean where there are none.
fn read_pooling(directory: &Path) -> Result<Pooling> {
    let modules: Vec<Module> = optional(directory, "modules.json")?.unwrap_or_default();
    if let Some(module) = modules.iter().find(|module| module.kind.ends_with(".Dense")) {
        let message = format!("the model in {} has a dense layer `{}`", directory.display(), module.path);
        return Err(Error::new(ErrorKind::Unsupported, message).with_hint("use a model that ends in its pooling"));
    }
    let folder = modules.iter().find(|module| module.kind.ends_with(".Pooling")).map(|module| module.path.as_str());
    let name = format!("{}/config.json", folder.unwrap_or("1_Pooling"));
    match optional::<PoolingConfig>(directory, &name)? {
        None => Ok(Pooling::Mean),
        Some(config) if config.pooling_mode_mean_tokens && !config.pooling_mode_cls_token => Ok(Pooling::Mean),
        Some(config) if config.pooling_mode_cls_token && !config.pooling_mode_mean_tokens => Ok(Pooling::Cls),
        Some(_) => {
            let message = format!("the pooling in {} is neither mean nor CLS", directory.join(&name).display());
            Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("set the pooling of the embedder to `mean` or `cls` if you know better"))
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    prompts: BTreeMap<String, String>,
}

/// Prefixes from the prompts a model declares; those of the E5 family go by its name.
fn read_template(directory: &Path, name_or_path: Option<&str>) -> Result<TextTemplate> {
    let config: SentenceConfig = optional(directory, "config_sentence_transformers.json")?.unwrap_or_default();
    let prompt = |names: &[&str]| names.iter().find_map(|name| config.prompts.get(*name)).cloned().unwrap_or_default();
    let declared =
        TextTemplate { query_prefix: prompt(&["query"]), passage_prefix: prompt(&["passage", "document", "corpus"]) };
    if declared != TextTemplate::default() {
        return Ok(declared);
    }
    let folder = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_e5 = [Some(folder.as_str()), name_or_path].into_iter().flatten().any(is_e5_name);
    Ok(if is_e5 {
        TextTemplate { query_prefix: "query: ".to_owned(), passage_prefix: "passage: ".to_owned() }
    } else {
        TextTemplate::default()
    })
}

fn is_e5_name(name: &str) -> bool {
    Regex::new(r"(?i)(^|[^a-z0-9])e5([^a-z0-9]|$)").is_ok_and(|pattern| pattern.is_match(name))
}

/// The limit sentence-transformers reads. The one in `tokenizer.json` is an accident of how the file was made.
fn read_maximum_tokens(directory: &Path) -> Result<Option<usize>> {
    let sentence: SentenceConfig = optional(directory, "sentence_bert_config.json")?.unwrap_or_default();
    Ok(sentence.max_seq_length)
}

fn required<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<T> {
    optional(directory, name)?.ok_or_else(|| incomplete(directory, name))
}

/// The JSON file, or `None` when there is no such file.
fn optional<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<Option<T>> {
    let path = directory.join(name);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("cannot read {}", path.display());
            return Err(Error::new(ErrorKind::Storage, message).with_source(error));
        }
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| {
        Error::new(ErrorKind::Corrupt, format!("{} is not what a model has there", path.display())).with_source(error)
    })
}

fn incomplete(directory: &Path, name: &str) -> Error {
    Error::not_found(format!("{} has no {name}", directory.display())).with_hint(
        "a model directory needs config.json, model.safetensors and tokenizer.json (other weight formats do not load)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_e5_family_goes_by_its_name() {
        for name in ["e5-small", "multilingual-e5-small", "intfloat/E5_base", "e5"] {
            assert!(is_e5_name(name), "{name}");
        }
        for name in ["minilm", "model-e50", "base5", "1e5x"] {
            assert!(!is_e5_name(name), "{name}");
        }
    }
}
