//! `memory provider list | check`

use std::time::Instant;

use memory_core::config::EngineMode;
use memory_core::{Error, ErrorKind, MemoryProvider};
use serde_json::json;

use super::Context;
use crate::arguments::ProviderCommand;
use crate::exit::{Exit, Stop};
use crate::settings::builtin;

/// The name of the embedded store.
const BUILTIN: &str = "builtin";

/// Lists providers, or asks one how it is doing.
pub(super) async fn provider(context: &Context<'_>, command: &ProviderCommand) -> Result<Exit, Stop> {
    match command {
        ProviderCommand::List => list(context),
        ProviderCommand::Check { name } => check(context, name.as_deref()).await,
    }
}

fn list(context: &Context<'_>) -> Result<Exit, Stop> {
    let memory = &context.settings.loaded.config.memory;
    let uses_builtin = matches!(memory.engine, EngineMode::Builtin | EngineMode::Both);
    let uses_external = matches!(memory.engine, EngineMode::External | EngineMode::Both);
    let external = memory.external.provider.as_str();
    let known = memory_engine::external_providers();
    let mut providers = vec![(BUILTIN, true, uses_builtin)];
    providers.extend(known.names().into_iter().map(|name| (name, true, uses_external && name == external)));
    if !external.is_empty() && !known.names().contains(&external) {
        providers.push((external, false, uses_external));
    }
    let output = context.output;
    if output.json {
        let providers: Vec<_> = providers
            .iter()
            .map(|(name, available, in_use)| json!({"name": name, "available": available, "in_use": in_use}))
            .collect();
        output.value(&json!({"engine": memory.engine, "providers": providers}))?;
        return Ok(Exit::Done);
    }
    output.line(&format!("engine: {}", memory.engine))?;
    for (name, available, in_use) in providers {
        let state = match (available, in_use) {
            (true, true) => output.style.good("in use"),
            (true, false) => "available".to_owned(),
            (false, true) => output.style.error("configured, but not part of this program"),
            (false, false) => "configured, not in use and not part of this program".to_owned(),
        };
        output.line(&format!("  {name}: {state}"))?;
    }
    Ok(Exit::Done)
}

async fn check(context: &Context<'_>, name: Option<&str>) -> Result<Exit, Stop> {
    if let Some(name) = name.filter(|name| *name != BUILTIN) {
        let error =
            Error::not_found(format!("there is no provider `{name}` in this program")).with_operation("provider check");
        return Err(error.with_hint(format!("available: {BUILTIN}")).into());
    }
    let memory = context.open().await?;
    let store = builtin(&memory, "provider check")?;
    let start = Instant::now();
    let health = store.health().await;
    let took_ms = start.elapsed().as_secs_f64() * 1000.0;
    let descriptor = store.descriptor();
    memory.engine.shutdown().await?;
    let output = context.output;
    if output.json {
        output.value(&json!({"name": descriptor.name, "version": descriptor.version, "ok": health.ok,
            "message": health.message, "details": health.details, "took_ms": took_ms}))?;
    } else if health.ok {
        output.line(&format!(
            "{} {}: {} ({took_ms:.1} ms)",
            output.style.good("✓"),
            descriptor.name,
            health.message
        ))?;
    } else {
        output.error(&Error::new(ErrorKind::Unreachable, health.message).with_hint("run `memory doctor`"));
    }
    Ok(if health.ok { Exit::Done } else { Exit::Failed })
}
