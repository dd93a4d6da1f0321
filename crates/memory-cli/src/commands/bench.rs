//! `memory bench`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memory_core::{Error, ErrorKind, SystemClock};
use memory_engine::Memory;
use memory_engine::bench::{RetrievalReport, RetrievalScores, SpeedReport, retrieval, speed};

use super::Context;
use crate::arguments::BenchCommand;
use crate::exit::{Exit, Stop};

/// Measures in a home of its own, with the configuration in effect.
pub(super) async fn bench(context: &Context<'_>, command: &BenchCommand) -> Result<Exit, Stop> {
    match command {
        BenchCommand::Retrieval { data } => {
            let mut reports = Vec::new();
            for folder in data {
                let home = TemporaryHome::new()?;
                let memory = open_at(context, home.path()).await?;
                let progress = context.output.progress();
                let report = retrieval(&memory, folder, &progress).await;
                memory.engine.shutdown().await?;
                reports.push((folder.display().to_string(), report?));
            }
            if context.output.json {
                let object: serde_json::Map<String, serde_json::Value> = reports
                    .into_iter()
                    .map(|(name, report)| (name, serde_json::to_value(report).unwrap_or_default()))
                    .collect();
                context.output.value(&object)?;
            } else {
                context.output.text(&retrieval_table(&reports))?;
            }
        }
        BenchCommand::Speed { items, messages, keep } => {
            let temporary = if keep.is_none() { Some(TemporaryHome::new()?) } else { None };
            let home = keep.as_deref().or(temporary.as_ref().map(TemporaryHome::path)).unwrap_or(Path::new("."));
            let memory = open_at(context, home).await?;
            let progress = context.output.progress();
            let report = speed(&memory, *items, *messages, &progress).await;
            memory.engine.shutdown().await?;
            drop(progress);
            let report = report?;
            if context.output.json {
                context.output.value(&report)?;
            } else {
                context.output.text(&speed_table(&report))?;
            }
        }
    }
    Ok(Exit::Done)
}

async fn open_at(context: &Context<'_>, home: &Path) -> Result<Memory, Error> {
    let mut loaded = context.settings.loaded.clone();
    loaded.home = home.to_owned();
    // Never the user's own documents.
    loaded.config.memory.workspace_dir = PathBuf::new();
    Memory::open(&loaded, Arc::new(SystemClock)).await
}

/// A folder that is removed at the end.
struct TemporaryHome(PathBuf);

impl TemporaryHome {
    fn new() -> Result<Self, Error> {
        let base = std::env::temp_dir();
        for number in 0..1_000_u32 {
            let path = base.join(format!("memory-bench-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Error::new(ErrorKind::Storage, "cannot create a temporary folder")
                        .with_context("path", path.display())
                        .with_source(error));
                }
            }
        }
        Err(Error::new(ErrorKind::Storage, "cannot find a free name for a temporary folder"))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryHome {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "the temporary folder of the bench stays");
        }
    }
}

fn retrieval_table(reports: &[(String, RetrievalReport)]) -> String {
    let mut table =
        String::from("| data | queries | turn R@1 | R@5 | R@10 | session R@1 | R@5 | R@10 | p50 ms | p99 ms |\n");
    table.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
    for (name, report) in reports {
        let times = format!("{:.1} | {:.1}", report.search_p50_ms, report.search_p99_ms);
        table.push_str(&row(name, &report.all, &times));
        for (category, scores) in &report.by_category {
            table.push_str(&row(&format!("{name}: {category}"), scores, " | "));
        }
    }
    table
}

fn row(name: &str, scores: &RetrievalScores, times: &str) -> String {
    format!(
        "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {times} |\n",
        scores.queries,
        scores.turn_1,
        scores.turn_5,
        scores.turn_10,
        scores.session_1,
        scores.session_5,
        scores.session_10
    )
}

fn speed_table(report: &SpeedReport) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let rows = [
        ("items", format!("{} {}", report.items, report.kind)),
        ("text", megabytes(report.text_bytes as u64)),
        ("write", format!("{:.2} s", report.write_seconds)),
        ("index", format!("{:.2} s", report.index_seconds)),
        ("written and indexed", format!("{:.0} a second", report.items_per_second)),
        (
            "single durable write",
            format!("p50 {:.2} ms, p99 {:.2} ms", report.single_write_p50_ms, report.single_write_p99_ms),
        ),
        ("search", format!("p50 {:.2} ms, p99 {:.2} ms", report.search_p50_ms, report.search_p99_ms)),
        ("resident memory", megabytes(report.resident_bytes)),
        ("disk", format!("{} ({:.0} bytes an item)", megabytes(report.disk_bytes), report.disk_bytes_per_item)),
        ("store and indexes", format!("{} and {}", megabytes(report.store_bytes), megabytes(report.index_bytes))),
    ];
    let mut table = String::from("| what | figure |\n|---|---|\n");
    for (what, figure) in rows {
        table.push_str(&format!("| {what} | {figure} |\n"));
    }
    table
}
