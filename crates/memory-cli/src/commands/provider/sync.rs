//! `memory provider sync`

use memory_engine::{SyncEntry, SyncReport};

use super::Context;
use crate::exit::{Exit, Stop};
use crate::output::{Output, one_line, shorten};

/// So many of a kind are shown; the JSON form has all.
const SHOWN: usize = 20;

/// Shows what one side has and the other lacks, and reconciles with `--yes`.
pub(super) async fn sync(context: &Context<'_>) -> Result<Exit, Stop> {
    let dry_run = !context.settings.yes;
    let memory = context.open().await?;
    let synced = memory_engine::sync(&memory, context.viewer(), dry_run).await;
    memory.engine.shutdown().await?;
    let report = synced?;
    if context.output.json {
        context.output.value(&report)?;
    } else {
        show(&report, context.output)?;
    }
    Ok(if report.problems() == 0 { Exit::Done } else { Exit::Failed })
}

fn show(report: &SyncReport, output: &Output) -> Result<(), Stop> {
    let SyncReport { provider, here, there, on_both, .. } = report;
    output.line(&format!("{here} here, {there} at {provider}, {on_both} on both sides"))?;
    let word = |would: &'static str, did: &'static str| if report.dry_run { would } else { did };
    section(output, word("would write there", "written there"), &report.push)?;
    section(output, word("would write here", "written here"), &report.pull)?;
    section(output, word("would forget there", "forgotten there"), &report.forget)?;
    section(output, "left alone, it was removed there", &report.gone)?;
    if report.queued > 0 {
        output.note(&format!("{} more are in the queue: see `memory provider queue`", report.queued));
    }
    let differences = report.push.len() + report.pull.len() + report.forget.len();
    match (differences, report.dry_run) {
        (0, _) => output.line(&output.style.good("both sides agree"))?,
        (_, true) => output.hint("nothing was changed; run it again with --yes"),
        (_, false) => {}
    }
    Ok(())
}

fn section(output: &Output, what: &str, entries: &[SyncEntry]) -> Result<(), Stop> {
    if entries.is_empty() {
        return Ok(());
    }
    output.line(&format!("{} ({})", output.style.strong(what), entries.len()))?;
    for entry in entries.iter().take(SHOWN) {
        let text = shorten(&one_line(&entry.text), output.width.saturating_sub(32));
        output.line(&format!("  {}  {text}", output.style.faint(&entry.id)))?;
        if let Some(problem) = &entry.problem {
            output.warning(&one_line(problem));
        }
    }
    if entries.len() > SHOWN {
        output.note(&format!("  and {} more; --json shows all", entries.len() - SHOWN));
    }
    Ok(())
}
