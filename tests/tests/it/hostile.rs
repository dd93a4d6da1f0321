//! Input that means harm, or means well and is broken: each has a clear outcome, the rest is kept, nothing hangs.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;
use tests::Home;

/// Lines and reasons of what was not taken in, by line.
fn problems(report: &Value) -> Vec<(u64, String)> {
    let errors = report["errors"].as_array().unwrap();
    let problem = |error: &Value| (error["line"].as_u64().unwrap_or(0), error["reason"].as_str().unwrap().to_owned());
    let mut problems: Vec<(u64, String)> = errors.iter().map(problem).collect();
    problems.sort();
    problems
}

#[test]
fn ten_megabytes_in_one_memory_are_refused() {
    let home = Home::new();
    let huge = "记忆 memory ".repeat(750_000);
    assert!(huge.len() > 10 << 20);
    let run = home.run_with_input(&["add", "-", "--json"], huge.as_bytes());
    assert_eq!(run.code, Some(1), "{}", run.err);
    let answer = run.value();
    assert_eq!(answer["outcome"], "rejected");
    assert!(answer["reason"].as_str().unwrap().contains("bytes"), "{answer}");

    let lines = format!("{{\"body\":\"before the giant\"}}\n{{\"body\":\"{huge}\"}}\n{{\"body\":\"巨人之后\"}}\n");
    let run = home.run_with_input(&["import", "-", "--format", "memories", "--json"], lines.as_bytes());
    assert_eq!(run.code, Some(1), "{}", run.err);
    let report = run.value();
    assert_eq!((&report["stored"], &report["rejected"]), (&2.into(), &1.into()), "{report}");
    let found = problems(&report);
    assert!(found.len() == 1 && found[0].0 == 2 && found[0].1.contains("at most"), "{found:?}");
    assert_eq!(home.json(&["stats"])["memories"], 2);
}

#[test]
fn broken_lines_are_told_by_number_and_the_rest_is_kept() {
    let home = Home::new();
    let mut input = Vec::new();
    for line in [
        br#"{"body":"a NUL \u0000 in the middle of the zeppelin"}"#.as_slice(),
        br#"{"body":"a lone surrogate \ud800 here"}"#,
        b"{\"body\":\"invalid \xff\xfe UTF-8\"}",
        b"\x00\x01\x02",
        br#"{"body":"a pair \ud83d\ude00 is no problem"}"#,
        br#"{"body":{"not":"a text"}}"#,
        b"[1,2,3]",
        b"{\"body\":\"cut of",
        "{\"body\":\"最后一行还在\"}".as_bytes(),
    ] {
        input.extend_from_slice(line);
        input.push(b'\n');
    }
    input.extend_from_slice("[".repeat(200_000).as_bytes());
    let run = home.run_with_input(&["import", "-", "--format", "memories", "--json"], &input);
    assert_eq!((run.code, run.signal), (Some(1), None), "{}", run.err);
    let report = run.value();
    let lines: Vec<u64> = problems(&report).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 6, 7, 8, 10], "{report}");
    assert!(problems(&report).iter().all(|(_, reason)| !reason.is_empty()));
    assert_eq!(report["stored"], 3, "{report}");
    let recall = home.json(&["search", "zeppelin"]);
    let text = recall["hits"][0]["text"].as_str().unwrap();
    assert!(!text.contains('\0') && text.contains("in the middle"), "{text:?}");
    assert_eq!(home.json(&["search", "最后一行"])["hits"][0]["text"], "最后一行还在");
}

#[test]
fn messages_keep_their_text_but_no_nul() {
    let home = Home::new();
    let lines = concat!(
        r#"{"session_id":"s","role":"user","content":"before\u0000after the ocelot","external_id":"1"}"#,
        "\n",
        r#"{"session_id":"s\u0000t","role":"user","content":"a session with NUL","external_id":"2"}"#,
        "\n",
        r#"{"session_id":"s","role":"pirate","content":"no such role","external_id":"3"}"#,
        "\n",
        r#"{"session_id":"s","role":"user","content":" \n ","external_id":"4"}"#,
        "\n",
        r#"{"session_id":"s","role":"user","content":"  two  spaces\r\nkept  ","external_id":"5"}"#,
        "\n",
    );
    let run = home.run_with_input(&["import", "-", "--format", "messages", "--json"], lines.as_bytes());
    let report = run.value();
    assert_eq!(report["stored"], 2, "{report}");
    let lines: Vec<u64> = problems(&report).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4], "{report}");
    assert_eq!(home.json(&["search", "ocelot"])["hits"][0]["text"], "beforeafter the ocelot");
    let kept = home.json(&["list", "--kind", "message"]);
    assert!(
        kept["items"].as_array().unwrap().iter().any(|item| item["content"] == "  two  spaces\r\nkept  "),
        "{kept}"
    );
}

#[test]
fn a_folder_of_traps_is_read_around() {
    let home = Home::new();
    let workspace = home.workspace();
    home.document("memory/good.md", "# Good\n\nThe pelican nests at the northern pier.\n");
    home.document("memory/bad-utf8.md", b"# Mixed\n\nThe walrus \xff\xfe sleeps\n");
    home.document("memory/nul.md", b"# NUL\n\nThe badger\0 digs\n");
    home.document("memory/empty.md", b"");
    symlink("/dev/zero", workspace.join("memory/device.md")).unwrap();
    symlink(&workspace, workspace.join("memory/loop")).unwrap();
    symlink("self.md", workspace.join("memory/self.md")).unwrap();
    symlink("/etc/passwd", workspace.join("memory/outside.md")).unwrap();
    let made = Command::new("mkfifo").arg(workspace.join("memory/pipe.md")).status().unwrap();
    assert!(made.success());

    for (question, text) in [("pelican pier", "pelican"), ("walrus", "walrus"), ("badger", "badger")] {
        let recall = home.json(&["search", question]);
        let first = recall["hits"][0]["text"].as_str().unwrap_or_else(|| panic!("{question}: {recall}"));
        assert!(first.contains(text), "{question}: {recall}");
    }
    assert!(
        home.json(&["search", "root daemon nologin"])["hits"]
            .as_array()
            .unwrap()
            .iter()
            .all(|hit| { hit["source"]["path"] != "memory/outside.md" })
    );
    let doctor = home.run(&["doctor", "--json"]).done().value();
    let documents = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "documents").unwrap();
    assert_eq!(documents["ok"], true);
    assert!(documents["message"].as_str().unwrap().contains("left out"), "{documents}");
    home.json(&["reindex"]);
    assert_eq!(home.json(&["search", "pelican pier"])["outcome"], "complete");
}

#[test]
fn traps_named_for_import_are_refused_or_left_alone() {
    let home = Home::new();
    let folder = home.file("notes/good.md", "# Good\n\nThe heron fishes at dawn.\n").parent().unwrap().to_owned();
    home.file("notes/bad.md", b"bad \xff bytes");
    symlink(&folder, folder.join("again")).unwrap();
    symlink("/dev/zero", folder.join("zero.md")).unwrap();
    let pipe = folder.join("pipe.md");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let run = home.run(&["import", folder.to_str().unwrap(), "--json"]);
    assert_eq!(run.code, Some(1), "a file that is not taken in is a failure: {run:?}");
    let report = run.value();
    assert_eq!(
        (&report["stored"], &report["errors_total"], &report["skipped_total"]),
        (&1.into(), &1.into(), &3.into())
    );
    for named in [pipe.to_str().unwrap(), "/dev/zero", "/dev/null"] {
        let run = home.run(&["import", named, "--json"]);
        assert_eq!((run.code, run.error()["kind"].as_str()), (Some(2), Some("invalid_request")), "{named}: {run:?}");
    }
    assert!(home.json(&["search", "heron"])["hits"][0]["text"].as_str().unwrap().contains("heron"));
}

#[test]
fn a_hundred_thousand_lines_are_one_document() {
    let home = Home::new();
    let mut text = String::from("# Log\n\n");
    for number in 0..100_000 {
        text.push_str(&format!("entry {number} 条目\n"));
        if number == 76_543 {
            text.push_str("the cormorant landed on the mast\n");
        }
    }
    home.document("memory/log.md", &text);
    let recall = home.json(&["search", "cormorant mast"]);
    let hit = &recall["hits"][0];
    assert!(hit["text"].as_str().unwrap().contains("cormorant"), "{}", recall["reason"]);
    let lines: Vec<u64> = serde_json::from_value(hit["source"]["lines"].clone()).unwrap();
    assert!(lines[0] <= 76_547 && 76_547 <= lines[1] && lines[1] - lines[0] < 400, "{lines:?}");
    home.json(&["reindex"]);
    let recall = home.json(&["search", "cormorant mast"]);
    assert_eq!(recall["outcome"], "complete", "{}", recall["reason"]);
    assert!(recall["hits"][0]["text"].as_str().unwrap().contains("cormorant"));
    fs::remove_file(home.workspace().join("memory/log.md")).unwrap();
    assert!(home.json(&["search", "cormorant mast"])["hits"].as_array().unwrap().is_empty());
}

#[test]
fn questions_and_names_that_mean_harm_are_plain_text() {
    let home = Home::new();
    assert_eq!(home.json(&["add", "The condor circles the ridge"])["outcome"], "stored");
    for question in [
        "condor\"",
        "condor AND (",
        "condor'; DROP TABLE memories; --",
        "text:condor^9999",
        "condor*?~",
        "[condor TO *]",
        "+condor -\\",
        "\u{202e}condor\u{200b}",
        "condor 💥",
        "%00 condor",
        "condor \u{0}x",
    ] {
        // A process takes no NUL in an argument: that one comes by a file.
        let line = serde_json::json!({"id": "q", "query": question}).to_string() + "\n";
        let run = home.run_with_input(&["search", "--batch", "-"], line.as_bytes()).done();
        assert!(run.out.contains("circles the ridge"), "{question:?}: {}", run.out);
    }
    let run = home.run(&["search", "x", "--user", "a\u{1f}b", "--json"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let long = "长".repeat(129);
    assert_eq!(home.run(&["search", "x", "--user", &long, "--json"]).code, Some(2));
    assert_eq!(home.json(&["stats"])["memories"], 1);
}
