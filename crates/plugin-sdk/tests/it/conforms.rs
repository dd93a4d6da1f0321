//! The suite of all providers, over both example plugins and through the interface.

use memory_conformance::{Need, Running, Subject, async_trait};
use serde_json::json;

use super::support::{Place, built, compile, repository};

async fn start(place: Place, name: &str) -> Running {
    let provider = place.load(name, json!({})).await.unwrap();
    Running::new(provider).keeping(place)
}

/// The example in Rust.
struct JsonlStore;

#[async_trait]
impl Subject for JsonlStore {
    fn name(&self) -> String {
        "jsonl-store".to_owned()
    }

    fn lacks(&self) -> Vec<Need> {
        vec![
            Need::BatchLimit,
            Need::NearDuplicates,
            Need::Secrets,
            Need::TimeExpressions,
            Need::RawQueries,
            Need::Modes,
            Need::Tools,
            Need::Faults,
        ]
    }

    async fn start(&self) -> Running {
        let place = Place::new();
        place.install("jsonl-store", &built("jsonl_store"));
        start(place, "jsonl-store").await
    }
}

/// The example in C.
struct CStore;

#[async_trait]
impl Subject for CStore {
    fn name(&self) -> String {
        "c-store".to_owned()
    }

    fn lacks(&self) -> Vec<Need> {
        vec![
            Need::Messages,
            Need::Filters,
            Need::Times,
            Need::Update,
            Need::Erase,
            Need::History,
            Need::Turns,
            Need::Idempotence,
            Need::TextLimit,
            Need::BatchLimit,
            Need::Fields,
            Need::FieldChecks,
            Need::FieldSearch,
            Need::Revisions,
            Need::Duplicates,
            Need::NearDuplicates,
            Need::Tombstones,
            Need::ForeignIds,
            Need::Secrets,
            Need::Ranking,
            Need::TimeExpressions,
            Need::RawQueries,
            Need::Modes,
            Need::Transcripts,
            Need::MessageSearch,
            Need::TurnRecall,
            Need::Tools,
            Need::Faults,
        ]
    }

    async fn start(&self) -> Running {
        let place = Place::new();
        let library = place.path("c.so");
        compile(
            &repository().join("examples/plugins/c-store/c_store.c"),
            &library,
            &["-fsanitize=undefined".to_owned(), "-fsanitize-undefined-trap-on-error".to_owned()],
        );
        place.install("c-store", &library);
        start(place, "c-store").await
    }
}

mod jsonl_store {
    use super::*;
    memory_conformance::conformance!(JsonlStore);
}

mod c_store {
    use super::*;
    memory_conformance::conformance!(CStore);
}
