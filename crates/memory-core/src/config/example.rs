//! The commented example file and the reference page of the variables, both made from the table and the defaults.

use std::fmt::Write;

use serde_json::Value;

use super::keys::{GENERIC_PREFIX, KEYS, Key, LARGEST, SECTIONS};
use super::{Config, Kind};

/// `config.example.yaml`: every key with its default, meaning and variable. It reads back as the defaults.
pub fn example_yaml() -> String {
    render(false)
}

/// The file that `memory init` writes: the same, with every key commented out, so that a later version may improve a
/// default that was never chosen.
pub fn starter_yaml() -> String {
    render(true)
}

fn render(commented_out: bool) -> String {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut text = String::from(
        "# Configuration of memory. Every key stands here with its default.\n\
         # Empty means unset. Texts may use ${NAME} and ${NAME:-default}. Any key can be set by a variable:\n\
         # MEMORY__SEARCH__LIMIT sets memory.search.limit. Ids made of digits need quotes. `memory config show --origin`\n\
         # shows where each value comes from.\n\n",
    );
    section("memory", &defaults, commented_out, &mut text);
    text
}

/// The keys of a section, then the sections in it.
fn section(path: &str, defaults: &Value, commented_out: bool, text: &mut String) {
    let depth = path.matches('.').count();
    let indent = "  ".repeat(depth);
    let doc = SECTIONS.iter().find(|(section, _)| *section == path).map_or("", |(_, doc)| *doc);
    comment(&indent, doc, text);
    let _ = writeln!(text, "{indent}{}:", last(path));
    let inside = |candidate: &str| candidate.rsplit_once('.').is_some_and(|(parent, _)| parent == path);
    let indent = "  ".repeat(depth + 1);
    let mark = if commented_out { "# " } else { "" };
    for key in KEYS.iter().filter(|key| key.is_setting() && inside(key.path)) {
        comment(&indent, &format!("{}{}", key.doc, notes(key)), text);
        let value = defaults.pointer(&format!("/{}", key.path.replace('.', "/"))).map(scalar).unwrap_or_default();
        let _ = writeln!(text, "{indent}{mark}{}: {value}", last(key.path));
    }
    for (inner, _) in SECTIONS.iter().filter(|(inner, _)| inside(inner)) {
        if !text.ends_with(":\n") {
            text.push('\n');
        }
        section(inner, defaults, commented_out, text);
    }
    if path == super::keys::PLUGIN_PARENT {
        text.push('\n');
        comment(
            &indent,
            "A plugin has its own section, named like the provider. What stands in it is the plugin's business:",
            text,
        );
        comment(&indent, "acme: { token: \"${ACME_TOKEN}\" }", text);
    }
}

/// What values a key takes and which variables set it.
fn notes(key: &Key) -> String {
    let mut notes = String::new();
    match key.kind {
        Kind::Choice(names) => {
            let _ = write!(notes, " Values: {}.", names.join(", "));
        }
        Kind::Integer { maximum: LARGEST, .. } => {}
        Kind::Integer { minimum, maximum } => {
            let _ = write!(notes, " From {minimum} to {maximum}.");
        }
        Kind::Number { minimum, maximum } => {
            let _ = write!(notes, " From {minimum} to {maximum}.");
        }
        _ => {}
    }
    if !key.variables.is_empty() {
        let _ = write!(notes, " Variable: {}.", key.variables.join(", "));
    }
    if !key.fallbacks.is_empty() {
        let _ = write!(notes, " Else: {}.", key.fallbacks.join(", "));
    }
    notes
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// A comment, folded at 110 columns.
fn comment(indent: &str, doc: &str, text: &mut String) {
    let mut line = format!("{indent}#");
    for word in doc.split(' ') {
        if line.len() + 1 + word.len() > 110 {
            let _ = writeln!(text, "{line}");
            line = format!("{indent}#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

/// A value as YAML; texts that could be read as something else stand in quotes, as in JSON.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let fitting = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    let special = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(fitting)
        && !text.ends_with(':')
        && !special.contains(&text.to_ascii_lowercase().as_str())
}

/// `docs/reference/environment.md`: every variable, the key it sets and what it means.
pub fn environment_markdown() -> String {
    let mut text = format!(
        "# Environment variables\n\n\
         This page is generated from the key table in `memory-core`.\n\n\
         An empty variable is unset. A value is read as the kind of its key says: flags take `true/1/yes/on` and\n\
         `false/0/no/off`, lists are separated by commas. No error message repeats a value.\n\n\
         Strongest first: flag, environment, `.env` in the home, `config.yaml`, fallback variables, default.\n\
         `MEMORY_DOTENV_FIRST` puts `.env` above the environment.\n\n\
         Any key can be set by `{GENERIC_PREFIX}SECTION__KEY`, which wins over the variables below:\n\
         `{GENERIC_PREFIX}SEARCH__LIMIT` sets `memory.search.limit`. A setting of a plugin is\n\
         `{GENERIC_PREFIX}EXTERNAL__ACME__TOKEN`.\n\n\
         | variable | key | meaning |\n|---|---|---|\n"
    );
    for key in KEYS {
        let place = if key.is_setting() { format!("`{}`", key.path) } else { "(locates the configuration)".to_owned() };
        let values = match key.kind {
            Kind::Choice(names) => format!(" Values: {}.", names.join(", ")),
            _ => String::new(),
        };
        for variable in key.variables {
            let _ = writeln!(text, "| `{variable}` | {place} | {}{values} |", key.doc);
        }
    }
    text.push_str(
        "\n## Fallbacks\n\nThese count only where nothing else sets the key.\n\n| variable | key |\n|---|---|\n",
    );
    for key in KEYS.iter().filter(|key| key.is_setting()) {
        for variable in key.fallbacks {
            let _ = writeln!(text, "| `{variable}` | `{}` |", key.path);
        }
    }
    text
}
