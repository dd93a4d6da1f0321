//! Exit codes, the form of errors, interruption and pipes.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::support::{Home, fields};

#[test]
fn an_error_has_a_message_and_after_a_blank_line_a_hint() {
    let home = Home::new();
    let run = home.run(&["search", "x", "--filter", "{"]);
    assert_eq!(run.code, 2);
    let mut lines = run.err.lines();
    assert!(lines.next().unwrap().starts_with("error: --filter is not JSON"), "{}", run.err);
    assert_eq!(lines.next(), Some(""));
    assert!(lines.next().unwrap().starts_with("hint: "));
    assert_eq!(run.out, "");
}

#[test]
fn as_json_the_error_is_one_object() {
    let home = Home::new();
    for arguments in [
        vec!["search", "x", "--filter", "{", "--json"],
        vec!["--json", "serch"],
        vec!["get", "--json"],
        vec!["list", "--sort", "odd", "--json"],
    ] {
        let run = home.run(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        let error = run.error();
        assert_eq!(fields(&error), ["hints", "kind", "message", "operation", "retryable"], "{arguments:?}");
        assert_eq!((&error["kind"], &error["retryable"]), (&json!("invalid_request"), &json!(false)));
    }
}

#[test]
fn wrong_usage_is_2() {
    let home = Home::new();
    for arguments in [
        vec![],
        vec!["serch", "x"],
        vec!["search"],
        vec!["add"],
        vec!["add", " "],
        vec!["add", "x", "--event-at", "yesterday"],
        vec!["add", "x", "--attr", "novalue"],
        vec!["add", "x", "--relevance", "huge"],
        vec!["search", "x", "--min-score", "7"],
        vec!["search", "x", "-n", "0"],
        vec!["search", "x", "--filter", "{\"nofield\":1}"],
        vec!["list", "--color", "sometimes"],
        vec!["update", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    ] {
        let run = home.run(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.err);
        assert!(!run.err.is_empty() && run.out.is_empty(), "{arguments:?}");
    }
    assert!(home.run(&["serch", "x"]).err.contains("search"), "the nearest command is named");
}

#[test]
fn help_and_version_are_no_errors() {
    let home = Home::new();
    let help = home.run(&["--help"]).done();
    assert!(help.contains("search") && help.contains("Exit codes"));
    assert!(home.run(&["search", "--help"]).done().contains("--group-by"));
    assert_eq!(home.run(&["--version"]).done(), format!("memory {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn switched_off_reads_are_empty_and_writes_refused() {
    let home = Home::new().with_variable("MEMORY_ENGINE", "none");
    let refused = home.run(&["add", "x", "--json"]);
    assert_eq!((refused.code, refused.error()["kind"].as_str().unwrap().to_owned()), (4, "disabled".to_owned()));
    let answer = home.json(&["search", "x"]);
    assert_eq!((&answer["outcome"], &answer["reason"]), (&json!("empty"), &json!("disabled")));
    assert_eq!(home.run(&["stats"]).code, 4);
    assert_eq!(home.json(&["status"])["engine"], "none");
}

#[test]
fn an_engine_without_provider_is_a_configuration_error() {
    let home = Home::new().with_variable("MEMORY_ENGINE", "external");
    let run = home.run(&["add", "x", "--json"]);
    assert_eq!((run.code, run.error()["kind"].as_str().unwrap().to_owned()), (1, "config_invalid".to_owned()));
    assert!(!run.error()["hints"].as_array().unwrap().is_empty());
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let home = Home::new();
    let lines: String =
        (0..3000).map(|number| format!("{{\"body\":\"记忆 number {number} {}\"}}\n", "x".repeat(60))).collect();
    let run = home.run_with_input(&["import", "-"], lines);
    assert_eq!(run.code, 0, "{}", run.err);
    for arguments in [vec!["list", "--all"], vec!["export"]] {
        let mut child = home.command().args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interruption_is_130() {
    let home = Home::new();
    let mut command = home.command();
    // It waits for input that never comes.
    command.args(["search", "--batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"{\"id\":\"1\",\"query\":\"x\"}\n").unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    assert!(first.contains("\"id\":\"1\""), "{first}");
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn stored_text_cannot_command_the_terminal() {
    let home = Home::new();
    home.run_with_input(&["add", "-"], "evil \u{1b}[2J\u{7} text about foxes").done();
    for arguments in [vec!["search", "foxes"], vec!["list"]] {
        let text = home.run(&arguments).done();
        assert!(text.contains("foxes") && !text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}
