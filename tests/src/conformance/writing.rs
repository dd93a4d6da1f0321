//! Writing memories: what is stored, what is known already, what is refused.

use memory_core::{DeleteRequest, MemoryProvider, NewMemory, SearchRequest, WriteItem, WriteOutcome};

use super::{add, ask, get, get_memory, memory, question, texts, time, viewer, write, write_one};

/// What is acknowledged can be read and found at once, with every field it was written with.
pub async fn a_write_is_readable_at_once(provider: &dyn MemoryProvider) {
    let new = NewMemory {
        title: Some("早餐 Breakfast".into()),
        category: Some("preference".into()),
        tags: vec!["food".into(), "上海".into()],
        keywords: vec!["congee".into()],
        attrs: serde_json::json!({"stars": 4, "nested": {"a": [1, null]}}).as_object().cloned().unwrap(),
        event_at: Some(time("2026-02-03T08:00:00+08:00")),
        ..memory("Rice porridge with pickles on Sundays 🍚")
    };
    let result = write_one(provider, new.clone()).await;
    assert_eq!(result.outcome, WriteOutcome::Stored);
    let id = result.id.unwrap();
    let stored = get_memory(provider, &id).await;
    assert_eq!((&stored.body, &stored.title, &stored.category), (&new.body, &new.title, &new.category));
    assert_eq!((&stored.tags, &stored.keywords, &stored.attrs), (&new.tags, &new.keywords, &new.attrs));
    assert_eq!(stored.event_at, new.event_at);
    assert_eq!(stored.event_at.unwrap().to_string(), "2026-02-03T08:00:00+08:00", "the offset is kept");
    assert_eq!(stored.revision, 1);
    for query in ["porridge pickles", "congee", "Breakfast", "早餐"] {
        let recall = ask(provider, question(query)).await;
        assert_eq!(recall.hits.first().map(|hit| hit.id.to_string()), Some(id.clone()), "{query}: {recall:?}");
    }
}

/// The same text, whatever its case, width and punctuation, is one memory; also within a batch.
pub async fn the_same_text_is_one_memory(provider: &dyn MemoryProvider) {
    let id = add(provider, "User likes green tea").await;
    for text in ["User likes green tea", "user likes GREEN tea.", "  User likes green tea\n"] {
        let result = write_one(provider, memory(text)).await;
        assert_eq!((result.outcome, result.id.as_ref()), (WriteOutcome::Deduped, Some(&id)), "{text}");
    }
    let batch = ["他喜欢喝乌龙茶", "他喜欢喝乌龙茶。", "A completely different sentence"];
    let items = batch.iter().map(|text| WriteItem::Memory(Box::new(memory(text)))).collect();
    let report = write(provider, items, false).await;
    let outcomes: Vec<WriteOutcome> = report.items.iter().map(|item| item.outcome).collect();
    assert_eq!(outcomes, [WriteOutcome::Stored, WriteOutcome::Deduped, WriteOutcome::Stored], "a batch sees itself");
    assert_eq!(report.items[0].id, report.items[1].id);
}

/// Nearly the same is known already; what differs in a number, a name or a negation is not.
pub async fn near_duplicates_are_known_and_differences_kept(provider: &dyn MemoryProvider) {
    let id = add(provider, "User prefers short answers in the morning").await;
    let near = write_one(provider, memory("The user really prefers short answers in the morning")).await;
    assert_eq!((near.outcome, near.id.as_ref()), (WriteOutcome::Deduped, Some(&id)), "{near:?}");
    assert!(near.reason.is_some(), "it says why: {near:?}");
    for text in [
        "User prefers short answers in the evening",
        "User does not prefer short answers in the morning",
        "The weekly meeting is at 3pm",
        "The weekly meeting is at 4pm",
        "用户喜欢喝绿茶",
        "用户不喜欢喝绿茶",
        "张三喜欢咖啡",
        "李四喜欢咖啡",
    ] {
        add(provider, text).await;
    }
    let forced = write(
        provider,
        vec![WriteItem::Memory(Box::new(memory("The user really prefers short answers in the morning")))],
        true,
    )
    .await;
    assert_eq!(forced.items[0].outcome, WriteOutcome::Stored, "force keeps both");
}

/// What was forgotten does not come back by itself, only by force.
pub async fn what_was_forgotten_stays_forgotten(provider: &dyn MemoryProvider) {
    let text = "The old alarm code was the year of the moon landing";
    let id = add(provider, text).await;
    let request = DeleteRequest { viewer: viewer(), ids: vec![id], erase: false, dry_run: false };
    provider.delete(request).await.unwrap();
    for again in [text, "the old alarm code was the year of the moon landing!"] {
        let result = write_one(provider, memory(again)).await;
        assert_eq!(result.outcome, WriteOutcome::Rejected, "{again}");
        assert!(result.reason.unwrap().contains("force"), "it says what to do");
    }
    assert!(ask(provider, question("alarm code moon landing")).await.hits.is_empty());
    let forced = write(provider, vec![WriteItem::Memory(Box::new(memory(text)))], true).await;
    assert_eq!(forced.items[0].outcome, WriteOutcome::Stored);
    assert_eq!(texts(&ask(provider, question("alarm code")).await.hits), [text]);
    let again = write_one(provider, memory(text)).await;
    assert_eq!(again.outcome, WriteOutcome::Deduped, "forced once, it is no longer refused");
}

/// A foreign id names one memory: the same text is the same, another text its new state.
pub async fn a_foreign_id_is_one_memory(provider: &dyn MemoryProvider) {
    let with_id = |text: &str| NewMemory { external_id: Some("crm-7/客户".into()), ..memory(text) };
    let first = write_one(provider, with_id("The customer prefers phone calls")).await;
    assert_eq!(first.outcome, WriteOutcome::Stored);
    let again = write_one(provider, with_id("The customer prefers phone calls")).await;
    assert_eq!((again.outcome, &again.id), (WriteOutcome::Deduped, &first.id));
    let changed = write_one(provider, with_id("The customer prefers letters on paper")).await;
    assert_eq!(changed.outcome, WriteOutcome::Superseded, "{changed:?}");
    let stored = get_memory(provider, &changed.id.unwrap()).await;
    assert_eq!(stored.body, "The customer prefers letters on paper");
    let recall = ask(provider, SearchRequest { limit: 10, ..question("customer prefers") }).await;
    assert_eq!(texts(&recall.hits), ["The customer prefers letters on paper"], "the former state is not found");
}

/// A credential does not reach the store; the rest of the text does.
pub async fn secrets_are_taken_out(provider: &dyn MemoryProvider) {
    let key = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    let result = write_one(provider, memory(&format!("The deploy token for the narwhal server is {key}"))).await;
    assert_eq!(result.outcome, WriteOutcome::Stored);
    assert!(result.reason.as_ref().is_some_and(|reason| !reason.contains(&key)), "it says so: {result:?}");
    let stored = get_memory(provider, &result.id.unwrap()).await;
    assert!(stored.body.contains("narwhal server") && !stored.body.contains(&key), "{}", stored.body);
}

/// What cannot be stored is refused with a reason, and the rest of the batch is stored.
pub async fn a_bad_item_is_refused_alone(provider: &dyn MemoryProvider) {
    let most = provider.capability().max_text_bytes.unwrap();
    let bad = [
        memory(""),
        memory(" \n\u{200b} "),
        memory(&"long ".repeat(most / 5 + 1)),
        NewMemory { quality: Some(2.0), ..memory("quality out of range") },
        NewMemory { tags: vec![String::new()], ..memory("an empty tag") },
    ];
    let count = bad.len();
    let mut items: Vec<WriteItem> = bad.into_iter().map(|memory| WriteItem::Memory(Box::new(memory))).collect();
    items.push(WriteItem::Memory(Box::new(memory("the good one at the end"))));
    let report = write(provider, items, false).await;
    for item in &report.items[..count] {
        assert_eq!((item.outcome, item.id.is_none()), (WriteOutcome::Rejected, true), "{item:?}");
        assert!(item.reason.as_ref().is_some_and(|reason| !reason.is_empty()), "{item:?}");
    }
    let id = report.items[count].id.clone().unwrap();
    assert!(get(provider, &id).await.is_some());
}

/// Text of every script is kept as it is.
pub async fn every_script_is_kept(provider: &dyn MemoryProvider) {
    for text in [
        "我在上海的老房子里有一架钢琴",
        "駅前のカフェで毎朝コーヒーを飲みます",
        "한국어 수업은 화요일 저녁에 있어요",
        "Η γάτα κοιμάται στον ήλιο",
        "الكتاب على الطاولة الخشبية",
        "👨‍👩‍👧 went to the 🏖️ and ate 🍧",
        "Z̸a̷l̵g̶o combining text",
    ] {
        let id = add(provider, text).await;
        let stored = get_memory(provider, &id).await.body;
        let plain: String = stored.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(!plain.is_empty() && stored.chars().count() + 4 >= text.chars().count(), "{text}: {stored}");
        let recall = ask(provider, question(text)).await;
        assert_eq!(recall.hits.first().map(|hit| hit.id.to_string()), Some(id), "{text}: {recall:?}");
    }
}
