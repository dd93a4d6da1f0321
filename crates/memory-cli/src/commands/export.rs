//! `memory export`

use std::path::Path;

use memory_core::{Clock, SystemClock};
use memory_engine::transfer::{self, ExportFormat};

use super::Context;
use crate::arguments::ExportArguments;
use crate::exit::{Exit, Stop};
use crate::output::Output;
use crate::settings::builtin;

/// Writes everything, or what the viewer that flags name may read.
pub(super) async fn export(context: &Context<'_>, arguments: ExportArguments) -> Result<Exit, Stop> {
    let path = arguments.output.as_deref().filter(|path| path.as_os_str() != "-");
    let format = arguments.format.unwrap_or_else(|| path.map_or(ExportFormat::Ndjson, by_name));
    let memory = context.open().await?;
    let store = builtin(&memory, "export")?;
    let viewer = context.settings.named_viewer();
    // Files that were put there by hand belong to the export too.
    store.sync_documents(&context.output.progress()).await?;
    let mut exporter = transfer::export(format, path, Box::new(std::io::stdout()), SystemClock.now())?;
    let exported = async {
        store.export(viewer, &mut |item| exporter.item(&item)).await?;
        store.export_documents(viewer, &mut |scope, path, content| exporter.document(scope, path, content)).await?;
        exporter.finish()
    };
    let report = exported.await.map_err(reader_gone);
    memory.engine.shutdown().await?;
    let report = report?;
    if let Some(path) = path {
        show(context.output, path, &report)?;
    }
    Ok(Exit::Done)
}

fn show(output: &Output, path: &Path, report: &transfer::ExportReport) -> Result<(), Stop> {
    if output.json {
        let mut value = serde_json::json!({"path": path});
        if let (Some(object), Ok(serde_json::Value::Object(counts))) =
            (value.as_object_mut(), serde_json::to_value(report))
        {
            object.extend(counts);
        }
        return output.value(&value);
    }
    let transfer::ExportReport { memories, messages, documents } = report;
    let what = format!("{memories} memories, {messages} messages, {documents} documents");
    output.line(&format!("{} {what} to {}", output.style.good("exported"), path.display()))
}

/// A broken pipe comes back as the cause of a storage error.
fn reader_gone(error: memory_core::Error) -> Stop {
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    if cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe) {
        Stop::ReaderGone
    } else {
        error.into()
    }
}

fn by_name(path: &Path) -> ExportFormat {
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("json") => ExportFormat::Json,
        Some("md" | "markdown") => ExportFormat::Markdown,
        _ => ExportFormat::Ndjson,
    }
}
