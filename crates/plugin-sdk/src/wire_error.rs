//! Errors across the interface: `{"kind","message","retryable","retry_after_ms"?,"hints"?}`.

use memory_core::{Error, ErrorKind};
#[cfg(feature = "host")]
use serde::Deserialize;
use serde_json::Value;

/// The error object, without the outer `error` key that the command line and HTTP put around it.
pub(crate) fn encode(error: &Error) -> Vec<u8> {
    let mut json = error.to_json();
    let object = json.get_mut("error").map(Value::take).unwrap_or_default();
    serde_json::to_vec(&object).unwrap_or_default()
}

/// A request or configuration that does not fit. The values in it stay unsaid: one may be a secret.
pub(crate) fn misfit(kind: ErrorKind, what: &str, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let place =
        if error.line() > 0 { format!(" at line {} column {}", error.line(), error.column()) } else { String::new() };
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let said = match text.split_once(", expected ") {
        _ if text.starts_with("missing field") || text.starts_with("unknown field") => text.to_owned(),
        Some((_, expected)) => format!("expected {expected}"),
        None if error.is_data() => "a value does not fit".to_owned(),
        None => text.to_owned(),
    };
    Error::new(kind, format!("{what}: {said}{place}"))
}

/// An error object as a plugin sent it. Everything but the message may be missing.
#[cfg(feature = "host")]
#[derive(Deserialize)]
struct Received {
    #[serde(default = "unexpected")]
    kind: ErrorKind,
    #[serde(default)]
    message: String,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    retry_after_ms: Option<u64>,
    #[serde(default)]
    hints: Vec<String>,
}

#[cfg(feature = "host")]
fn unexpected() -> ErrorKind {
    ErrorKind::Unexpected
}

/// The longest message that is taken over, in characters.
#[cfg(feature = "host")]
const LONGEST: usize = 2_000;

/// Reads an error object; what is not one becomes the message.
#[cfg(feature = "host")]
pub(crate) fn decode(payload: &[u8]) -> Error {
    let received = serde_json::from_slice(payload).unwrap_or_else(|_| Received {
        kind: ErrorKind::Unexpected,
        message: String::from_utf8_lossy(payload).into_owned(),
        retryable: false,
        retry_after_ms: None,
        hints: Vec::new(),
    });
    let message = match clean(&received.message) {
        message if message.is_empty() => "the plugin gave no reason".to_owned(),
        message => message,
    };
    let error = Error::new(received.kind, message);
    let error = if received.retryable { error.retryable(received.retry_after_ms) } else { error.persistent() };
    received.hints.iter().take(8).fold(error, |error, hint| error.with_hint(clean(hint)))
}

/// Text of a plugin for one line of a terminal or log.
#[cfg(feature = "host")]
pub(crate) fn clean(text: &str) -> String {
    text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::*;

    #[test]
    fn kind_retry_and_hints_survive() {
        let sent = Error::new(ErrorKind::Busy, "zu voll 满了").retryable(Some(1500)).with_hint("wait");
        let got = decode(&encode(&sent));
        assert_eq!((got.kind(), got.message(), got.is_retryable()), (ErrorKind::Busy, "zu voll 满了", true));
        assert_eq!((got.retry_after_ms(), got.hints()), (Some(1500), &["wait".to_owned()][..]));
        assert!(!decode(&encode(&Error::new(ErrorKind::NotFound, "x"))).is_retryable());
    }

    #[test]
    fn nonsense_becomes_an_unexpected_error() {
        for (payload, message) in [
            (&b"\x1b[31mboom\nbang"[..], "[31mboom bang"),
            (b"", "the plugin gave no reason"),
            (br#"{"kind":"a-new-kind","message":"m"}"#, "m"),
            (br#"{"message":"only this"}"#, "only this"),
        ] {
            let error = decode(payload);
            assert_eq!((error.kind(), error.message()), (ErrorKind::Unexpected, message));
        }
    }

    #[test]
    fn a_misfit_does_not_repeat_values() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only read")]
        struct Config {
            port: u16,
        }
        for (json, said) in [
            (r#"{"port":"canary"}"#, "expected u16"),
            (r#"{"port":70000}"#, "expected u16"),
            (r#"{"port":1,"prot":"canary"}"#, "unknown field `prot`"),
            ("{}", "missing field `port`"),
            ("{\"port\": \"canary", "EOF"),
        ] {
            let error = serde_json::from_str::<Config>(json).unwrap_err();
            let message = misfit(ErrorKind::ConfigInvalid, "the configuration does not fit", &error).to_string();
            assert!(message.contains(said) && !message.contains("canary"), "{message}");
        }
    }
}
