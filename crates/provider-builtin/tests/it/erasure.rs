//! Erasing leaves no byte of a text in any file of the home.

use memory_core::{
    DeleteRequest, MemoryChanges, MemoryProvider, NewMemory, NewMessage, NoProgress, Role, Scope, UpdateRequest,
    WriteItem, WriteOutcome, WriteRequest, WriteResult,
};
use serde_json::json;

use crate::support::{Home, add, any_file_holds, ask, memory, say, viewer, write};

const CANARIES: [&str; 6] = ["zyzzyvabody", "zyzzyvatitle", "zyzzyvatag", "zyzzyvaword", "zyzzyvaattr", "金丝雀密语"];

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_memory_is_in_no_file() {
    for indexed in [false, true] {
        let home = Home::new();
        let provider = home.open().await;
        add(&provider, memory("a memory that stays")).await;
        let new = NewMemory {
            title: Some("about zyzzyvatitle".into()),
            tags: vec!["zyzzyvatag".into()],
            keywords: vec!["zyzzyvaword".into()],
            attrs: json!({"key": "zyzzyvaattr"}).as_object().cloned().unwrap(),
            external_id: Some("zyzzyvaid".into()),
            ..memory("the secret zyzzyvabody and 金丝雀密语")
        };
        let id = add(&provider, new).await;
        if indexed {
            provider.index_pending(&NoProgress).await.unwrap();
        }
        // The former state must go too.
        let changes = MemoryChanges { body: Some("now it says zyzzyvalater".into()), ..MemoryChanges::default() };
        provider
            .update(UpdateRequest { viewer: viewer(), id: id.clone(), changes, expected_revision: None })
            .await
            .unwrap();
        if indexed {
            provider.index_pending(&NoProgress).await.unwrap();
        }
        assert!(any_file_holds(&home.path(), b"zyzzyvabody").is_some(), "the search for bytes finds what is there");
        let request = DeleteRequest { viewer: viewer(), ids: vec![id.clone()], erase: true, dry_run: false };
        let report = provider.delete(request).await.unwrap();
        assert_eq!(report.deleted, std::slice::from_ref(&id));
        assert!(!report.notes.is_empty(), "it says what was done");
        for canary in CANARIES.iter().chain(&["zyzzyvalater", "zyzzyvaid"]) {
            assert_eq!(any_file_holds(&home.path(), canary.as_bytes()), None, "{canary}, indexed {indexed}");
        }
        assert!(provider.history(&viewer(), &id).await.is_err());
        assert_eq!(ask(&provider, "a memory that stays").await.hits.len(), 1);
        let again = write(&provider, WriteItem::Memory(Box::new(memory("now it says zyzzyvalater")))).await;
        assert_eq!(again.outcome, WriteOutcome::Rejected, "a digest remembers that it was forgotten");
        provider.shutdown().await.unwrap();
        assert_eq!(any_file_holds(&home.path(), b"zyzzyvalater"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_message_is_in_no_file_and_its_neighbours_stay() {
    let home = Home::new();
    let provider = home.open().await;
    say(&provider, "talk", "before it came the heron").await;
    let id = say(&provider, "talk", "the secret zyzzyvabody 金丝雀密语").await;
    say(&provider, "talk", "after it came the egret").await;
    provider.index_pending(&NoProgress).await.unwrap();
    let request = DeleteRequest { viewer: viewer(), ids: vec![id], erase: true, dry_run: false };
    assert_eq!(provider.delete(request).await.unwrap().deleted.len(), 1);
    for canary in ["zyzzyvabody", "金丝雀密语"] {
        assert_eq!(any_file_holds(&home.path(), canary.as_bytes()), None, "{canary}");
    }
    for word in ["heron", "egret"] {
        assert_eq!(ask(&provider, word).await.hits[0].text.split(' ').next_back(), Some(word));
    }
    assert_eq!(provider.statistics(None).await.unwrap().messages, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_message_does_not_come_back_by_import() {
    let home = Home::new();
    let provider = home.open().await;
    let at = "2026-05-01T08:00:00Z".parse().ok();
    let said = |text: &str, external_id: Option<&str>| {
        let message = NewMessage::new(Scope::default(), "talk", Role::User, text);
        WriteItem::Message(Box::new(NewMessage {
            created_at: at,
            external_id: external_id.map(str::to_owned),
            ..message
        }))
    };
    let items = vec![said("那只苍鹭在屋顶上", None), said("the egret came later", Some("e1")), said("ok", None)];
    let write = async |force| {
        let request = WriteRequest { items: items.clone(), force, repeated: false };
        provider.write(request).await.unwrap().items
    };
    let ids: Vec<String> = write(false).await.into_iter().take(2).map(|result| result.id.unwrap()).collect();
    let request = DeleteRequest { viewer: viewer(), ids, erase: true, dry_run: false };
    assert_eq!(provider.delete(request).await.unwrap().deleted.len(), 2);
    let outcomes = |items: Vec<WriteResult>| items.into_iter().map(|result| result.outcome).collect::<Vec<_>>();
    let again = outcomes(write(false).await);
    assert_eq!(again, [WriteOutcome::Rejected, WriteOutcome::Rejected, WriteOutcome::Stored], "nobody erased the ok");
    assert_eq!(outcomes(write(true).await)[0], WriteOutcome::Stored, "who insists may");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_forgotten_before_can_still_be_erased() {
    let home = Home::new();
    let provider = home.open().await;
    let id = add(&provider, memory("the secret zyzzyvabody")).await;
    let request = |erase| DeleteRequest { viewer: viewer(), ids: vec![id.clone()], erase, dry_run: false };
    provider.delete(request(false)).await.unwrap();
    assert!(any_file_holds(&home.path(), b"zyzzyvabody").is_some(), "forgetting keeps what is needed to restore");
    assert_eq!(provider.delete(request(true)).await.unwrap().deleted, std::slice::from_ref(&id));
    assert_eq!(any_file_holds(&home.path(), b"zyzzyvabody"), None);
    let restored = provider.restore(&viewer(), std::slice::from_ref(&id), false).await.unwrap();
    assert_eq!(restored.missing, [id]);
}
