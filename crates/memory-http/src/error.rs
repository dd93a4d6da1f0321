//! What a failed call means.

use memory_core::{Error, ErrorKind, SafeUrl, Secret};
use serde_json::Value;

/// Longer messages of a service are cut, in characters.
const LONGEST_MESSAGE: usize = 300;

/// Whom a client talks to, as far as messages about it need.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name in messages, such as `Mem0`.
    pub name: &'static str,
    /// Its address.
    pub url: SafeUrl,
    /// The credential, which a service may repeat in its messages.
    pub key: Secret,
    /// How to set the credential, for hints: `set memory.external.mem0.api_key (MEM0_API_KEY)`.
    pub key_hint: &'static str,
    /// How to set the address, for hints.
    pub url_hint: &'static str,
}

/// The error for a reply other than 2xx. Every failure a service reports is mapped here.
pub fn of_status(service: &Service, status: u16, retry_after_ms: Option<u64>, body: &[u8]) -> Error {
    let (kind, hint) = match status {
        400 | 405 | 413 | 422 => (ErrorKind::InvalidRequest, "the service refuses this request; see its message"),
        401 | 403 => (ErrorKind::Unauthorized, service.key_hint),
        404 | 410 => (ErrorKind::NotFound, service.url_hint),
        409 | 412 => (ErrorKind::Conflict, "it was changed meanwhile; read it again"),
        408 | 504 => (ErrorKind::Timeout, "the service is slow or overloaded; try again later"),
        429 => (ErrorKind::Busy, "the service limits the rate or the quota; try again later"),
        501 => (ErrorKind::Unsupported, "this version of the service does not offer it"),
        500..=599 => (ErrorKind::Unreachable, "the service has a fault; try again later"),
        _ => (ErrorKind::BadReply, service.url_hint),
    };
    let said = message_of(body, &service.key).map_or_else(String::new, |message| format!(": {message}"));
    let error = Error::new(kind, format!("{} at {} answered {status}{said}", service.name, service.url));
    let error = if (300..400).contains(&status) {
        error.with_hint("the address redirects; set the one it leads to")
    } else {
        error.with_hint(hint)
    };
    if error.is_retryable() { error.retryable(retry_after_ms) } else { error }
}

/// The error for a call without a reply.
pub fn of_transport(service: &Service, error: reqwest::Error) -> Error {
    let (kind, what, hint) = if error.is_timeout() {
        (ErrorKind::Timeout, "did not answer in time", "the service is slow or overloaded; try again later")
    } else if error.is_builder() {
        (ErrorKind::ConfigInvalid, "cannot be called", service.url_hint)
    } else if error.is_connect() {
        (ErrorKind::Unreachable, "cannot be reached", service.url_hint)
    } else {
        (ErrorKind::Unreachable, "broke off the connection", "try again later")
    };
    // The address inside a transport error may carry a password; ours is printed safely.
    Error::new(kind, format!("{} at {} {what}", service.name, service.url))
        .with_hint(hint)
        .with_source(error.without_url())
}

/// The error for a reply that is not what the service promises.
pub fn of_nonsense(service: &Service, reason: &str) -> Error {
    let message = format!("{} at {} sent a reply that makes no sense: {reason}", service.name, service.url);
    Error::new(ErrorKind::BadReply, message).with_hint(service.url_hint)
}

/// What the service says, without the key that some services repeat, on one line. Services put it under many names.
fn message_of(body: &[u8], key: &Secret) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let message = match serde_json::from_str::<Value>(&text) {
        Ok(value) => {
            let named = ["/error/message", "/detail", "/message", "/error", "/details/message"]
                .iter()
                .find_map(|pointer| value.pointer(pointer)?.as_str().map(str::to_owned));
            match (named, &value) {
                (Some(named), _) => named,
                (None, Value::Null) => return None,
                (None, value) => value.to_string(),
            }
        }
        Err(_) => text.into_owned(),
    };
    let message = if key.is_empty() { message } else { message.replace(key.expose(), "****") };
    // What a service says is shown on terminals: no character of it may steer one.
    let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.char_indices().nth(LONGEST_MESSAGE).map_or(line.len(), |(end, _)| end);
    line.get(..end).filter(|line| !line.is_empty()).map(str::to_owned)
}
