//! Generated files are current and true.

use std::path::Path;

use super::super::{Config, KEYS, environment_markdown, example_yaml, show, starter_yaml};
use super::{Folder, load};

/// Compares a file of the repository with what it should hold; with `MEMORY_REGENERATE=1` writes it.
fn is_current(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    if std::env::var_os("MEMORY_REGENERATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} is stale; run `MEMORY_REGENERATE=1 cargo test -p memory-core config_`");
}

#[test]
fn config_example_is_current() {
    is_current("config.example.yaml", &example_yaml());
}

#[test]
fn config_environment_page_is_current() {
    is_current("docs/reference/environment.md", &environment_markdown());
}

#[test]
fn the_example_reads_back_as_the_defaults() {
    let folder = Folder::new();
    let loaded = folder.load(&example_yaml(), &[("OPENAI_API_KEY", "sk")]).unwrap();
    assert_eq!(loaded.config.memory.llm.api_key.expose(), "sk", "an empty text in the file leaves room for a fallback");
    let loaded = folder.load(&example_yaml(), &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    // Every key with a value of its own was really read from the file.
    let defaults = serde_json::to_value(Config::default()).unwrap();
    for setting in show(&loaded) {
        let value = defaults.pointer(&format!("/{}", setting.path.replace('.', "/"))).unwrap();
        if *value != "" {
            assert!(setting.origin.to_string().contains("config.yaml:"), "{}", setting.path);
        }
    }
}

#[test]
fn the_starter_file_sets_nothing() {
    let loaded = load(&starter_yaml()).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert!(show(&loaded).iter().all(|setting| setting.origin.to_string() == "default"));
    let uncommented: String = starter_yaml()
        .lines()
        .map(|line| match line.trim_start().strip_prefix("# ") {
            Some(rest)
                if KEYS.iter().any(|key| rest.starts_with(&format!("{}: ", key.path.rsplit('.').next().unwrap()))) =>
            {
                format!("{}{rest}\n", " ".repeat(line.len() - line.trim_start().len()))
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert_eq!(load(&uncommented).unwrap().config, Config::default());
}

#[test]
fn the_example_names_every_key_and_variable() {
    let (example, page) = (example_yaml(), environment_markdown());
    for key in KEYS {
        for variable in key.variables {
            assert!(page.contains(&format!("| `{variable}` |")), "{variable}");
            assert!(!key.is_setting() || example.contains(variable), "{variable}");
        }
    }
    assert!(example.lines().all(|line| line.len() <= 120 && line.trim_end() == line));
}
