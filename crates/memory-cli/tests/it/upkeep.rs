//! init, status, stats, doctor, reindex, completions, man.

use serde_json::json;

use crate::support::{CONVERSATION, Home, fields};

#[test]
fn init_creates_what_is_missing_and_keeps_what_is_there() {
    let home = Home::new();
    let text = home.run(&["init"]).done();
    for part in ["config.yaml", "next steps", "memory add", "memory search"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let config = home.path().join("config.yaml");
    let written = std::fs::read_to_string(&config).unwrap();
    assert!(written.contains("engine: builtin"));
    assert!(home.path().join("workspace/memory").is_dir() && home.path().join("store.db").is_file());

    std::fs::write(&config, "memory:\n  search: { limit: 3 }\n").unwrap();
    let again = home.json(&["init"]);
    assert_eq!(again["config_created"], false);
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "memory:\n  search: { limit: 3 }\n");
    assert_eq!(home.json(&["config", "show"])["memory.search.limit"], 3);
}

#[test]
fn a_home_is_made_by_the_first_write() {
    let home = Home::new();
    assert!(!home.path().exists());
    home.add(&["hello"]);
    assert!(home.path().join("store.db").is_file());
}

#[test]
fn stats_count_everything_or_one_viewer() {
    let home = Home::new();
    let chat = home.file("chat.ndjson", CONVERSATION);
    home.run(&["import", chat.to_str().unwrap()]).done();
    home.add(&["one", "--category", "fact"]);
    home.add(&["two of lena", "--user", "lena"]);
    let stats = home.json(&["stats"]);
    for field in ["memories", "messages", "sessions", "documents", "facts", "lessons", "by", "index", "bytes"] {
        assert!(stats.get(field).is_some(), "{field}");
    }
    assert_eq!((&stats["memories"], &stats["messages"], &stats["sessions"]), (&json!(2), &json!(6), &json!(2)));
    assert!(stats["index"]["lag"].is_u64() && stats["bytes"].is_object(), "{stats}");
    assert_eq!(home.json(&["stats", "--user", "lena"])["memories"], 1);
    assert!(home.run(&["stats"]).done().contains("messages"));
}

#[test]
fn status_is_one_page() {
    let home = Home::new();
    home.add(&["one"]);
    let status = home.json(&["status"]);
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert!(status["home"].as_str().unwrap().ends_with("home"), "{status}");
    let text = home.run(&["status"]).done();
    assert!(text.contains("version") && text.lines().count() < 60, "{text}");
}

#[test]
fn the_doctor_finds_nothing_wrong_and_leaves_nothing_behind() {
    let home = Home::new();
    home.add(&["one"]);
    let report = home.json(&["doctor"]);
    assert_eq!(fields(&report), ["checks", "ok"]);
    assert_eq!(report["ok"], true, "{report}");
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(fields(check), ["fix", "message", "name", "ok"]);
    }
    assert_eq!(home.json(&["stats"])["memories"], 1);
    let text = home.run(&["doctor", "--fix"]).done();
    assert!(text.contains("✓") && text.contains("all is well"), "{text}");
}

#[test]
fn the_indexes_are_rebuilt_from_nothing() {
    let home = Home::new();
    let chat = home.file("chat.ndjson", CONVERSATION);
    home.run(&["import", chat.to_str().unwrap()]).done();
    std::fs::remove_dir_all(home.path().join("index")).unwrap();
    let report = home.json(&["reindex"]);
    assert!(report["applied"].as_u64().unwrap() >= 6, "{report}");
    for target in ["--text", "--vector"] {
        home.json(&["reindex", target]);
    }
    assert_eq!(home.json(&["search", "kitten"])["hits"][0]["external_id"], "m1");
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(&["completions", shell]).done();
        assert!(script.contains("memory") && script.contains("import") && script.len() > 1000, "{shell}");
    }
    let manual = home.run(&["man"]).done();
    for command in ["search", "import", "doctor", "config show", "model install"] {
        assert!(manual.to_lowercase().contains(command), "{command}");
    }
    assert!(manual.starts_with(".ie") || manual.contains(".TH"), "{}", &manual[..200]);
    assert!(!home.path().exists(), "neither needs a home");
}

#[test]
fn providers_and_models_are_listed_and_checked() {
    let home = Home::new();
    let list = home.json(&["provider", "list"]);
    assert_eq!((&list["engine"], &list["providers"][0]["name"]), (&json!("builtin"), &json!("builtin")));
    assert_eq!(home.json(&["provider", "check"])["ok"], true);
    assert_eq!(home.run(&["provider", "check", "nobody"]).code, 3);
    assert_eq!(home.json(&["model", "list"])["models"], json!([]));
    assert_eq!(home.json(&["model", "list"])["embedding"], "static");
    let run = home.run(&["model", "check", "nowhere"]);
    assert!(run.code != 0 && run.err.starts_with("error: "), "{}", run.err);
    let run = home.run(&["model", "install", "nowhere"]);
    assert_eq!(run.code, 3, "{}", run.err);
}
