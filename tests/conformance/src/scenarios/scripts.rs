//! Text of every script.

use memory_core::NewMemory;
use unicode_normalization::UnicodeNormalization;

use crate::*;

/// Composed, decomposed, joined, mirrored and rare characters. Only the form of normalisation may change.
const TEXTS: [&str; 14] = [
    "我在上海的老房子里有一架钢琴，价格是￥３０００。",
    "漢字とひらがなとカタカナ、そしてｶﾀｶﾅ",
    "한국어 수업은 화요일 저녁에 있어요",
    "Straße, naïve café, Ǆ and İstanbul",
    "decomposed: cafe\u{301}, A\u{30a}ngstro\u{308}m, 한",
    "مرحبا بالعالم ١٢٣ and back to English",
    "שלום עולם, \u{202b}mirrored\u{202c} marks",
    "می\u{200c}خواهم reads with a joiner",
    "👩\u{200d}🚀 👨\u{200d}👩\u{200d}👧\u{200d}👦 🇨🇳 🏳️\u{200d}🌈 👍🏽",
    "𠮷野家で𩸽を食べた 𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "ภาษาไทยไม่มีช่องว่าง และ हिन्दी में भी",
    "quotes \" ' ` \\ <b> & %20 ${x} {{y}} -- ; /* */",
    "first line\n\nthird line\n\t- indented 缩进",
    "null-like words: null NaN true 0x00 \\u0000 \\n",
];

fn composed(text: &str) -> String {
    text.nfc().collect()
}

/// Every text comes back as it was written, character by character.
pub async fn texts_come_back_unchanged(trial: &Trial) {
    for text in TEXTS {
        let id = add(trial, text).await;
        assert_eq!(composed(&get_memory(trial, &id).await.body), composed(text));
    }
}

/// Every text is found by itself and comes back whole in the hit.
pub async fn texts_are_found_by_themselves(trial: &Trial) {
    for text in TEXTS {
        add(trial, text).await;
    }
    for text in TEXTS {
        let recall = ask_until(trial, question(text), |recall| !recall.hits.is_empty()).await;
        let found: Vec<String> = recall.hits.iter().map(|hit| composed(&hit.text)).collect();
        assert!(found.contains(&composed(text)), "{text}: {found:?}");
    }
}

/// Titles, labels and attributes may be of any script too.
pub async fn fields_come_back_unchanged(trial: &Trial) {
    for (number, text) in TEXTS.iter().enumerate() {
        let line = text.lines().next().unwrap();
        let new = NewMemory {
            title: Some(line.into()),
            tags: vec![line.into()],
            attrs: serde_json::json!({line: {"nested": [text, number]}}).as_object().cloned().unwrap(),
            ..memory(&format!("field test number {number}"))
        };
        let id = add_memory(trial, new.clone()).await;
        let stored = get_memory(trial, &id).await;
        assert_eq!(stored.title.as_deref().map(composed), Some(composed(line)));
        assert_eq!(stored.tags.iter().map(|tag| composed(tag)).collect::<Vec<_>>(), [composed(line)]);
        assert_eq!(stored.attrs, new.attrs);
    }
}

/// Text of every script is kept as it is.
pub async fn every_script_is_kept(trial: &Trial) {
    for text in [
        "我在上海的老房子里有一架钢琴",
        "駅前のカフェで毎朝コーヒーを飲みます",
        "한국어 수업은 화요일 저녁에 있어요",
        "Η γάτα κοιμάται στον ήλιο",
        "الكتاب على الطاولة الخشبية",
        "👨‍👩‍👧 went to the 🏖️ and ate 🍧",
        "Z̸a̷l̵g̶o combining text",
    ] {
        let id = add(trial, text).await;
        let stored = get_memory(trial, &id).await.body;
        let plain: String = stored.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(!plain.is_empty() && stored.chars().count() + 4 >= text.chars().count(), "{text}: {stored}");
        let recall = ask(trial, question(text)).await;
        assert_eq!(recall.hits.first().map(|hit| hit.id.to_string()), Some(id), "{text}: {recall:?}");
    }
}
