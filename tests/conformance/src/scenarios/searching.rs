//! Questions: empty answers, limits, hostile text, operators, modes. What depends on indexes is asked before and after the
//! provider has settled.

use std::collections::BTreeSet;

use memory_core::{ErrorKind, Recall, RecallOutcome, RecallReason, SearchMode, SearchRequest, Viewer};

use crate::*;

/// Says whether there is nothing at all, nothing that fits, or nothing good enough.
pub async fn an_empty_answer_says_why(trial: &Trial) {
    let recall = ask(trial, question("anything")).await;
    assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::NothingStored)));
    add(trial, "The dachshund is called Waldi").await;
    for _ in 0..2 {
        let recall = ask(trial, SearchRequest { mode: SearchMode::Text, ..question("xylophone") }).await;
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::NoMatch)));
        let recall = ask(trial, question("dachshund")).await;
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Complete, None));
        let stranger = Viewer::user("somebody", "else");
        let recall = ask(trial, SearchRequest::new(stranger, "dachshund")).await;
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::NothingStored)));
        settle(trial).await;
    }
    for empty in ["", "   ", "\n"] {
        let error = trial.search(question(empty)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(!error.hints().is_empty());
    }
}

/// An answer without hits says so and gives some reason; an empty question is refused.
pub async fn an_empty_answer_is_no_error(trial: &Trial) {
    for query in ["anything", "什么都没有", "🦩"] {
        let recall = ask(trial, question(query)).await;
        assert_eq!((recall.outcome, recall.hits.len()), (RecallOutcome::Empty, 0), "{recall:?}");
        assert!(recall.reason.is_some(), "{recall:?}");
    }
    for empty in ["", "   ", "\n"] {
        assert_eq!(trial.search(question(empty)).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    }
}

/// There are never more hits than asked for, none comes twice, and none is below the least score.
pub async fn an_answer_keeps_its_limits(trial: &Trial) {
    for number in 0..12 {
        add(trial, &format!("a postcard from the island, number {number}")).await;
    }
    let all = |recall: &Recall| recall.hits.len() == 12;
    let recall = ask_until(trial, SearchRequest { limit: 50, ..question("postcard island") }, all).await;
    let ids: BTreeSet<String> = recall.hits.iter().map(|hit| hit.id.to_string()).collect();
    assert_eq!((ids.len(), recall.hits.len()), (12, 12), "each once: {recall:?}");
    assert_eq!(recall.outcome, RecallOutcome::Complete);
    for limit in [1, 5] {
        assert_eq!(ask(trial, SearchRequest { limit, ..question("postcard island") }).await.hits.len(), limit);
    }
    let least = recall.hits[0].score.min(0.99) + 0.01;
    let strict = ask(trial, SearchRequest { min_score: least, ..question("postcard island") }).await;
    assert!(strict.hits.iter().all(|hit| hit.score >= least), "{least}: {strict:?}");
}

/// Questions with the marks of every query language, and long ones.
fn hostile() -> Vec<String> {
    let long = "flamingo ".repeat(20_000);
    let deep = format!("{}flamingo{}", "(".repeat(5_000), ")".repeat(5_000));
    let short = [
        "flamingo\"",
        "flamingo AND",
        "(flamingo",
        "flamingo)",
        "text:flamingo",
        "scope:x flamingo",
        "flamingo~2^9",
        "* flamingo ?",
        "flamingo'; DELETE FROM memories; --",
        "{\"flamingo\":1}",
        "flamingo\0",
        "\u{202e}flamingo",
        "flamingo \u{1f}user",
        "ﬂamingo",
        "NOT flamingo",
        "+flamingo -leg",
        "/flamingo/",
        "[flamingo TO z]",
        "%66 flamingo",
    ];
    short.map(str::to_owned).into_iter().chain([long, deep]).collect()
}

/// No question is an error, or takes, changes or brings anything but what is stored.
pub async fn hostile_questions_do_no_harm(trial: &Trial) {
    let text = "The flamingo stands on one leg";
    add(trial, text).await;
    must_find(trial, &viewer(), "flamingo", text).await;
    let marks = ["!!!", "。，、", "a", "的", "🦩", "\u{200b}", "\u{e000}"];
    for query in hostile().iter().map(String::as_str).chain(marks) {
        let shown: String = query.chars().take(40).collect();
        match trial.search(question(query)).await {
            Ok(recall) => assert!(recall.hits.iter().all(|hit| hit.text == text), "{shown}: {recall:?}"),
            // A service may have a limit, and see nothing in mere marks; then it is a matter of this question alone.
            Err(error) => {
                assert!(query.len() > 8_000 || marks.contains(&query), "{shown}: {error}");
                assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{shown}: {error}");
            }
        }
    }
    must_find(trial, &viewer(), "flamingo", text).await;
}

/// No text is a syntax error, and none commands the engine.
pub async fn hostile_questions_are_plain_text(trial: &Trial) {
    add(trial, "The flamingo stands on one leg").await;
    for _ in 0..2 {
        for query in hostile() {
            let shown: String = query.chars().take(40).collect();
            let recall = trial.search(question(&query)).await.unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert_eq!(texts(&recall.hits), ["The flamingo stands on one leg"], "{shown}");
        }
        for query in ["!!!", "。，、", "a", "的", "🦩", "\u{200b}", "\u{e000}"] {
            trial.search(question(query)).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        }
        settle(trial).await;
    }
}

/// In raw mode operators work, and a mistake is an error that says so.
pub async fn raw_questions_have_operators(trial: &Trial) {
    for text in ["red apple pie", "apple and green juice", "apple red and round", "我在北京"] {
        add(trial, text).await;
    }
    let raw = |text: &str| SearchRequest { raw: true, ..question(text) };
    let mut complete = 0;
    for _ in 0..2 {
        for (expression, expected) in [
            ("\"red apple\"", &["red apple pie"][..]),
            ("apple AND green", &["apple and green juice"]),
            ("apple NOT green", &["apple red and round", "red apple pie"]),
            ("\"green ju\"*", &["apple and green juice"]),
            ("gre*", &["apple and green juice"]),
        ] {
            let recall = ask(trial, raw(expression)).await;
            let mut found = texts(&recall.hits);
            found.sort_unstable();
            // Operators may need an index that is up to date: then an answer before says that it is not whole.
            if recall.outcome == RecallOutcome::Degraded {
                assert!(found.iter().all(|text| expected.contains(text)), "{expression}: {found:?}");
            } else {
                assert_eq!(found, expected, "{expression}");
                complete += 1;
            }
        }
        settle(trial).await;
    }
    assert!(complete >= 4, "settled, an answer is whole");
    let error = trial.search(raw("(apple AND")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
}

/// Each mode answers; vectors alone find by meaning or say that they cannot.
pub async fn every_mode_answers(trial: &Trial) {
    add(trial, "The physician prescribed medicine for the cough").await;
    add(trial, "The train to the airport leaves every ten minutes").await;
    for settled in [false, true] {
        for mode in [SearchMode::Hybrid, SearchMode::Text, SearchMode::Vector] {
            let recall = ask(trial, SearchRequest { mode, explain: true, ..question("medicine for the cough") }).await;
            let first = texts(&recall.hits).first().copied();
            assert_eq!(
                first,
                Some("The physician prescribed medicine for the cough"),
                "{mode:?}, settled {settled}: {recall:?}"
            );
            let explanation = recall.explanation.unwrap();
            assert_eq!(explanation.hits.len(), recall.hits.len());
        }
        settle(trial).await;
    }
    let recall = ask(trial, question("the doctor and a drug")).await;
    assert_eq!(texts(&recall.hits).first(), Some(&"The physician prescribed medicine for the cough"), "meaning counts");
}

/// Asking twice gives the same answer in the same order.
pub async fn answers_are_stable(trial: &Trial) {
    for number in 0..30 {
        add(trial, &format!("a note about gardening, number {number}")).await;
    }
    settle(trial).await;
    let first = ask(trial, SearchRequest { limit: 30, ..question("gardening note") }).await;
    assert_eq!(first.hits.len(), 30);
    for limit in [30, 10, 3] {
        let again = ask(trial, SearchRequest { limit, ..question("gardening note") }).await;
        assert_eq!(texts(&again.hits), texts(&first.hits)[..limit]);
    }
}
