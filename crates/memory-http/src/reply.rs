//! What a service answered, whatever the status.

use memory_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Service, of_nonsense, of_status};

/// A reply with its whole body.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Milliseconds the service asks to wait (`Retry-After`).
    pub retry_after_ms: Option<u64>,
    /// The body as it came.
    pub body: Vec<u8>,
}

impl Reply {
    /// True for 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON, when it is.
    pub fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The body of a success in the expected shape; the error of the status otherwise.
    pub fn json<T: DeserializeOwned>(&self, service: &Service) -> Result<T> {
        self.success(service)?;
        serde_json::from_slice(&self.body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            of_nonsense(service, &format!("it is not the expected JSON ({place})"))
        })
    }

    /// The error of the status unless it is a success.
    pub fn success(&self, service: &Service) -> Result<()> {
        if self.is_success() { Ok(()) } else { Err(self.error(service)) }
    }

    /// The error that this status means.
    pub fn error(&self, service: &Service) -> Error {
        of_status(service, self.status, self.retry_after_ms, &self.body)
    }
}
