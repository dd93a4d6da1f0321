//! `memory provider list`

use memory_core::config::EngineMode;
use memory_engine::{KnownProvider, ProviderOrigin};
use serde_json::{Value, json};

use super::{BUILTIN, Context};
use crate::exit::{Exit, Stop};
use crate::output::one_line;

/// Lists the embedded store, the external providers of this program and the plugins that are installed.
pub(super) fn list(context: &Context<'_>) -> Result<Exit, Stop> {
    let loaded = &context.settings.loaded;
    let memory = &loaded.config.memory;
    let uses_builtin = matches!(memory.engine, EngineMode::Builtin | EngineMode::Both);
    let uses_external = matches!(memory.engine, EngineMode::External | EngineMode::Both);
    let configured = memory.external.provider.trim();
    let known = memory_engine::known_providers(loaded)?;
    let output = context.output;
    if output.json {
        let shape = |provider: &KnownProvider| -> Value {
            let is_configured = provider.name == configured;
            json!({"name": provider.name, "origin": provider.origin, "available": provider.problem.is_none(),
                "configured": is_configured, "in_use": uses_external && is_configured, "problem": provider.problem})
        };
        let mut providers = vec![json!({"name": BUILTIN, "origin": ProviderOrigin::BuiltIn, "available": true,
            "configured": uses_builtin, "in_use": uses_builtin, "problem": null})];
        providers.extend(known.iter().map(shape));
        if is_missing(configured, &known) {
            providers.push(json!({"name": configured, "origin": null, "available": false, "configured": true,
                "in_use": uses_external, "problem": "it is neither part of this program nor an installed plugin"}));
        }
        output.value(&json!({"engine": memory.engine, "providers": providers}))?;
        return Ok(Exit::Done);
    }
    let style = output.style;
    output.line(&format!("engine: {}", memory.engine))?;
    let store = if uses_builtin { style.good("in use") } else { "available".to_owned() };
    output.line(&format!("  {BUILTIN}: {store}"))?;
    for provider in &known {
        let is_configured = provider.name == configured;
        let mut state = match (&provider.problem, is_configured, uses_external) {
            (Some(problem), true, _) => style.error(&format!("configured, but {}", one_line(problem))),
            (Some(problem), false, _) => style.faint(&one_line(problem)),
            (None, true, true) => style.good("in use"),
            (None, true, false) => "configured, not in use".to_owned(),
            (None, false, _) => "available".to_owned(),
        };
        if provider.origin == ProviderOrigin::Plugin {
            state.push_str(&style.faint("  (plugin)"));
        }
        output.line(&format!("  {}: {state}", one_line(&provider.name)))?;
    }
    if is_missing(configured, &known) {
        let state = "configured, but neither part of this program nor an installed plugin";
        output.line(&format!("  {}: {}", one_line(configured), style.error(state)))?;
    }
    Ok(Exit::Done)
}

fn is_missing(configured: &str, known: &[KnownProvider]) -> bool {
    !configured.is_empty() && known.iter().all(|provider| provider.name != configured)
}
