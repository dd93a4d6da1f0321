//! What a failure that OpenViking reports means. The status and the code inside the reply decide, never the words.

use memory_core::{Error, ErrorKind};
use memory_http::{Reply, Service};

use crate::wire::Failure;

/// The error of a reply other than 2xx.
pub(crate) fn of_reply(service: &Service, reply: &Reply) -> Error {
    let error = reply.error(service);
    let Some(failure) = Failure::of(reply) else { return error };
    match failure.code.as_str() {
        // A path is locked while it is indexed, moved or extracted into.
        "CONFLICT" | "ABORTED" | "WRITE_CONFLICT" | "PROCESSING_ERROR" if failure.is_retryable() => {
            Error::new(ErrorKind::Busy, error.message()).retryable(reply.retry_after_ms)
        }
        "PERMISSION_DENIED" if failure.message.contains("ROOT API key") => root_key(service),
        "EMBEDDING_FAILED" | "VLM_FAILED" | "MODEL_UNAVAILABLE" => error
            .with_hint("a model of the OpenViking server failed; look at `embedding` and `vlm` of its configuration"),
        "NOT_FOUND" if is_missing(reply) => Error::not_found(error.message()),
        _ => error,
    }
}

/// The error for a key that administers the server and opens nobody's memories.
pub(crate) fn root_key(service: &Service) -> Error {
    let message =
        format!("the key for {} at {} is the root key, which opens nobody's memories", service.name, service.url);
    Error::new(ErrorKind::Unauthorized, message)
        .with_hint("create an account with POST /api/v1/admin/accounts and set its user_key as OPENVIKING_API_KEY")
}

/// True when the thing asked for does not exist, as opposed to the address.
pub(crate) fn is_missing(reply: &Reply) -> bool {
    reply.status == 404
        && Failure::of(reply).is_some_and(|failure| failure.code == "NOT_FOUND" && failure.message != "Not Found")
}

/// True when what was to be created exists.
pub(crate) fn exists_already(reply: &Reply) -> bool {
    reply.status == 409 && Failure::of(reply).is_some_and(|failure| failure.code == "ALREADY_EXISTS")
}
