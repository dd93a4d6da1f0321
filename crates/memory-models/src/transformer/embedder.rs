//! The embedder over a local model, loaded when first used.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use memory_core::{Error, Result};

use super::coverage::Coverage;
use super::model::Model;
use super::settings::{Settings, TransformerOptions};
use crate::embedder::{EmbedCost, Embedder, Purpose, checked};
use crate::fingerprint;
use crate::late_interaction::LateInteraction;

/// A sentence model of the BERT family. Construction reads its settings; the weights load at the first use, on a
/// blocking thread, and stay. Texts mostly in a script the model does not know get no vector.
#[derive(Clone)]
pub struct TransformerEmbedder {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) settings: Settings,
    id: String,
    model: Mutex<Option<Arc<Model>>>,
    /// What all token states have in common; see the scorer.
    pub(super) common_state: OnceLock<Vec<f32>>,
}

impl TransformerEmbedder {
    /// Opens a model directory. Fails when a file is missing or the model is of a kind that cannot run.
    pub fn open(options: &TransformerOptions) -> Result<Self> {
        let settings = Settings::read(options)?;
        let content = fingerprint::of_files(&settings.directory, &["model.safetensors", "tokenizer.json"])?;
        let id = format!(
            "transformer:bert:{content}:{}:{:?}:{}:{:?}+{:?}",
            settings.bert.hidden_size,
            settings.pooling,
            settings.maximum_tokens,
            settings.template.query_prefix,
            settings.template.passage_prefix,
        )
        .to_lowercase();
        Ok(Self { shared: Arc::new(Shared { settings, id, model: Mutex::new(None), common_state: OnceLock::new() }) })
    }

    /// What a text goes through: settings from the directory and the options.
    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The scripts the model knows. Loads the model: run it on a blocking thread.
    pub(crate) fn coverage(&self) -> Result<Coverage> {
        Ok(self.shared.model()?.coverage.clone())
    }

    /// Embeds on this thread, for callers that block anyway. See [`Embedder::embed`].
    pub fn embed_blocking(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        self.shared.embed(texts, purpose)
    }
}

impl Shared {
    pub(super) fn model(&self) -> Result<Arc<Model>> {
        // A failed load leaves the slot empty, and the next use tries again.
        let mut slot = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*slot {
            return Ok(model.clone());
        }
        let model = Arc::new(Model::load(&self.settings)?);
        *slot = Some(model.clone());
        Ok(model)
    }

    fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        let model = self.model()?;
        let prefix = self.settings.template.prefix(purpose);
        let (mut places, mut sequences) = (Vec::new(), Vec::new());
        for (place, text) in texts.iter().enumerate().filter(|(_, text)| model.coverage.covers(text)) {
            places.push(place);
            sequences.push(model.tokenise(prefix, text)?);
        }
        let mut vectors = vec![None; texts.len()];
        model.states(&sequences, |index, states| {
            if let Some(vector) = places.get(index).and_then(|place| vectors.get_mut(*place)) {
                *vector = Some(model.pool(states));
            }
        })?;
        let check = |vector: Option<Vec<f32>>| vector.map(|v| checked(v, model.dimensions, &self.id)).transpose();
        vectors.into_iter().map(check).collect()
    }
}

#[async_trait]
impl Embedder for TransformerEmbedder {
    fn id(&self) -> &str {
        &self.shared.id
    }

    fn dimensions(&self) -> usize {
        self.shared.settings.bert.hidden_size
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Expensive
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Option<Vec<f32>>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (shared, texts) = (self.shared.clone(), texts.to_vec());
        on_blocking_thread(move || shared.embed(&texts, purpose)).await
    }

    async fn prepare(&self) -> Result<()> {
        let shared = self.shared.clone();
        on_blocking_thread(move || shared.model().map(|_| ())).await
    }

    fn late_interaction(&self) -> Option<Arc<dyn LateInteraction>> {
        Some(Arc::new(self.clone()))
    }
}

async fn on_blocking_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::unexpected("the model's thread stopped").with_source(error)),
    }
}

impl fmt::Debug for TransformerEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransformerEmbedder({})", self.shared.id)
    }
}
