//! The cache in front of an embedder.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use memory_core::{ErrorKind, Result};
use memory_models::{CachedEmbedder, EmbedCost, Embedder, EmbeddingCache, HashEmbedder, Purpose, TextHash};

#[derive(Default)]
struct MemoryCache(Mutex<HashMap<(String, TextHash), Vec<f32>>>);

#[async_trait]
impl EmbeddingCache for MemoryCache {
    async fn get_many(&self, embedder_id: &str, hashes: &[TextHash]) -> Result<Vec<Option<Vec<f32>>>> {
        let kept = self.0.lock().unwrap();
        Ok(hashes.iter().map(|hash| kept.get(&(embedder_id.to_owned(), *hash)).cloned()).collect())
    }

    async fn put_many(&self, embedder_id: &str, vectors: &[(TextHash, Vec<f32>)]) -> Result<()> {
        let mut kept = self.0.lock().unwrap();
        kept.extend(vectors.iter().map(|(hash, vector)| ((embedder_id.to_owned(), *hash), vector.clone())));
        Ok(())
    }
}

/// A hash embedder that claims to be expensive, counts the texts it is asked for, and may not know its width yet.
struct Counting {
    inner: HashEmbedder,
    asked: AtomicUsize,
    knows_width: bool,
}

impl Counting {
    fn new(dimensions: usize, knows_width: bool) -> Arc<Self> {
        Arc::new(Self { inner: HashEmbedder::new(dimensions), asked: AtomicUsize::new(0), knows_width })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Embedder for Counting {
    fn id(&self) -> &str {
        "counting"
    }

    fn dimensions(&self) -> usize {
        if self.knows_width || self.asked() > 0 { self.inner.dimensions() } else { 0 }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Expensive
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        self.asked.fetch_add(texts.len(), Ordering::SeqCst);
        self.inner.embed(texts, purpose).await
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn no_passage_is_embedded_twice() {
    let (counting, cache) = (Counting::new(64, true), Arc::new(MemoryCache::default()));
    let cached = CachedEmbedder::wrap(counting.clone(), cache.clone());
    let first = cached.embed(&texts(&["猫", "dog", "猫", "…"]), Purpose::Passage).await.unwrap();
    assert_eq!(counting.asked(), 3, "a text given twice is made once");
    assert_eq!(first, HashEmbedder::new(64).embed(&texts(&["猫", "dog", "猫", "…"]), Purpose::Passage).await.unwrap());
    assert_eq!(first[3], None);
    let again = CachedEmbedder::wrap(counting.clone(), cache);
    let second = again.embed(&texts(&["new", "dog", "猫"]), Purpose::Passage).await.unwrap();
    assert_eq!(counting.asked(), 4, "only the new one is made");
    assert_eq!(second[1..], [first[1].clone(), first[0].clone()]);
    assert_eq!(again.id(), "counting");
}

#[tokio::test]
async fn a_question_leaves_no_trace() {
    let (counting, cache) = (Counting::new(64, true), Arc::new(MemoryCache::default()));
    let cached = CachedEmbedder::wrap(counting.clone(), cache.clone());
    for _ in 0..2 {
        cached.embed(&texts(&["where?"]), Purpose::Query).await.unwrap();
    }
    assert_eq!(counting.asked(), 2);
    assert!(cache.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_damaged_vector_is_made_anew() {
    let (counting, cache) = (Counting::new(64, true), Arc::new(MemoryCache::default()));
    let damaged = [
        (TextHash::of("short"), vec![1.0]),
        (TextHash::of("long"), vec![1.0; 64]),
        (TextHash::of("nan"), vec![f32::NAN; 64]),
    ];
    cache.put_many("counting", &damaged).await.unwrap();
    let cached = CachedEmbedder::wrap(counting.clone(), cache.clone());
    let wanted = texts(&["short", "long", "nan"]);
    let vectors = cached.embed(&wanted, Purpose::Passage).await.unwrap();
    assert_eq!(vectors, HashEmbedder::new(64).embed(&wanted, Purpose::Passage).await.unwrap());
    assert_eq!(counting.asked(), 3);
    cached.embed(&wanted, Purpose::Passage).await.unwrap();
    assert_eq!(counting.asked(), 3, "the sound vectors replaced the damaged ones");
}

#[tokio::test]
async fn a_filled_cache_needs_no_service_and_settles_the_width() {
    let cache = Arc::new(MemoryCache::default());
    let wanted = texts(&["a b", "c"]);
    CachedEmbedder::wrap(Counting::new(64, false), cache.clone()).embed(&wanted, Purpose::Passage).await.unwrap();

    let asleep = Counting::new(64, false);
    let cached = CachedEmbedder::wrap(asleep.clone(), cache.clone());
    assert_eq!(cached.dimensions(), 0);
    assert!(cached.embed(&wanted, Purpose::Passage).await.unwrap().iter().all(Option::is_some));
    assert_eq!((asleep.asked(), cached.dimensions()), (0, 64));

    let changed = CachedEmbedder::wrap(Counting::new(32, false), cache);
    let error = changed.embed(&texts(&["a b", "new"]), Purpose::Passage).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn a_cheap_embedder_needs_no_cache() {
    let cache = Arc::new(MemoryCache::default());
    let wrapped = CachedEmbedder::wrap(Arc::new(HashEmbedder::default()), cache.clone());
    wrapped.embed(&texts(&["a"]), Purpose::Passage).await.unwrap();
    assert!(cache.0.lock().unwrap().is_empty());
}
