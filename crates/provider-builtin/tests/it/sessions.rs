//! A viewer in one session has no other sessions, whichever way it asks.

use memory_core::{DeleteRequest, MemoryProvider, Viewer};

use crate::support::{Home, say, viewer};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_names_only_its_own_messages() {
    let home = Home::new();
    let provider = home.open().await;
    let red = say(&provider, "red", "the parrot talks in red").await;
    let blue = say(&provider, "blue", "鹦鹉在蓝色里说话").await;
    let inside = Viewer { session: Some("red".into()), ..viewer() };
    let ids = [red.clone(), blue.clone()];
    let report = provider.get(&inside, &ids).await.unwrap();
    assert_eq!((report.items.len(), report.missing), (1, vec![blue.clone()]));
    let request = DeleteRequest { viewer: inside, ids: vec![blue.clone()], erase: true, dry_run: false };
    assert_eq!(provider.delete(request).await.unwrap().missing, [blue]);
    assert_eq!(provider.get(&viewer(), &ids).await.unwrap().items.len(), 2, "without a session all are in view");
}
