//! import and export.

use serde_json::{Value, json};

use crate::support::{CONVERSATION, Home};

fn counts(home: &Home) -> Value {
    let stats = home.json(&["stats"]);
    json!({"memories": stats["memories"], "messages": stats["messages"], "sessions": stats["sessions"], "documents": stats["documents"], "by": stats["by"]})
}

#[test]
fn importing_twice_adds_nothing() {
    let home = Home::new();
    let without_ids = "{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"ok\"}\n".repeat(2);
    let chat = home.file("chat.ndjson", CONVERSATION);
    let plain = home.file("plain.jsonl", without_ids);
    let memories =
        home.file("memories.ndjson", "{\"body\":\"likes jasmine tea\",\"tags\":[\"茶\"]}\n{\"body\":\"住在成都\"}\n");
    let paths = ["import", chat.to_str().unwrap(), plain.to_str().unwrap(), memories.to_str().unwrap()];
    let first = home.json(&paths);
    assert_eq!(first["read"], json!({"messages": 8, "memories": 2, "documents": 0}));
    assert_eq!((&first["stored"], &first["deduped"], &first["errors_total"]), (&json!(10), &json!(0), &json!(0)));
    let before = counts(&home);
    let second = home.json(&paths);
    assert_eq!((&second["stored"], &second["deduped"]), (&json!(0), &json!(10)));
    assert_eq!(counts(&home), before);
    assert_eq!((&before["messages"], &before["memories"], &before["sessions"]), (&json!(8), &json!(2), &json!(3)));
    assert_eq!(home.json(&["search", "哪里 住"])["hits"][0]["text"], "住在成都");
}

#[test]
fn bad_lines_are_reported_and_the_rest_is_kept() {
    let home = Home::new();
    let mut content = CONVERSATION.as_bytes().to_vec();
    content.extend_from_slice(b"{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"\xff\"}\n");
    content.extend_from_slice(br#"{"session_id":"s","role":"user","content":"\udc00"}"#);
    content.extend_from_slice(b"\n{\"session_id\":\"s\",\"role\":\"nobody\",\"content\":\"x\"}\nnonsense\n");
    content.extend_from_slice(b"{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"kept at the end\"}\n");
    let file = home.file("chat.ndjson", content);
    let run = home.run(&["import", file.to_str().unwrap(), "--json"]);
    assert_eq!(run.code, 1);
    let report = run.value();
    let lines: Vec<u64> =
        report["errors"].as_array().unwrap().iter().map(|error| error["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [7, 8, 9, 10]);
    assert_eq!((&report["stored"], &report["errors_total"]), (&json!(7), &json!(4)));
    assert_eq!(home.json(&["search", "kept at the end"])["hits"][0]["text"], "kept at the end");
    let run = home.run(&["import", file.to_str().unwrap()]);
    assert!(run.err.contains(&format!("{}:7: not valid UTF-8", file.display())), "{}", run.err);
    assert!(run.out.contains("7 known already"), "{}", run.out);
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let home = Home::new();
    home.file("pile/chat.ndjson", CONVERSATION);
    home.file("pile/notes/a.md", "# A\n\ntext\n");
    let report = home.json(&["import", "pile", "--dry-run"]);
    assert_eq!(
        (&report["dry_run"], &report["read"]),
        (&json!(true), &json!({"messages": 6, "memories": 0, "documents": 1}))
    );
    assert_eq!(home.json(&["stats"])["messages"], 0);
    let text = home.run(&["import", "pile", "--dry-run"]);
    assert!(text.out.contains("would import 6 messages, 1 document from 2 files"), "{}", text.out);
}

#[test]
fn markdown_is_found_with_its_place() {
    let home = Home::new();
    home.file("notes/garden.md", "# Garden\n\nThe tomatoes need water every second day.\n");
    home.file("notes/厨房.md", "---\ntitle: 厨房\ntags: [做饭]\n---\n\n# 红烧肉\n\n先用冰糖炒糖色，再加料酒和酱油。\n");
    let report = home.json(&["import", "notes"]);
    assert_eq!((&report["read"]["documents"], &report["stored"]), (&json!(2), &json!(2)));
    let hit = home.json(&["search", "how often do the tomatoes need water"])["hits"][0].clone();
    assert_eq!(hit["kind"], "document");
    assert!(hit["source"]["path"].as_str().unwrap().ends_with("notes/garden.md"), "{hit}");
    assert!(hit["source"]["lines"].is_array(), "{hit}");
    let hit = home.json(&["search", "红烧肉怎么炒糖色"])["hits"][0].clone();
    assert!(hit["text"].as_str().unwrap().contains("冰糖"), "{hit}");
    assert_eq!(home.json(&["import", "notes"])["deduped"], 2);
    let text = home.run(&["search", "tomatoes"]).done();
    assert!(text.contains("garden.md:"), "{text}");
}

#[test]
fn standard_input_is_imported() {
    let home = Home::new();
    let run = home.run_with_input(&["import", "-", "--json"], CONVERSATION);
    assert_eq!((run.code, run.value()["stored"].clone()), (0, json!(6)), "{}", run.err);
    let lines = "{\"body\":\"via a pipe\"}\n";
    assert_eq!(home.run_with_input(&["import", "-", "--format", "memories", "--json"], lines).value()["stored"], 1);
}

#[test]
fn odd_paths_have_a_clear_outcome() {
    let home = Home::new();
    let run = home.run(&["import", "nowhere", "--json"]);
    assert_eq!((run.code, run.error()["kind"].as_str().unwrap().to_owned()), (3, "not_found".to_owned()));
    let odd = home.file("odd.ndjson", "plain words\n");
    let run = home.run(&["import", odd.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("session_id"), "{}", run.err);
    #[cfg(unix)]
    {
        home.file("pile/a.md", "# A\n");
        let pile = odd.parent().unwrap().join("pile");
        std::os::unix::fs::symlink(&pile, pile.join("loop")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(pile.join("pipe.md")).status().unwrap().success());
        let report = home.json(&["import", "pile"]);
        assert_eq!((&report["stored"], &report["skipped_total"]), (&json!(1), &json!(2)));
        let run = home.run(&["import", "pile/pipe.md"]);
        assert_eq!(run.code, 2);
        assert!(run.err.contains("a named pipe"), "{}", run.err);
    }
}

fn filled() -> Home {
    let home = Home::new();
    let chat = home.file("chat.ndjson", CONVERSATION);
    home.file("notes/a.md", "# 计划\n\n春天种番茄。\n");
    home.run(&["import", chat.to_str().unwrap(), "notes"]).done();
    let tea = home.add(&[
        "likes oolong",
        "--title",
        "茶",
        "--tag",
        "drink",
        "--category",
        "preference",
        "--attr",
        "a={\"b\":[1]}",
    ]);
    home.json(&["update", &tea, "likes oolong in the morning"]);
    home.add(&["agent memory", "--agent", "coder", "--user", "lena", "--event-at", "2026-01-02T03:04:05+08:00"]);
    let gone = home.add(&["to be forgotten"]);
    home.json(&["forget", &gone, "--yes"]);
    home
}

#[test]
fn a_bundle_makes_the_same_store() {
    let home = filled();
    for name in ["x.ndjson", "x.json"] {
        home.run(&["export", "-o", name]).done();
        let bundle = std::fs::read(home.path().parent().unwrap().join(name)).unwrap();
        let other = Home::new();
        let file = other.file(name, bundle);
        let report = other.json(&["import", file.to_str().unwrap()]);
        assert_eq!((&report["errors_total"], &report["rejected"]), (&json!(0), &json!(0)), "{report}");
        assert_eq!(counts(&other), counts(&home), "{name}");
        for arguments in [
            vec!["list", "--all"],
            vec!["list", "--all", "--kind", "message"],
            vec!["list", "--all", "--state", "deleted"],
            vec!["list", "--all", "--user", "lena", "--agent", "coder"],
        ] {
            assert_eq!(other.json(&arguments), home.json(&arguments), "{arguments:?}");
        }
        assert!(other.json(&["search", "春天种什么"])["hits"][0]["text"].as_str().unwrap().contains("番茄"));
        let again = other.json(&["import", file.to_str().unwrap()]);
        assert_eq!(again["stored"], 0, "{again}");
    }
}

#[test]
fn export_takes_one_viewer_or_all() {
    let home = filled();
    let lines = |arguments: &[&str]| home.run(arguments).done().lines().count();
    let (all, lena) = (lines(&["export"]), lines(&["export", "--user", "lena", "--agent", "coder"]));
    assert_eq!(lena, 2, "a header and one memory");
    assert!(all > 9, "{all}");
    let first: Value = serde_json::from_str(home.run(&["export"]).done().lines().next().unwrap()).unwrap();
    assert_eq!((&first["format"], &first["version"]), (&json!("memory-bundle"), &json!(1)));
    let whole: Value = serde_json::from_str(&home.run(&["export", "--format", "json"]).done()).unwrap();
    assert_eq!(whole["items"].as_array().unwrap().len(), all - 1);
    let text = home.run(&["export", "--format", "markdown"]).done();
    assert!(
        text.contains("## Session monday")
            && text.contains("likes oolong in the morning")
            && text.contains("春天种番茄"),
        "{text}"
    );
}

#[test]
fn export_to_a_file_is_whole_and_private() {
    let home = filled();
    let report = home.json(&["export", "-o", "out.ndjson"]);
    assert_eq!((&report["messages"], &report["documents"]), (&json!(6), &json!(1)));
    let file = home.path().parent().unwrap().join("out.ndjson");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(home.run(&["export", "-o", "no/such/folder/x.ndjson"]).code, 3);
    assert_eq!(home.run(&["export", "-o", home.path().to_str().unwrap()]).code, 2);
}
