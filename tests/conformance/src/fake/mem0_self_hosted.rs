//! A stand-in for the self-hosted Mem0 server.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::mem0::{Row, Rows, ids, is_uuid, is_worth_keeping, messages, parameter};
use super::{FakeServer, Request, Response};

/// The key it takes.
pub const MEM0_SELF_HOSTED_KEY: &str = "m0sk_canary_self_hosted";

const IDS: [&str; 3] = ["user_id", "agent_id", "run_id"];

/// Names that the server keeps its own fields under; in metadata they are lost.
const TAKEN: [&str; 9] =
    ["data", "hash", "created_at", "updated_at", "id", "role", "actor_id", "attributed_to", "expiration_date"];

/// What is stored there. It outlives the server that answers for it.
#[derive(Debug, Clone, Default)]
pub struct Mem0SelfHosted(Arc<Mutex<Rows>>);

impl Mem0SelfHosted {
    /// Starts answering on a free port.
    pub async fn serve(&self) -> FakeServer {
        self.serve_at("127.0.0.1:0").await
    }

    /// Starts answering at an address.
    pub async fn serve_at(&self, address: &str) -> FakeServer {
        let this = self.clone();
        FakeServer::start_at(address, move |request| this.answer(request)).await
    }

    /// The texts, oldest first.
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().rows.iter().map(|row| row.text.clone()).collect()
    }

    /// The memories as a list gives them, oldest first.
    pub fn stored(&self) -> Vec<Value> {
        self.0.lock().unwrap().rows.iter().map(shown).collect()
    }

    fn answer(&self, request: &Request) -> Response {
        let path = request.path.trim_start_matches('/');
        if (request.method.as_str(), path) == ("GET", "openapi.json") {
            return Response::ok(json!({"openapi": "3.1.0", "info": {"title": "Mem0 REST APIs", "version": "1.0.0"}}));
        }
        // No path ends in a slash, and none begins with a version.
        let parts: Vec<&str> = path.split('/').collect();
        let known =
            matches!(parts.as_slice(), ["memories"] | ["search"] | ["memories", _] | ["memories", _, "history"]);
        if !known || path.ends_with('/') {
            return not_found();
        }
        if request.header("x-api-key") != Some(MEM0_SELF_HOSTED_KEY) {
            return Response::status(401, json!({"detail": "Invalid or missing API key"}));
        }
        let mut rows = self.0.lock().unwrap();
        match (request.method.as_str(), parts.as_slice()) {
            ("POST", ["memories"]) => add(&mut rows, &request.json()),
            ("GET", ["memories"]) => list(&rows, request),
            ("POST", ["search"]) => search(&rows, &request.json()),
            ("GET", ["memories", id, "history"]) => {
                Response::ok(json!(rows.history.get(*id).cloned().unwrap_or_default()))
            }
            ("GET", ["memories", id]) => Response::ok(rows.find(id).map_or(Value::Null, |row| {
                let mut item = shown(row);
                item["score"] = Value::Null;
                item
            })),
            ("PUT", ["memories", id]) => match rows.update(id, &request.json(), false) {
                true => Response::ok(json!({"message": "Memory updated successfully!"})),
                false => Response::status(404, json!({"detail": "Memory not found"})),
            },
            ("DELETE", ["memories", id]) if !is_uuid(id) => Response::status(
                502,
                json!({"detail": "The memory store failed", "code": "unknown", "request_id": "r"}),
            ),
            ("DELETE", ["memories", id]) => match rows.remove(id) {
                true => Response::ok(json!({"message": "Memory deleted successfully"})),
                false => Response::status(404, json!({"detail": "Memory not found"})),
            },
            _ => Response::status(405, json!({"detail": "Method Not Allowed"})),
        }
    }
}

fn not_found() -> Response {
    Response::status(404, json!({"detail": "Not Found"}))
}

fn shown(row: &Row) -> Value {
    let mut item = json!({
        "id": row.id, "memory": row.text, "hash": "0", "created_at": row.created_at, "updated_at": row.updated_at,
        "metadata": if row.metadata.is_empty() { Value::Null } else { json!(row.metadata) }, "role": row.role,
    });
    for (name, value) in &row.ids {
        item[name] = json!(value);
    }
    if let Some(end) = &row.expiration_date {
        item["expiration_date"] = json!(end);
    }
    item
}

fn add(rows: &mut Rows, body: &Value) -> Response {
    let Some(messages) = messages(body) else {
        return Response::status(422, json!({"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}));
    };
    let ids = ids(body, &IDS);
    if ids.is_empty() {
        return Response::status(
            400,
            json!({"detail": "At least one identifier (user_id, agent_id, run_id) is required."}),
        );
    }
    if ids.values().any(|id| id.contains(char::is_whitespace)) {
        return Response::status(400, json!({"detail": "Invalid user_id: cannot contain whitespace."}));
    }
    let infer = body["infer"] != json!(false);
    let mut metadata: Map<String, Value> = body["metadata"].as_object().cloned().unwrap_or_default();
    metadata.retain(|key, _| !TAKEN.contains(&key.as_str()));
    let mut results = Vec::new();
    for (role, text) in messages {
        if role == "system" || infer && !is_worth_keeping(&text) {
            continue;
        }
        let id = rows.add(Row {
            number: 0,
            id: String::new(),
            text: text.clone(),
            ids: ids.clone(),
            role: role.clone(),
            metadata: metadata.clone(),
            created_at: String::new(),
            updated_at: String::new(),
            expiration_date: body["expiration_date"].as_str().map(str::to_owned),
        });
        let mut result = json!({"id": id, "memory": text, "event": "ADD"});
        if !infer {
            result["role"] = json!(role);
            result["actor_id"] = Value::Null;
        }
        results.push(result);
    }
    Response::ok(json!({ "results": results }))
}

fn list(rows: &Rows, request: &Request) -> Response {
    let named: Vec<(&str, String)> = IDS.iter().filter_map(|name| Some((*name, parameter(request, name)?))).collect();
    let top_k: usize = parameter(request, "top_k").map_or(20, |text| text.parse().unwrap());
    if top_k > 1000 {
        return Response::status(422, json!({"detail": [{"loc": ["query", "top_k"], "msg": "at most 1000"}]}));
    }
    let shows_expired = parameter(request, "show_expired").as_deref() == Some("true");
    let wanted = |row: &&Row| {
        (shows_expired || !row.is_expired()) && named.iter().all(|(name, value)| row.ids.get(*name) == Some(value))
    };
    // In the order of the store, which is that of the ids.
    let mut found: Vec<&Row> = rows.rows.iter().filter(wanted).collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    let results: Vec<Value> = found.into_iter().take(top_k).map(shown).collect();
    Response::ok(json!({ "results": results }))
}

fn search(rows: &Rows, body: &Value) -> Response {
    let Some(query) = body["query"].as_str() else {
        return Response::status(422, json!({"detail": [{"loc": ["body", "query"], "msg": "Field required"}]}));
    };
    let filters = body["filters"].as_object().cloned().unwrap_or_default();
    if !IDS.iter().any(|id| filters.get(*id).is_some_and(Value::is_string)) {
        return Response::status(
            400,
            json!({"detail": "filters must contain at least one of: user_id, agent_id, run_id."}),
        );
    }
    // Operators are taken and find nothing.
    let matches = |row: &Row| {
        filters.iter().all(|(key, wanted)| match row.ids.get(key) {
            Some(found) => wanted == found,
            None => row.metadata.get(key).is_some_and(|found| found == wanted),
        })
    };
    let threshold = body["threshold"].as_f64().unwrap_or(0.1);
    let top_k = body["top_k"].as_u64().unwrap_or(20) as usize;
    let found = rows.ranked(query, threshold, |row| !row.is_expired() && matches(row));
    let results: Vec<Value> = found
        .iter()
        .take(top_k)
        .map(|(score, row)| {
            let mut item = shown(row);
            item["score"] = json!(score);
            item
        })
        .collect();
    Response::ok(json!({ "results": results }))
}
