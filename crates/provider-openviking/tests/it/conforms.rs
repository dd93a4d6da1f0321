//! The suite that every provider fulfils.

use memory_conformance::fake::{OpenViking, OpenVikingSettings};
use memory_conformance::{Need, Running, Subject};

use super::support::provider_at;

/// What OpenViking has not.
pub(crate) const LACKS: &[Need] = &[
    Need::Erase,
    Need::History,
    Need::TextLimit,
    Need::BatchLimit,
    Need::FieldChecks,
    Need::StrictIds,
    Need::NearDuplicates,
    Need::Tombstones,
    Need::Secrets,
    Need::EmptyReasons,
    Need::TimeExpressions,
    Need::RawQueries,
    Need::Modes,
    // The speaker and the attributes of a message have no place there.
    Need::Transcripts,
    Need::MessageSearch,
];

async fn start(version: &str) -> Running {
    let server = OpenViking::new(OpenVikingSettings { version: version.into(), ..Default::default() }).serve().await;
    let provider = provider_at(server.url(), |config| config.memory.external.timeout = 2.0);
    Running::new(provider).failing_by(move |fault| server.fail_always(fault))
}

macro_rules! conforms {
    ($($module:ident $version:literal,)+) => {
        $(mod $module {
            use super::*;

            struct Stand;

            #[memory_conformance::async_trait]
            impl Subject for Stand {
                fn name(&self) -> String {
                    concat!("openviking ", $version).to_owned()
                }

                fn lacks(&self) -> Vec<Need> {
                    LACKS.to_vec()
                }

                async fn start(&self) -> Running {
                    start($version).await
                }
            }

            memory_conformance::conformance!(Stand);
        })+
    };
}

conforms! {
    version_0_5 "0.5.2",
    version_0_4 "0.4.9",
    version_0_3 "0.3.24",
}
