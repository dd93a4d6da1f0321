//! `memory config show | check | path`

use memory_core::config::{Severity, check, show};
use serde_json::{Map, Value, json};

use super::Context;
use crate::arguments::ConfigCommand;
use crate::exit::{Exit, Stop};
use crate::output::clean;

/// Shows or checks the configuration; nothing is opened.
pub(super) fn config(context: &Context<'_>, command: &ConfigCommand) -> Result<Exit, Stop> {
    match command {
        ConfigCommand::Show { origin } => show_settings(context, *origin),
        ConfigCommand::Check => check_settings(context),
        ConfigCommand::Path => path(context),
    }
}

fn show_settings(context: &Context<'_>, with_origin: bool) -> Result<Exit, Stop> {
    let settings = show(&context.settings.loaded);
    let output = context.output;
    if output.json {
        if with_origin {
            output.value(&json!({"home": context.settings.loaded.home, "settings": settings}))?;
        } else {
            let values: Map<String, Value> =
                settings.into_iter().map(|setting| (setting.path, setting.value)).collect();
            output.value(&values)?;
        }
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for setting in &settings {
        let value = match &setting.value {
            Value::String(value) if value.is_empty() => "\"\"".to_owned(),
            Value::String(value) => clean(value),
            other => clean(&other.to_string()),
        };
        let origin = if with_origin { output.style.faint(&format!("  # {}", setting.origin)) } else { String::new() };
        text.push_str(&format!("{}: {value}{origin}\n", output.style.label(&setting.path)));
    }
    output.text(&text)?;
    Ok(Exit::Done)
}

fn check_settings(context: &Context<'_>) -> Result<Exit, Stop> {
    let findings = check(&context.settings.loaded);
    let failed = findings.iter().any(|finding| finding.severity == Severity::Error);
    let output = context.output;
    if output.json {
        output.value(&json!({"ok": !failed, "findings": findings}))?;
    } else {
        for finding in &findings {
            let word = match finding.severity {
                Severity::Error => output.style.error("error:"),
                Severity::Warning => output.style.warning("warning:"),
            };
            let place = if finding.path.is_empty() { String::new() } else { format!("{}: ", finding.path) };
            output.line(&format!(
                "{word} {place}{}\n    {} {}",
                finding.message,
                output.style.hint("→"),
                finding.hint
            ))?;
        }
        if findings.is_empty() {
            output.line(&output.style.good("the configuration makes sense"))?;
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn path(context: &Context<'_>) -> Result<Exit, Stop> {
    let loaded = &context.settings.loaded;
    let output = context.output;
    if output.json {
        let value = json!({"home": loaded.home, "config": loaded.config_path, "searched": loaded.searched});
        output.value(&value)?;
        return Ok(Exit::Done);
    }
    match &loaded.config_path {
        Some(path) => output.line(&path.display().to_string())?,
        None => {
            output.note("there is no configuration file; these places were looked at:");
            for place in &loaded.searched {
                output.note(&format!("  {}", place.display()));
            }
            output.hint("`memory init` writes one");
        }
    }
    Ok(if loaded.config_path.is_some() { Exit::Done } else { Exit::NotFound })
}
