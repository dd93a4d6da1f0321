//! Another embedder never mixes its vectors with those of the one before.

use memory_core::config::EmbeddingKind;
use memory_core::{MemoryProvider, NoProgress, RecallOutcome, RecallReason, SearchMode, SearchRequest};
use provider_builtin::{BuiltinProvider, ReindexTarget};

use crate::support::{Home, add, ask, memory, texts, viewer};

const TEXTS: [&str; 3] =
    ["The physician prescribed medicine for the cough", "The train leaves every ten minutes", "妈妈对海鲜过敏"];

async fn with(home: &Home, kind: EmbeddingKind) -> BuiltinProvider {
    home.open_with(|config| config.memory.embedding.kind = kind).await
}

async fn fingerprint(provider: &BuiltinProvider) -> String {
    let status = provider.status().await.unwrap();
    assert_eq!(status.index["vector"]["phase"], "ready", "{}", status.index);
    status.index["vector"]["fingerprint"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_answer_until_the_vectors_are_made_anew() {
    for rebuild in ["pass", "reindex", "doctor"] {
        let home = Home::new();
        let provider = with(&home, EmbeddingKind::Static).await;
        for text in TEXTS {
            add(&provider, memory(text)).await;
        }
        provider.index_pending(&NoProgress).await.unwrap();
        let before = fingerprint(&provider).await;
        provider.shutdown().await.unwrap();

        let provider = with(&home, EmbeddingKind::Hash).await;
        let recall = ask(&provider, "medicine for the cough").await;
        assert_eq!(
            (recall.outcome, recall.reason),
            (RecallOutcome::Degraded, Some(RecallReason::VectorIndexUnavailable))
        );
        assert_eq!(texts(&recall).first(), Some(&TEXTS[0]));
        assert_eq!(texts(&ask(&provider, "海鲜过敏").await).first(), Some(&TEXTS[2]));
        match rebuild {
            "pass" => drop(provider.index_pending(&NoProgress).await.unwrap()),
            "reindex" => drop(provider.reindex(ReindexTarget::Vector, &NoProgress).await.unwrap()),
            _ => assert!(provider.doctor(true).await.unwrap().ok),
        }
        let recall = ask(&provider, "medicine for the cough").await;
        assert_eq!((recall.outcome, texts(&recall).first()), (RecallOutcome::Complete, Some(&TEXTS[0])), "{rebuild}");
        assert_ne!(fingerprint(&provider).await, before, "{rebuild}");
        let vectors = SearchRequest { mode: SearchMode::Vector, ..SearchRequest::new(viewer(), TEXTS[1]) };
        assert_eq!(texts(&provider.search(vectors).await.unwrap()).first(), Some(&TEXTS[1]), "{rebuild}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_embedder_words_answer_completely() {
    let home = Home::new();
    let provider = with(&home, EmbeddingKind::None).await;
    for text in TEXTS {
        add(&provider, memory(text)).await;
    }
    for _ in 0..2 {
        for (query, text) in [("cough medicine", TEXTS[0]), ("过敏", TEXTS[2])] {
            let recall = ask(&provider, query).await;
            assert_eq!((recall.outcome, texts(&recall).first()), (RecallOutcome::Complete, Some(&text)));
        }
        let report = provider.index_pending(&NoProgress).await.unwrap();
        assert_eq!((report.lag, report.skipped), (0, None));
    }
    assert!(provider.doctor(false).await.unwrap().ok);
}
