//! Single records: look up, list, change, forget, history.

use std::collections::BTreeSet;

use memory_core::{DeleteRequest, ErrorKind, Item, ListRequest, MemoryChanges, NewMemory, UpdateRequest};

use crate::*;

/// An id names its item; what names nothing is said to be missing, and is not an error of the whole.
pub async fn ids_name_items(trial: &Trial) {
    let (one, two) = (add(trial, "the first of two memories").await, add(trial, "第二条记忆").await);
    assert_ne!(one, two);
    let report = trial.get(&viewer(), &[two.clone(), UNKNOWN.to_owned(), one.clone()]).await.unwrap();
    let found: Vec<&str> = report
        .items
        .iter()
        .map(|item| match item {
            Item::Memory(memory) => memory.id.as_str(),
            item => panic!("{item:?}"),
        })
        .collect();
    assert_eq!((found, report.missing), (vec![two.as_str(), one.as_str()], words(&[UNKNOWN])), "in the order asked");
    assert_eq!(trial.get(&viewer(), &[]).await.unwrap(), memory_core::GetReport::default());
    for wrong in
        ["", "01ARZ", "not an id!", "记忆记忆记忆", "%%%%%%%", "______", "../../etc/passwd", "a/b?c#d", "'; --"]
    {
        match trial.get(&viewer(), &words(&[wrong])).await {
            Ok(report) => assert_eq!((report.items.len(), report.missing), (0, words(&[wrong]))),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{wrong}: {error}"),
        }
    }
}

/// A whole id in any case, and a unique beginning of one, names an item.
pub async fn prefixes_name_items(trial: &Trial) {
    let id = add(trial, "the only memory here").await;
    for name in [id.clone(), id.to_lowercase(), id[..6].to_owned(), id[..20].to_lowercase()] {
        assert!(get(trial, &name).await.is_some(), "{name}");
    }
    let report = trial.get(&viewer(), &[UNKNOWN.to_owned(), id]).await.unwrap();
    assert_eq!((report.items.len(), report.missing), (1, words(&[UNKNOWN])));
}

/// What cannot be an id is a bad request.
pub async fn wrong_ids_are_refused(trial: &Trial) {
    for wrong in ["", "01ARZ", "not an id!", "记忆记忆记忆", "%%%%%%%", "______"] {
        let error = trial.get(&viewer(), &words(&[wrong])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{wrong}");
    }
}

/// A new text takes the place of the old one, and search follows; an empty one is refused, and so is an unknown id.
pub async fn an_update_changes_the_text(trial: &Trial) {
    let id = add(trial, "The car is a blue Peugeot").await;
    settle(trial).await;
    let result = trial.update(update(&id, body("The car is a yellow Citroen 雪铁龙"))).await.unwrap();
    let now = result.id.unwrap();
    assert_eq!(get_memory(trial, &now).await.body, "The car is a yellow Citroen 雪铁龙");
    assert_eq!(now, id, "it is still the same memory");
    must_find(trial, &viewer(), "yellow Citroen", "Citroen").await;
    let changed = |recall: &memory_core::Recall| !texts(&recall.hits).iter().any(|text| text.contains("Peugeot"));
    let former = ask_until(trial, question("blue Peugeot"), changed).await;
    assert!(changed(&former), "{former:?}");
    for wrong in [body(" "), body("")] {
        assert_eq!(trial.update(update(&id, wrong)).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    }
    assert_eq!(get_memory(trial, &id).await.body, "The car is a yellow Citroen 雪铁龙");
    assert_eq!(trial.update(update(UNKNOWN, body("x"))).await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// Only the fields that are given change; the revision counts, and search follows at once.
pub async fn an_update_changes_what_it_names(trial: &Trial) {
    let new = NewMemory { title: Some("Car".into()), tags: words(&["home"]), ..memory("The car is a blue Peugeot") };
    let id = add_memory(trial, new).await;
    settle(trial).await;
    trial.update(update(&id, body("The car is a yellow Citroen"))).await.unwrap();
    let stored = get_memory(trial, &id).await;
    assert_eq!(stored.body, "The car is a yellow Citroen");
    assert_eq!((stored.title.as_deref(), stored.tags), (Some("Car"), words(&["home"])));
    assert!(!trial.has(Need::Revisions) || stored.revision == 2, "{}", stored.revision);
    for _ in 0..2 {
        let found = ask_until(trial, question("Citroen"), |recall| !recall.hits.is_empty()).await;
        assert_eq!(texts(&found.hits), ["The car is a yellow Citroen"]);
        let former = ask(trial, question("Peugeot")).await;
        assert!(!texts(&former.hits).contains(&"The car is a blue Peugeot"), "{former:?}");
        settle(trial).await;
    }
    let labels = MemoryChanges { tags: Some(words(&["家", "work"])), ..MemoryChanges::default() };
    trial.update(update(&id, labels)).await.unwrap();
    let stored = get_memory(trial, &id).await;
    assert_eq!((stored.body.as_str(), stored.tags), ("The car is a yellow Citroen", words(&["家", "work"])));
    let clear = MemoryChanges { title: Some(None), ..MemoryChanges::default() };
    trial.update(update(&id, clear)).await.unwrap();
    assert_eq!(get_memory(trial, &id).await.title, None);
}

/// Who read an older state is told, and nothing changes.
pub async fn an_update_of_an_old_state_is_a_conflict(trial: &Trial) {
    let id = add(trial, "The counter stands at one").await;
    let at = |revision, text: &str| UpdateRequest { expected_revision: Some(revision), ..update(&id, body(text)) };
    trial.update(at(1, "The counter stands at two")).await.unwrap();
    let error = trial.update(at(1, "The counter stands at eleven")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(get_memory(trial, &id).await.body, "The counter stands at two");
    let (one, two) = (at(2, "The counter stands at three"), at(2, "The counter stands at thirty"));
    let (one, two) = tokio::join!(trial.update(one), trial.update(two));
    assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "one of two writers wins: {one:?} {two:?}");
}

/// Every change keeps the former state, oldest first.
pub async fn history_keeps_former_states(trial: &Trial) {
    let id = add(trial, "version one").await;
    trial.update(update(&id, body("version two"))).await.unwrap();
    trial.update(update(&id, body("第三版"))).await.unwrap();
    let history = trial.history(&viewer(), &id).await.unwrap();
    let bodies: Vec<&str> = history.iter().map(|revision| revision.memory.as_ref().unwrap().body.as_str()).collect();
    assert_eq!(bodies, ["version one", "version two", "第三版"]);
    let numbers: Vec<u64> = history.iter().map(|revision| revision.revision).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let operations: Vec<&str> = history.iter().map(|revision| revision.operation.as_str()).collect();
    assert_eq!(operations, ["created", "updated", "updated"]);
    assert!(history.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert_eq!(trial.history(&viewer(), UNKNOWN).await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// A rehearsal changes nothing; forgetting takes it out of every read; unknown ids are named.
pub async fn forgetting_takes_out_of_every_read(trial: &Trial) {
    let id = add(trial, "The walnut tree was planted by grandmother").await;
    let other = add(trial, "The cherry tree is younger").await;
    settle(trial).await;
    let request =
        |dry_run| DeleteRequest { viewer: viewer(), ids: vec![id.clone(), UNKNOWN.into()], erase: false, dry_run };
    let rehearsed = trial.delete(request(true)).await.unwrap();
    assert_eq!((rehearsed.deleted.len(), rehearsed.missing.len(), rehearsed.dry_run), (1, 1, true));
    assert!(get(trial, &id).await.is_some());
    let done = trial.delete(request(false)).await.unwrap();
    assert_eq!((done.deleted, done.missing.len(), done.dry_run), (vec![id.clone()], 1, false));
    for _ in 0..2 {
        assert!(get(trial, &id).await.is_none());
        assert!(
            !texts(&ask(trial, question("walnut tree grandmother")).await.hits)
                .iter()
                .any(|text| text.contains("walnut"))
        );
        let page = trial.list(ListRequest { viewer: viewer(), ..ListRequest::default() }).await.unwrap();
        let [Item::Memory(left)] = &page.items[..] else { panic!("{page:?}") };
        assert_eq!(left.id.as_str(), other);
        settle(trial).await;
    }
    assert_eq!(trial.delete(request(false)).await.unwrap().missing.len(), 2, "forgotten once");
}

/// What was erased is gone like what was forgotten, and the report says what erasing did.
pub async fn erasing_takes_out_of_every_read(trial: &Trial) {
    let id = add(trial, "The pin of the garage is on the fridge").await;
    settle(trial).await;
    let request = DeleteRequest { erase: true, ..deletion(&viewer(), &[&id]) };
    assert_eq!(trial.delete(request).await.unwrap().deleted, [id.as_str()]);
    assert!(get(trial, &id).await.is_none());
    assert!(ask(trial, question("pin garage fridge")).await.hits.iter().all(|hit| !hit.text.contains("garage")));
}

/// Pages of a list hold everything once.
pub async fn pages_hold_everything_once(trial: &Trial) {
    let ids = numbered(trial).await;
    let mut seen = BTreeSet::new();
    let mut request = Some(ListRequest { viewer: viewer(), limit: 5, ..ListRequest::default() });
    let mut pages = 0;
    while let Some(asked) = request.take() {
        let page = trial.list(asked.clone()).await.unwrap();
        pages += 1;
        assert!(page.items.len() <= 5, "{page:?}");
        for item in page.items {
            let Item::Memory(memory) = item else { panic!("{item:?}") };
            assert!(seen.insert(memory.id.to_string()), "nothing twice");
        }
        request = page.next.map(|cursor| ListRequest { cursor: Some(cursor), ..asked });
    }
    assert_eq!((seen, pages), (ids, 5));
    let whole = trial.list(ListRequest { viewer: viewer(), ..ListRequest::default() }).await.unwrap();
    assert_eq!((whole.items.len(), whole.next), (23, None), "a limit of 0 means 50");
}

async fn numbered(trial: &Trial) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for number in 0..23 {
        let category = if number % 2 == 0 { "even" } else { "odd" };
        let tags = if number % 3 == 0 { words(&["third", "all"]) } else { words(&["all"]) };
        let text = format!("item number {number} of the list");
        ids.insert(add_memory(trial, NewMemory { category: Some(category.into()), tags, ..memory(&text) }).await);
    }
    ids
}

/// A list can be narrowed to categories and to labels.
pub async fn lists_have_conditions(trial: &Trial) {
    numbered(trial).await;
    let count = async |categories: &[&str], tags: &[&str]| {
        let request = ListRequest {
            viewer: viewer(),
            categories: words(categories),
            tags: words(tags),
            ..ListRequest::default()
        };
        trial.list(request).await.unwrap().items.len()
    };
    assert_eq!(count(&["even"], &[]).await, 12);
    assert_eq!(count(&["even", "odd"], &["third", "all"]).await, 8);
    assert_eq!(count(&["even"], &["third"]).await, 4);
    assert_eq!(count(&[], &["nothing"]).await, 0);
}
