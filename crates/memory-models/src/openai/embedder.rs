//! The embedder over the service.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use memory_core::{Error, ErrorKind, Result, SafeUrl, Secret};

use super::client::EmbeddingsClient;
use super::retry::{RetryPolicy, jitter};
use super::wire::Request;
use crate::embedder::{EmbedCost, Embedder, Purpose, checked};

/// Where the service is and how to talk to it.
#[derive(Debug, Clone)]
pub struct OpenAiConfig {
    /// The base address, such as `https://api.openai.com/v1`; a trailing slash or `/embeddings` does no harm.
    pub base: SafeUrl,
    /// The key; empty for services that want none.
    pub key: Secret,
    /// The name of the model.
    pub model: String,
    /// The width to ask for, for models that can shorten their vectors; `None`: what the model gives.
    pub dimensions: Option<usize>,
    /// Texts in one call.
    pub batch_texts: usize,
    /// Characters in one call; a longer text goes alone.
    pub batch_characters: usize,
    /// Longer texts are cut to this many characters, since services refuse what is too long for their model.
    pub maximum_characters: usize,
    /// How long one call may take.
    pub timeout: Duration,
    /// When to try again.
    pub retry: RetryPolicy,
}

impl OpenAiConfig {
    /// A configuration with the usual limits: 64 texts and 100,000 characters a call, 8,000 characters a text, 60 s.
    #[must_use]
    pub fn new(base: SafeUrl, key: Secret, model: impl Into<String>) -> Self {
        Self {
            base,
            key,
            model: model.into(),
            dimensions: None,
            batch_texts: 64,
            batch_characters: 100_000,
            maximum_characters: 8_000,
            timeout: Duration::from_secs(60),
            retry: RetryPolicy::default(),
        }
    }
}

/// Embeds by an OpenAI-compatible service. Nothing is sent before the first use; texts of white space are never sent
/// and get no vector.
pub struct OpenAiEmbedder {
    client: EmbeddingsClient,
    config: OpenAiConfig,
    id: String,
    /// 0 until the first reply.
    dimensions: AtomicUsize,
}

impl OpenAiEmbedder {
    /// Checks the configuration; no call is made.
    pub fn new(config: OpenAiConfig) -> Result<Self> {
        if config.model.trim().is_empty() {
            return Err(Error::new(ErrorKind::ConfigInvalid, "no embedding model is configured")
                .with_hint("set EMBED_MODEL, for example to text-embedding-3-small"));
        }
        if config.dimensions == Some(0) {
            return Err(Error::new(ErrorKind::ConfigInvalid, "the embedding dimensions cannot be 0"));
        }
        let client = EmbeddingsClient::new(&config.base, &config.key, config.timeout)?;
        // The address without its scheme tells two services with one model name apart, and prints no credential.
        let address = client.url.to_string();
        let address = address.split_once("://").map_or(address.as_str(), |(_, address)| address);
        let width = config.dimensions.map_or("auto".to_owned(), |width| width.to_string());
        let id = format!("openai:{address}:{}:{width}:service:plain", config.model);
        Ok(Self { client, id, dimensions: AtomicUsize::new(config.dimensions.unwrap_or(0)), config })
    }

    async fn embed_batch(&self, input: &[&str]) -> Result<Vec<Vec<f32>>> {
        let request =
            Request { model: &self.config.model, input, dimensions: self.config.dimensions, encoding_format: "float" };
        let mut failed = 0;
        let vectors = loop {
            match self.client.call(&request).await {
                Ok(vectors) => break vectors,
                Err(error) => {
                    failed += 1;
                    let Some(wait) = self.config.retry.wait(failed, &error, jitter()) else {
                        let error = if failed >= self.config.retry.attempts { error.persistent() } else { error };
                        return Err(error.with_context("attempts", failed).with_operation("embed"));
                    };
                    tracing::debug!(%error, ?wait, "embedding call failed, trying again");
                    tokio::time::sleep(wait).await;
                }
            }
        };
        let width = vectors.first().map_or(0, Vec::len);
        // The first reply settles the width; whoever comes second is held to it.
        let settled = self.dimensions.compare_exchange(0, width, Ordering::AcqRel, Ordering::Acquire);
        let width = settled.map_or_else(|known| known, |_| width);
        vectors.into_iter().map(|vector| checked(vector, width, &self.config.model)).collect()
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions.load(Ordering::Acquire)
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Remote
    }

    async fn embed(&self, texts: &[String], _purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        let mut vectors = vec![None; texts.len()];
        let sendable: Vec<(usize, &str)> = texts
            .iter()
            .enumerate()
            .map(|(place, text)| (place, cut(text.trim(), self.config.maximum_characters)))
            .filter(|(_, text)| !text.is_empty())
            .collect();
        let mut rest = sendable.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch_length(rest, &self.config));
            let input: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            for ((place, _), vector) in batch.iter().zip(self.embed_batch(&input).await?) {
                if let Some(slot) = vectors.get_mut(*place) {
                    *slot = Some(vector);
                }
            }
            rest = after;
        }
        Ok(vectors)
    }

    async fn prepare(&self) -> Result<()> {
        if self.dimensions() == 0 {
            self.embed_batch(&["memory"]).await?;
        }
        Ok(())
    }
}

impl fmt::Debug for OpenAiEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenAiEmbedder({})", self.id)
    }
}

fn cut(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text).trim_end()
}

/// How many of the texts go into the next call; at least one.
fn batch_length(texts: &[(usize, &str)], config: &OpenAiConfig) -> usize {
    let mut characters = 0;
    let fits = texts.iter().take(config.batch_texts).take_while(|(_, text)| {
        characters += text.chars().count();
        characters <= config.batch_characters
    });
    fits.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> OpenAiConfig {
        OpenAiConfig::new(SafeUrl::new("http://me:canary@h:1/v1/?key=canary"), Secret::new("canary-key"), "m")
    }

    #[test]
    fn nothing_printed_shows_a_credential() {
        let embedder = OpenAiEmbedder::new(config()).unwrap();
        let printed = format!("{embedder:?} {:?} {}", config(), embedder.id());
        assert!(!printed.contains("canary"), "{printed}");
        assert_eq!(embedder.id(), "openai:****@h:1/v1/embeddings?****:m:auto:service:plain");
    }

    #[test]
    fn batches_are_bounded_by_count_and_characters() {
        let config = OpenAiConfig { batch_texts: 3, batch_characters: 4, ..config() };
        let length = |texts: &[&str]| batch_length(&texts.iter().map(|text| (0, *text)).collect::<Vec<_>>(), &config);
        assert_eq!(length(&["a", "b", "c", "d"]), 3);
        assert_eq!(length(&["我们", "你们", "他"]), 2);
        assert_eq!(length(&["too long for any", "b"]), 1);
        assert_eq!(cut("我们a", 2), "我们");
        assert_eq!(cut("我 们", 2), "我");
    }

    #[test]
    fn a_configuration_that_cannot_work_is_refused() {
        for config in [
            OpenAiConfig { model: " ".into(), ..config() },
            OpenAiConfig { dimensions: Some(0), ..config() },
            OpenAiConfig { base: SafeUrl::new(""), ..config() },
        ] {
            assert_eq!(OpenAiEmbedder::new(config).unwrap_err().kind(), ErrorKind::ConfigInvalid);
        }
    }
}
