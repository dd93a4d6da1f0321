//! `memory provider check`

use std::sync::Arc;

use memory_core::config::EngineMode;
use memory_core::{Clock, Error, ErrorKind, GuardPolicy, IdGenerator, MemoryProvider, SystemClock};
use memory_engine::CheckReport;

use super::{BUILTIN, Context};
use crate::exit::{Exit, Stop};

/// Makes one live round trip at a provider and says in one line what is wrong.
pub(super) async fn check(context: &Context<'_>, name: Option<&str>) -> Result<Exit, Stop> {
    let loaded = &context.settings.loaded;
    let configured = loaded.config.memory.external.provider.trim();
    let name = match (name, loaded.config.memory.engine) {
        (Some(name), _) => name,
        (None, EngineMode::External | EngineMode::Both) if !configured.is_empty() => configured,
        (None, EngineMode::External | EngineMode::Both | EngineMode::Builtin) => BUILTIN,
        (None, EngineMode::None) => {
            let error = Error::new(ErrorKind::Disabled, "memory is switched off (memory.engine is `none`)");
            return Err(error.with_hint("name a provider, or set memory.engine (MEMORY_ENGINE)").into());
        }
    };
    let opened = memory_engine::provider(loaded, name, Arc::new(SystemClock)).await;
    let provider = match opened {
        Err(error) if name != configured && error.kind() == ErrorKind::ConfigInvalid && !is_known(context, name)? => {
            // The one who typed the name is wrong, not the configuration.
            let unknown = Error::not_found(error.to_string()).with_operation("provider check");
            return Err(unknown.with_hint("see `memory provider list`").into());
        }
        opened => opened?,
    };
    let report = round_trip(context, provider.as_ref()).await;
    provider.shutdown().await?;
    let output = context.output;
    if output.json {
        output.value(&report)?;
    } else if report.ok {
        let (name, version, took_ms) = (&report.name, &report.version, report.took_ms);
        let line = format!("{} {name} {version}: {} ({took_ms:.1} ms)", output.style.good("✓"), report.message);
        output.line(&line)?;
    } else {
        let error = Error::new(ErrorKind::Unreachable, format!("{}: {}", report.name, report.message));
        output.error(&report.hints.iter().fold(error, |error, hint| error.with_hint(hint)));
    }
    Ok(if report.ok { Exit::Done } else { Exit::Failed })
}

/// A round trip with a mark of its own. A step may take as long as the slowest call that the configuration allows.
pub(in crate::commands) async fn round_trip(context: &Context<'_>, provider: &dyn MemoryProvider) -> CheckReport {
    let mut external = context.settings.loaded.config.memory.external.clone();
    external.provider = provider.descriptor().name;
    let policy = GuardPolicy::of(&external);
    let mark = format!("check-{}", IdGenerator::default().next(SystemClock.now())).to_lowercase();
    memory_engine::check(provider, context.viewer(), &mark, policy.write_limit.max(policy.initialize_limit)).await
}

fn is_known(context: &Context<'_>, name: &str) -> Result<bool, Error> {
    Ok(memory_engine::known_providers(&context.settings.loaded)?.iter().any(|provider| provider.name == name))
}
