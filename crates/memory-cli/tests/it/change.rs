//! add, get, list, update, forget, restore, history.

use serde_json::json;

use crate::support::{Home, any_file_holds, fields};

#[test]
fn add_answers_with_outcome_and_id() {
    let home = Home::new();
    let answer = home.json(&["add", "I take my coffee black"]);
    assert_eq!(answer["outcome"], "stored");
    assert_eq!(answer["reason"], json!(null));
    assert_eq!(answer["id"].as_str().unwrap().len(), 26);
    let again = home.json(&["add", "I take my coffee black"]);
    assert_eq!((again["outcome"].as_str(), &again["id"]), (Some("deduped"), &answer["id"]));
    let text = home.run(&["add", "walks", "in", "the", "rain"]).done();
    assert!(text.starts_with("stored "), "{text}");
}

#[test]
fn add_takes_every_field_and_get_gives_it_back() {
    let home = Home::new();
    let id = home.add(&[
        "下周三去杭州出差",
        "--title",
        "出差",
        "--category",
        "plan",
        "--tag",
        "旅行",
        "--tag",
        "work",
        "--relevance",
        "high",
        "--keywords",
        "西湖,高铁",
        "--event-at",
        "2026-03-11",
        "--expires",
        "2026-03-20T00:00:00+08:00",
        "--external-id",
        "cal-7",
        "--attr",
        "城市=杭州",
        "--attr",
        "nights=3",
    ]);
    let answer = home.json(&["get", &id]);
    assert_eq!(fields(&answer), ["items", "missing"]);
    let item = &answer["items"][0];
    assert_eq!(item["type"], "memory");
    for (field, expected) in [
        ("id", json!(id)),
        ("body", json!("下周三去杭州出差")),
        ("title", json!("出差")),
        ("category", json!("plan")),
        ("tags", json!(["旅行", "work"])),
        ("keywords", json!(["西湖", "高铁"])),
        ("relevance", json!("high")),
        ("event_at", json!("2026-03-11T00:00:00Z")),
        ("external_id", json!("cal-7")),
        ("attrs", json!({"城市": "杭州", "nights": 3})),
        ("user", json!("__default__")),
        ("owner", json!("user")),
        ("revision", json!(1)),
    ] {
        assert_eq!(item[field], expected, "{field}");
    }
    assert!(home.run(&["get", &id]).done().contains("下周三去杭州出差"));
}

#[test]
fn add_reads_standard_input() {
    let home = Home::new();
    let run = home.run_with_input(&["add", "-", "--json"], "第一行\n第二行 🎉\n");
    assert_eq!(run.code, 0, "{}", run.err);
    let id = run.value()["id"].as_str().unwrap().to_owned();
    assert!(home.json(&["get", &id])["items"][0]["body"].as_str().unwrap().starts_with("第一行\n第二行 🎉"));
    let broken = home.run_with_input(&["add", "-"], b"bad \xff byte");
    assert_eq!(broken.code, 2);
    assert!(broken.err.contains("not valid UTF-8 (byte 5)"), "{}", broken.err);
    assert_eq!(home.run_with_input(&["add", "-"], " \n").code, 2);
}

#[test]
fn a_unique_beginning_stands_for_an_id() {
    let home = Home::new();
    let id = home.add(&["one thing"]);
    let answer = home.json(&["get", &id[..20].to_lowercase()]);
    assert_eq!(answer["items"][0]["id"], json!(id));
    let short = home.run(&["get", &id[..4]]);
    assert_eq!(short.code, 2, "{}", short.err);
}

#[test]
fn a_missing_id_is_said_and_the_rest_shown() {
    let home = Home::new();
    let id = home.add(&["one thing"]);
    let run = home.run(&["get", &id, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--json"]);
    assert_eq!(run.code, 3);
    let answer = run.value();
    assert_eq!(answer["items"].as_array().unwrap().len(), 1);
    assert_eq!(answer["missing"], json!(["01ARZ3NDEKTSV4RRFFQ69G5FAV"]));
    let run = home.run(&["get", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    assert_eq!((run.code, run.err.contains("\n\nhint: ")), (3, true), "{}", run.err);
}

#[test]
fn list_pages_and_sorts() {
    let home = Home::new();
    for number in 0..7 {
        home.add(&[
            &format!("第 {number} 件事情 about topic {number}"),
            "--category",
            if number % 2 == 0 { "even" } else { "odd" },
        ]);
    }
    let page = home.json(&["list", "-n", "3", "--sort", "created"]);
    assert_eq!(fields(&page), ["items", "next"]);
    assert_eq!(page["items"].as_array().unwrap().len(), 3);
    assert!(page["items"][0]["body"].as_str().unwrap().starts_with("第 6 件"));
    let next = page["next"].as_str().unwrap();
    let second = home.json(&["list", "-n", "3", "--sort", "created", "--cursor", next]);
    assert!(second["items"][0]["body"].as_str().unwrap().starts_with("第 3 件"));
    let odd = home.json(&["list", "--category", "odd"]);
    assert_eq!((odd["items"].as_array().unwrap().len(), &odd["next"]), (3, &json!(null)));
    let all = home.run(&["list", "--all"]).done();
    assert_eq!(all.lines().count(), 7);
    let some = home.run(&["list", "-n", "2"]);
    assert!(some.err.contains("--cursor"), "{}", some.err);
}

#[test]
fn update_changes_only_what_is_given() {
    let home = Home::new();
    let id = home.add(&["likes green tea", "--title", "tea", "--tag", "drink", "--attr", "kept=1", "--attr", "gone=2"]);
    let preview = home.json(&["update", &id, "--title", "茶", "--dry-run"]);
    assert_eq!(preview["changes"], json!({"title": {"before": "tea", "after": "茶"}}));
    assert_eq!(home.json(&["get", &id])["items"][0]["title"], "tea");

    home.json(&["update", &id, "--title", "茶", "--attr", "gone=null", "--attr", "new=新"]);
    let item = home.json(&["get", &id])["items"][0].clone();
    assert_eq!(
        (&item["title"], &item["body"], &item["tags"]),
        (&json!("茶"), &json!("likes green tea"), &json!(["drink"]))
    );
    assert_eq!(item["attrs"], json!({"kept": 1, "new": "新"}));
    assert_eq!(item["revision"], 2);

    home.json(&["update", &id, "likes oolong tea now", "--title", "", "--tag", ""]);
    let item = home.json(&["get", &id])["items"][0].clone();
    assert_eq!(item["body"], "likes oolong tea now");
    assert!(item["title"].is_null());
    assert_eq!(item["tags"], json!([]));

    let nothing = home.run(&["update", &id]);
    assert_eq!(nothing.code, 2, "{}", nothing.err);
    let stale = home.run(&["update", &id, "x y z", "--revision", "1", "--json"]);
    assert_eq!((stale.code, stale.error()["kind"].as_str().unwrap().to_owned()), (1, "conflict".to_owned()));
    assert_eq!(home.run(&["update", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--title", "x"]).code, 3);
}

#[test]
fn history_tells_every_state() {
    let home = Home::new();
    let id = home.add(&["first wording of it"]);
    home.json(&["update", &id, "第二种说法"]);
    let revisions = home.json(&["history", &id])["revisions"].clone();
    let bodies: Vec<&str> =
        revisions.as_array().unwrap().iter().map(|one| one["memory"]["body"].as_str().unwrap()).collect();
    assert_eq!(bodies, ["first wording of it", "第二种说法"]);
    assert_eq!(revisions[0]["revision"], 1);
    let text = home.run(&["history", &id]).done();
    assert!(text.contains("created") && text.contains("updated"), "{text}");
    assert_eq!(home.run(&["history", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).code, 3);
}

#[test]
fn forget_shows_first_acts_with_yes_and_restore_undoes_it() {
    let home = Home::new();
    let id = home.add(&["the old address is Elm Street"]);
    let preview = home.run(&["forget", &id]);
    assert_eq!(preview.code, 0);
    assert!(preview.out.contains("Elm Street") && preview.out.contains("would forget 1 item"), "{}", preview.out);
    assert!(preview.err.contains("--yes"));
    let answer = home.json(&["forget", &id]);
    assert_eq!((answer["dry_run"].as_bool(), &answer["deleted"]), (Some(true), &json!([id])));
    assert_eq!(home.json(&["list"])["items"].as_array().unwrap().len(), 1, "a preview changes nothing");

    let answer = home.json(&["forget", &id, "--yes"]);
    assert_eq!(answer["dry_run"], false);
    assert!(home.json(&["list"])["items"].as_array().unwrap().is_empty());
    assert!(home.json(&["search", "old address"])["hits"].as_array().unwrap().is_empty());

    let refused = home.run(&["add", "the old address is Elm Street", "--json"]);
    assert_eq!((refused.code, refused.value()["outcome"].as_str().unwrap().to_owned()), (1, "rejected".to_owned()));
    let again = home.run(&["add", "the old address is Elm Street"]);
    assert!(again.err.contains("error: not stored") && again.err.contains("--force"), "{}", again.err);

    let restored = home.json(&["restore", &id]);
    assert_eq!(restored["restored"], json!([id]));
    assert_eq!(home.json(&["search", "old address"])["hits"][0]["id"], json!(id));
    let missing = home.run(&["restore", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]);
    assert_eq!(missing.code, 3);
}

#[test]
fn erasing_leaves_no_text_behind() {
    let home = Home::new();
    let id = home.add(&["the zanzibarquux password hint is about a bird"]);
    home.json(&["search", "bird"]);
    home.json(&["forget", &id, "--erase", "--yes"]);
    assert_eq!(home.run(&["restore", &id]).code, 3);
    home.json(&["reindex"]);
    assert!(!any_file_holds(&home.path(), b"zanzibarquux"));
}

#[test]
fn one_viewer_does_not_see_another_s() {
    let home = Home::new();
    let id = home.add(&["Lena collects stamps", "--user", "lena"]);
    assert_eq!(home.run(&["get", &id, "--user", "otto"]).code, 3);
    assert!(home.json(&["search", "stamps", "--user", "otto"])["hits"].as_array().unwrap().is_empty());
    assert_eq!(home.json(&["search", "stamps", "--user", "lena"])["hits"][0]["user"], "lena");
    home.add(&["the coder agent prefers tabs", "--agent", "coder"]);
    assert!(home.json(&["search", "tabs"])["hits"].as_array().unwrap().is_empty());
    assert_eq!(home.json(&["search", "tabs", "--agent", "coder"])["hits"][0]["owner"], "agent:coder");
    home.add(&["red team meets on Fridays", "--team", "red"]);
    assert_eq!(home.json(&["search", "meets", "--team", "red/ann"])["hits"][0]["owner"], "team:red");
    assert_eq!(home.run(&["list", "--user", " "]).code, 2);
}
