//! Lists to the end, and answers in which others take the places.

use std::collections::BTreeSet;

use memory_core::{
    ErrorKind, Item, ListRequest, ListSort, MemoryProvider, NewMemory, Owner, Recall, RecallOutcome, RecallReason,
    Scope, SearchRequest, State, Viewer,
};

use super::support::{Setup, platform, self_hosted, user, viewer};

async fn all(setup: &Setup, viewer: &Viewer, limit: usize) -> (Vec<String>, usize) {
    let (mut ids, mut pages, mut cursor) = (Vec::new(), 0, None);
    loop {
        let request = ListRequest { viewer: viewer.clone(), limit, cursor, ..ListRequest::default() };
        let page = setup.provider.list(request).await.unwrap();
        pages += 1;
        assert!(!page.items.is_empty() && page.items.len() <= limit, "page {pages}");
        ids.extend(page.items.iter().map(|item| match item {
            Item::Memory(memory) => memory.id.to_string(),
            item => panic!("{item:?}"),
        }));
        cursor = page.next;
        if cursor.is_none() {
            return (ids, pages);
        }
    }
}

#[tokio::test]
async fn a_list_goes_to_the_end() {
    for setup in [platform().await, self_hosted().await] {
        let mut written = BTreeSet::new();
        for number in 0..450 {
            written.insert(setup.add(user("u"), &format!("第 {number} 条")).await);
            if number % 9 == 0 {
                let scope = Scope { owner: Owner::Agent("other".into()), ..user("u") };
                setup.add(scope, &format!("not for the user {number}")).await;
            }
        }
        for (limit, expected) in [(1_000, 1), (450, 1), (150, 3), (7, 65)] {
            let (ids, pages) = all(&setup, &viewer("u"), limit).await;
            assert_eq!((ids.len(), pages), (450, expected));
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), written, "each once, {limit} at a time");
        }
        let profile = setup.provider.call_tool(&viewer("u"), "mem0_profile", serde_json::json!({})).await.unwrap();
        assert_eq!(profile["count"], 450);
        for cursor in ["", "x", "0", "1.x", "-1"] {
            let request = ListRequest { viewer: viewer("u"), cursor: Some(cursor.into()), ..ListRequest::default() };
            assert_eq!(setup.provider.list(request).await.unwrap_err().kind(), ErrorKind::InvalidRequest, "{cursor}");
        }
    }
}

#[tokio::test]
async fn what_others_wrote_does_not_crowd_out_the_answer() {
    for setup in [platform().await, self_hosted().await] {
        setup.add(user("u"), "the tortoise of the user").await;
        for number in 0..30 {
            let scope = Scope { owner: Owner::Workspace("w".into()), ..user("u") };
            setup.add(scope, &format!("tortoise {number}")).await;
        }
        let request = SearchRequest { limit: 2, ..SearchRequest::new(viewer("u"), "tortoise") };
        let Recall { hits, arms, .. } = setup.provider.search(request).await.unwrap();
        assert_eq!(hits.iter().map(|hit| hit.text.as_str()).collect::<Vec<_>>(), ["the tortoise of the user"]);
        assert_eq!(arms["mem0"], 31);
    }
}

#[tokio::test]
async fn an_empty_answer_says_why() {
    for setup in [platform().await, self_hosted().await] {
        let ask = async |request: SearchRequest| {
            let recall = setup.provider.search(request).await.unwrap();
            (recall.outcome, recall.reason)
        };
        let question = |text: &str| SearchRequest::new(viewer("u"), text);
        assert_eq!(ask(question("dachshund")).await, (RecallOutcome::Empty, Some(RecallReason::NothingStored)));
        setup.add(user("u"), "The dachshund is called Waldi").await;
        assert_eq!(ask(question("xylophone")).await, (RecallOutcome::Empty, Some(RecallReason::NoMatch)));
        assert_eq!(ask(question("dachshund")).await, (RecallOutcome::Complete, None));
        let demanding = SearchRequest { min_score: 0.9, ..question("dachshund or poodle") };
        assert_eq!(ask(demanding).await, (RecallOutcome::Empty, Some(RecallReason::BelowThreshold)));
        for (request, kind) in [
            (question(" "), ErrorKind::InvalidRequest),
            (SearchRequest { raw: true, ..question("a AND b") }, ErrorKind::Unsupported),
        ] {
            assert_eq!(setup.provider.search(request).await.unwrap_err().kind(), kind);
        }
    }
}

#[tokio::test]
async fn expired_memories_are_listed_only_as_such() {
    for setup in [platform().await, self_hosted().await] {
        let ends = |at: &str| NewMemory {
            expires_at: Some(at.parse().unwrap()),
            ..NewMemory::new(user("u"), format!("parking until {at}"))
        };
        setup.write(ends("2020-01-01T00:00:00Z"), false).await.unwrap();
        setup.write(ends("2099-01-01T00:00:00Z"), false).await.unwrap();
        assert_eq!(setup.found(&viewer("u"), "parking").await, ["parking until 2099-01-01T00:00:00Z"]);
        for (state, year) in [(None, "2099"), (Some(State::Expired), "2020")] {
            let request = ListRequest { viewer: viewer("u"), state, ..ListRequest::default() };
            let items = setup.provider.list(request).await.unwrap().items;
            let [Item::Memory(memory)] = &items[..] else { panic!("{items:?}") };
            assert!(memory.body.contains(year) && memory.state == state.unwrap_or_default());
        }
    }
}

#[tokio::test]
async fn a_self_hosted_list_is_put_in_order() {
    let setup = self_hosted().await;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        ids.push(setup.add(user("u"), text).await);
    }
    ids.reverse();
    for sort in [ListSort::Recent, ListSort::Created] {
        let request = ListRequest { viewer: viewer("u"), sort, ..ListRequest::default() };
        let items = setup.provider.list(request).await.unwrap().items;
        let listed: Vec<String> = items
            .iter()
            .map(|item| match item {
                Item::Memory(memory) => memory.id.to_string(),
                item => panic!("{item:?}"),
            })
            .collect();
        assert_eq!(listed, ids);
    }
}
