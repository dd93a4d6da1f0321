//! A cache of vectors, so that building an index anew never embeds a text twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use memory_core::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};

use crate::embedder::{EmbedCost, Embedder, Purpose};
use crate::late_interaction::LateInteraction;

/// The SHA-256 of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextHash(pub [u8; 32]);

impl TextHash {
    /// The hash of a text's UTF-8 bytes.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

/// Keeps the vectors of passages by embedder and text.
#[async_trait]
pub trait EmbeddingCache: Send + Sync {
    /// One result for each hash, in order: the vector kept for it, or `None`.
    async fn get_many(&self, embedder_id: &str, hashes: &[TextHash]) -> Result<Vec<Option<Vec<f32>>>>;

    /// Keeps vectors. What is there already may stay or be replaced: it is the same.
    async fn put_many(&self, embedder_id: &str, vectors: &[(TextHash, Vec<f32>)]) -> Result<()>;
}

/// An embedder that asks a cache first. Only passages are kept: a search must not write, and questions seldom repeat.
pub struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Arc<dyn EmbeddingCache>,
    /// The width of the first vector from the cache, while the embedder does not know its own (it has not been asked).
    width_seen: AtomicUsize,
}

impl CachedEmbedder {
    /// Puts the cache before the embedder. A cheap embedder comes back as it is: it is faster than any cache.
    pub fn wrap(inner: Arc<dyn Embedder>, cache: Arc<dyn EmbeddingCache>) -> Arc<dyn Embedder> {
        if inner.cost() == EmbedCost::Cheap {
            return inner;
        }
        Arc::new(Self { inner, cache, width_seen: AtomicUsize::new(0) })
    }

    /// A vector as this embedder would make it; anything else in the cache is damage and is made anew.
    fn is_sound(&self, vector: &[f32]) -> bool {
        let length: f32 = vector.iter().map(|value| value * value).sum();
        if (length - 1.0).abs() > 1e-2 || length.is_nan() {
            return false;
        }
        if self.dimensions() == 0 {
            self.width_seen.store(vector.len(), Ordering::Release);
        }
        vector.len() == self.dimensions()
    }
}

#[async_trait]
impl Embedder for CachedEmbedder {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn dimensions(&self) -> usize {
        match self.inner.dimensions() {
            0 => self.width_seen.load(Ordering::Acquire),
            width => width,
        }
    }

    fn cost(&self) -> EmbedCost {
        self.inner.cost()
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        if purpose == Purpose::Query || texts.is_empty() {
            return self.inner.embed(texts, purpose).await;
        }
        let hashes: Vec<TextHash> = texts.iter().map(|text| TextHash::of(text)).collect();
        let mut known: HashMap<TextHash, Option<Vec<f32>>> = HashMap::new();
        let kept = self.cache.get_many(self.id(), &hashes).await?;
        for (hash, vector) in hashes.iter().zip(kept) {
            match vector {
                Some(vector) if self.is_sound(&vector) => drop(known.insert(*hash, Some(vector))),
                Some(_) => tracing::warn!(embedder = self.id(), "a cached vector is damaged and is made anew"),
                None => {}
            }
        }
        let mut missing: Vec<(TextHash, String)> = Vec::new();
        for (hash, text) in hashes.iter().zip(texts) {
            if !known.contains_key(hash) {
                known.insert(*hash, None);
                missing.push((*hash, text.clone()));
            }
        }
        if !missing.is_empty() {
            let (missing_hashes, missing_texts): (Vec<TextHash>, Vec<String>) = missing.into_iter().unzip();
            let width_before = self.dimensions();
            let made = self.inner.embed(&missing_texts, purpose).await?;
            if width_before != 0 && width_before != self.dimensions() {
                let message = format!(
                    "embedder `{}` makes vectors of {} numbers, those kept from before have {width_before}",
                    self.id(),
                    self.dimensions()
                );
                return Err(Error::new(ErrorKind::Conflict, message)
                    .with_hint("set the dimensions of the embedder, so that its fingerprint tells the two apart"));
            }
            let new: Vec<(TextHash, Vec<f32>)> =
                missing_hashes.into_iter().zip(made).filter_map(|(hash, vector)| Some((hash, vector?))).collect();
            self.cache.put_many(self.id(), &new).await?;
            known.extend(new.into_iter().map(|(hash, vector)| (hash, Some(vector))));
        }
        Ok(hashes.iter().map(|hash| known.get(hash).cloned().flatten()).collect())
    }

    async fn prepare(&self) -> Result<()> {
        self.inner.prepare().await
    }

    fn late_interaction(&self) -> Option<Arc<dyn LateInteraction>> {
        self.inner.late_interaction()
    }
}
