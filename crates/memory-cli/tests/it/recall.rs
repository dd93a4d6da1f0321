//! search, alone and in batches.

use serde_json::{Value, json};

use crate::support::{CONVERSATION, Home, fields};

fn home_with_conversation() -> Home {
    let home = Home::new();
    let file = home.file("chat.ndjson", CONVERSATION);
    home.run(&["import", file.to_str().unwrap()]).done();
    home
}

#[test]
fn the_answer_has_the_documented_shape() {
    let home = home_with_conversation();
    let answer = home.json(&["search", "What is the name of the kitten?", "-n", "3", "--neighbors", "1"]);
    for field in ["outcome", "reason", "took_ms", "arms", "index_lag", "hits"] {
        assert!(answer.get(field).is_some(), "{field}");
    }
    assert_eq!(answer["outcome"], "complete", "{answer}");
    let hit = &answer["hits"][0];
    for field in [
        "id",
        "kind",
        "score",
        "scores",
        "title",
        "text",
        "category",
        "tags",
        "user",
        "space",
        "owner",
        "session_id",
        "speaker",
        "role",
        "external_id",
        "event_at",
        "created_at",
        "source",
        "neighbors",
    ] {
        assert!(hit.get(field).is_some(), "{field}: {hit}");
    }
    assert_eq!(fields(&hit["source"]), ["lines", "path", "provider"]);
    assert_eq!(
        (&hit["external_id"], &hit["kind"], &hit["session_id"]),
        (&json!("m1"), &json!("message"), &json!("monday"))
    );
    assert_eq!(hit["speaker"], "Nora");
    assert_eq!(hit["neighbors"][0]["offset"], 1);
    let scores: Vec<f64> =
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(scores.is_sorted_by(|left, right| left >= right), "{scores:?}");
}

#[test]
fn chinese_is_found() {
    let home = home_with_conversation();
    let answer = home.json(&["search", "李雷去哪里出差？"]);
    assert_eq!(answer["hits"][0]["external_id"], "m4", "{answer}");
    let text = home.run(&["search", "杭州出差"]).done();
    assert!(text.contains("session 周二") && text.contains("我下周三要去杭州出差"), "{text}");
}

#[test]
fn people_see_rank_score_source_date_and_passage() {
    let home = home_with_conversation();
    home.add(&[
        "Nora's vet is Dr. Hill",
        "--title",
        "vet",
        "--category",
        "fact",
        "--tag",
        "pets",
        "--event-at",
        "2026-03-05",
    ]);
    let run = home.run(&["search", "kitten named Pepper", "--neighbors", "1"]);
    let text = run.done();
    let first = text.lines().next().unwrap();
    for part in [" 1  0.", "session monday", "Nora", "2026-03-02 09:00"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(text.contains("I adopted a kitten yesterday"));
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
    let colored = home.run(&["search", "kitten", "--color", "always"]).done();
    assert!(colored.contains("\u{1b}[1;33mkitten\u{1b}[0m"), "{colored}");
    let vet = home.run(&["search", "who is the vet"]).done();
    assert!(vet.contains("memory · vet · 2026-03-05 · fact · #pets"), "{vet}");
}

#[test]
fn conditions_narrow_the_answer() {
    let home = home_with_conversation();
    home.add(&["Pepper is two months old", "--category", "fact", "--tag", "pets"]);
    let kinds = |arguments: &[&str]| -> Vec<String> {
        let answer = home.json(&[&["search", "Pepper"], arguments].concat());
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert!(kinds(&[]).iter().any(|kind| kind == "message"));
    assert_eq!(kinds(&["--kind", "memory"]), ["memory"]);
    assert_eq!(kinds(&["--category", "fact"]), ["memory"]);
    assert_eq!(kinds(&["--tag", "pets"]), ["memory"]);
    assert_eq!(
        kinds(&["--filter", r#"{"speaker":"Nora"}"#]).len(),
        kinds(&["--filter", r#"{"speaker":"Nora"}"#, "--kind", "message"]).len()
    );
    assert!(kinds(&["--until", "2020-01-01"]).is_empty());
    assert_eq!(kinds(&["-n", "1"]).len(), 1);
    let sessions = home.json(&["search", "Pepper", "--group-by", "session", "--kind", "message"]);
    let mut names: Vec<&Value> = sessions["hits"].as_array().unwrap().iter().map(|hit| &hit["session_id"]).collect();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "one hit for each session");
    for mode in ["text", "vector", "hybrid"] {
        assert_eq!(home.json(&["search", "kitten", "--mode", mode])["outcome"], "complete", "{mode}");
    }
}

#[test]
fn explain_says_how_scores_came_about() {
    let home = home_with_conversation();
    let answer = home.json(&["search", "kitten", "--explain"]);
    assert!(answer["explanation"]["terms"].as_array().unwrap().iter().any(|term| term == "kitten"), "{answer}");
    let text = home.run(&["search", "kitten", "--explain"]).done();
    assert!(text.contains("words kitten"), "{text}");
}

#[test]
fn any_text_is_a_question() {
    let home = home_with_conversation();
    for query in ["\"", "AND OR NOT", "a:b^2 ~", "(((", "*", "\\", "'; DROP TABLE memories; --", "🎉", "[1 TO", "-- "]
    {
        let run = home.run(&["search", "--json", "--", query]);
        assert_eq!(run.code, 0, "{query}: {}", run.err);
    }
}

#[test]
fn batches_answer_in_order_and_survive_bad_lines() {
    let home = home_with_conversation();
    home.add(&["otto likes chess", "--user", "otto"]);
    let questions = [
        r#"{"id":"q1","query":"kitten","limit":1}"#,
        r#"{"id":"q2","query":"去哪里出差","kinds":["message"],"group_by":"session"}"#,
        r#"{"id":"q3"}"#,
        "not json",
        "",
        r#"{"id":"q4","query":"x","limits":3}"#,
        r#"{"id":5,"query":"chess","user":"otto"}"#,
        r#"{"id":"q6","query":"kitten","mode":"text","since":"2026-03-02","until":"2026-03-03","filter":{"role":"user"},"at":"2026-03-04"}"#,
    ];
    let run = home.run_with_input(&["search", "--batch", "-"], questions.join("\n"));
    assert_eq!(run.code, 1, "{}", run.err);
    let answers: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("q1"), &json!("q2"), &json!("q3"), &json!(null), &json!("q4"), &json!(5), &json!("q6")]);
    assert_eq!(answers[0]["hits"].as_array().unwrap().len(), 1);
    assert_eq!(answers[1]["hits"][0]["external_id"], "m4");
    for (position, words) in
        [(2, "line 3: missing field `query`"), (3, "line 4: not valid JSON"), (4, "line 6: unknown field `limits`")]
    {
        let error = &answers[position]["error"];
        assert_eq!(error["kind"], "invalid_request");
        assert!(error["message"].as_str().unwrap().starts_with(words), "{error}");
    }
    assert_eq!(answers[5]["hits"][0]["text"], "otto likes chess");
    assert_eq!(answers[6]["hits"][0]["external_id"], "m1");

    let file = home.file("questions.ndjson", r#"{"id":"a","query":"kitten"}"#);
    let run = home.run(&["search", "--batch", file.to_str().unwrap(), "-n", "1"]);
    assert_eq!((run.code, run.value()["hits"].as_array().unwrap().len()), (0, 1));
    assert_eq!(home.run(&["search", "--batch", "nowhere.ndjson"]).code, 3);
}

#[test]
fn an_empty_store_says_so() {
    let home = Home::new();
    let run = home.run(&["search", "anything"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.starts_with("nothing stored yet\n\nhint: "), "{}", run.err);
    let answer = home.json(&["search", "anything"]);
    assert_eq!((&answer["outcome"], &answer["reason"]), (&json!("empty"), &json!("nothing_stored")));
    let run = home.run(&["list"]);
    assert!(run.err.starts_with("nothing stored yet"), "{}", run.err);
    assert_eq!(home.json(&["list"]), json!({"items": [], "next": null}));
    assert_eq!(home.run(&["list", "--quiet"]).err, "");

    home.add(&["the sky was clear"]);
    let run = home.run(&["search", "qqqzzz", "--mode", "text"]);
    assert!(run.err.starts_with("nothing found"), "{}", run.err);
}
