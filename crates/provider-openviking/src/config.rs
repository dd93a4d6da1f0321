//! The settings of the provider.

use std::time::Duration;

use memory_core::config::Config;
use memory_core::{DEFAULT_NAME, Error, ErrorKind, Result, SafeUrl, Secret};

/// The settings of the provider.
#[derive(Debug, Clone)]
pub struct OpenVikingConfig {
    /// The address of the server.
    pub endpoint: SafeUrl,
    /// The key, if the server wants one.
    pub api_key: Secret,
    /// The account to name to a server that trusts its callers.
    pub account: String,
    /// The user to name to such a server; empty means the user of each request. Other servers know the user by the key.
    pub user: String,
    /// The peer under whom everything is kept; empty means none.
    pub peer: String,
    /// Hits below this score, on the scale of the server, are left out; 0 leaves out none.
    pub threshold: f64,
    /// How long the end of a session waits for what is extracted from it.
    pub commit_timeout: Duration,
    /// How long one call may take.
    pub timeout: Duration,
    /// The user whom `__default__` stands for.
    pub default_user: String,
    /// The space whom `__default__` stands for.
    pub default_space: String,
}

impl OpenVikingConfig {
    /// The settings in `memory.external` and `memory.external.openviking`. An error when one makes no sense.
    pub fn of(config: &Config) -> Result<Self> {
        let external = &config.memory.external;
        let settings = &external.openviking;
        let invalid = |message: &str, hint: &str| Err(Error::new(ErrorKind::ConfigInvalid, message).with_hint(hint));
        if settings.endpoint.expose().trim().is_empty() {
            return invalid(
                "OpenViking has no address",
                "set memory.external.openviking.endpoint (OPENVIKING_ENDPOINT), for example http://127.0.0.1:1933",
            );
        }
        if !settings.peer.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            return invalid(
                "the name of the OpenViking peer has characters other than letters, digits, `-` and `_`",
                "change memory.external.openviking.peer",
            );
        }
        let seconds = |value: f64| Duration::try_from_secs_f64(value.max(0.0)).unwrap_or(Duration::MAX);
        let or_default = |name: &str| if name.is_empty() { DEFAULT_NAME.to_owned() } else { name.to_owned() };
        Ok(Self {
            endpoint: settings.endpoint.clone(),
            api_key: settings.api_key.clone(),
            account: settings.account.clone(),
            user: settings.user.clone(),
            peer: settings.peer.clone(),
            threshold: settings.threshold,
            commit_timeout: seconds(settings.commit_timeout),
            timeout: seconds(external.timeout),
            default_user: or_default(&external.user_id),
            default_space: or_default(&external.scope_id),
        })
    }
}
