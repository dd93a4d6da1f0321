//! Where settings come from, and that keys stay secret.

use serde_json::{Value, json};

use crate::support::{Home, any_file_holds};

const CANARY: &str = "canary-3f9a77";

#[test]
fn the_origin_of_every_value_is_known() {
    let home =
        Home::new().with_variable("MEMORY_USER_ID", "from-environment").with_variable("MEMORY__SEARCH__LIMIT", "7");
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::write(home.path().join("config.yaml"), "memory:\n  search:\n    limit: 3\n    neighbors: 2\n").unwrap();
    let shown = home.json(&["config", "show", "--origin", "--quiet"]);
    let setting = |path: &str| -> Value {
        shown["settings"].as_array().unwrap().iter().find(|setting| setting["path"] == path).unwrap().clone()
    };
    let limit = setting("memory.search.limit");
    assert_eq!((&limit["value"], &limit["origin"]), (&json!(7), &json!("environment MEMORY__SEARCH__LIMIT")));
    assert!(setting("memory.search.neighbors")["origin"].as_str().unwrap().ends_with("config.yaml:4"));
    assert_eq!(setting("memory.external.user_id")["value"], "from-environment");
    assert_eq!(
        (&setting("memory.log")["value"], &setting("memory.log")["origin"]),
        (&json!("error"), &json!("flag --quiet"))
    );
    assert_eq!(setting("memory.search.mode")["origin"], "default");
    let text = home.run(&["config", "show", "--origin"]).done();
    assert!(text.contains("memory.search.limit: 7  # environment MEMORY__SEARCH__LIMIT"), "{text}");
    assert!(!home.run(&["config", "show"]).done().contains('#'));
}

#[test]
fn the_configured_user_is_the_viewer() {
    let home = Home::new().with_variable("MEMORY_USER_ID", "小明");
    home.add(&["likes pears"]);
    assert_eq!(home.json(&["list"])["items"][0]["user"], "小明");
    assert_eq!(home.json(&["list", "--user", "other"])["items"], json!([]));
}

#[test]
fn config_path_says_where() {
    let home = Home::new();
    assert_eq!(home.run(&["config", "path"]).code, 3);
    home.run(&["init"]).done();
    let path = home.path().join("config.yaml");
    assert_eq!(home.run(&["config", "path"]).done(), format!("{}\n", path.display()));
    let other = home.file("other.yaml", "memory: {}\n");
    assert_eq!(home.json(&["config", "path", "--config", other.to_str().unwrap()])["config"], json!(other));
}

#[test]
fn config_check_explains() {
    let home = Home::new();
    assert_eq!(home.json(&["config", "check"]), json!({"ok": true, "findings": []}));
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::write(home.path().join("config.yaml"), "memory:\n  embedding: { kind: openai }\n").unwrap();
    let run = home.run(&["config", "check", "--json"]);
    assert_eq!((run.code, run.value()["ok"].clone()), (1, json!(false)));
    std::fs::write(home.path().join("config.yaml"), "memory:\n  serch: {}\n").unwrap();
    let run = home.run(&["config", "check", "--json"]);
    assert_eq!(run.error()["kind"], "config_invalid");
    assert!(run.err.contains("search"), "the nearest key is named: {}", run.err);
}

#[test]
fn no_output_shows_a_key() {
    let home = Home::new()
        .with_variable("EMBED_API_KEY", CANARY)
        .with_variable("LLM_API_KEY", CANARY)
        .with_variable("MEM0_API_KEY", CANARY)
        .with_variable("MEMORY_API_KEYS", CANARY)
        .with_variable("EMBED_API_BASE", &format!("https://user:{CANARY}@127.0.0.1:9/v1?key={CANARY}"));
    home.run(&["init"]);
    let id = home.json(&["add", "harmless"])["id"].as_str().unwrap().to_owned();
    for arguments in [
        vec!["config", "show"],
        vec!["config", "show", "--origin"],
        vec!["config", "check"],
        vec!["config", "path"],
        vec!["status"],
        vec!["stats"],
        vec!["doctor"],
        vec!["provider", "list"],
        vec!["provider", "check"],
        vec!["model", "list"],
        vec!["list"],
        vec!["get", &id],
        vec!["search", "harmless", "--explain"],
        vec!["export"],
        vec!["reindex", "-vv"],
        vec!["--help"],
        vec!["man"],
    ] {
        for json in [false, true] {
            let mut command = home.command();
            command.args(&arguments);
            if json {
                command.arg("--json");
            }
            let output = command.output().unwrap();
            for text in [&output.stdout, &output.stderr] {
                assert!(!String::from_utf8_lossy(text).contains(CANARY), "{arguments:?} --json={json}");
            }
        }
    }
    assert!(!any_file_holds(&home.path(), CANARY.as_bytes()), "nor does a file of the home");
}

#[test]
fn colours_follow_flag_and_variable() {
    let home = Home::new();
    home.add(&["a red fox"]);
    assert!(!home.run(&["list"]).done().contains('\u{1b}'));
    assert!(home.run(&["list", "--color", "always"]).done().contains('\u{1b}'));
    assert!(!home.run(&["list", "--color", "never"]).done().contains('\u{1b}'));
}
