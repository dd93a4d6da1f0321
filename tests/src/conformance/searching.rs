//! Questions: conditions, times, languages, hostile text. Everything is asked before and after the provider has settled.

use memory_core::{
    ErrorKind, Filter, HitKind, MemoryProvider, NewMemory, RecallOutcome, RecallReason, SearchMode, SearchRequest,
    Viewer,
};
use serde_json::json;

use super::{add, ask, memory, question, settle, texts, time, viewer, write_one};

/// Says whether there is nothing at all, nothing that fits, or nothing good enough.
pub async fn an_empty_answer_says_why(provider: &dyn MemoryProvider) {
    let recall = ask(provider, question("anything")).await;
    assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::NothingStored)));
    add(provider, "The dachshund is called Waldi").await;
    for _ in 0..2 {
        let recall = ask(provider, SearchRequest { mode: SearchMode::Text, ..question("xylophone") }).await;
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::NoMatch)));
        let recall = ask(provider, question("dachshund")).await;
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Complete, None));
        let stranger = Viewer::user("somebody", "else");
        let recall = ask(provider, SearchRequest::new(stranger, "dachshund")).await;
        assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Empty, Some(RecallReason::NothingStored)));
        settle(provider).await;
    }
    for empty in ["", "   ", "\n"] {
        let error = provider.search(question(empty)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(!error.hints().is_empty());
    }
}

async fn library(provider: &dyn MemoryProvider) {
    let book = |text: &str, category: &str, tags: &[&str], date: &str, stars: u64| NewMemory {
        category: Some(category.into()),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        event_at: Some(time(date)),
        attrs: json!({"stars": stars, "city": "上海"}).as_object().cloned().unwrap(),
        ..memory(text)
    };
    for new in [
        book("book: the whale hunt", "sea", &["old", "long"], "2026-01-10", 5),
        book("book: the island castaway", "sea", &["old"], "2026-02-10", 3),
        book("book: the mountain hut", "land", &["old", "short"], "2026-03-10", 4),
        book("book: 三体", "space", &["新"], "2026-03-31T23:59:59.999Z", 5),
    ] {
        let result = write_one(provider, new).await;
        assert_eq!(result.outcome, memory_core::WriteOutcome::Stored, "{result:?}");
    }
}

async fn expect(provider: &dyn MemoryProvider, request: SearchRequest, expected: &[&str]) {
    let asked = format!("{request:?}");
    let recall = ask(provider, request).await;
    let mut found: Vec<&str> = texts(&recall.hits).iter().filter_map(|text| text.strip_prefix("book: ")).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{asked}");
}

/// Categories, tags, times, kinds and filters are conditions, each and together.
pub async fn conditions_hold(provider: &dyn MemoryProvider) {
    library(provider).await;
    let book = || question("book");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let filter = |value| Some(Filter::parse(&value).unwrap());
    for _ in 0..2 {
        expect(provider, book(), &["the island castaway", "the mountain hut", "the whale hunt", "三体"]).await;
        expect(
            provider,
            SearchRequest { categories: words(&["sea"]), ..book() },
            &["the island castaway", "the whale hunt"],
        )
        .await;
        expect(
            provider,
            SearchRequest { categories: words(&["land", "space"]), ..book() },
            &["the mountain hut", "三体"],
        )
        .await;
        expect(provider, SearchRequest { tags: words(&["old", "long"]), ..book() }, &["the whale hunt"]).await;
        expect(provider, SearchRequest { tags: words(&["新"]), ..book() }, &["三体"]).await;
        expect(
            provider,
            SearchRequest { since: Some(time("2026-02-10")), ..book() },
            &["the island castaway", "the mountain hut", "三体"],
        )
        .await;
        expect(provider, SearchRequest { until: Some(time("2026-02-10")), ..book() }, &["the whale hunt"]).await;
        let march = SearchRequest { since: Some(time("2026-03-01")), until: Some(time("2026-04-01")), ..book() };
        expect(provider, march, &["the mountain hut", "三体"]).await;
        expect(
            provider,
            SearchRequest { filter: filter(json!({"attrs.stars": {"gte": 4}, "category": {"ne": "space"}})), ..book() },
            &["the mountain hut", "the whale hunt"],
        )
        .await;
        expect(
            provider,
            SearchRequest {
                filter: filter(json!({"OR": [{"tags": {"contains": "short"}}, {"text": {"contains": "三"}}]})),
                ..book()
            },
            &["the mountain hut", "三体"],
        )
        .await;
        expect(provider, SearchRequest { kinds: vec![HitKind::Message], ..book() }, &[]).await;
        expect(provider, SearchRequest { limit: 1, ..question("whale hunt") }, &["the whale hunt"]).await;
        expect(provider, SearchRequest { min_score: 1.0, ..question("zebra crossing") }, &[]).await;
        settle(provider).await;
    }
}

/// "Last week" is understood relative to when the question is asked, and prefers, but does not demand.
pub async fn times_in_a_question_are_soft_evidence(provider: &dyn MemoryProvider) {
    for (text, date) in [
        ("We went swimming in the lake", "2026-01-05"),
        ("We went swimming in the pool", "2026-05-13"),
        ("我们去游泳馆游泳了", "2026-05-20"),
        ("我们去海边游泳了", "2026-01-02"),
    ] {
        let result = write_one(provider, NewMemory { event_at: Some(time(date)), ..memory(text) }).await;
        assert_eq!(result.outcome, memory_core::WriteOutcome::Stored);
    }
    for _ in 0..2 {
        for (query, at, first) in [
            ("Where did we go swimming last week?", "2026-05-20T10:00:00Z", "We went swimming in the pool"),
            ("Where did we go swimming in January 2026?", "2026-05-20T10:00:00Z", "We went swimming in the lake"),
            ("三天前我们去哪里游泳了", "2026-05-23T10:00:00+08:00", "我们去游泳馆游泳了"),
        ] {
            let recall = ask(provider, SearchRequest { at: Some(time(at)), ..question(query) }).await;
            assert_eq!(texts(&recall.hits).first(), Some(&first), "{query}: {recall:?}");
            assert!(recall.hits.len() > 1, "{query}: the others are found too");
        }
        settle(provider).await;
    }
}

/// Chinese, Japanese and Korean need no spaces, and two characters are enough.
pub async fn questions_in_chinese_japanese_and_korean(provider: &dyn MemoryProvider) {
    for text in [
        "我下周三要去杭州出差，住在西湖边的酒店",
        "女儿的钢琴老师姓陈，住在静安寺附近",
        "妈妈对海鲜过敏，不能吃虾",
        "毎朝、駅前のパン屋でクロワッサンを買います",
        "来月、京都へ紅葉を見に行く予定です",
        "제주도에서 귤을 한 상자 주문했어요",
        "다음 주에 치과 예약이 있어요",
        "The dentist appointment moved to Friday",
    ] {
        add(provider, text).await;
    }
    for _ in 0..2 {
        for (query, part) in [
            ("杭州住哪里？", "杭州"),
            ("钢琴老师叫什么", "钢琴"),
            ("过敏", "海鲜"),
            ("妈妈不能吃什么", "海鲜"),
            ("クロワッサンはどこで買いますか", "クロワッサン"),
            ("京都の紅葉", "京都"),
            ("귤 주문", "귤"),
            ("치과 예약은 언제예요?", "치과"),
            ("When is the dentist?", "dentist"),
            ("ＤＥＮＴＩＳＴ", "dentist"),
        ] {
            let recall = ask(provider, question(query)).await;
            assert!(
                texts(&recall.hits).first().is_some_and(|text| text.contains(part)),
                "{query}: {:?}",
                texts(&recall.hits)
            );
            assert_eq!(recall.outcome, RecallOutcome::Complete, "{query}");
        }
        settle(provider).await;
    }
}

/// Identifiers are found whole and by their parts.
pub async fn identifiers_are_found(provider: &dyn MemoryProvider) {
    for text in [
        "The server runs node.js behind nginx",
        "Rename parseUserName to parse_full_name",
        "The auth-token lives in src/config/settings.rs",
        "He writes C++ at work",
        "Ticket ABC-1234 is still open",
    ] {
        add(provider, text).await;
    }
    for _ in 0..2 {
        for (query, part) in [
            ("node.js", "nginx"),
            ("parseUserName", "Rename"),
            ("parse_full_name", "Rename"),
            ("auth-token", "settings.rs"),
            ("settings.rs", "auth-token"),
            ("C++", "at work"),
            ("ABC-1234", "Ticket"),
        ] {
            let recall = ask(provider, question(query)).await;
            assert!(
                texts(&recall.hits).first().is_some_and(|text| text.contains(part)),
                "{query}: {:?}",
                texts(&recall.hits)
            );
        }
        settle(provider).await;
    }
}

/// No text is a syntax error, and none commands the engine.
pub async fn hostile_questions_are_plain_text(provider: &dyn MemoryProvider) {
    add(provider, "The flamingo stands on one leg").await;
    let long = "flamingo ".repeat(20_000);
    let deep = format!("{}flamingo{}", "(".repeat(5_000), ")".repeat(5_000));
    for _ in 0..2 {
        for query in [
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
            &long,
            &deep,
        ] {
            let shown: String = query.chars().take(40).collect();
            let recall = provider.search(question(query)).await.unwrap_or_else(|error| panic!("{shown}: {error}"));
            assert_eq!(texts(&recall.hits), ["The flamingo stands on one leg"], "{shown}");
        }
        for query in ["!!!", "。，、", "a", "的", "🦩", "\u{200b}", "\u{e000}"] {
            provider.search(question(query)).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        }
        settle(provider).await;
    }
}

/// In raw mode operators work, and a mistake is an error that says so.
pub async fn raw_questions_have_operators(provider: &dyn MemoryProvider) {
    for text in ["red apple pie", "apple and green juice", "apple red and round", "我在北京"] {
        add(provider, text).await;
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
            let recall = ask(provider, raw(expression)).await;
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
        settle(provider).await;
    }
    assert!(complete >= 4, "settled, an answer is whole");
    let error = provider.search(raw("(apple AND")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
}

/// Each mode answers; vectors alone find by meaning or say that they cannot.
pub async fn every_mode_answers(provider: &dyn MemoryProvider) {
    add(provider, "The physician prescribed medicine for the cough").await;
    add(provider, "The train to the airport leaves every ten minutes").await;
    for settled in [false, true] {
        for mode in [SearchMode::Hybrid, SearchMode::Text, SearchMode::Vector] {
            let recall =
                ask(provider, SearchRequest { mode, explain: true, ..question("medicine for the cough") }).await;
            let first = texts(&recall.hits).first().copied();
            assert_eq!(
                first,
                Some("The physician prescribed medicine for the cough"),
                "{mode:?}, settled {settled}: {recall:?}"
            );
            let explanation = recall.explanation.unwrap();
            assert_eq!(explanation.hits.len(), recall.hits.len());
        }
        settle(provider).await;
    }
    let recall = ask(provider, question("the doctor and a drug")).await;
    assert_eq!(texts(&recall.hits).first(), Some(&"The physician prescribed medicine for the cough"), "meaning counts");
}

/// Asking twice gives the same answer in the same order.
pub async fn answers_are_stable(provider: &dyn MemoryProvider) {
    for number in 0..30 {
        add(provider, &format!("a note about gardening, number {number}")).await;
    }
    settle(provider).await;
    let first = ask(provider, SearchRequest { limit: 30, ..question("gardening note") }).await;
    assert_eq!(first.hits.len(), 30);
    for limit in [30, 10, 3] {
        let again = ask(provider, SearchRequest { limit, ..question("gardening note") }).await;
        assert_eq!(texts(&again.hits), texts(&first.hits)[..limit]);
    }
}

/// The viewer decides what can be found; nothing of another user is even counted.
pub async fn strangers_find_nothing(provider: &dyn MemoryProvider) {
    add(provider, "The safe is behind the painting").await;
    for stranger in [Viewer::user("other", memory_core::DEFAULT_NAME), Viewer::user(memory_core::DEFAULT_NAME, "other")]
    {
        for _ in 0..2 {
            let recall = ask(provider, SearchRequest::new(stranger.clone(), "safe behind painting")).await;
            assert!(recall.hits.is_empty());
            settle(provider).await;
        }
    }
    assert_eq!(ask(provider, SearchRequest::new(viewer(), "safe behind painting")).await.hits.len(), 1);
}
