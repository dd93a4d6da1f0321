//! What an agent is offered: tools and guidance.

use std::collections::BTreeSet;

use memory_core::{Error, ErrorKind, ToolDefinition, Viewer};
use serde_json::{Value, json};

use crate::*;

/// Types that JSON Schema knows.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// Every tool has a name that models accept, a description, and a JSON Schema of an object.
pub async fn definitions_are_json_schemas(trial: &Trial) {
    let tools = trial.tools();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), tools.len(), "each name once");
    for ToolDefinition { name, description, parameters } in &tools {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!((1..=64).contains(&name.len()) && name.chars().all(plain), "{name}");
        assert!(description.split_whitespace().count() >= 3, "{name}: {description}");
        assert_eq!(parameters["type"], "object", "{name}: {parameters}");
        check_schema(name, parameters);
    }
    assert_eq!(tools, trial.tools(), "the same each time");
}

fn check_schema(at: &str, schema: &Value) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{at}: {schema}"));
    if let Some(kind) = object.get("type") {
        let kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
        assert!(kinds.iter().all(|kind| kind.as_str().is_some_and(|kind| TYPES.contains(&kind))), "{at}: {kind}");
    }
    if let Some(properties) = object.get("properties") {
        let properties = properties.as_object().unwrap();
        for (name, property) in properties {
            check_schema(&format!("{at}.{name}"), property);
        }
        for required in object.get("required").into_iter().flat_map(|names| names.as_array().unwrap()) {
            assert!(properties.contains_key(required.as_str().unwrap()), "{at} requires {required}, which is none");
        }
    }
    if let Some(items) = object.get("items") {
        check_schema(&format!("{at}[]"), items);
    }
}

/// A tool nobody offers is not found.
pub async fn an_unknown_tool_is_not_found(trial: &Trial) {
    for name in ["no_such_tool", "", "记忆", "memory_search; rm -rf"] {
        let error = trial.call_tool(&viewer(), name, json!({})).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported), "{name}: {error}");
    }
}

/// Refused as an error, or told in the result so that a model can mend it.
fn is_refused(result: &Result<Value, Error>) -> bool {
    match result {
        Err(error) => error.kind() == ErrorKind::InvalidRequest,
        Ok(value) => value["success"] == false && value["error"].as_str().is_some_and(|error| !error.is_empty()),
    }
}

/// Wrong arguments are refused with a word about it, whatever they are; the tools work afterwards.
pub async fn wrong_arguments_are_refused(trial: &Trial) {
    for tool in trial.tools() {
        let required: Vec<&str> = tool.parameters["required"]
            .as_array()
            .map(|names| names.iter().map(|name| name.as_str().unwrap()).collect())
            .unwrap_or_default();
        let wrong = [json!(null), json!([]), json!("text"), json!(7), json!({})];
        let wrong_types = required.iter().map(|name| json!({*name: {"not": ["what", "is", "wanted"]}}));
        for arguments in wrong.into_iter().chain(wrong_types) {
            let result = trial.call_tool(&viewer(), &tool.name, arguments.clone()).await;
            assert!(required.is_empty() || is_refused(&result), "{} {arguments}: {result:?}", tool.name);
        }
    }
    assert!(trial.health().await.ok);
}

/// A tool sees what its viewer sees.
pub async fn tools_keep_users_apart(trial: &Trial) {
    add(trial, "The lighthouse keeper is called Ottokar").await;
    must_find(trial, &viewer(), "lighthouse keeper", "Ottokar").await;
    let stranger = Viewer::user("stranger", memory_core::DEFAULT_NAME);
    let mut told = 0;
    for tool in trial.tools() {
        let arguments = match tool.parameters["required"].as_array() {
            Some(names) if names == &[json!("query")] => json!({"query": "lighthouse keeper"}),
            Some(names) if !names.is_empty() => continue,
            _ => json!({}),
        };
        let own = trial.call_tool(&viewer(), &tool.name, arguments.clone()).await.unwrap();
        told += usize::from(own.to_string().contains("Ottokar"));
        let other = trial.call_tool(&stranger, &tool.name, arguments).await.unwrap();
        assert!(!other.to_string().contains("Ottokar"), "{}: {other}", tool.name);
    }
    assert!(told > 0, "some tool searches by `query` alone");
}

/// Guidance is a text in any language asked for, and a provider says who it is.
pub async fn it_introduces_itself(trial: &Trial) {
    for language in ["en", "zh", "zh-CN", "xx", ""] {
        let guidance = trial.guidance(language);
        assert!(!guidance.contains("<memory-context>"), "{guidance}");
    }
    let descriptor = trial.descriptor();
    assert!(!descriptor.name.trim().is_empty() && !descriptor.version.trim().is_empty(), "{descriptor:?}");
    assert!(!descriptor.description.trim().is_empty() && !descriptor.description.contains('\n'), "{descriptor:?}");
    assert_eq!((descriptor, trial.capability()), (trial.descriptor(), trial.provider.capability()));
}
