//! What a failed call means.

use memory_core::{Error, ErrorKind, SafeUrl, Secret};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

/// Longer messages of a service are cut.
const MAXIMUM_MESSAGE: usize = 300;

/// The error for a reply other than 2xx. Every failure of the service is mapped here.
pub(super) fn of_reply(status: StatusCode, headers: &HeaderMap, body: &[u8], url: &SafeUrl, key: &Secret) -> Error {
    let (kind, hint) = match status.as_u16() {
        400 | 413 | 422 => (
            ErrorKind::InvalidRequest,
            "check EMBED_MODEL and the dimensions; a text may be too long for the model, or a batch too large",
        ),
        401 => (ErrorKind::Unauthorized, "check EMBED_API_KEY"),
        403 => (ErrorKind::Unauthorized, "EMBED_API_KEY may not use this model"),
        404 | 405 => (ErrorKind::NotFound, "check EMBED_API_BASE (it usually ends in /v1) and EMBED_MODEL"),
        408 | 504 => (ErrorKind::Timeout, "the service is slow or overloaded; try again later"),
        429 => (ErrorKind::Busy, "the service limits the rate or the quota; try again later"),
        500..=599 => (ErrorKind::Unreachable, "the service has a fault; try again later"),
        300..=399 => (ErrorKind::BadReply, "EMBED_API_BASE redirects; use the address it leads to"),
        _ => (ErrorKind::BadReply, "check EMBED_API_BASE"),
    };
    let said = message_of(body, key).map_or_else(String::new, |message| format!(": {message}"));
    let error = Error::new(kind, format!("{url} answered {}{said}", status.as_u16())).with_hint(hint);
    if error.is_retryable() { error.retryable(retry_after_ms(headers)) } else { error }
}

/// The error for a call without a reply.
pub(super) fn of_transport(error: reqwest::Error, url: &SafeUrl) -> Error {
    let (kind, what, hint) = if error.is_timeout() {
        (ErrorKind::Timeout, "did not answer in time", "the service is slow or overloaded; try again later")
    } else if error.is_builder() {
        (ErrorKind::ConfigInvalid, "cannot be called", "check EMBED_API_BASE")
    } else {
        (ErrorKind::Unreachable, "cannot be reached", "check EMBED_API_BASE and the network")
    };
    // The address inside a transport error may carry a password; ours is printed safely.
    Error::new(kind, format!("{url} {what}")).with_hint(hint).with_source(error.without_url())
}

/// The error for a reply that is not what the API promises.
pub(super) fn of_nonsense(reason: &str, url: &SafeUrl) -> Error {
    Error::new(ErrorKind::BadReply, format!("{url} sent a reply that makes no sense: {reason}"))
        .with_hint("check that EMBED_API_BASE is an OpenAI-compatible service and EMBED_MODEL an embedding model")
}

/// What the service says, without the key some services repeat, on one line.
fn message_of(body: &[u8], key: &Secret) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let parsed: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let message = match &parsed {
        Some(value) => ["/error/message", "/message", "/detail", "/error"]
            .iter()
            .find_map(|pointer| value.pointer(pointer)?.as_str())?
            .to_owned(),
        None => text.into_owned(),
    };
    let message = if key.is_empty() { message } else { message.replace(key.expose(), "****") };
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = words.join(" ");
    let end = line.char_indices().nth(MAXIMUM_MESSAGE).map_or(line.len(), |(end, _)| end);
    line.get(..end).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// `Retry-After` in seconds; services of this API send no dates.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let milliseconds = number("retry-after-ms").or_else(|| Some(number("retry-after")? * 1000.0))?;
    (milliseconds.is_finite() && milliseconds >= 0.0).then_some(milliseconds.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(status: u16, headers: &[(&'static str, &str)], body: &str) -> Error {
        let mut map = HeaderMap::new();
        headers.iter().for_each(|(name, value)| drop(map.insert(*name, value.parse().unwrap())));
        let url = SafeUrl::new("https://me:canary@host/v1/embeddings");
        of_reply(StatusCode::from_u16(status).unwrap(), &map, body.as_bytes(), &url, &Secret::new("canary-key"))
    }

    #[test]
    fn each_status_has_a_kind_and_a_hint() {
        for (status, kind, retryable) in [
            (400, ErrorKind::InvalidRequest, false),
            (401, ErrorKind::Unauthorized, false),
            (403, ErrorKind::Unauthorized, false),
            (404, ErrorKind::NotFound, false),
            (307, ErrorKind::BadReply, false),
            (418, ErrorKind::BadReply, false),
            (408, ErrorKind::Timeout, true),
            (429, ErrorKind::Busy, true),
            (500, ErrorKind::Unreachable, true),
            (503, ErrorKind::Unreachable, true),
            (504, ErrorKind::Timeout, true),
        ] {
            let error = map(status, &[], "");
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status}");
            assert_eq!(error.hints().len(), 1);
        }
        assert!(map(401, &[], "").hints()[0].contains("EMBED_API_KEY"));
    }

    #[test]
    fn the_message_of_the_service_is_kept_without_the_key() {
        let error = map(401, &[], r#"{"error":{"message":"bad key\n canary-key"}}"#);
        assert_eq!(error.to_string(), "https://****@host/v1/embeddings answered 401: bad key ****");
        assert!(map(500, &[], "canary-key is down").to_string().ends_with("**** is down"));
        assert!(map(400, &[], r#"{"detail":"太长了"}"#).to_string().ends_with("太长了"));
        assert!(map(400, &[], &"长".repeat(9000)).to_string().chars().count() < 400);
        assert!(!format!("{:?}", map(401, &[], "canary-key")).contains("canary"));
    }

    #[test]
    fn the_wait_asked_for_is_read() {
        assert_eq!(map(429, &[("retry-after", "2")], "").retry_after_ms(), Some(2000));
        assert_eq!(map(503, &[("retry-after-ms", "150")], "").retry_after_ms(), Some(150));
        assert_eq!(map(429, &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], "").retry_after_ms(), None);
        assert_eq!(map(429, &[("retry-after", "-1")], "").retry_after_ms(), None);
        assert_eq!(map(400, &[("retry-after", "2")], "").retry_after_ms(), None);
    }
}
