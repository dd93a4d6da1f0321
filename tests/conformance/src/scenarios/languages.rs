//! Questions in every language, about identifiers, and about times. Everything is asked before and after the provider has
//! settled.

use memory_core::{NewMemory, RecallOutcome, SearchRequest};

use crate::*;

/// Chinese, Japanese and Korean need no spaces, and two characters are enough.
pub async fn questions_in_chinese_japanese_and_korean(trial: &Trial) {
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
        add(trial, text).await;
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
            let recall = ask(trial, question(query)).await;
            assert!(
                texts(&recall.hits).first().is_some_and(|text| text.contains(part)),
                "{query}: {:?}",
                texts(&recall.hits)
            );
            assert_eq!(recall.outcome, RecallOutcome::Complete, "{query}");
        }
        settle(trial).await;
    }
}

/// Identifiers are found whole and by their parts.
pub async fn identifiers_are_found(trial: &Trial) {
    for text in [
        "The server runs node.js behind nginx",
        "Rename parseUserName to parse_full_name",
        "The auth-token lives in src/config/settings.rs",
        "He writes C++ at work",
        "Ticket ABC-1234 is still open",
    ] {
        add(trial, text).await;
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
            let recall = ask(trial, question(query)).await;
            assert!(
                texts(&recall.hits).first().is_some_and(|text| text.contains(part)),
                "{query}: {:?}",
                texts(&recall.hits)
            );
        }
        settle(trial).await;
    }
}

/// "Last week" is understood relative to when the question is asked, and prefers, but does not demand.
pub async fn times_in_a_question_are_soft_evidence(trial: &Trial) {
    for (text, date) in [
        ("We went swimming in the lake", "2026-01-05"),
        ("We went swimming in the pool", "2026-05-13"),
        ("我们去游泳馆游泳了", "2026-05-20"),
        ("我们去海边游泳了", "2026-01-02"),
    ] {
        let result = write_one(trial, NewMemory { event_at: Some(time(date)), ..memory(text) }).await;
        assert_eq!(result.outcome, memory_core::WriteOutcome::Stored);
    }
    for _ in 0..2 {
        for (query, at, first) in [
            ("Where did we go swimming last week?", "2026-05-20T10:00:00Z", "We went swimming in the pool"),
            ("Where did we go swimming in January 2026?", "2026-05-20T10:00:00Z", "We went swimming in the lake"),
            ("三天前我们去哪里游泳了", "2026-05-23T10:00:00+08:00", "我们去游泳馆游泳了"),
        ] {
            let recall = ask(trial, SearchRequest { at: Some(time(at)), ..question(query) }).await;
            assert_eq!(texts(&recall.hits).first(), Some(&first), "{query}: {recall:?}");
            assert!(recall.hits.len() > 1, "{query}: the others are found too");
        }
        settle(trial).await;
    }
}
