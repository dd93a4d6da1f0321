//! `memory reindex`

use memory_engine::ReindexTarget;

use super::Context;
use crate::arguments::ReindexArguments;
use crate::exit::{Exit, Stop};
use crate::settings::builtin;

/// Rebuilds the indexes from the truth. The old ones answer until the new ones are whole.
pub(super) async fn reindex(context: &Context<'_>, arguments: &ReindexArguments) -> Result<Exit, Stop> {
    let target = match (arguments.text, arguments.vector) {
        (true, _) => ReindexTarget::Text,
        (_, true) => ReindexTarget::Vector,
        _ => ReindexTarget::All,
    };
    let memory = context.open().await?;
    let progress = context.output.progress();
    let store = builtin(&memory, "reindex")?;
    let indexed = async {
        store.sync_documents(&progress).await?;
        store.reindex(target, &progress).await
    };
    let indexed = indexed.await;
    memory.engine.shutdown().await?;
    drop(progress);
    let report = indexed?;
    if context.output.json {
        context.output.value(&report)?;
    } else {
        match &report.skipped {
            Some(reason) => context.output.line(&format!("not rebuilt: {reason}"))?,
            None => {
                context.output.line(&format!("{} {} entries", context.output.style.good("indexed"), report.applied))?
            }
        }
    }
    Ok(if report.skipped.is_some() { Exit::Refused } else { Exit::Done })
}
