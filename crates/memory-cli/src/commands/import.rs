//! `memory import`

use memory_engine::transfer::{self, ImportOptions, ImportReport, Problems};

use super::Context;
use crate::arguments::ImportArguments;
use crate::exit::{Exit, Stop};
use crate::output::{Output, clean};

/// So many problems are shown; the JSON form has more.
const SHOWN: usize = 20;

/// Takes in files, then indexes what came in.
pub(super) async fn import(context: &Context<'_>, arguments: ImportArguments) -> Result<Exit, Stop> {
    let options = ImportOptions {
        paths: arguments.paths,
        format: arguments.format,
        viewer: context.viewer().clone(),
        dry_run: arguments.dry_run,
        force: arguments.force,
    };
    let memory = context.open_patiently().await?;
    let progress = context.output.progress();
    let report = transfer::import(&memory, &options, &progress).await?;
    let mut unindexed = None;
    // Also when nothing is new: an import that was cut short may have left changes that wait.
    if let Some(store) = memory.builtin.as_deref().filter(|_| !options.dry_run) {
        if report.documents > 0 {
            store.sync_documents(&progress).await?;
        }
        unindexed = store.index_pending(&progress).await?.skipped;
    }
    context.close(&memory).await?;
    drop(progress);
    if context.output.json {
        context.output.value(&report)?;
    } else {
        show(&report, context.output)?;
        if let Some(reason) = unindexed {
            context.output.note(&format!("another process indexes it ({reason}); search finds it already"));
        }
    }
    Ok(if report.errors.total == 0 { Exit::Done } else { Exit::Failed })
}

fn show(report: &ImportReport, output: &Output) -> Result<(), Stop> {
    problems("not taken in", &report.errors, output);
    problems("left alone", &report.skipped, output);
    let sorts = [(report.messages, "message"), (report.memories, "memory"), (report.documents, "document")];
    let read: Vec<String> =
        sorts.iter().filter(|(count, _)| *count > 0).map(|(count, sort)| counted(*count, sort)).collect();
    let read = if read.is_empty() { "nothing".to_owned() } else { read.join(", ") };
    let files = counted(report.files, "file");
    if report.dry_run {
        output.line(&format!("would import {read} from {files}"))?;
        output.hint("nothing was written; run it without --dry-run");
        return Ok(());
    }
    let outcomes = [
        (report.stored, "new"),
        (report.deduped, "known already"),
        (report.superseded, "replaced an older one"),
        (report.queued, "queued"),
        (report.rejected, "refused"),
    ];
    let outcomes: Vec<String> =
        outcomes.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let outcomes = if outcomes.is_empty() { String::new() } else { format!(": {}", outcomes.join(", ")) };
    output.line(&format!("{} {read} from {files}{outcomes}", output.style.good("imported")))
}

fn problems(what: &str, problems: &Problems, output: &Output) {
    for problem in problems.listed.iter().take(SHOWN) {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        output.warning(&clean(&format!("{what}: {}{line}: {}", problem.source, problem.reason)));
    }
    let rest = problems.total.saturating_sub(problems.listed.len().min(SHOWN) as u64);
    if rest > 0 {
        output.warning(&format!("{what}: {rest} more"));
    }
}

fn counted(count: u64, sort: &str) -> String {
    match (count, sort) {
        (1, _) => format!("1 {sort}"),
        (_, "memory") => format!("{count} memories"),
        _ => format!("{count} {sort}s"),
    }
}
