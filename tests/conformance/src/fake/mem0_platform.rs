//! A stand-in for the hosted Mem0 platform.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use memory_core::Timestamp;
use serde_json::{Map, Value, json};

use super::mem0::{Row, Rows, ids, is_uuid, is_worth_keeping, messages, parameter};
use super::{FakeServer, Request, Response};

/// The key it takes.
pub const MEM0_PLATFORM_KEY: &str = "m0-canary-platform-key";

const IDS: [&str; 4] = ["user_id", "agent_id", "app_id", "run_id"];

const FIELDS: [&str; 15] = [
    "AND",
    "OR",
    "NOT",
    "user_id",
    "agent_id",
    "app_id",
    "run_id",
    "created_at",
    "updated_at",
    "timestamp",
    "expiration_date",
    "text",
    "categories",
    "metadata",
    "memory_ids",
];

/// An addition that is carried out after it was asked about often enough.
#[derive(Debug)]
struct Event {
    id: String,
    body: Value,
    polls: usize,
    status: &'static str,
    results: Vec<Value>,
}

#[derive(Debug, Default)]
struct State {
    rows: Rows,
    events: Vec<Event>,
    polls: usize,
    fail_events: bool,
}

/// What is stored there. It outlives the server that answers for it, so that a test can stop one and start another.
#[derive(Debug, Clone, Default)]
pub struct Mem0Platform(Arc<Mutex<State>>);

impl Mem0Platform {
    /// Starts answering on a free port.
    pub async fn serve(&self) -> FakeServer {
        self.serve_at("127.0.0.1:0").await
    }

    /// Starts answering at an address.
    pub async fn serve_at(&self, address: &str) -> FakeServer {
        let this = self.clone();
        FakeServer::start_at(address, move |request| this.answer(request)).await
    }

    /// An addition becomes real when it was asked about this often; 0: with the first question.
    pub fn finish_after(&self, polls: usize) {
        self.0.lock().unwrap().polls = polls;
    }

    /// Additions with extraction fail from now on.
    pub fn fail_events(&self, fail: bool) {
        self.0.lock().unwrap().fail_events = fail;
    }

    /// Finishes what is under way.
    pub fn finish(&self) {
        let mut state = self.0.lock().unwrap();
        for place in 0..state.events.len() {
            state.carry_out(place);
        }
    }

    /// The texts, oldest first.
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().rows.rows.iter().map(|row| row.text.clone()).collect()
    }

    /// The memories as a list gives them, oldest first.
    pub fn stored(&self) -> Vec<Value> {
        self.0.lock().unwrap().rows.rows.iter().map(|row| shown(row, "session_id")).collect()
    }

    fn answer(&self, request: &Request) -> Response {
        // Every path ends in a slash.
        let Some(path) = request.path.strip_prefix('/').and_then(|path| path.strip_suffix('/')) else {
            return not_found();
        };
        let parts: Vec<&str> = path.split('/').collect();
        if !matches!(parts.first(), Some(&("v1" | "v3"))) {
            return not_found();
        }
        if request.header("authorization") != Some(format!("Token {MEM0_PLATFORM_KEY}").as_str()) {
            return Response::status(401, json!({"detail": "Given token not valid for any token type"}));
        }
        let mut state = self.0.lock().unwrap();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["v1", "ping"]) => Response::ok(
                json!({"status": "ok", "org_id": "org", "project_id": "project", "user_email": "me@example.com"}),
            ),
            ("POST", ["v3", "memories", "add"]) => state.add(request.json()),
            ("POST", ["v3", "memories", "search"]) => state.search(&request.json()),
            ("POST", ["v3", "memories"]) => state.list(request),
            ("GET", ["v1", "event", id]) => state.event(id),
            ("GET", ["v1", "events"]) => {
                let results: Vec<Value> = state.events.iter().rev().map(Event::shown).collect();
                Response::ok(json!({"count": results.len(), "next": null, "previous": null, "results": results}))
            }
            ("DELETE", ["v1", "batch"]) => {
                let body = request.json();
                let ids: Vec<&str> = body["memories"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["memory_id"].as_str().unwrap())
                    .collect();
                let count = ids.iter().filter(|id| state.rows.remove(id)).count();
                Response::ok(json!({"message": format!("Successfully deleted {count} memories")}))
            }
            (method, ["v1", "memories", id, rest @ ..]) => state.memory(method, id, rest, request),
            _ => not_found(),
        }
    }
}

fn not_found() -> Response {
    Response::status(404, json!({"detail": "Not Found"}))
}

fn shown(row: &Row, run: &str) -> Value {
    let id = |name: &str| row.ids.get(name).cloned();
    json!({
        "id": row.id, "memory": row.text, "user_id": id("user_id"), "agent_id": id("agent_id"), "app_id": id("app_id"),
        run: id("run_id"), "metadata": if row.metadata.is_empty() { Value::Null } else { json!(row.metadata) },
        "categories": null, "created_at": row.created_at, "updated_at": row.updated_at,
        "expiration_date": row.expiration_date, "structured_attributes": null,
    })
}

impl Event {
    fn shown(&self) -> Value {
        let error = (self.status == "FAILED").then_some("the model refused");
        json!({
            "id": self.id, "event_type": "ADD", "status": self.status, "payload": self.body, "results": self.results,
            "error": error, "latency": 12.5,
        })
    }
}

impl State {
    fn add(&mut self, body: Value) -> Response {
        let Some(messages) = messages(&body) else {
            return Response::status(400, json!({"messages": ["This field is required."]}));
        };
        let ids = ids(&body, &IDS);
        if ids.is_empty() {
            return Response::status(
                400,
                json!(["One of the filters: app_id, user_id, agent_id, run_id is required!"]),
            );
        }
        let event_id = self.rows.uuid();
        if body["infer"] != json!(false) {
            let event = Event { id: event_id.clone(), body, polls: self.polls, status: "PENDING", results: Vec::new() };
            self.events.push(event);
            let message = "Memory processing has been queued for background execution";
            return Response::ok(json!({"message": message, "status": "PENDING", "event_id": event_id}));
        }
        let mut results = Vec::new();
        for (role, text) in messages {
            // An exact duplicate in the same scope is dropped.
            if !self.rows.rows.iter().any(|row| row.text == text && row.ids == ids) {
                results.extend(self.store(&body, ids.clone(), &role, text));
            }
        }
        Response::ok(json!({"message": "ok", "status": "SUCCEEDED", "event_id": event_id, "results": results}))
    }

    fn store(&mut self, body: &Value, ids: BTreeMap<String, String>, role: &str, text: String) -> Option<Value> {
        let at =
            body["timestamp"].as_i64().map(|seconds| Timestamp::from_nanoseconds(seconds * 1_000_000_000).to_string());
        let row = Row {
            number: 0,
            id: String::new(),
            text: text.clone(),
            ids,
            role: role.to_owned(),
            metadata: body["metadata"].as_object().cloned().unwrap_or_default(),
            created_at: at.unwrap_or_default(),
            updated_at: String::new(),
            expiration_date: body["expiration_date"].as_str().map(str::to_owned),
        };
        let id = self.rows.add(row);
        Some(json!({"id": id, "data": {"memory": text}, "event": "ADD"}))
    }

    /// Facts from what the user says keep the user alone, facts from what the agent says the agent alone.
    fn carry_out(&mut self, place: usize) {
        if self.events[place].status != "PENDING" {
            return;
        }
        if self.fail_events {
            self.events[place].status = "FAILED";
            return;
        }
        let body = self.events[place].body.clone();
        let ids = ids(&body, &IDS);
        for (role, text) in messages(&body).unwrap() {
            let (other, own) = if role == "user" { ("agent_id", "user_id") } else { ("user_id", "agent_id") };
            if is_worth_keeping(&text) && ids.contains_key(own) {
                let mut ids = ids.clone();
                ids.remove(other);
                let result = self.store(&body, ids, &role, text);
                self.events[place].results.extend(result);
            }
        }
        self.events[place].status = "SUCCEEDED";
    }

    fn event(&mut self, id: &str) -> Response {
        let Some(place) = self.events.iter().position(|event| event.id == id) else {
            return Response::status(404, json!({"error": "Event not found"}));
        };
        match self.events[place].polls.checked_sub(1) {
            Some(polls) => self.events[place].polls = polls,
            None => self.carry_out(place),
        }
        Response::ok(self.events[place].shown())
    }

    fn search(&mut self, body: &Value) -> Response {
        if let Err(refusal) = check(&body["filters"]) {
            return refusal;
        }
        let top_k = body["top_k"].as_u64().unwrap_or(10) as usize;
        let (Some(query), 1..=1000) = (body["query"].as_str(), top_k) else {
            return Response::status(400, json!({"detail": "query and top_k from 1 to 1000"}));
        };
        let threshold = body["threshold"].as_f64().unwrap_or(0.1);
        let found = self.rows.ranked(query, threshold, |row| !row.is_expired() && matches(&body["filters"], row));
        let results: Vec<Value> = found
            .iter()
            .take(top_k)
            .map(|(score, row)| {
                let mut item = shown(row, "run_id");
                item["score"] = json!(score);
                item["score_breakdown"] = json!({"semantic": score, "bm25": 0.0, "entity": 0.0});
                item
            })
            .collect();
        Response::ok(json!({ "results": results }))
    }

    fn list(&mut self, request: &Request) -> Response {
        let body = request.json();
        if let Err(refusal) = check(&body["filters"]) {
            return refusal;
        }
        let number =
            |name: &str, default: usize| parameter(request, name).map_or(default, |text| text.parse().unwrap());
        let (page, size) = (number("page", 1), number("page_size", 100));
        if page == 0 || size == 0 || size > 200 {
            return Response::status(400, json!({"detail": "Invalid page."}));
        }
        let shows_expired = body["show_expired"] == json!(true);
        let wanted = |row: &&Row| (shows_expired || !row.is_expired()) && matches(&body["filters"], row);
        let found: Vec<&Row> = self.rows.rows.iter().rev().filter(wanted).collect();
        let results: Vec<Value> =
            found.iter().skip((page - 1) * size).take(size).map(|row| shown(row, "session_id")).collect();
        let next = (page * size < found.len()).then(|| format!("https://api.mem0.ai/v3/memories/?page={}", page + 1));
        Response::ok(json!({"count": found.len(), "next": next, "previous": null, "results": results}))
    }

    fn memory(&mut self, method: &str, id: &str, rest: &[&str], request: &Request) -> Response {
        if !is_uuid(id) {
            return Response::status(400, json!({"error": "memory_id should be a valid UUID"}));
        }
        let missing = || Response::status(404, json!({"error": "Memory not found!"}));
        match (method, rest) {
            ("GET", []) => self.rows.find(id).map_or_else(missing, |row| Response::ok(shown(row, "session_id"))),
            ("PUT", []) if self.rows.update(id, &request.json(), true) => {
                Response::ok(shown(self.rows.find(id).unwrap(), "session_id"))
            }
            ("DELETE", []) if self.rows.remove(id) => Response::ok(json!({"message": "Memory deleted successfully!"})),
            ("GET", ["history"]) => self.rows.history.get(id).map_or_else(missing, |rows| Response::ok(json!(rows))),
            ("PUT" | "DELETE", []) => missing(),
            _ => not_found(),
        }
    }
}

/// An error unless a filter has only what the platform allows, and names an entity.
fn check(filter: &Value) -> Result<(), Response> {
    fn refusal(filter: &Value) -> Option<Response> {
        let Some(object) = filter.as_object() else {
            return Some(Response::status(400, json!({"filters": ["This field must be an object."]})));
        };
        object.iter().find_map(|(key, value)| match key.as_str() {
            "AND" | "OR" => value.as_array().map_or_else(|| refusal(value), |parts| parts.iter().find_map(refusal)),
            "NOT" => refusal(value),
            key if FIELDS.contains(&key) => None,
            _ => {
                let message =
                    format!("Top-level key must be a logical operator or an allowed field: [{}]", FIELDS.join(", "));
                Some(Response::status(400, json!({ "filters": [message] })))
            }
        })
    }
    fn names_an_entity(filter: &Value) -> bool {
        match filter {
            Value::Object(object) => {
                object.iter().any(|(key, value)| IDS.contains(&key.as_str()) || names_an_entity(value))
            }
            Value::Array(parts) => parts.iter().any(names_an_entity),
            _ => false,
        }
    }
    match refusal(filter) {
        Some(refusal) => Err(refusal),
        None if names_an_entity(filter) => Ok(()),
        None => Err(Response::status(400, json!(["At least one entity id is required in filters"]))),
    }
}

fn matches(filter: &Value, row: &Row) -> bool {
    let object: &Map<String, Value> = filter.as_object().unwrap();
    object.iter().all(|(key, value)| match key.as_str() {
        "AND" => value.as_array().unwrap().iter().all(|part| matches(part, row)),
        // Beside an `AND`, an `OR` is lost.
        "OR" if object.contains_key("AND") => true,
        "OR" => value.as_array().unwrap().iter().any(|part| matches(part, row)),
        "NOT" => !matches(value, row),
        "metadata" => value.as_object().unwrap().iter().all(|(name, wanted)| {
            let found = row.metadata.get(name).unwrap_or(&Value::Null);
            match wanted.as_object() {
                None => found == wanted,
                Some(operators) => operators.iter().all(|(operator, wanted)| match operator.as_str() {
                    "eq" => found == wanted,
                    "ne" => found != wanted,
                    "contains" => found.as_str().is_some_and(|text| text.contains(wanted.as_str().unwrap())),
                    _ => false,
                }),
            }
        }),
        // The stand-in gives no categories.
        "categories" => false,
        "memory_ids" => value.as_array().unwrap().iter().any(|id| id == &json!(row.id)),
        id if IDS.contains(&id) => {
            let found = row.ids.get(id).map_or(Value::Null, |found| json!(found));
            match value {
                Value::Object(operators) => operators.iter().all(|(operator, wanted)| match operator.as_str() {
                    "eq" => &found == wanted,
                    "ne" => &found != wanted,
                    "in" => wanted.as_array().unwrap().contains(&found),
                    _ => false,
                }),
                Value::String(any) if any == "*" => !found.is_null(),
                wanted => &found == wanted,
            }
        }
        _ => true,
    })
}
