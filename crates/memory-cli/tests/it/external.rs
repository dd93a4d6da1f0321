//! The commands with an external provider: a stand-in for Mem0 on loopback.

use std::net::TcpListener;

use memory_conformance::fake::{FakeServer, MEM0_PLATFORM_KEY, Mem0Platform, Response};
use serde_json::{Value, json};

use crate::support::{Home, fields};

/// A home whose `config.yaml` names the service.
fn configured(mode: &str, url: &str) -> Home {
    let home = Home::new();
    configure(&home, mode, url);
    home
}

fn configure(home: &Home, mode: &str, url: &str) {
    std::fs::create_dir_all(home.path()).unwrap();
    let config = format!(
        "memory:\n  engine: {mode}\n  external:\n    provider: mem0\n    timeout: 2\n    shutdown_timeout: 2\n    \
         retries: 0\n    mem0: {{ api_key: {MEM0_PLATFORM_KEY}, base_url: \"{url}\", dialect: platform }}\n"
    );
    std::fs::write(home.path().join("config.yaml"), config).unwrap();
}

/// A home without a file: variables say everything.
fn by_variables(mode: &str, url: &str, key: &str) -> Home {
    Home::new()
        .with_variable("MEMORY_ENGINE", mode)
        .with_variable("MEMORY_EXTERNAL_PROVIDER", "mem0")
        .with_variable("MEM0_API_KEY", key)
        .with_variable("MEM0_BASE_URL", url)
        .with_variable("MEMORY__EXTERNAL__RETRIES", "0")
        .with_variable("MEMORY__EXTERNAL__TIMEOUT", "2")
}

/// A port that nobody listens on now.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn id_of(home: &Home, body: &str) -> String {
    let list = home.json(&["list"]);
    let items = list["items"].as_array().unwrap();
    items.iter().find(|item| item["body"] == body).unwrap()["id"].as_str().unwrap().to_owned()
}

async fn service() -> (Mem0Platform, FakeServer) {
    let service = Mem0Platform::default();
    let server = service.serve().await;
    (service, server)
}

#[test]
fn providers_are_listed() {
    let home = by_variables("external", "http://127.0.0.1:9", MEM0_PLATFORM_KEY);
    let list = home.json(&["provider", "list"]);
    let named = |name: &str| -> Value {
        list["providers"].as_array().unwrap().iter().find(|provider| provider["name"] == name).unwrap().clone()
    };
    assert_eq!((&named("mem0")["in_use"], &named("builtin")["in_use"]), (&json!(true), &json!(false)));
    assert_eq!(fields(&named("mem0")), ["available", "configured", "in_use", "name", "origin", "problem"]);
    let home = Home::new().with_variable("MEMORY_ENGINE", "external").with_variable("MEMORY_EXTERNAL_PROVIDER", "acme");
    let text = home.run(&["provider", "list"]).done();
    assert!(text.contains("acme: configured, but neither"), "{text}");
    let run = home.run(&["add", "x", "--json"]);
    assert_eq!((run.code, run.error()["kind"].clone()), (1, json!("config_invalid")));
    assert!(run.err.contains("acme") && run.err.contains("mem0"), "what exists is named: {}", run.err);
    let home =
        Home::new().with_variable("MEMORY_ENGINE", "both").with_variable("MEMORY_EXTERNAL_PROVIDER", "openjiuwen");
    let run = home.run(&["search", "x"]);
    assert!(run.code == 1 && run.err.contains("not part of this version"), "{}", run.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_makes_a_round_trip_and_leaves_nothing() {
    let (service, server) = service().await;
    for home in [configured("external", server.url()), by_variables("external", server.url(), MEM0_PLATFORM_KEY)] {
        let report = home.json(&["provider", "check"]);
        assert_eq!((&report["ok"], &report["name"]), (&json!(true), &json!("mem0")), "{report}");
        let steps: Vec<&str> =
            report["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
        assert_eq!(steps, ["reach", "write", "recall", "forget"]);
        assert!(home.run(&["provider", "check"]).done().contains("✓ mem0"));
        assert!(service.texts().is_empty(), "{:?}", service.texts());
    }
    // Also one that is configured and not in use.
    assert_eq!(configured("builtin", server.url()).json(&["provider", "check", "mem0"])["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_in_one_line_what_is_wrong() {
    let (_service, server) = service().await;
    let wrong_key = by_variables("external", server.url(), "canary-wrong");
    let dead = configured("external", &format!("http://{}", free_address()));
    let wrong_path = configured("external", &format!("{}/elsewhere", server.url()));
    for (home, words) in
        [(wrong_key, "the key is missing or refused"), (dead, "out of reach"), (wrong_path, "the address")]
    {
        let run = home.run(&["provider", "check"]);
        assert_eq!(run.code, 1, "{}", run.out);
        let line = run.err.lines().next().unwrap();
        assert!(line.starts_with("error: mem0: ") && line.contains(words), "{}", run.err);
        assert!(run.err.contains("hint: ") && !run.err.contains("canary"), "{}", run.err);
        let run = home.run(&["provider", "check", "--json"]);
        assert_eq!((run.code, &run.value()["ok"]), (1, &json!(false)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_waits_in_the_queue_until_the_service_is_back() {
    let service = Mem0Platform::default();
    let address = free_address();
    for mode in ["external", "both"] {
        let home = configured(mode, &format!("http://{address}"));
        let text = format!("in mode {mode} 我喜欢喝乌龙茶");
        let run = home.run(&["add", &text]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.out.starts_with(if mode == "both" { "stored" } else { "queued" }), "{}", run.out);
        assert!(run.err.contains("1 in the queue to mem0"), "{}", run.err);
        let queue = home.json(&["provider", "queue"]);
        assert_eq!((&queue["waiting"], &queue["refused"]), (&json!(1), &json!(0)));
        let item = &queue["items"][0];
        assert_eq!(
            (&item["operation"], &item["subject"], &item["state"]),
            (&json!("write"), &json!(text), &json!("waiting"))
        );
        assert!(item["attempts"].as_u64().unwrap() >= 1 && item["last_error"].is_string(), "{item}");
        let shown = home.run(&["provider", "queue"]).done();
        assert!(shown.contains("1 waiting") && shown.contains("乌龙茶") && shown.contains("attempt"), "{shown}");
        assert_eq!(home.json(&["status"])["external"]["waiting"], 1);

        let server = service.serve_at(&address).await;
        let retried = home.json(&["provider", "queue", "--retry", "all"]);
        assert_eq!((&retried["retried"], &retried["waiting"]), (&json!(1), &json!(0)));
        assert_eq!(service.texts().iter().filter(|stored| **stored == text).count(), 1);
        assert_eq!(home.json(&["provider", "queue"])["items"], json!([]));
        let recall = home.json(&["search", "乌龙茶"]);
        assert_eq!(recall["hits"][0]["text"], json!(text), "{recall}");
        drop(server);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_shown_retried_and_dropped() {
    let picky = FakeServer::start(|request| match request.path.as_str() {
        "/v1/ping/" => Response::ok(json!({"status": "ok", "org_id": "o", "project_id": "p", "user_email": "a@b.c"})),
        "/v3/memories/add/" => Response::status(422, json!({"detail": "not this text"})),
        _ => Response::ok(json!({"count": 0, "next": null, "results": []})),
    })
    .await;
    let home = configured("both", picky.url());
    let run = home.run(&["add", "something it does not like"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let queue = home.json(&["provider", "queue"]);
    assert_eq!((&queue["waiting"], &queue["refused"]), (&json!(0), &json!(1)), "{queue}");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("mem0 refused 1"), "{}", doctor.out);
    let number = queue["items"][0]["number"].to_string();
    assert_eq!(home.run(&["provider", "queue", "--retry", "99"]).code, 3);
    assert_eq!(home.run(&["provider", "queue", "--retry", &number]).code, 1, "refused again");
    let preview = home.json(&["provider", "queue", "--drop", &number]);
    assert_eq!(preview, json!({"dropped": [queue["items"][0]["number"]], "dry_run": true}));
    assert_eq!(home.json(&["provider", "queue"])["refused"], 1);
    assert_eq!(home.json(&["provider", "queue", "--drop", &number, "--yes"])["dry_run"], false);
    assert_eq!(home.json(&["provider", "queue"])["items"], json!([]));
    let (service, server) = service().await;
    configure(&home, "both", server.url());
    assert_eq!(home.json(&["doctor"])["ok"], true);
    assert!(service.texts().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_works_over_the_service_or_says_why_not() {
    let (service, server) = service().await;
    let home = by_variables("external", server.url(), MEM0_PLATFORM_KEY);
    let id = home.add(&["the bicycle is green"]);
    assert_eq!(home.json(&["search", "bicycle"])["hits"][0]["text"], "the bicycle is green");
    assert_eq!(home.json(&["get", &id])["items"][0]["body"], "the bicycle is green");
    assert_eq!(home.json(&["list"])["items"].as_array().unwrap().len(), 1);
    home.run(&["update", &id, "the bicycle is red"]).done();
    assert_eq!(service.texts(), ["the bicycle is red"]);
    assert_eq!(home.json(&["history", &id])["revisions"].as_array().unwrap().len(), 2);
    assert_eq!(home.json(&["stats"])["memories"], 1);
    let status = home.json(&["status"]);
    assert_eq!((&status["engine"], &status["external"]["ok"]), (&json!("external"), &json!(true)), "{status}");
    assert_eq!(home.json(&["doctor"])["ok"], true);
    let bundle = home.run(&["export"]).done();
    assert!(bundle.lines().count() == 2 && bundle.contains("the bicycle is red"), "{bundle}");
    let file = home.file("notes.ndjson", "{\"body\":\"the boat is blue\"}\n");
    assert_eq!(home.json(&["import", file.to_str().unwrap()])["stored"], 1);
    home.run(&["forget", &id, "--yes"]).done();
    assert_eq!(service.texts(), ["the boat is blue"]);
    for arguments in [vec!["restore", id.as_str()], vec!["reindex"], vec!["provider", "sync"]] {
        let run = home.run(&[&["--json"], arguments.as_slice()].concat());
        assert_eq!((run.code, run.error()["kind"].clone()), (1, json!("unsupported")), "{arguments:?}: {}", run.err);
        assert!(run.err.contains("external"), "{}", run.err);
    }
    assert!(!home.path().join("store.db").exists(), "the mode is honoured everywhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn sync_shows_what_each_side_lacks_and_reconciles() {
    let (service, server) = service().await;
    // Written here while the service was not part of it, and there by someone else.
    let home = configured("builtin", server.url());
    home.add(&["only here 只在这里"]);
    home.add(&["on both sides"]);
    let forgotten = home.add(&["to be forgotten"]);
    let elsewhere = configured("external", server.url());
    elsewhere.add(&["only there 只在那里"]);
    elsewhere.add(&["on both sides"]);
    elsewhere.add(&["to be forgotten"]);
    home.run(&["forget", &forgotten, "--yes"]).done();

    configure(&home, "both", server.url());
    let texts = |report: &Value, part: &str| -> Vec<String> {
        report[part].as_array().unwrap().iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
    };
    let before = service.texts();
    let plan = home.json(&["provider", "sync", "--dry-run"]);
    assert_eq!(plan["dry_run"], true);
    assert_eq!(texts(&plan, "push"), ["only here 只在这里"]);
    assert_eq!(texts(&plan, "pull"), ["only there 只在那里"]);
    assert_eq!(texts(&plan, "forget"), ["to be forgotten"]);
    assert_eq!((&plan["here"], &plan["there"], &plan["on_both"]), (&json!(2), &json!(3), &json!(1)));
    assert_eq!(service.texts(), before, "nothing was changed");
    let shown = home.run(&["provider", "sync"]).done();
    assert!(shown.contains("would write there") && shown.contains("只在这里"), "{shown}");

    home.json(&["provider", "sync", "--yes"]);
    let mut there = service.texts();
    there.sort();
    assert_eq!(there, ["on both sides", "only here 只在这里", "only there 只在那里"]);
    assert_eq!(home.json(&["list"])["items"].as_array().unwrap().len(), 3);
    let agreed = home.json(&["provider", "sync", "--yes"]);
    for part in ["push", "pull", "forget", "gone"] {
        assert_eq!(agreed[part], json!([]), "{agreed}");
    }

    // Forgotten on both sides and brought back here: it goes there once more.
    let id = id_of(&home, "only here 只在这里");
    home.run(&["forget", &id, "--yes"]).done();
    assert_eq!(service.texts().len(), 2);
    assert!(home.run(&["restore", &id]).err.contains("provider sync"));
    assert_eq!(texts(&home.json(&["provider", "sync", "--yes"]), "push"), ["only here 只在这里"]);
    assert_eq!(service.texts().len(), 3);

    // Forgotten here while the service was away: it never comes back, not by its id and not by its text.
    let pulled = id_of(&home, "only there 只在那里");
    configure(&home, "builtin", server.url());
    home.run(&["forget", &pulled, "--erase", "--yes"]).done();
    configure(&home, "both", server.url());
    let report = home.json(&["provider", "sync", "--yes"]);
    assert_eq!((texts(&report, "forget"), texts(&report, "pull")), (vec!["only there 只在那里".to_owned()], vec![]));
    assert_eq!(service.texts().len(), 2);
    // Removed there by someone else: it stays here and is not pushed again.
    let row = id_of(&elsewhere, "on both sides");
    elsewhere.run(&["forget", &row, "--yes"]).done();
    let report = home.json(&["provider", "sync", "--yes"]);
    assert_eq!((texts(&report, "gone"), texts(&report, "push")), (vec!["on both sides".to_owned()], vec![]));
}
