//! `memory init`

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_core::config::starter_yaml;
use memory_core::{Error, ErrorKind};
use serde_json::json;

use super::Context;
use crate::exit::{Exit, Stop};

/// Creates what is missing and overwrites nothing.
pub(super) async fn init(context: &Context<'_>) -> Result<Exit, Stop> {
    let loaded = &context.settings.loaded;
    let home = &loaded.home;
    let workspace = loaded.workspace_dir();
    let config = loaded.config_path.clone().unwrap_or_else(|| home.join("config.yaml"));
    create_folder(home)?;
    create_folder(&workspace.join("memory"))?;
    let new_config = create_file(&config, &starter_yaml())?;
    let memory = context.open().await?;
    memory.engine.shutdown().await?;

    if context.output.json {
        let places = json!({"home": home, "config": config, "config_created": new_config, "workspace": workspace});
        context.output.value(&places)?;
        return Ok(Exit::Done);
    }
    let style = context.output.style;
    let state = if new_config { "new" } else { "kept as it is" };
    let documents = workspace.join("memory");
    let lines: [(&str, &PathBuf, &str); 4] = [
        ("home", home, ""),
        ("configuration", &config, state),
        ("store", &home.join("store.db"), ""),
        ("documents", &documents, "put Markdown here"),
    ];
    let mut text = format!("{}\n\n", style.good("memory is ready"));
    for (label, path, remark) in lines {
        let remark = if remark.is_empty() { String::new() } else { style.faint(&format!("  ({remark})")) };
        text.push_str(&format!(
            "  {}{} {}{remark}\n",
            style.label(label),
            " ".repeat(14 - label.len()),
            path.display()
        ));
    }
    text.push_str(&format!("\n{}\n", style.strong("next steps")));
    for (command, remark) in [
        ("memory add \"I take my coffee black\"", "remember something"),
        ("memory search \"how do I drink coffee?\"", "find it again"),
        ("memory import conversation.ndjson notes/", "take in conversations and Markdown"),
        ("memory doctor", "check that everything works"),
    ] {
        text.push_str(&format!("  {command:<44}{}\n", style.faint(remark)));
    }
    context.output.text(&text)?;
    Ok(Exit::Done)
}

fn create_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|error| failed("create the folder", path, error))
}

/// Writes a file unless there is one; true when it is new. The configuration may come to hold keys, so it is private.
fn create_file(path: &Path, content: &str) -> Result<bool, Error> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    match options.open(path) {
        Ok(mut file) => {
            file.write_all(content.as_bytes()).map_err(|error| failed("write", path, error))?;
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed("create", path, error)),
    }
}

fn failed(action: &str, path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot {action} {}", path.display()))
        .with_source(error)
        .with_hint("check that the folder may be written to, or choose another with --home (MEMORY_HOME)")
}
