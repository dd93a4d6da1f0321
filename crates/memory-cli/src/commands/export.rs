//! `memory export`

use std::path::Path;

use memory_core::{Clock, HitKind, ListRequest, MemoryProvider, SystemClock, Viewer};
use memory_engine::transfer::{self, ExportFormat};

use super::Context;
use crate::arguments::ExportArguments;
use crate::exit::{Exit, Stop};
use crate::output::Output;
use crate::settings::builtin;

/// Memories of a page.
const PAGE: usize = 500;

/// Writes everything, or what the viewer that flags name may read.
pub(super) async fn export(context: &Context<'_>, arguments: ExportArguments) -> Result<Exit, Stop> {
    let path = arguments.output.as_deref().filter(|path| path.as_os_str() != "-");
    let format = arguments.format.unwrap_or_else(|| path.map_or(ExportFormat::Ndjson, by_name));
    let memory = context.open().await?;
    let viewer = context.settings.named_viewer();
    if let (None, Some(provider)) = (&memory.builtin, memory.engine.external()) {
        let mut exporter = transfer::export(format, path, Box::new(std::io::stdout()), SystemClock.now())?;
        let exported = async {
            listed(provider.as_ref(), context.viewer(), &mut exporter).await?;
            exporter.finish()
        };
        let report = exported.await.map_err(reader_gone);
        memory.engine.shutdown().await?;
        return finish(context, path, &report?);
    }
    let store = builtin(&memory, "export")?;
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
    finish(context, path, &report?)
}

/// An external provider gives what it lists for one viewer: its memories.
async fn listed(
    provider: &dyn MemoryProvider,
    viewer: &Viewer,
    exporter: &mut transfer::Exporter,
) -> Result<(), memory_core::Error> {
    let mut request =
        ListRequest { viewer: viewer.clone(), kind: Some(HitKind::Memory), limit: PAGE, ..ListRequest::default() };
    loop {
        let page = provider.list(request.clone()).await?;
        page.items.iter().try_for_each(|item| exporter.item(item))?;
        match page.next {
            Some(next) => request.cursor = Some(next),
            None => return Ok(()),
        }
    }
}

fn finish(context: &Context<'_>, path: Option<&Path>, report: &transfer::ExportReport) -> Result<Exit, Stop> {
    if let Some(path) = path {
        show(context.output, path, report)?;
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
