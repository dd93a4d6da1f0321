//! `memory plugin list | trust | untrust | check | new`

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use memory_core::{Clock, Error, ErrorKind, SystemClock};
use plugin_sdk::host::{
    CheckOptions, Installed, Outcome, PluginHost, Sdk, Verdict, check, in_development, write_template,
};
use serde_json::{Value, json};

use super::Context;
use crate::arguments::PluginCommand;
use crate::exit::{Exit, Stop};
use crate::output::{bytes, clean};

/// How long any one step of an examination may take.
const CHECK_DEADLINE: Duration = Duration::from_secs(10);

/// Lists, trusts, examines and begins plugins. Only `check` runs code of one.
pub(super) async fn plugin(context: &Context<'_>, command: &PluginCommand) -> Result<Exit, Stop> {
    let plugins = PluginHost::of(&context.settings.loaded);
    match command {
        PluginCommand::List => list(context, &plugins),
        PluginCommand::Trust { name } => trust(context, &plugins, name),
        PluginCommand::Untrust { name } => untrust(context, &plugins, name),
        PluginCommand::Check { plugin } => examine(context, &plugins, plugin).await,
        PluginCommand::New { folder, sdk } => begin(context, folder, sdk.as_deref()),
    }
}

fn list(context: &Context<'_>, plugins: &PluginHost) -> Result<Exit, Stop> {
    let in_use = &context.settings.loaded.config.memory.external.provider;
    let mut rows = Vec::new();
    for (name, found) in plugins.directory.list()? {
        let row = match found {
            Ok(plugin) => {
                let refusal = plugins.trust.check(&plugin).err();
                let problem = plugins.check_allowed(&name).err();
                json!({"name": name, "version": plugin.version(), "description": plugin.manifest.plugin.description,
                    "path": plugin.library, "sha256": plugin.sha256, "trusted": refusal.is_none(), "in_use": name == *in_use,
                    "problem": problem.or(refusal).map(|error| error.to_string())})
            }
            Err(error) => {
                json!({"name": name, "trusted": false, "in_use": name == *in_use, "problem": error.to_string()})
            }
        };
        rows.push(row);
    }
    let output = context.output;
    if output.json {
        let value =
            json!({"directory": plugins.directory.root(), "require_trust": plugins.require_trust, "plugins": rows});
        output.value(&value)?;
        return Ok(Exit::Done);
    }
    for row in &rows {
        let text = |field: &str| clean(row.get(field).and_then(Value::as_str).unwrap_or_default());
        let state = match text("problem") {
            problem if problem.is_empty() => output.style.good("trusted"),
            problem => output.style.warning(&problem),
        };
        let used = if row.get("in_use") == Some(&Value::Bool(true)) { ", configured" } else { "" };
        output.line(&format!("  {} {}  {state}{used}", output.style.strong(&text("name")), text("version")))?;
        if !text("description").is_empty() {
            output.line(&format!("      {}", output.style.faint(&text("description"))))?;
        }
    }
    if rows.is_empty() {
        output.note(&format!("no plugin is installed in {}", plugins.directory.root().display()));
        output.hint("`memory plugin new DIR` begins one");
    }
    Ok(Exit::Done)
}

fn trust(context: &Context<'_>, plugins: &PluginHost, name: &str) -> Result<Exit, Stop> {
    let plugin = plugins.directory.find(name)?;
    let output = context.output;
    let known = plugins.trust.find(name)?;
    if known.as_ref().is_some_and(|known| known.sha256 == plugin.sha256) {
        return trusted(context, &plugin, true, "is trusted already");
    }
    if !output.json {
        output.note(&format!("{} {}: {}", plugin.name(), plugin.version(), clean(&plugin.manifest.plugin.description)));
        output.note(&format!("  path:   {}", plugin.library.display()));
        output.note(&format!("  size:   {}", bytes(plugin.size)));
        output.note(&format!("  sha256: {}", plugin.sha256));
        if let Some(known) = &known {
            output.note(&format!("  before: {} {}, trusted since {}", known.version, known.sha256, known.added));
        }
        output.note("A plugin runs with all your rights. Trust it only when you know where it comes from.");
    }
    let agreed = context.settings.yes || !output.json && confirmed()?;
    if !agreed {
        trusted(context, &plugin, false, "is not trusted")?;
        output.hint("nothing was changed; run it again with --yes");
        return Ok(Exit::Refused);
    }
    plugins.trust.trust(&plugin, SystemClock.now())?;
    trusted(context, &plugin, true, "is trusted from now on")
}

fn trusted(context: &Context<'_>, plugin: &Installed, trusted: bool, words: &str) -> Result<Exit, Stop> {
    let output = context.output;
    if output.json {
        output.value(&json!({"name": plugin.name(), "version": plugin.version(), "path": plugin.library,
            "sha256": plugin.sha256, "trusted": trusted}))?;
    } else {
        output.line(&format!("{} {words}", plugin.name()))?;
    }
    Ok(Exit::Done)
}

/// Asks a person, where there is one.
fn confirmed() -> Result<bool, Error> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let unreadable = |error| Error::new(ErrorKind::Storage, "cannot ask on the terminal").with_source(error);
    write!(std::io::stderr(), "Trust it? [y/N] ").map_err(unreadable)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(unreadable)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "j" | "ja" | "是"))
}

fn untrust(context: &Context<'_>, plugins: &PluginHost, name: &str) -> Result<Exit, Stop> {
    let was_trusted = plugins.trust.untrust(name)?;
    let output = context.output;
    if output.json {
        output.value(&json!({"name": name, "trusted": false, "was_trusted": was_trusted}))?;
    } else if was_trusted {
        output.line(&format!("{name} is no longer trusted"))?;
    } else {
        output.note(&format!("{name} was not trusted"));
    }
    Ok(if was_trusted { Exit::Done } else { Exit::NotFound })
}

async fn examine(context: &Context<'_>, plugins: &PluginHost, named: &Path) -> Result<Exit, Stop> {
    let plugin = find(context, plugins, named)?;
    let home = &context.settings.loaded.home;
    let options = CheckOptions {
        config: plugins.config_of(plugin.name()),
        scratch: home.join("plugins").join(plugin.name()).join(format!("check-{}", std::process::id())),
        deadline: CHECK_DEADLINE,
        watch_stdout: true,
    };
    let verdicts = check(&plugin, options).await?;
    let ok = verdicts.iter().all(|verdict| verdict.outcome != Outcome::Failed);
    let output = context.output;
    if output.json {
        output.value(&json!({"name": plugin.name(), "version": plugin.version(), "path": plugin.library,
            "sha256": plugin.sha256, "ok": ok, "verdicts": verdicts}))?;
    } else {
        for Verdict { name, outcome, message } in &verdicts {
            let mark = match outcome {
                Outcome::Passed => output.style.good("✓"),
                Outcome::Failed => output.style.error("✗"),
                Outcome::Skipped => output.style.faint("–"),
            };
            output.line(&format!("{mark} {name}: {}", clean(message)))?;
        }
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

/// A folder is somebody's own work and is run as it is, like any program that is called by its path. An installed plugin has
/// to be trusted, or `--yes` given.
fn find(context: &Context<'_>, plugins: &PluginHost, named: &Path) -> Result<Installed, Error> {
    let name = named.to_str().unwrap_or_default();
    let is_path = named.components().count() != 1 || name.starts_with('.') || name.contains('/');
    if is_path || plugins.directory.find(name).is_err() && named.is_dir() {
        return in_development(named);
    }
    let plugin = plugins.directory.find(name)?;
    if !context.settings.yes {
        plugins.trust.check(&plugin).map_err(|error| error.with_hint("or examine it all the same with --yes"))?;
    }
    Ok(plugin)
}

fn begin(context: &Context<'_>, folder: &Path, sdk: Option<&str>) -> Result<Exit, Stop> {
    let sdk = match sdk {
        None => Sdk::Version,
        Some(address) if address.contains("://") || address.starts_with("git@") => Sdk::Git(address.to_owned()),
        Some(path) => Sdk::Path(PathBuf::from(path)),
    };
    let files = write_template(folder, &sdk)?;
    let output = context.output;
    if output.json {
        output.value(&json!({"path": folder, "files": files}))?;
        return Ok(Exit::Done);
    }
    for file in &files {
        output.line(&file.display().to_string())?;
    }
    let folder = folder.display();
    output.hint(&format!("cd {folder} && cargo build --release && memory plugin check ."));
    Ok(Exit::Done)
}
