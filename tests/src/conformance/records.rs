//! Single records: look up, list, change, forget, history.

use std::collections::BTreeSet;

use memory_core::{
    DeleteRequest, ErrorKind, Item, ListRequest, MemoryChanges, MemoryProvider, NewMemory, UpdateRequest, WriteOutcome,
};

use super::{add, ask, get, get_memory, memory, question, texts, viewer, write_one};

fn update(id: &str, changes: MemoryChanges) -> UpdateRequest {
    UpdateRequest { viewer: viewer(), id: id.into(), changes, expected_revision: None }
}

fn body(text: &str) -> MemoryChanges {
    MemoryChanges { body: Some(text.into()), ..MemoryChanges::default() }
}

/// A whole id, a unique beginning of one in any case, and nothing else, names an item.
pub async fn ids_and_prefixes_name_items(provider: &dyn MemoryProvider) {
    let id = add(provider, "the only memory here").await;
    for name in [id.clone(), id.to_lowercase(), id[..6].to_owned(), id[..20].to_lowercase()] {
        assert!(get(provider, &name).await.is_some(), "{name}");
    }
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    let report = provider.get(&viewer(), &[unknown.clone(), id]).await.unwrap();
    assert_eq!((report.items.len(), report.missing), (1, vec![unknown]));
    for wrong in ["", "01ARZ", "not an id!", "记忆记忆记忆", "%%%%%%%", "______"] {
        let error = provider.get(&viewer(), &[wrong.to_owned()]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{wrong}");
    }
}

/// Only the fields that are given change; the revision counts, and search follows at once.
pub async fn an_update_changes_what_it_names(provider: &dyn MemoryProvider) {
    let new = NewMemory { title: Some("Car".into()), tags: vec!["home".into()], ..memory("The car is a blue Peugeot") };
    let id = write_one(provider, new).await.id.unwrap();
    super::settle(provider).await;
    provider.update(update(&id, body("The car is a yellow Citroen"))).await.unwrap();
    let stored = get_memory(provider, &id).await;
    assert_eq!((stored.body.as_str(), stored.revision), ("The car is a yellow Citroen", 2));
    assert_eq!((stored.title.as_deref(), stored.tags), (Some("Car"), vec!["home".to_owned()]));
    for _ in 0..2 {
        assert_eq!(texts(&ask(provider, question("Citroen")).await.hits), ["The car is a yellow Citroen"]);
        let former = ask(provider, question("Peugeot")).await;
        assert!(!texts(&former.hits).contains(&"The car is a blue Peugeot"), "{former:?}");
        super::settle(provider).await;
    }
    let clear = MemoryChanges { title: Some(None), ..MemoryChanges::default() };
    provider.update(update(&id, clear)).await.unwrap();
    assert_eq!(get_memory(provider, &id).await.title, None);
    for wrong in [body(" "), body("")] {
        assert_eq!(provider.update(update(&id, wrong)).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    }
    let unknown = update("01ARZ3NDEKTSV4RRFFQ69G5FAV", body("x"));
    assert_eq!(provider.update(unknown).await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// Who read an older state is told, and nothing changes.
pub async fn an_update_of_an_old_state_is_a_conflict(provider: &dyn MemoryProvider) {
    let id = add(provider, "The counter stands at one").await;
    let at = |revision, text: &str| UpdateRequest { expected_revision: Some(revision), ..update(&id, body(text)) };
    provider.update(at(1, "The counter stands at two")).await.unwrap();
    let error = provider.update(at(1, "The counter stands at eleven")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(get_memory(provider, &id).await.body, "The counter stands at two");
    let (one, two) = (at(2, "The counter stands at three"), at(2, "The counter stands at thirty"));
    let (one, two) = tokio::join!(provider.update(one), provider.update(two));
    assert_eq!(usize::from(one.is_ok()) + usize::from(two.is_ok()), 1, "one of two writers wins: {one:?} {two:?}");
}

/// Every change keeps the former state, oldest first.
pub async fn history_keeps_former_states(provider: &dyn MemoryProvider) {
    let id = add(provider, "version one").await;
    provider.update(update(&id, body("version two"))).await.unwrap();
    provider.update(update(&id, body("第三版"))).await.unwrap();
    let history = provider.history(&viewer(), &id).await.unwrap();
    let bodies: Vec<&str> = history.iter().map(|revision| revision.memory.as_ref().unwrap().body.as_str()).collect();
    assert_eq!(bodies, ["version one", "version two", "第三版"]);
    let numbers: Vec<u64> = history.iter().map(|revision| revision.revision).collect();
    assert_eq!(numbers, [1, 2, 3]);
    let operations: Vec<&str> = history.iter().map(|revision| revision.operation.as_str()).collect();
    assert_eq!(operations, ["created", "updated", "updated"]);
    assert!(history.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

/// A rehearsal changes nothing; forgetting takes it out of every read; unknown ids are named.
pub async fn forgetting_takes_out_of_every_read(provider: &dyn MemoryProvider) {
    let id = add(provider, "The walnut tree was planted by grandmother").await;
    let other = add(provider, "The cherry tree is younger").await;
    super::settle(provider).await;
    let request = |dry_run| DeleteRequest {
        viewer: viewer(),
        ids: vec![id.clone(), "01ARZ3NDEKTSV4RRFFQ69G5FAV".into()],
        erase: false,
        dry_run,
    };
    let rehearsed = provider.delete(request(true)).await.unwrap();
    assert_eq!((rehearsed.deleted.len(), rehearsed.missing.len(), rehearsed.dry_run), (1, 1, true));
    assert!(get(provider, &id).await.is_some());
    let done = provider.delete(request(false)).await.unwrap();
    assert_eq!((done.deleted, done.missing.len(), done.dry_run), (vec![id.clone()], 1, false));
    for _ in 0..2 {
        assert!(get(provider, &id).await.is_none());
        assert!(
            !texts(&ask(provider, question("walnut tree grandmother")).await.hits)
                .iter()
                .any(|text| text.contains("walnut"))
        );
        let page = provider.list(ListRequest { viewer: viewer(), ..ListRequest::default() }).await.unwrap();
        let [Item::Memory(left)] = &page.items[..] else { panic!("{page:?}") };
        assert_eq!(left.id.as_str(), other);
        super::settle(provider).await;
    }
    assert_eq!(provider.delete(request(false)).await.unwrap().missing.len(), 2, "forgotten once");
}

/// Pages of a list hold everything once.
pub async fn pages_hold_everything_once(provider: &dyn MemoryProvider) {
    let mut ids = BTreeSet::new();
    for number in 0..23 {
        let category = if number % 2 == 0 { "even" } else { "odd" };
        let tags = if number % 3 == 0 { vec!["third".into(), "all".into()] } else { vec!["all".into()] };
        let result = write_one(
            provider,
            NewMemory { category: Some(category.into()), tags, ..memory(&format!("item number {number} of the list")) },
        )
        .await;
        assert_eq!(result.outcome, WriteOutcome::Stored);
        ids.insert(result.id.unwrap());
    }
    let mut seen = BTreeSet::new();
    let mut request = Some(ListRequest { viewer: viewer(), limit: 5, ..ListRequest::default() });
    let mut pages = 0;
    while let Some(asked) = request.take() {
        let page = provider.list(asked.clone()).await.unwrap();
        pages += 1;
        for item in page.items {
            let Item::Memory(memory) = item else { panic!("{item:?}") };
            assert!(seen.insert(memory.id.to_string()), "nothing twice");
        }
        request = page.next.map(|cursor| ListRequest { cursor: Some(cursor), ..asked });
    }
    assert_eq!((seen, pages), (ids, 5));
    let count = async |categories: &[&str], tags: &[&str]| {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let request = ListRequest {
            viewer: viewer(),
            categories: owned(categories),
            tags: owned(tags),
            ..ListRequest::default()
        };
        provider.list(request).await.unwrap().items.len()
    };
    assert_eq!(count(&["even"], &[]).await, 12);
    assert_eq!(count(&["even", "odd"], &["third", "all"]).await, 8);
    assert_eq!(count(&["even"], &["third"]).await, 4);
    assert_eq!(count(&[], &["nothing"]).await, 0);
}
