//! `memory status` and `memory stats`

use memory_core::{DeliveryQueue, Error, HitKind, ListRequest, MemoryProvider};
use memory_engine::Memory;
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use crate::exit::{Exit, Stop};
use crate::output::page;
use crate::settings::builtin;

/// Memories of a page.
const PAGE: usize = 500;

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
    let external = external(&memory).await?;
    memory.engine.shutdown().await?;
    let mut status = status?;
    if let (Some(fields), Some(external)) = (status.as_object_mut(), external) {
        fields.insert("external".to_owned(), external);
    }
    print(context, &status)
}

/// How the external provider and the queue to it are doing, in the modes that have one.
async fn external(memory: &Memory) -> Result<Option<Value>, Error> {
    let (Some(provider), Some(queue)) = (memory.engine.external(), &memory.queue) else { return Ok(None) };
    let health = provider.health().await;
    let (waiting, refused) = queue.count().await?;
    Ok(Some(json!({"provider": queue.provider(), "ok": health.ok, "message": health.message, "waiting": waiting,
        "refused": refused, "trouble": queue.trouble().await?})))
}

/// How much is stored: in the whole home, or for the viewer that flags name.
pub(super) async fn stats(context: &Context<'_>) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let statistics = match (&memory.builtin, memory.engine.external()) {
        (None, Some(provider)) => listed(provider.as_ref(), context).await,
        _ => builtin(&memory, "stats")?
            .statistics(context.settings.named_viewer())
            .await
            .and_then(|statistics| to_value(&statistics)),
    };
    memory.engine.shutdown().await?;
    print(context, &statistics?)
}

/// An external provider is not asked for counts of everything: what the viewer may read is listed and counted.
async fn listed(provider: &dyn MemoryProvider, context: &Context<'_>) -> Result<Value, Error> {
    let mut count = 0;
    let mut request = ListRequest {
        viewer: context.viewer().clone(),
        kind: Some(HitKind::Memory),
        limit: PAGE,
        ..ListRequest::default()
    };
    loop {
        let page = provider.list(request.clone()).await?;
        count += page.items.len();
        match page.next {
            Some(next) => request.cursor = Some(next),
            None => return Ok(json!({"provider": provider.descriptor().name, "memories": count})),
        }
    }
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
