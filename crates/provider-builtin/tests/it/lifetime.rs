//! Times of a memory: its expiry, its order, its return. The clock is the test's.

use memory_core::config::SecretPolicy;
use memory_core::{
    DeleteRequest, Item, ListRequest, ListSort, MemoryChanges, MemoryProvider, NewMemory, NoProgress, State,
    UpdateRequest, WriteItem, WriteOutcome,
};

use crate::support::{Home, add, any_file_holds, ask, clock, memory, texts, viewer, write};

async fn listed(provider: &dyn MemoryProvider, state: Option<State>, sort: ListSort) -> Vec<String> {
    let page = provider.list(ListRequest { viewer: viewer(), state, sort, ..ListRequest::default() }).await.unwrap();
    page.items
        .into_iter()
        .map(|item| match item {
            Item::Memory(memory) => memory.body,
            item => panic!("{item:?}"),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_memory_is_no_longer_recalled() {
    let (home, clock) = (Home::new(), clock("2026-03-01T12:00:00Z"));
    let provider = home.open_at(|_| {}, clock.clone()).await;
    let parking = NewMemory {
        expires_at: Some("2026-03-01T13:00:00Z".parse().unwrap()),
        ..memory("The car is parked on level three")
    };
    add(&provider, parking).await;
    add(&provider, memory("The car is a small station wagon")).await;
    for indexed in [false, true] {
        assert_eq!(ask(&provider, "Where is the car parked?").await.hits.len(), 2, "indexed {indexed}");
        provider.index_pending(&NoProgress).await.unwrap();
    }
    clock.advance_seconds(3_599);
    assert_eq!(ask(&provider, "Where is the car parked?").await.hits.len(), 2);
    clock.advance_seconds(1);
    assert_eq!(texts(&ask(&provider, "Where is the car parked?").await), ["The car is a small station wagon"]);
    assert_eq!(listed(&provider, None, ListSort::Recent).await, ["The car is a small station wagon"]);
    assert_eq!(listed(&provider, Some(State::Expired), ListSort::Recent).await, ["The car is parked on level three"]);
    let counts = provider.statistics(None).await.unwrap();
    assert_eq!((counts.memories, counts.by["state"]["expired"]), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_an_order() {
    let (home, clock) = (Home::new(), clock("2026-03-01T12:00:00Z"));
    let provider = home.open_at(|_| {}, clock.clone()).await;
    let mut ids = Vec::new();
    for text in ["first of all", "second to none", "third time lucky"] {
        ids.push(add(&provider, memory(text)).await);
        clock.advance_seconds(60);
    }
    let changes = MemoryChanges { title: Some(Some("changed".into())), ..MemoryChanges::default() };
    provider
        .update(UpdateRequest { viewer: viewer(), id: ids[0].clone(), changes, expected_revision: None })
        .await
        .unwrap();
    assert_eq!(listed(&provider, None, ListSort::Recent).await, ["first of all", "third time lucky", "second to none"]);
    assert_eq!(
        listed(&provider, None, ListSort::Created).await,
        ["third time lucky", "second to none", "first of all"]
    );
    let history = provider.history(&viewer(), &ids[0]).await.unwrap();
    let times: Vec<String> = history.iter().map(|revision| revision.at.to_string()).collect();
    assert_eq!(times, ["2026-03-01T12:00:00Z", "2026-03-01T12:03:00Z"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_forgotten_can_be_brought_back() {
    let home = Home::new();
    let provider = home.open().await;
    let id = add(&provider, memory("The password hint is the name of the first cat")).await;
    provider.index_pending(&NoProgress).await.unwrap();
    let request = DeleteRequest { viewer: viewer(), ids: vec![id.clone()], erase: false, dry_run: false };
    provider.delete(request).await.unwrap();
    let rehearsed = provider.restore(&viewer(), std::slice::from_ref(&id), true).await.unwrap();
    assert_eq!((rehearsed.restored.len(), rehearsed.dry_run), (1, true));
    assert!(ask(&provider, "first cat").await.hits.is_empty());
    assert_eq!(listed(&provider, Some(State::Deleted), ListSort::Recent).await.len(), 1);
    let unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    let report = provider.restore(&viewer(), &[id[..8].to_owned(), unknown.clone()], false).await.unwrap();
    assert_eq!((report.restored, report.missing), (vec![id.clone()], vec![unknown]));
    for _ in 0..2 {
        assert_eq!(ask(&provider, "first cat").await.hits.len(), 1);
        provider.index_pending(&NoProgress).await.unwrap();
    }
    let again =
        write(&provider, WriteItem::Memory(Box::new(memory("The password hint is the name of the first cat")))).await;
    assert_eq!((again.outcome, again.id), (WriteOutcome::Deduped, Some(id.clone())), "it is no longer refused");
    let operations: Vec<String> =
        provider.history(&viewer(), &id).await.unwrap().into_iter().map(|it| it.operation).collect();
    assert_eq!(operations, ["created", "deleted", "restored"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_redacted_refused_or_kept_as_configured() {
    let key = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    for (policy, outcome, kept) in [
        (SecretPolicy::Redact, WriteOutcome::Stored, false),
        (SecretPolicy::Refuse, WriteOutcome::Rejected, false),
        (SecretPolicy::Off, WriteOutcome::Stored, true),
    ] {
        let home = Home::new();
        let provider = home.open_with(|config| config.memory.gateway.secrets = policy).await;
        let result =
            write(&provider, WriteItem::Memory(Box::new(memory(&format!("the token is {key} for now"))))).await;
        assert_eq!(result.outcome, outcome, "{policy:?}: {result:?}");
        assert!(!result.reason.unwrap_or_default().contains(&key));
        provider.index_pending(&NoProgress).await.unwrap();
        provider.shutdown().await.unwrap();
        assert_eq!(any_file_holds(&home.path(), key.as_bytes()).is_some(), kept, "{policy:?}");
    }
}
