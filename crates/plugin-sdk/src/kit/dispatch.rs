//! From a method and its JSON to the provider and back.

use memory_core::{Error, ErrorKind, Result, SessionContext};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Plugin;
use crate::message::{
    CallToolReply, CallToolRequest, DescribeRequest, Description, GetRequest, HistoryReply, HistoryRequest,
    PrefetchReply, PrefetchRequest, ViewerRequest,
};
use crate::wire_error::misfit;

/// Runs one method.
pub(super) async fn dispatch<P: Plugin>(provider: &P, method: &str, request: &[u8]) -> Result<Vec<u8>> {
    match method {
        "describe" => reply(&describe(provider, &parse(method, request)?)?),
        "initialize" => done(provider.initialize(&parse::<SessionContext>(method, request)?).await),
        "write" => reply(&provider.write(parse(method, request)?).await?),
        "search" => reply(&provider.search(parse(method, request)?).await?),
        "get" => {
            let GetRequest { viewer, ids } = parse(method, request)?;
            reply(&provider.get(&viewer, &ids).await?)
        }
        "list" => reply(&provider.list(parse(method, request)?).await?),
        "update" => reply(&provider.update(parse(method, request)?).await?),
        "delete" => reply(&provider.delete(parse(method, request)?).await?),
        "history" => {
            let HistoryRequest { viewer, id } = parse(method, request)?;
            reply(&HistoryReply { revisions: provider.history(&viewer, &id).await? })
        }
        "sync_turn" => done(provider.sync_turn(parse(method, request)?).await),
        "prefetch" => {
            let PrefetchRequest { viewer, query } = parse(method, request)?;
            reply(&PrefetchReply { text: provider.prefetch(&viewer, &query).await? })
        }
        "end_session" => done(provider.end_session(&parse::<ViewerRequest>(method, request)?.viewer).await),
        "call_tool" => {
            let CallToolRequest { viewer, name, arguments } = parse(method, request)?;
            reply(&CallToolReply { result: provider.call_tool(&viewer, &name, arguments).await? })
        }
        "health" => {
            parse::<Map<String, Value>>(method, request)?;
            reply(&provider.health().await)
        }
        "shutdown" => {
            parse::<Map<String, Value>>(method, request)?;
            done(provider.shutdown().await)
        }
        other => {
            let name: String = other.chars().take(64).collect();
            Err(Error::new(ErrorKind::Unsupported, format!("this plugin knows no method `{name}`")))
        }
    }
}

fn describe<P: Plugin>(provider: &P, request: &DescribeRequest) -> Result<Description> {
    let descriptor = provider.descriptor();
    let capability = serde_json::to_value(provider.capability()).map_err(unwritable)?;
    let guidance = request.languages.iter().take(16).map(|language| (language.clone(), provider.guidance(language)));
    Ok(Description {
        name: descriptor.name,
        version: descriptor.version,
        description: descriptor.description,
        sdk_version: env!("CARGO_PKG_VERSION").to_owned(),
        capability: capability.as_object().cloned().unwrap_or_default(),
        tools: provider.tools(),
        guidance: guidance.collect(),
        config_schema: P::config_schema().unwrap_or(Value::Null),
        features: Vec::new(),
    })
}

fn parse<T: DeserializeOwned>(method: &str, request: &[u8]) -> Result<T> {
    serde_json::from_slice(request)
        .map_err(|error| misfit(ErrorKind::InvalidRequest, &format!("the request of `{method}` does not fit"), &error))
}

fn reply(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(unwritable)
}

fn done(result: Result<()>) -> Result<Vec<u8>> {
    result.and_then(|()| reply(&json!({})))
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::unexpected("a reply cannot be written as JSON").with_source(error)
}
