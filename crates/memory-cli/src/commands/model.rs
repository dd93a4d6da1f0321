//! `memory model list | check | install`

use std::path::{Path, PathBuf};

use memory_core::{Error, SafeUrl};
use memory_models::HubModel;
use serde_json::json;

use super::Context;
use crate::arguments::ModelCommand;
use crate::exit::{Exit, Stop};
use crate::output::{bytes, page};

/// Lists, checks and installs embedding models. A model is a directory on this machine, unless a hub is named.
pub(super) async fn model(context: &Context<'_>, command: ModelCommand) -> Result<Exit, Stop> {
    let models = context.settings.loaded.home.join("models");
    match command {
        ModelCommand::List => list(context, &models),
        ModelCommand::Check { path } => check(context, &models, path).await,
        ModelCommand::Install { path, name, from_hub, revision, hub } => {
            if from_hub {
                let repository = path.to_string_lossy().into_owned();
                let model = HubModel { repository, revision, hub: SafeUrl::new(hub) };
                return fetch(context, &models, &model, name).await;
            }
            install(context, models, path, name).await
        }
    }
}

fn list(context: &Context<'_>, models: &Path) -> Result<Exit, Stop> {
    let installed = if models.is_dir() { memory_models::list_installed(models)? } else { Vec::new() };
    let output = context.output;
    let embedding = &context.settings.loaded.config.memory.embedding;
    if output.json {
        output.value(&json!({"directory": models, "embedding": embedding.kind, "models": installed}))?;
        return Ok(Exit::Done);
    }
    output.line(&format!("in use: {}", embedding.kind))?;
    for model in &installed {
        let state = match &model.problem {
            Some(problem) => output.style.error(problem),
            None => output.style.faint(&model.path.display().to_string()),
        };
        output.line(&format!("  {}  {}  {state}", output.style.strong(&model.name), bytes(model.bytes)))?;
    }
    if installed.is_empty() {
        output.note("no model is installed; the bundled table needs none");
        output.hint("`memory model install DIRECTORY` installs one");
    }
    Ok(Exit::Done)
}

async fn check(context: &Context<'_>, models: &Path, path: PathBuf) -> Result<Exit, Stop> {
    let named = models.join(&path);
    let path = if !path.exists() && named.exists() { named } else { path };
    let report = blocking(move || memory_models::check_directory(&path)).await?;
    let value = serde_json::to_value(&report)
        .map_err(|error| Error::unexpected("the report cannot be written as JSON").with_source(error))?;
    if context.output.json {
        context.output.value(&value)?;
    } else {
        context.output.text(&page(&value, context.output.style))?;
    }
    Ok(Exit::Done)
}

async fn install(context: &Context<'_>, models: PathBuf, path: PathBuf, name: Option<String>) -> Result<Exit, Stop> {
    let name = match name {
        Some(name) => name,
        None => path
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .ok_or_else(|| Error::not_found(format!("there is no model at {}", path.display())))?,
    };
    let target = blocking(move || {
        std::fs::create_dir_all(&models).map_err(|error| {
            let message = format!("cannot create {}", models.display());
            Error::new(memory_core::ErrorKind::Storage, message).with_source(error)
        })?;
        memory_models::install(&path, &models, &name)
    });
    installed(context, &target.await?)
}

async fn fetch(context: &Context<'_>, models: &Path, model: &HubModel, name: Option<String>) -> Result<Exit, Stop> {
    let name = name.unwrap_or_else(|| model.short_name().to_owned());
    let progress = context.output.progress();
    let target = model.install(models, &name, &progress).await?;
    drop(progress);
    installed(context, &target)
}

fn installed(context: &Context<'_>, target: &Path) -> Result<Exit, Stop> {
    if context.output.json {
        context.output.value(&json!({"path": target}))?;
    } else {
        context.output.line(&format!("{} {}", context.output.style.good("installed"), target.display()))?;
        context.output.hint(&format!(
            "to use it, set memory.embedding.kind to transformer and memory.embedding.path to {}, then run `memory reindex`",
            target.display()
        ));
    }
    Ok(Exit::Done)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::unexpected("the model thread stopped").with_source(error))?
}
