//! The connection to a server: what it is, and as whom it is called.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use memory_core::{Clock, DEFAULT_NAME, Error, ErrorKind, Result, Viewer};
use memory_http::{JsonClient, Method, Reply, Service, of_nonsense};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::OpenVikingConfig;
use crate::error::{self, of_reply};
use crate::identity::safe_name;
use crate::wire::{Health, SystemStatus, result};

/// The oldest version that is spoken to.
const OLDEST: (u64, u64) = (0, 3);

/// What a server said about itself.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its version, as it says it.
    pub(crate) version: String,
    /// How it tells users apart: `dev`, `api_key`, `trusted`, …
    pub(crate) auth_mode: String,
    /// The account there, where it says so.
    pub(crate) account: Option<String>,
    /// It keeps peers apart and filters by kind and level (0.4 and later).
    pub(crate) has_peers: bool,
    /// The user we are there; `None` when each call names one.
    user: Option<String>,
    /// The sessions that exist there with the right policy.
    prepared: Mutex<HashSet<String>>,
}

impl Connection {
    pub(crate) fn is_prepared(&self, session: &str) -> bool {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }

    pub(crate) fn prepare(&self, session: String) {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
    }
}

/// A server, asked once what it is. A failure is not remembered.
pub(crate) struct Server {
    http: JsonClient,
    pub(crate) config: OpenVikingConfig,
    pub(crate) clock: Arc<dyn Clock>,
    connection: Mutex<Option<Arc<Connection>>>,
}

impl Server {
    /// No call is made yet. An error when the address is none.
    pub(crate) fn new(config: OpenVikingConfig, clock: Arc<dyn Clock>) -> Result<Self> {
        let service = Service {
            name: "OpenViking",
            url: config.endpoint.clone(),
            key: config.api_key.clone(),
            key_hint: "set memory.external.openviking.api_key (OPENVIKING_API_KEY)",
            url_hint: "set memory.external.openviking.endpoint (OPENVIKING_ENDPOINT) to the address of a running server",
        };
        let mut builder = JsonClient::builder(service).timeout(config.timeout);
        if !config.api_key.is_empty() {
            builder = builder.header("x-api-key", config.api_key.expose())?;
        }
        Ok(Self { http: builder.build()?, config, clock, connection: Mutex::default() })
    }

    fn service(&self) -> &Service {
        self.http.service()
    }

    /// Asks the server again what it is before the next call.
    pub(crate) fn forget(&self) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Makes one call without any header of identity, and asks again what the server is after one that failed.
    async fn call(&self, call: &Call<'_>, headers: &[(&'static str, &str)]) -> Result<Reply> {
        let reply = self.http.call(call.method.clone(), call.segments, call.query, headers, call.body).await;
        let lost = match &reply {
            Ok(reply) => matches!(reply.status, 401 | 403 | 502 | 503),
            Err(_) => true,
        };
        if lost {
            self.forget();
        }
        reply
    }

    /// What the server is, asked when it is not known.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>> {
        if let Some(known) = self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(known);
        }
        let connection = Arc::new(self.connect().await?);
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.clone());
        Ok(connection)
    }

    async fn connect(&self) -> Result<Connection> {
        let reply = self.call(&Call::get(&["health"]), &[]).await?;
        if !reply.is_success() {
            return Err(of_reply(self.service(), &reply));
        }
        let health: Health = reply.json(self.service())?;
        let version = health.version.ok_or_else(|| of_nonsense(self.service(), "/health says no version"))?;
        let numbers =
            numbers_of(&version).ok_or_else(|| of_nonsense(self.service(), "/health says a strange version"))?;
        if numbers < OLDEST {
            let message = format!("OpenViking {version} at {} is too old", self.service().url);
            return Err(Error::new(ErrorKind::ConfigInvalid, message).with_hint("upgrade the server to 0.3 or later"));
        }
        let has_peers = numbers >= (0, 4);
        let is_root = health.auth_mode == "api_key" && health.role.eq_ignore_ascii_case("root");
        if is_root && has_peers {
            return Err(error::root_key(self.service()));
        }
        let (auth_mode, account) = (health.auth_mode, health.account_id);
        let prepared = Mutex::default();
        let mut connection = Connection { version, auth_mode, account, has_peers, user: None, prepared };
        // Before 0.4 the root key acts for the account and user that a call names.
        if connection.auth_mode == "trusted" || is_root {
            return Ok(connection);
        }
        connection.user = match health.user_id {
            Some(user) => Some(user),
            None => self.user_by_status().await?,
        };
        Ok(connection)
    }

    /// Who we are; `None` when the server wants to be told.
    async fn user_by_status(&self) -> Result<Option<String>> {
        let reply = self.call(&Call::get(&["api", "v1", "system", "status"]), &[]).await?;
        if reply.status == 400 && String::from_utf8_lossy(&reply.body).contains("X-OpenViking-User") {
            return Ok(None);
        }
        if !reply.is_success() {
            return Err(of_reply(self.service(), &reply));
        }
        let status: SystemStatus = result(self.service(), &reply)?;
        let user = status.user.filter(|user| !user.is_empty());
        user.map(Some).ok_or_else(|| of_nonsense(self.service(), "it does not say which user this is"))
    }

    /// The server, called for a viewer.
    pub(crate) async fn caller(&self, viewer: &Viewer) -> Result<Caller<'_>> {
        viewer.check()?;
        let connection = self.connection().await?;
        let named = connection.user.is_none();
        let user = match &connection.user {
            Some(user) => user.clone(),
            None if !self.config.user.is_empty() => safe_name(&self.config.user),
            None => match self.user_of(&viewer.user) {
                DEFAULT_NAME => "default".to_owned(),
                name => safe_name(name),
            },
        };
        Ok(Caller { server: self, connection, user, named })
    }

    /// The user whom a name stands for.
    pub(crate) fn user_of<'a>(&'a self, name: &'a str) -> &'a str {
        if name == DEFAULT_NAME { &self.config.default_user } else { name }
    }
}

/// The first two numbers of a version.
fn numbers_of(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.trim().trim_start_matches('v').split('.');
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    Some((digits(numbers.next()?)?, numbers.next().and_then(digits).unwrap_or(0)))
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    method: Method,
    segments: &'a [&'a str],
    query: &'a [(&'a str, &'a str)],
    body: Option<&'a Value>,
    peer: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn new(method: Method, segments: &'a [&'a str]) -> Self {
        Self { method, segments, query: &[], body: None, peer: None }
    }

    pub(crate) fn get(segments: &'a [&'a str]) -> Self {
        Self::new(Method::GET, segments)
    }

    pub(crate) fn delete(segments: &'a [&'a str]) -> Self {
        Self::new(Method::DELETE, segments)
    }

    pub(crate) fn post(segments: &'a [&'a str], body: &'a Value) -> Self {
        Self { body: Some(body), ..Self::new(Method::POST, segments) }
    }

    pub(crate) fn query(self, query: &'a [(&'a str, &'a str)]) -> Self {
        Self { query, ..self }
    }

    /// Acts as this peer, where peers are configured.
    pub(crate) fn peer(self, peer: Option<&'a str>) -> Self {
        Self { peer, ..self }
    }
}

/// A server, called as one user.
#[derive(Clone)]
pub(crate) struct Caller<'a> {
    pub(crate) server: &'a Server,
    pub(crate) connection: Arc<Connection>,
    /// The user there.
    pub(crate) user: String,
    /// Whether calls name the account and the user.
    named: bool,
}

impl Caller<'_> {
    pub(crate) fn service(&self) -> &Service {
        self.server.service()
    }

    /// Makes a call; any status is a reply.
    pub(crate) async fn reply(&self, call: &Call<'_>) -> Result<Reply> {
        let mut headers: Vec<(&'static str, &str)> = Vec::new();
        if self.named {
            headers.push(("x-openviking-account", &self.server.config.account));
            headers.push(("x-openviking-user", &self.user));
        }
        if let Some(peer) = call.peer.filter(|_| !self.server.config.peer.is_empty() && self.connection.has_peers) {
            headers.push(("x-openviking-actor-peer", peer));
        }
        self.server.call(call, &headers).await
    }

    /// Makes a call for its result.
    pub(crate) async fn result<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T> {
        let reply = self.reply(call).await?;
        self.result_of(&reply)
    }

    /// Makes a call for its result; `None` when the thing asked for does not exist.
    pub(crate) async fn found<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<Option<T>> {
        let reply = self.reply(call).await?;
        if error::is_missing(&reply) { Ok(None) } else { self.result_of(&reply).map(Some) }
    }

    pub(crate) fn result_of<T: DeserializeOwned>(&self, reply: &Reply) -> Result<T> {
        if reply.is_success() { result(self.service(), reply) } else { Err(of_reply(self.service(), reply)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_leniently() {
        for (text, numbers) in
            [("0.5.2", (0, 5)), ("v0.3", (0, 3)), ("1", (1, 0)), ("0.4.0rc1", (0, 4)), ("0.10.1", (0, 10))]
        {
            assert_eq!(numbers_of(text), Some(numbers), "{text}");
        }
        assert_eq!(numbers_of("unknown"), None);
    }
}
