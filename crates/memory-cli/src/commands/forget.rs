//! `memory forget`

use memory_core::DeleteRequest;

use super::Context;
use super::get::not_found;
use crate::arguments::ForgetArguments;
use crate::exit::{Exit, Stop};
use crate::output::item_line;

/// Shows what would be forgotten, and forgets it with `--yes`.
pub(super) async fn forget(context: &Context<'_>, arguments: ForgetArguments) -> Result<Exit, Stop> {
    let dry_run = !context.settings.yes;
    let viewer = context.viewer().clone();
    let memory = context.open().await?;
    let items = memory.engine.get(&viewer, &arguments.ids.ids).await?.items;
    let request = DeleteRequest { viewer, ids: arguments.ids.ids, erase: arguments.erase, dry_run };
    let deleted = memory.engine.delete(request).await;
    context.close(&memory).await?;
    let report = deleted?;
    let output = context.output;
    if output.json {
        output.value(&report)?;
    } else {
        let lines = items.iter().map(|item| format!("  {}\n", item_line(item, output.width - 2, output.style)));
        output.text(&lines.collect::<String>())?;
        let count = report.deleted.len();
        let things = if count == 1 { "1 item".to_owned() } else { format!("{count} items") };
        match (dry_run, arguments.erase) {
            (true, false) => output.line(&format!("would forget {things}"))?,
            (true, true) => output.line(&format!("would erase {things} for good"))?,
            (false, false) => output.line(&format!("{} {things}", output.style.good("forgot")))?,
            (false, true) => output.line(&format!("{} {things} for good", output.style.good("erased")))?,
        }
        for note in &report.notes {
            output.line(&format!("  {note}"))?;
        }
        if !report.missing.is_empty() {
            output.error(&not_found(&report.missing));
        } else if dry_run {
            output.hint("nothing was changed; run it again with --yes");
        } else if !arguments.erase && memory.builtin.is_some() {
            output.hint("`memory restore ID` brings it back");
        }
    }
    Ok(if report.missing.is_empty() { Exit::Done } else { Exit::NotFound })
}
