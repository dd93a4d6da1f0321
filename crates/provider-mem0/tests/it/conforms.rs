//! The suite that every provider fulfils, over both interfaces.

use memory_conformance::fake::{MEM0_PLATFORM_KEY, MEM0_SELF_HOSTED_KEY, Mem0Platform, Mem0SelfHosted};
use memory_conformance::{Need, Running, Subject};
use memory_core::config::{Config, Mem0Dialect};

use super::support::provider_at;

/// Text is kept as it is said, and faults are met soon.
fn settings(config: &mut Config) {
    config.memory.external.mem0.infer = false;
    config.memory.external.timeout = 2.0;
    config.memory.external.mem0.event_timeout = 2.0;
}

/// What Mem0 has not, in either interface. It stores what it is given, searches texts alone, and says of no limit.
const LACKS: [Need; 11] = [
    Need::TextLimit,
    Need::BatchLimit,
    Need::FieldSearch,
    Need::Duplicates,
    Need::NearDuplicates,
    Need::Tombstones,
    Need::ForeignIds,
    Need::Secrets,
    Need::TimeExpressions,
    Need::RawQueries,
    Need::Modes,
];

mod platform {
    use super::*;

    struct Platform;

    #[async_trait::async_trait]
    impl Subject for Platform {
        fn name(&self) -> String {
            "mem0 platform".to_owned()
        }

        fn lacks(&self) -> Vec<Need> {
            // It drops what was said before in the same words.
            LACKS.into_iter().chain([Need::Transcripts]).collect()
        }

        async fn start(&self) -> Running {
            let server = Mem0Platform::default().serve().await;
            let provider = provider_at(server.url(), MEM0_PLATFORM_KEY, Mem0Dialect::Platform, settings);
            Running::new(provider).failing_by(move |fault| server.fail_always(fault))
        }
    }

    memory_conformance::conformance!(Platform);
}

mod self_hosted {
    use super::*;

    struct SelfHosted;

    #[async_trait::async_trait]
    impl Subject for SelfHosted {
        fn name(&self) -> String {
            "mem0 self-hosted".to_owned()
        }

        fn lacks(&self) -> Vec<Need> {
            LACKS.to_vec()
        }

        async fn start(&self) -> Running {
            let server = Mem0SelfHosted::default().serve().await;
            let provider = provider_at(server.url(), MEM0_SELF_HOSTED_KEY, Mem0Dialect::SelfHosted, settings);
            Running::new(provider).failing_by(move |fault| server.fail_always(fault))
        }
    }

    memory_conformance::conformance!(SelfHosted);
}
