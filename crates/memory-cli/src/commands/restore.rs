//! `memory restore`

use super::Context;
use super::get::not_found;
use crate::arguments::RestoreArguments;
use crate::exit::{Exit, Stop};
use crate::settings::builtin;

/// Brings back what was forgotten and not erased. It removes nothing, so it acts at once.
pub(super) async fn restore(context: &Context<'_>, arguments: RestoreArguments) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let restored = builtin(&memory, "restore")?.restore(context.viewer(), &arguments.ids.ids, arguments.dry_run).await;
    memory.engine.shutdown().await?;
    let report = restored?;
    let output = context.output;
    if output.json {
        output.value(&report)?;
    } else {
        let word = if report.dry_run { "would restore" } else { "restored" };
        for id in &report.restored {
            output.line(&format!("{} {id}", output.style.good(word)))?;
        }
        if let Some(queue) = memory.queue.as_ref().filter(|_| !report.dry_run && !report.restored.is_empty()) {
            let provider = queue.provider();
            output.hint(&format!("it is back here; `memory provider sync --yes` brings it back to {provider} too"));
        }
        if !report.missing.is_empty() {
            let error =
                not_found(&report.missing).with_hint("see what can be restored with `memory list --state deleted`");
            output.error(&error);
        }
    }
    Ok(if report.missing.is_empty() { Exit::Done } else { Exit::NotFound })
}
