//! Writing memories: what is stored, what is known already, what is refused.

use std::collections::BTreeSet;

use memory_core::{ErrorKind, NewMemory, SearchRequest, WriteItem, WriteOutcome, WriteRequest};

use crate::*;

/// What is acknowledged can be read and found.
pub async fn a_write_is_readable_at_once(trial: &Trial) {
    let text = "Rice porridge with pickles on Sundays 🍚";
    let id = add(trial, text).await;
    let stored = get_memory(trial, &id).await;
    assert_eq!((stored.id.as_str(), stored.body.as_str(), stored.revision), (id.as_str(), text, 1));
    assert_eq!(stored.scope, memory_core::Scope::default());
    let hit = must_find(trial, &viewer(), "porridge pickles", "porridge").await;
    assert_eq!((hit.id.as_str(), hit.text.as_str(), hit.scope), (id.as_str(), text, stored.scope));
    assert!(get(trial, &hit.id.to_string()).await.is_some(), "what a hit names can be read");
}

fn breakfast() -> NewMemory {
    NewMemory {
        title: Some("早餐 Breakfast".into()),
        category: Some("preference".into()),
        tags: words(&["food", "上海"]),
        keywords: words(&["congee"]),
        attrs: serde_json::json!({"stars": 4, "nested": {"a": [1, null]}}).as_object().cloned().unwrap(),
        event_at: Some(time("2026-02-03T08:00:00+08:00")),
        ..memory("Rice porridge with pickles on Sundays 🍚")
    }
}

/// A memory has every field it was written with, by id and in a hit.
pub async fn every_field_is_kept(trial: &Trial) {
    let new = breakfast();
    let id = add_memory(trial, new.clone()).await;
    let stored = get_memory(trial, &id).await;
    assert_eq!((&stored.body, &stored.title, &stored.category), (&new.body, &new.title, &new.category));
    assert_eq!((&stored.tags, &stored.keywords, &stored.attrs), (&new.tags, &new.keywords, &new.attrs));
    assert_eq!(stored.event_at, new.event_at);
    assert_eq!(stored.event_at.unwrap().to_string(), "2026-02-03T08:00:00+08:00", "the offset is kept");
    assert_eq!(stored.revision, 1);
    let hit = must_find(trial, &viewer(), "porridge pickles", "porridge").await;
    assert_eq!((&hit.title, &hit.category, &hit.tags), (&new.title, &new.category, &new.tags));
    assert_eq!((hit.event_at, &hit.attrs), (new.event_at, &new.attrs));
}

/// Titles and keywords lead to a memory as its text does.
pub async fn titles_and_keywords_are_found(trial: &Trial) {
    let id = add_memory(trial, breakfast()).await;
    for query in ["porridge pickles", "congee", "Breakfast", "早餐"] {
        let recall = ask_until(trial, question(query), |recall| !recall.hits.is_empty()).await;
        assert_eq!(recall.hits.first().map(|hit| hit.id.to_string()), Some(id.clone()), "{query}: {recall:?}");
    }
}

/// A batch has one result for each item, in order; nothing in it is nothing done.
pub async fn a_batch_is_answered_in_order(trial: &Trial) {
    assert_eq!(trial.write(WriteRequest::default()).await.unwrap().items, []);
    let colours = ["red", "green", "blue", "yellow", "白色", "黑色"];
    let texts = colours.map(|colour| format!("The door of house {colour} is painted {colour}"));
    let count = trial.capability.max_batch.unwrap_or(texts.len()).min(texts.len());
    let items = texts.iter().take(count).map(|text| WriteItem::Memory(Box::new(memory(text)))).collect();
    let report = write(trial, items, false).await;
    let ids: Vec<String> = report.items.into_iter().map(|item| item.id.unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), count, "each its own");
    let request: Vec<String> = ids.iter().rev().cloned().collect();
    let read = trial.get(&viewer(), &request).await.unwrap();
    let bodies: Vec<String> = read
        .items
        .into_iter()
        .map(|item| match item {
            memory_core::Item::Memory(memory) => memory.body,
            item => panic!("{item:?}"),
        })
        .collect();
    assert_eq!(bodies, texts.iter().take(count).rev().cloned().collect::<Vec<_>>(), "in the order asked");
}

/// An empty text is refused with a reason, and the rest of the batch is stored.
pub async fn an_empty_text_is_refused_alone(trial: &Trial) {
    let items = ["", "  \n\t ", "a good one 好"].map(|text| WriteItem::Memory(Box::new(memory(text))));
    let mut report = Vec::new();
    for batch in items.chunks(trial.capability.max_batch.unwrap_or(3)) {
        report.extend(write(trial, batch.to_vec(), false).await.items);
    }
    for item in &report[..2] {
        assert_eq!((item.outcome, item.id.is_none()), (WriteOutcome::Rejected, true), "{item:?}");
        assert!(item.reason.as_ref().is_some_and(|reason| !reason.is_empty()), "{item:?}");
    }
    assert_eq!(report[2].outcome, WriteOutcome::Stored, "{report:?}");
    must_find(trial, &viewer(), "a good one", "好").await;
}

/// A text of the greatest length is stored; a longer one is refused and harms nothing.
pub async fn texts_have_a_greatest_length(trial: &Trial) {
    let most = trial.capability.max_text_bytes.unwrap();
    let mut longest = "蜗牛 snail ".repeat(most / 13 + 1);
    let end = (0..most).rev().find(|end| longest.is_char_boundary(*end)).unwrap();
    longest.truncate(end);
    let longest = format!("{}e", longest.trim_end());
    assert!(longest.len() <= most);
    add(trial, &longest).await;
    let longer = format!("{longest} {}", "x".repeat(most));
    let request = |text: &str| WriteRequest {
        items: vec![WriteItem::Memory(Box::new(memory(text)))],
        force: false,
        repeated: false,
    };
    match trial.write(request(&longer)).await {
        Ok(report) => assert_eq!(report.items[0].outcome, WriteOutcome::Rejected, "{report:?}"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}"),
    }
    add(trial, "a short one after it").await;
}

/// A batch of the greatest size is stored whole; a larger one is refused whole, or carried out whole.
pub async fn batches_have_a_greatest_size(trial: &Trial) {
    let most = trial.capability.max_batch.unwrap();
    let batch = |count: usize, of: &str| WriteRequest {
        items: (0..count)
            .map(|number| WriteItem::Memory(Box::new(memory(&format!("{of} card number {number}")))))
            .collect(),
        force: false,
        repeated: false,
    };
    let stored = trial.write(batch(most, "blue")).await.unwrap();
    assert_eq!(stored.items.iter().filter(|item| item.outcome == WriteOutcome::Stored).count(), most);
    match trial.write(batch(most + 1, "green")).await {
        Ok(report) => assert_eq!(report.items.len(), most + 1),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
            let recall = ask(trial, question("green card number 0")).await;
            assert!(recall.hits.iter().all(|hit| !hit.text.contains("green")), "nothing of it: {recall:?}");
        }
    }
}

/// A request that is sent again because its answer was lost is carried out once; one that never came is carried out.
pub async fn what_is_repeated_is_written_once(trial: &Trial) {
    let item =
        |id: &str, text: &str| WriteItem::Memory(Box::new(NewMemory { external_id: Some(id.into()), ..memory(text) }));
    let request = |items: Vec<WriteItem>, repeated| WriteRequest { items, force: false, repeated };
    let one = || item("import/1", "The heron stands in the reeds");
    let two = || item("导入/2", "鹭鸶站在芦苇里");
    let first = trial.write(request(vec![one()], false)).await.unwrap().items.remove(0);
    assert_eq!(first.outcome, WriteOutcome::Stored);
    for expected in [WriteOutcome::Stored, WriteOutcome::Deduped] {
        let known = trial.write(request(vec![one()], true)).await.unwrap().items.remove(0);
        assert_eq!((known.outcome, &known.id), (WriteOutcome::Deduped, &first.id), "{known:?}");
        let new = trial.write(request(vec![two()], true)).await.unwrap().items.remove(0);
        assert_eq!(new.outcome, expected, "{new:?}");
    }
    must_find(trial, &viewer(), "heron reeds", "heron").await;
    let recall = ask(trial, question("heron reeds")).await;
    assert_eq!(recall.hits.iter().filter(|hit| hit.text.contains("heron")).count(), 1, "{recall:?}");
}

/// The same text, whatever its case, width and punctuation, is one memory; also within a batch.
pub async fn the_same_text_is_one_memory(trial: &Trial) {
    let id = add(trial, "User likes green tea").await;
    for text in ["User likes green tea", "user likes GREEN tea.", "  User likes green tea\n"] {
        let result = write_one(trial, memory(text)).await;
        assert_eq!((result.outcome, result.id.as_ref()), (WriteOutcome::Deduped, Some(&id)), "{text}");
    }
    let batch = ["他喜欢喝乌龙茶", "他喜欢喝乌龙茶。", "A completely different sentence"];
    let items = batch.iter().map(|text| WriteItem::Memory(Box::new(memory(text)))).collect();
    let report = write(trial, items, false).await;
    let outcomes: Vec<WriteOutcome> = report.items.iter().map(|item| item.outcome).collect();
    assert_eq!(outcomes, [WriteOutcome::Stored, WriteOutcome::Deduped, WriteOutcome::Stored], "a batch sees itself");
    assert_eq!(report.items[0].id, report.items[1].id);
}

/// Nearly the same is known already; what differs in a number, a name or a negation is not.
pub async fn near_duplicates_are_known_and_differences_kept(trial: &Trial) {
    let id = add(trial, "User prefers short answers in the morning").await;
    let near = write_one(trial, memory("The user really prefers short answers in the morning")).await;
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
        add(trial, text).await;
    }
    let forced = write(
        trial,
        vec![WriteItem::Memory(Box::new(memory("The user really prefers short answers in the morning")))],
        true,
    )
    .await;
    assert_eq!(forced.items[0].outcome, WriteOutcome::Stored, "force keeps both");
}

/// What was forgotten does not come back by itself, only by force.
pub async fn what_was_forgotten_stays_forgotten(trial: &Trial) {
    let text = "The old alarm code was the year of the moon landing";
    let id = add(trial, text).await;
    forget(trial, &viewer(), &[&id]).await;
    for again in [text, "the old alarm code was the year of the moon landing!"] {
        let result = write_one(trial, memory(again)).await;
        assert_eq!(result.outcome, WriteOutcome::Rejected, "{again}");
        assert!(result.reason.unwrap().contains("force"), "it says what to do");
    }
    assert!(ask(trial, question("alarm code moon landing")).await.hits.is_empty());
    let forced = write(trial, vec![WriteItem::Memory(Box::new(memory(text)))], true).await;
    assert_eq!(forced.items[0].outcome, WriteOutcome::Stored);
    assert_eq!(texts(&ask(trial, question("alarm code")).await.hits), [text]);
    let again = write_one(trial, memory(text)).await;
    assert_eq!(again.outcome, WriteOutcome::Deduped, "forced once, it is no longer refused");
}

/// A foreign id names one memory: the same text is the same, another text its new state.
pub async fn a_foreign_id_is_one_memory(trial: &Trial) {
    let with_id = |text: &str| NewMemory { external_id: Some("crm-7/客户".into()), ..memory(text) };
    let first = write_one(trial, with_id("The customer prefers phone calls")).await;
    assert_eq!(first.outcome, WriteOutcome::Stored);
    let again = write_one(trial, with_id("The customer prefers phone calls")).await;
    assert_eq!((again.outcome, &again.id), (WriteOutcome::Deduped, &first.id));
    let changed = write_one(trial, with_id("The customer prefers letters on paper")).await;
    assert_eq!(changed.outcome, WriteOutcome::Superseded, "{changed:?}");
    let stored = get_memory(trial, &changed.id.unwrap()).await;
    assert_eq!(stored.body, "The customer prefers letters on paper");
    let expected = ["The customer prefers letters on paper"];
    let request = SearchRequest { limit: 10, ..question("customer prefers") };
    let recall = ask_until(trial, request, |recall| texts(&recall.hits) == expected).await;
    assert_eq!(texts(&recall.hits), expected, "the former state is not found");
}

/// A credential does not reach the store; the rest of the text does.
pub async fn secrets_are_taken_out(trial: &Trial) {
    let key = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    let result = write_one(trial, memory(&format!("The deploy token for the narwhal server is {key}"))).await;
    assert_eq!(result.outcome, WriteOutcome::Stored);
    assert!(result.reason.as_ref().is_some_and(|reason| !reason.contains(&key)), "it says so: {result:?}");
    let stored = get_memory(trial, &result.id.unwrap()).await;
    assert!(stored.body.contains("narwhal server") && !stored.body.contains(&key), "{}", stored.body);
}

/// What cannot be stored is refused with a reason, and the rest of the batch is stored.
pub async fn a_bad_item_is_refused_alone(trial: &Trial) {
    let most = trial.capability().max_text_bytes.unwrap();
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
    let report = write(trial, items, false).await;
    for item in &report.items[..count] {
        assert_eq!((item.outcome, item.id.is_none()), (WriteOutcome::Rejected, true), "{item:?}");
        assert!(item.reason.as_ref().is_some_and(|reason| !reason.is_empty()), "{item:?}");
    }
    let id = report.items[count].id.clone().unwrap();
    assert!(get(trial, &id).await.is_some());
}
