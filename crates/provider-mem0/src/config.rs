//! The settings, read once from the configuration.

use std::time::Duration;

use memory_core::config::{Config, Mem0Config as Section, Mem0Dialect};
use memory_core::{Result, SafeUrl};

use crate::error;

/// The address of the hosted service.
const HOSTED: &str = "https://api.mem0.ai";

/// What the provider needs to know.
#[derive(Debug, Clone)]
pub struct Mem0Config {
    /// Section `memory.external.mem0`, with the address filled in.
    pub section: Section,
    /// The user whose memories these are where nobody says (`memory.external.user_id`).
    pub home_user: String,
    /// The isolation partition where nobody says (`memory.external.scope_id`).
    pub home_space: String,
    /// How long a call may take.
    pub timeout: Duration,
}

impl Mem0Config {
    /// Reads and checks the settings. Without an address it is the hosted platform, which needs a key.
    pub fn of(config: &Config) -> Result<Self> {
        let external = &config.memory.external;
        let mut section = external.mem0.clone();
        if section.base_url.is_empty() {
            section.base_url = SafeUrl::new(HOSTED);
            if section.dialect == Mem0Dialect::Auto {
                section.dialect = Mem0Dialect::Platform;
            }
        }
        if section.dialect == Mem0Dialect::Platform && section.api_key.expose().trim().is_empty() {
            return Err(error::no_key());
        }
        Ok(Self {
            section,
            home_user: external.user_id.clone(),
            home_space: external.scope_id.clone(),
            timeout: seconds(external.timeout),
        })
    }

    /// How long an addition may take until it is real.
    pub(crate) fn event_timeout(&self) -> Duration {
        seconds(self.section.event_timeout).max(self.timeout)
    }
}

/// A limit from a setting; one that is no duration waits for no answer at all, so it is at least a millisecond.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default().max(Duration::from_millis(1))
}
