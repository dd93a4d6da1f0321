//! `memory status` and `memory stats`

use memory_core::Error;
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use crate::exit::{Exit, Stop};
use crate::output::page;
use crate::settings::builtin;

/// How memory is doing.
pub(super) async fn status(context: &Context<'_>) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let status = match &memory.builtin {
        Some(store) => to_value(&store.status().await?),
        None => {
            let health = memory.engine.health().await;
            Ok(json!({
                "version": env!("CARGO_PKG_VERSION"), "home": context.settings.loaded.home,
                "engine": memory.engine.mode(), "ok": health.ok, "message": health.message,
            }))
        }
    };
    memory.engine.shutdown().await?;
    print(context, &status?)
}

/// How much is stored: in the whole home, or for the viewer that flags name.
pub(super) async fn stats(context: &Context<'_>) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let statistics = builtin(&memory, "stats")?.statistics(context.settings.named_viewer()).await;
    memory.engine.shutdown().await?;
    print(context, &to_value(&statistics?)?)
}

fn print(context: &Context<'_>, value: &Value) -> Result<Exit, Stop> {
    if context.output.json {
        context.output.value(value)?;
    } else {
        context.output.text(&page(value, context.output.style))?;
    }
    Ok(Exit::Done)
}

fn to_value(report: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(report)
        .map_err(|error| Error::unexpected("the report cannot be written as JSON").with_source(error))
}
