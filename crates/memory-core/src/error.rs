//! The one error type of the project.
//!
//! A message says what happened, to which thing; the hints say what to do. The JSON form is the same on the command
//! line, over HTTP, in MCP and across the plugin boundary.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Shorthand for results of this project.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a caller may want to act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is wrong (bad argument, bad JSON, too large).
    InvalidRequest,
    /// The configuration is wrong or incomplete.
    ConfigInvalid,
    /// The thing named does not exist, or is not visible to this viewer.
    NotFound,
    /// An id prefix fits more than one thing, or a revision is no longer current.
    Conflict,
    /// The viewer may not do this.
    Forbidden,
    /// The engine or a feature is switched off.
    Disabled,
    /// A lock, a budget or a rate limit stands in the way.
    Busy,
    /// The other side did not answer in time.
    Timeout,
    /// The other side cannot be reached.
    Unreachable,
    /// A credential is missing or refused.
    Unauthorized,
    /// The operation is not offered by this provider.
    Unsupported,
    /// The disk is full, read-only or refuses access.
    Storage,
    /// Stored data is damaged.
    Corrupt,
    /// A foreign system answered something that makes no sense.
    BadReply,
    /// The caller stopped the operation.
    Cancelled,
    /// Anything else: a fault of this program.
    #[serde(other)]
    Unexpected,
}

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStatus {
    /// Trying again gives the same answer.
    Permanent,
    /// Trying again may help.
    Temporary,
    /// It was temporary, and retries have been used up.
    Persistent,
}

/// The error of every operation: kind, retry status, operation, context, hints and cause.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    status: ErrorStatus,
    operation: &'static str,
    message: String,
    context: Vec<(&'static str, String)>,
    hints: Vec<String>,
    retry_after_ms: Option<u64>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A permanent error of `kind`. `message` is one sentence that names the thing it happened to.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let status = match kind {
            ErrorKind::Busy | ErrorKind::Timeout | ErrorKind::Unreachable => ErrorStatus::Temporary,
            _ => ErrorStatus::Permanent,
        };
        Self(Box::new(Inner {
            kind,
            status,
            operation: "",
            message: message.into(),
            context: Vec::new(),
            hints: Vec::new(),
            retry_after_ms: None,
            source: None,
        }))
    }

    /// Shorthand for [`ErrorKind::InvalidRequest`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Shorthand for [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Shorthand for [`ErrorKind::Unsupported`]: `operation` is not offered by `provider`.
    pub fn unsupported(provider: &str, operation: &'static str) -> Self {
        Self::new(ErrorKind::Unsupported, format!("provider `{provider}` does not offer `{operation}`"))
            .with_operation(operation)
    }

    /// Shorthand for [`ErrorKind::Unexpected`].
    pub fn unexpected(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unexpected, message)
    }

    /// Names the operation that failed. The innermost name wins.
    pub fn with_operation(mut self, operation: &'static str) -> Self {
        if self.0.operation.is_empty() {
            self.0.operation = operation;
        }
        self
    }

    /// Adds a key and value that help to find the fault. Never put a secret here.
    pub fn with_context(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, value.to_string()));
        self
    }

    /// Adds a sentence that says what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Keeps the foreign error that caused this one.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Marks the error as worth another try, optionally not before `retry_after_ms`.
    pub fn retryable(mut self, retry_after_ms: Option<u64>) -> Self {
        self.0.status = ErrorStatus::Temporary;
        self.0.retry_after_ms = retry_after_ms;
        self
    }

    /// Marks a temporary error whose retries are used up.
    pub fn persistent(mut self) -> Self {
        if self.0.status == ErrorStatus::Temporary {
            self.0.status = ErrorStatus::Persistent;
        }
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether trying again can help.
    pub fn status(&self) -> ErrorStatus {
        self.0.status
    }

    /// True when a retry may succeed.
    pub fn is_retryable(&self) -> bool {
        self.0.status == ErrorStatus::Temporary
    }

    /// How long to wait before a retry, when the other side said so.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.0.retry_after_ms
    }

    /// The operation that failed, or an empty text.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// The message without context and hints.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// The JSON form: `{"error":{kind,message,operation,hints,retryable}}`.
    pub fn to_json(&self) -> serde_json::Value {
        let mut error = serde_json::json!({
            "kind": self.0.kind,
            "message": self.to_string(),
            "operation": self.0.operation,
            "hints": self.0.hints,
            "retryable": self.is_retryable(),
        });
        if let (Some(ms), Some(object)) = (self.0.retry_after_ms, error.as_object_mut()) {
            object.insert("retry_after_ms".into(), ms.into());
        }
        serde_json::json!({ "error": error })
    }
}

impl fmt::Display for Error {
    /// One line: the message, its context, and the causes behind it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if !self.0.context.is_empty() {
            f.write_str(" (")?;
            for (position, (key, value)) in self.0.context.iter().enumerate() {
                let separator = if position == 0 { "" } else { ", " };
                write!(f, "{separator}{key}: {value}")?;
            }
            f.write_str(")")?;
        }
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line_with_context_and_cause() {
        let error = Error::new(ErrorKind::Storage, "cannot open the store")
            .with_context("path", "/x/store.db")
            .with_source(std::io::Error::other("disk on fire"))
            .with_hint("check the disk");
        assert_eq!(error.to_string(), "cannot open the store (path: /x/store.db): disk on fire");
        assert_eq!(error.hints(), ["check the disk"]);
    }

    #[test]
    fn json_form_has_the_documented_keys() {
        let json = Error::new(ErrorKind::Busy, "locked").with_operation("write").to_json();
        assert_eq!(json["error"]["kind"], "busy");
        assert_eq!(json["error"]["operation"], "write");
        assert_eq!(json["error"]["retryable"], true);
        assert_eq!(json["error"]["hints"], serde_json::json!([]));
    }

    #[test]
    fn innermost_operation_wins() {
        let error = Error::unexpected("x").with_operation("inner").with_operation("outer");
        assert_eq!(error.operation(), "inner");
    }
}
