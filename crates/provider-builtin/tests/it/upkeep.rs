//! Status, doctor and index passes.

use memory_core::{MemoryProvider, NoProgress, RecallOutcome, SearchRequest};
use provider_builtin::ReindexTarget;

use crate::support::{Home, add, ask, memory, say, texts, viewer};

#[tokio::test(flavor = "multi_thread")]
async fn status_counts_what_is_there() {
    let home = Home::new();
    home.document("memory/MEMORY.md", "# Notes\n\na page\n");
    let provider = home.open().await;
    add(&provider, memory("one memory")).await;
    say(&provider, "s", "one message").await;
    provider.sync_documents(&NoProgress).await.unwrap();
    let status = provider.status().await.unwrap();
    assert_eq!((status.memories, status.messages, status.sessions, status.documents), (1, 1, 1, 1));
    assert_eq!((status.provider.as_str(), status.home.as_str()), ("builtin", home.path().to_str().unwrap()));
    assert!(status.embedder.starts_with("static:") && status.index["lag"].as_u64().unwrap() > 0, "{status:?}");
    assert!(status.bytes["store"] > 0 && status.bytes["workspace"] > 0);
    provider.index_pending(&NoProgress).await.unwrap();
    let status = provider.status().await.unwrap();
    assert_eq!(
        (&status.index["lag"], &status.index["text"]["phase"], &status.index["vector"]["phase"]),
        (&0.into(), &"ready".into(), &"ready".into())
    );
    assert!(provider.health().await.ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_leaves_no_trace() {
    let home = Home::new();
    let provider = home.open().await;
    add(&provider, memory("one memory")).await;
    let before = provider.statistics(None).await.unwrap();
    for fix in [false, true] {
        let report = provider.doctor(fix).await.unwrap();
        assert!(report.ok && report.checks.len() >= 7, "{report:?}");
    }
    let after = provider.statistics(None).await.unwrap();
    assert_eq!((after.memories, after.messages, after.by), (before.memories, before.messages, before.by));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_pass_runs_at_a_time_and_the_other_says_so() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    for number in 0..200 {
        add(&one, memory(&format!("memory number {number} about w{number}x"))).await;
    }
    let (first, second) = tokio::join!(one.index_pending(&NoProgress), two.index_pending(&NoProgress));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.skipped.is_none() || second.skipped.is_none(), "{first:?} {second:?}");
    assert_eq!(one.index_pending(&NoProgress).await.unwrap().lag, 0);
    for provider in [&one, &two] {
        let recall = ask(provider, "w123x").await;
        assert_eq!((texts(&recall)[0], recall.outcome), ("memory number 123 about w123x", RecallOutcome::Complete));
    }
    // The other process follows a switch to another generation.
    one.reindex(ReindexTarget::All, &NoProgress).await.unwrap();
    let recall = ask(&two, "w45x").await;
    assert_eq!((texts(&recall)[0], recall.outcome), ("memory number 45 about w45x", RecallOutcome::Complete));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_backlog_is_told() {
    let home = Home::new();
    let provider = home.open().await;
    add(&provider, memory("the very first memory is about an axolotl")).await;
    let items = (0..2_500)
        .map(|number| {
            let text = format!("message number {number}");
            let message =
                memory_core::NewMessage::new(memory_core::Scope::default(), "s", memory_core::Role::User, text);
            memory_core::WriteItem::Message(Box::new(message))
        })
        .collect();
    provider.write(memory_core::WriteRequest { items, force: false, repeated: false }).await.unwrap();
    let recall = provider.search(SearchRequest::new(viewer(), "axolotl")).await.unwrap();
    assert_eq!((recall.outcome, recall.reason), (RecallOutcome::Degraded, Some(memory_core::RecallReason::IndexLag)));
    provider.index_pending(&NoProgress).await.unwrap();
    let recall = ask(&provider, "axolotl").await;
    assert_eq!((recall.outcome, recall.hits.len()), (RecallOutcome::Complete, 1));
}
