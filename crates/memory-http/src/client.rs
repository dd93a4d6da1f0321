//! One client for one host.

use std::fmt;
use std::time::Duration;

use memory_core::{Error, ErrorKind, Result};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Url};
use serde_json::Value;

use crate::error::{Service, of_nonsense, of_transport};
use crate::reply::Reply;

/// The largest reply that is read, in bytes.
const LARGEST_REPLY: usize = 32 << 20;

/// Settings of a [`JsonClient`].
#[derive(Debug)]
pub struct JsonClientBuilder {
    service: Service,
    timeout: Duration,
    largest_reply: usize,
    headers: HeaderMap,
}

impl JsonClientBuilder {
    /// How long a call may take in all.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The largest reply that is read, in bytes; default 32 MiB.
    pub fn largest_reply(mut self, bytes: usize) -> Self {
        self.largest_reply = bytes;
        self
    }

    /// A header of every call. Its value is never printed. An error when no header can carry it.
    pub fn header(mut self, name: &'static str, value: &str) -> Result<Self> {
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            let message = format!("the header {name} for {} has characters no header can carry", self.service.name);
            Error::new(ErrorKind::ConfigInvalid, message).with_hint("check the setting for line breaks and quotes")
        })?;
        value.set_sensitive(true);
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    /// The client. An error when the address is none.
    pub fn build(self) -> Result<JsonClient> {
        let invalid = |reason: String| {
            let message = format!("the address of {} `{}` {reason}", self.service.name, self.service.url);
            Error::new(ErrorKind::ConfigInvalid, message).with_hint(self.service.url_hint)
        };
        let mut base = Url::parse(self.service.url.expose().trim())
            .map_err(|error| invalid(format!("is not an address: {error}")))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(invalid("is neither http nor https".to_owned()));
        }
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        base.set_fragment(None);
        // A redirect could turn a call into a GET, or carry texts and keys to an address nobody configured.
        let mut builder = Client::builder()
            .default_headers(self.headers)
            .redirect(Policy::none())
            .connect_timeout(self.timeout.min(Duration::from_secs(10)))
            .timeout(self.timeout);
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| of_transport(&self.service, error))?;
        Ok(JsonClient { http, base, service: self.service, largest_reply: self.largest_reply })
    }
}

/// A client of one service.
#[derive(Clone)]
pub struct JsonClient {
    http: Client,
    base: Url,
    service: Service,
    largest_reply: usize,
}

impl JsonClient {
    /// A client with a time limit of 30 seconds.
    pub fn builder(service: Service) -> JsonClientBuilder {
        let timeout = Duration::from_secs(30);
        JsonClientBuilder { service, timeout, largest_reply: LARGEST_REPLY, headers: HeaderMap::new() }
    }

    /// Whom it talks to.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Makes one call. `segments` are the parts of the path below the address, each percent-encoded here; an empty last
    /// one gives a trailing slash. `query` is appended to that of the address. Any status is a reply; only a call
    /// without a whole reply is an error. A segment that would change which path it is (`.`, `..`, or an empty one before the
    /// end) is refused: the deletion of one thing must not become that of all.
    pub async fn call(
        &self,
        method: Method,
        segments: &[&str],
        query: &[(&str, &str)],
        headers: &[(&'static str, &str)],
        body: Option<&Value>,
    ) -> Result<Reply> {
        let (last, before) = segments.split_last().unwrap_or((&"", &[]));
        if matches!(*last, "." | "..") || before.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
            return Err(Error::invalid(format!("{} cannot be asked for a thing of this name", self.service.name)));
        }
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| of_nonsense(&self.service, "the address cannot have a path"))?
            .pop_if_empty()
            .extend(segments);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.request(method, url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut reply = request.send().await.map_err(|error| of_transport(&self.service, error))?;
        let status = reply.status().as_u16();
        let retry_after_ms = retry_after_ms(reply.headers());
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.map_err(|error| of_transport(&self.service, error))? {
            if body.len() + part.len() > self.largest_reply {
                return Err(of_nonsense(&self.service, "it is far too long"));
            }
            body.extend_from_slice(&part);
        }
        Ok(Reply { status, retry_after_ms, body })
    }
}

impl fmt::Debug for JsonClient {
    /// Without the address as it is called, which may carry a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonClient").field("service", &self.service).finish_non_exhaustive()
    }
}

/// `Retry-After` in seconds. Dates are not read: they would need the clock of the service.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse::<f64>().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0).ceil() as u64)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
