//! `memory get`

use memory_core::Error;

use super::Context;
use crate::exit::{Exit, Stop};
use crate::output::item_details;

/// Shows items in full.
pub(super) async fn get(context: &Context<'_>, ids: &[String]) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let report = memory.engine.get(context.viewer(), ids).await;
    memory.engine.shutdown().await?;
    let report = report?;
    if context.output.json {
        context.output.value(&report)?;
    } else {
        let items: Vec<String> = report.items.iter().map(|item| item_details(item, context.output.style)).collect();
        context.output.text(&items.join("\n"))?;
        if !report.missing.is_empty() {
            context.output.error(&not_found(&report.missing));
        }
    }
    Ok(if report.missing.is_empty() { Exit::Done } else { Exit::NotFound })
}

/// Ids that name nothing.
pub(super) fn not_found(missing: &[String]) -> Error {
    Error::not_found(format!("there is nothing with the id {}", missing.join(", ")))
        .with_hint("see `memory list`; what belongs to another user, agent or session needs its flag")
}
