//! What the failures of Mem0 mean. Everything that `memory-http` maps is mapped there; here is what only Mem0 says.

use memory_core::config::Mem0Config as Section;
use memory_core::{Error, ErrorKind};
use memory_http::{Reply, Service};

const KEY_HINT: &str = "check memory.external.mem0.api_key (MEM0_API_KEY)";
const URL_HINT: &str = "check memory.external.mem0.base_url (MEM0_BASE_URL)";

/// Whom the client talks to.
pub(crate) fn service(section: &Section) -> Service {
    Service {
        name: "Mem0",
        url: section.base_url.clone(),
        key: section.api_key.clone(),
        key_hint: KEY_HINT,
        url_hint: URL_HINT,
    }
}

/// The hosted platform without a key.
pub(crate) fn no_key() -> Error {
    Error::new(ErrorKind::ConfigInvalid, "the Mem0 platform needs a key, and none is set").with_hint(
        "set MEM0_API_KEY in the environment or in .env, or memory.external.mem0.api_key; for a server of your own set \
         memory.external.mem0.base_url (MEM0_BASE_URL)",
    )
}

/// Neither interface is there.
pub(crate) fn no_interface(service: &Service) -> Error {
    let message = format!("{} answers, but has neither interface of Mem0 (no /v1/ping/ and no /memories)", service.url);
    Error::not_found(message).with_hint(URL_HINT)
}

/// A path that this Mem0 does not have.
pub(crate) fn no_path(service: &Service, reply: &Reply, path: &str) -> Error {
    reply.error(service).with_context("path", path).with_hint(format!("or that Mem0 is too old to have {path}"))
}

/// A memory that is not there, or is not this viewer's.
pub(crate) fn no_memory(id: &str) -> Error {
    Error::not_found(format!("there is no memory `{id}` at Mem0"))
        .with_hint("`memory list` shows what this viewer may read")
}

/// An id that cannot be one.
pub(crate) fn no_id() -> Error {
    Error::invalid("a memory at Mem0 is named by its UUID, or by an id of 26 letters and digits or its first 6 or more")
        .with_hint("copy the id from `memory list` or `memory search`")
}

/// An addition that failed there after it was taken.
pub(crate) fn failed_event(service: &Service, event: &str, said: &str) -> Error {
    let said: String = said.chars().take(300).collect();
    let said = if service.key.is_empty() { said } else { said.replace(service.key.expose(), "****") };
    let message = format!("{} at {} could not carry out an addition: {said}", service.name, service.url);
    Error::new(ErrorKind::Unreachable, message)
        .with_context("event", event)
        .with_hint("try again later; with memory.external.mem0.infer: false the text is kept without extraction")
}

/// An addition that is not real yet when the time is up.
pub(crate) fn slow_event(service: &Service, event: &str, seconds: f64) -> Error {
    let message = format!("{} at {} has not finished an addition within {seconds} s", service.name, service.url);
    Error::new(ErrorKind::Timeout, message)
        .with_context("event", event)
        .with_hint("it may still finish; memory.external.mem0.event_timeout sets how long to wait")
}

/// An extraction that a self-hosted server could not make, which is mostly a matter of its model.
pub(crate) fn failed_extraction(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unreachable | ErrorKind::Timeout => error.with_hint(
            "extraction may be switched off or broken there: check the model of that server, or set \
             memory.external.mem0.infer: false",
        ),
        _ => error,
    }
}

/// Nothing is stored, and nothing like it is there.
pub(crate) const STORED_NOTHING: &str = "Mem0 took the text and stored nothing, and has nothing with this text";

/// True for an error that concerns the one thing sent and not the service.
pub(crate) fn concerns_the_item(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidRequest | ErrorKind::Conflict)
}
