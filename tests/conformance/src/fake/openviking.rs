//! A stand-in for an OpenViking server, as servers 0.3.24, 0.4.9 and 0.5.2 were seen to answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::mem0::parameter;
use super::words::overlap;
use super::{FakeServer, Request, Response};

/// The key of a user.
pub const OPENVIKING_KEY: &str = "user_canary_openviking";

/// The key that administers the server.
pub const OPENVIKING_ROOT_KEY: &str = "root_canary_openviking";

/// How the server knows who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenVikingAuth {
    /// Everyone is the user `default`.
    #[default]
    Dev,
    /// By the key: [`OPENVIKING_KEY`] is the user `alice`.
    ApiKey,
    /// Calls name account and user, and have [`OPENVIKING_ROOT_KEY`].
    Trusted,
}

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct OpenVikingSettings {
    /// Its version; its first two numbers decide how it behaves.
    pub version: String,
    /// How it knows who calls.
    pub auth: OpenVikingAuth,
    /// How often a task is still running when it is asked for.
    pub task_polls: usize,
    /// Whether the task of a commit fails.
    pub task_fails: bool,
    /// Whether what users say becomes memories.
    pub extracts: bool,
}

impl Default for OpenVikingSettings {
    fn default() -> Self {
        Self { version: "0.5.2".into(), auth: OpenVikingAuth::Dev, task_polls: 1, task_fails: false, extracts: true }
    }
}

/// What is stored there. It outlives the server that answers for it.
#[derive(Debug, Clone, Default)]
pub struct OpenViking(Arc<Mutex<Store>>);

#[derive(Debug, Default)]
struct Store {
    settings: OpenVikingSettings,
    /// Text and time by address.
    files: BTreeMap<String, (String, u64)>,
    sessions: BTreeMap<String, Session>,
    /// Polls left and the number of memories, by task.
    tasks: BTreeMap<String, (usize, usize)>,
    ticks: u64,
}

#[derive(Debug, Default)]
struct Session {
    current: Vec<Value>,
    archives: Vec<Vec<Value>>,
    peers_only: bool,
}

type Answer = Result<Value, Response>;

/// Who calls.
struct Identity {
    user: String,
    root: bool,
}

impl OpenViking {
    /// A server with these settings and nothing in it.
    pub fn new(settings: OpenVikingSettings) -> Self {
        Self(Arc::new(Mutex::new(Store { settings, ..Store::default() })))
    }

    /// Starts answering on a free port.
    pub async fn serve(&self) -> FakeServer {
        self.serve_at("127.0.0.1:0").await
    }

    /// Starts answering at an address.
    pub async fn serve_at(&self, address: &str) -> FakeServer {
        let store = self.0.clone();
        FakeServer::start_at(address, move |request| store.lock().unwrap().answer(request)).await
    }

    /// Changes how it behaves.
    pub fn set(&self, change: impl FnOnce(&mut OpenVikingSettings)) {
        change(&mut self.0.lock().unwrap().settings);
    }

    /// The files with their texts, by address.
    pub fn files(&self) -> BTreeMap<String, String> {
        self.0.lock().unwrap().files.iter().map(|(uri, (text, _))| (uri.clone(), text.clone())).collect()
    }

    /// Puts a file there, as the server itself or another client does.
    pub fn put(&self, uri: &str, text: &str) {
        self.0.lock().unwrap().write(uri, text);
    }

    /// The texts of a session's messages, archived ones first.
    pub fn said(&self, session: &str) -> Vec<String> {
        let store = self.0.lock().unwrap();
        let session = store.sessions.get(session);
        let all = session.into_iter().flat_map(|session| session.archives.iter().flatten().chain(&session.current));
        all.map(|message| message["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The names of the sessions.
    pub fn sessions(&self) -> Vec<String> {
        self.0.lock().unwrap().sessions.keys().cloned().collect()
    }
}

impl Store {
    fn answer(&mut self, request: &Request) -> Response {
        if request.path == "/health" {
            return self.health(request);
        }
        let answer = self.identity(request).and_then(|identity| self.route(request, &identity));
        match answer {
            // Search, commit and write leave out the keys that are null.
            Ok(result) if ["/find", "/search", "/commit", "/write"].iter().any(|end| request.path.ends_with(end)) => {
                Response::ok(json!({"status": "ok", "result": result}))
            }
            Ok(result) => {
                let nothing = Value::Null;
                Response::ok(json!({"status": "ok", "result": result, "error": nothing, "telemetry": nothing}))
            }
            Err(response) => response,
        }
    }

    fn is_at_least(&self, minor: u64) -> bool {
        self.settings.version.split('.').nth(1).unwrap().parse::<u64>().unwrap() >= minor
    }

    fn health(&self, request: &Request) -> Response {
        let mut body = json!({"status": "ok", "healthy": true, "version": self.settings.version});
        body["auth_mode"] = match self.settings.auth {
            OpenVikingAuth::Dev => "dev",
            OpenVikingAuth::ApiKey => "api_key",
            OpenVikingAuth::Trusted => "trusted",
        }
        .into();
        if self.settings.auth == OpenVikingAuth::ApiKey && request.header("x-api-key").is_some() {
            match self.identity(request) {
                Ok(identity) => {
                    body["account_id"] = "acme".into();
                    body["user_id"] = identity.user.into();
                    body["role"] = if identity.root { "root" } else { "admin" }.into();
                }
                Err(response) => return response,
            }
        }
        Response::ok(body)
    }

    fn identity(&self, request: &Request) -> Result<Identity, Response> {
        let key = request.header("x-api-key");
        let named = (request.header("x-openviking-account"), request.header("x-openviking-user"));
        match self.settings.auth {
            OpenVikingAuth::Dev => Ok(Identity { user: "default".into(), root: false }),
            OpenVikingAuth::ApiKey => match key {
                Some(OPENVIKING_KEY) => Ok(Identity { user: "alice".into(), root: false }),
                Some(OPENVIKING_ROOT_KEY) => match named.1.filter(|_| !self.is_at_least(4)) {
                    Some(user) => Ok(Identity { user: user.into(), root: false }),
                    None => Ok(Identity { user: "default".into(), root: true }),
                },
                Some(_) => Err(failure(401, "UNAUTHENTICATED", "Invalid API key")),
                None => Err(failure(401, "UNAUTHENTICATED", "Missing API Key when resolving identity.")),
            },
            OpenVikingAuth::Trusted => match (key, named) {
                (Some(OPENVIKING_ROOT_KEY), (Some(_), Some(user))) => Ok(Identity { user: user.into(), root: false }),
                (Some(OPENVIKING_ROOT_KEY), _) => Err(failure(
                    400,
                    "INVALID_ARGUMENT",
                    "Trusted mode requests must include X-OpenViking-Account or explicit account_id in the URL and \
                     X-OpenViking-User or explicit user_id in the URL.",
                )),
                _ => Err(failure(401, "UNAUTHENTICATED", "Invalid API key")),
            },
        }
    }

    fn route(&mut self, request: &Request, identity: &Identity) -> Answer {
        let path = request.path.strip_prefix("/api/v1/").unwrap_or_default().to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        if parts == ["system", "status"] {
            return Ok(json!({"initialized": true, "user": identity.user}));
        }
        if identity.root {
            let message = "ROOT API keys cannot access tenant-scoped data APIs in api_key mode.";
            return Err(failure(403, "PERMISSION_DENIED", message));
        }
        let peer = request.header("x-openviking-actor-peer").map(str::to_owned);
        let body = request.json();
        let uri = parameter(request, "uri");
        let may = |uri: &str| match uri.strip_prefix("viking://user/").map(|rest| rest.split('/').collect::<Vec<_>>()) {
            Some(path) if path[0] != identity.user => Err(denied(uri)),
            Some(path)
                if path.get(1) == Some(&"peers") && peer.as_deref().is_some_and(|peer| path.get(2) != Some(&peer)) =>
            {
                Err(denied(uri))
            }
            _ => Ok(()),
        };
        if let Some(uri) = &uri {
            may(uri)?;
        }
        match (request.method.as_str(), parts.as_slice()) {
            ("POST", ["search", "find" | "search"]) => {
                let targets = match &body["target_uri"] {
                    Value::Array(targets) => targets.iter().map(|uri| uri.as_str().unwrap().to_owned()).collect(),
                    target => vec![target.as_str().unwrap_or_default().to_owned()],
                };
                targets.iter().try_for_each(|uri| may(uri))?;
                self.find(&body, &targets)
            }
            ("POST", ["content", "write"]) => {
                may(body["uri"].as_str().unwrap())?;
                self.content_write(&body)
            }
            ("GET", ["content", "read"]) => self.read(&uri.unwrap()),
            ("GET", ["content", "abstract" | "overview"]) => Ok(json!(format!("# {}", uri.unwrap()))),
            ("GET", ["fs", "stat"]) => self.stat(&uri.unwrap()),
            ("GET", ["fs", "tree"]) => self.tree(&uri.unwrap(), &parameter(request, "output").unwrap_or_default()),
            ("GET", ["fs", "ls"]) => self.list(&uri.unwrap()),
            ("DELETE", ["fs"]) => {
                let count = usize::from(self.files.remove(uri.as_ref().unwrap()).is_some());
                Ok(json!({"uri": uri, "estimated_deleted_count": count, "task_id": "t"}))
            }
            ("POST", ["sessions"]) => self.create_session(&body),
            ("POST", ["sessions", id, "messages", "batch"]) => self.add_messages(id, &body),
            ("GET", ["sessions", id, "context"]) => self.context(request, id),
            ("GET", ["sessions", id, "archives", archive]) => self.archive(id, archive),
            ("POST", ["sessions", id, "commit"]) => self.commit(id, &identity.user),
            ("GET", ["tasks", id]) => self.task(id),
            ("POST", ["resources"]) => {
                self.forbid_unknown(&body, &["path", "reason"])?;
                let path = body["path"].as_str().unwrap();
                if !path.starts_with("http") {
                    return Err(failure(403, "PERMISSION_DENIED", "HTTP server only accepts remote resource URLs"));
                }
                Ok(
                    json!({"status": "success", "root_uri": format!("viking://resources/{}", path.rsplit('/').next().unwrap())}),
                )
            }
            _ => Err(Response::status(
                404,
                json!({"status": "error", "error": {"code": "NOT_FOUND", "message": "Not Found"}}),
            )),
        }
    }

    /// Unknown fields are refused since 0.4.
    fn forbid_unknown(&self, body: &Value, known: &[&str]) -> Result<(), Response> {
        let unknown = body.as_object().unwrap().keys().find(|name| !known.contains(&name.as_str()));
        match unknown.filter(|_| self.is_at_least(4)) {
            Some(name) => {
                let message = format!("Invalid request parameters: body.{name}: Extra inputs are not permitted");
                let details = json!({"validation_errors": [{"loc": ["body", name], "type": "extra_forbidden"}]});
                let error = json!({"code": "INVALID_ARGUMENT", "message": message, "details": details});
                Err(Response::status(400, json!({"status": "error", "error": error})))
            }
            None => Ok(()),
        }
    }

    fn find(&self, body: &Value, targets: &[String]) -> Answer {
        self.forbid_unknown(
            body,
            &["query", "target_uri", "limit", "score_threshold", "context_type", "level", "session_id", "filter"],
        )?;
        let query = body["query"].as_str().unwrap_or_default();
        if query.is_empty() {
            return Err(failure(400, "INVALID_ARGUMENT", "Search query must not be empty"));
        }
        let kinds: BTreeSet<&str> = match &body["context_type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::String(kind) => BTreeSet::from([kind.as_str()]),
            _ => BTreeSet::from(["memory", "resource"]),
        };
        let mut found: Vec<(f64, &String, &String)> = Vec::new();
        for (uri, (text, _)) in &self.files {
            let inside = targets.iter().any(|target| uri.starts_with(&format!("{target}/")));
            if inside && kinds.contains(kind_of(uri)) {
                let alike = overlap(query, text);
                found.push((if self.is_at_least(5) { (1.0 + alike) / 2.0 } else { alike }, uri, text));
            }
        }
        let threshold = body["score_threshold"].as_f64().unwrap_or(0.0);
        found.retain(|(score, ..)| *score >= threshold);
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        found.truncate(body["limit"].as_u64().unwrap_or(10) as usize);
        let total = found.len();
        let mut result = json!({"memories": [], "resources": [], "skills": [], "total": total});
        for (score, uri, text) in found {
            let kind = kind_of(uri);
            // The summary is not the text: links are gone, and before 0.4 a model writes it.
            let summary = if self.is_at_least(4) { without_links(text) } else { "A summary.".to_owned() };
            let mut item = json!({"context_type": kind, "uri": uri, "level": 2, "score": score, "abstract": summary});
            if self.is_at_least(5) {
                item["tags"] = json!([]);
            } else {
                item["category"] = "".into();
            }
            result[if kind == "memory" { "memories" } else { "resources" }].as_array_mut().unwrap().push(item);
        }
        Ok(result)
    }

    fn content_write(&mut self, body: &Value) -> Answer {
        self.forbid_unknown(body, &["uri", "content", "mode", "wait", "tags"])?;
        let (uri, content) = (body["uri"].as_str().unwrap(), body["content"].as_str().unwrap());
        // Since 0.5 both modes write in any case.
        let (is_there, strict) = (self.files.contains_key(uri), !self.is_at_least(5));
        match body["mode"].as_str().unwrap_or("replace") {
            "create" if strict && is_there => {
                return Err(failure(409, "ALREADY_EXISTS", &format!("File already exists: {uri}")));
            }
            "replace" if strict && !is_there => return Err(missing("File", uri)),
            _ => {}
        }
        // Since 0.5 addresses of its own are taken out of links and put back later, at places that have moved meanwhile;
        // and what looks like its own fields is taken out for good.
        let mut stored = content.trim().to_owned();
        if self.is_at_least(5) && stored.contains("](viking://") {
            let middle = stored.char_indices().nth(stored.chars().count() * 3 / 4).unwrap().0;
            stored.insert(middle, '[');
        }
        if let Some((before, _)) = stored.split_once("<!-- MEMORY_FIELDS") {
            stored = before.to_owned();
        }
        self.write(uri, &stored);
        Ok(json!({"uri": uri, "context_type": kind_of(uri), "mode": body["mode"], "written_bytes": content.len()}))
    }

    fn write(&mut self, uri: &str, text: &str) {
        self.ticks += 1;
        self.files.insert(uri.to_owned(), (text.to_owned(), self.ticks));
    }

    fn read(&self, uri: &str) -> Answer {
        self.files.get(uri).map(|(text, _)| json!(text)).ok_or_else(|| missing("File", uri))
    }

    fn stat(&self, uri: &str) -> Answer {
        let (_, tick) = self.files.get(uri).ok_or_else(|| missing("File", uri))?;
        Ok(json!({"name": uri.rsplit('/').next(), "uri": uri, "isDir": false, "modTime": time_of(*tick)}))
    }

    fn tree(&self, uri: &str, output: &str) -> Answer {
        let prefix = format!("{}/", uri.trim_end_matches('/'));
        let inside: Vec<_> = self.files.iter().filter(|(file, _)| file.starts_with(&prefix)).collect();
        if inside.is_empty() {
            return Err(missing("Directory", uri));
        }
        let entries = inside.into_iter().map(|(file, (_, tick))| {
            // Before 0.4 only `original` has the date.
            let full = time_of(*tick);
            let time = if self.is_at_least(4) || output == "original" { full } else { full[11..19].to_owned() };
            json!({"uri": file, "rel_path": &file[prefix.len()..], "isDir": false, "modTime": time, "size": 1})
        });
        Ok(entries.collect())
    }

    fn list(&self, uri: &str) -> Answer {
        let prefix = if uri == "viking://" { uri.to_owned() } else { format!("{}/", uri.trim_end_matches('/')) };
        let inside = self.files.keys().filter_map(|file| file.strip_prefix(&prefix));
        let names: BTreeSet<(&str, bool)> =
            inside.map(|rest| rest.split_once('/').map_or((rest, false), |(folder, _)| (folder, true))).collect();
        if names.is_empty() && uri != "viking://" {
            return Err(missing("Directory", uri));
        }
        let entry = |(name, is_folder)| json!({"uri": format!("{prefix}{name}"), "isDir": is_folder, "abstract": ""});
        Ok(names.into_iter().map(entry).collect())
    }

    fn create_session(&mut self, body: &Value) -> Answer {
        let id = body["session_id"].as_str().unwrap();
        if self.sessions.contains_key(id) {
            return Err(failure(409, "ALREADY_EXISTS", &format!("Session '{id}' already exists")));
        }
        let peers_only = self.is_at_least(4) && body["memory_policy"]["self"]["enabled"] == json!(false);
        self.sessions.insert(id.to_owned(), Session { peers_only, ..Session::default() });
        Ok(json!({"session_id": id}))
    }

    fn add_messages(&mut self, id: &str, body: &Value) -> Answer {
        let messages = body["messages"].as_array().unwrap();
        if messages.len() > 100 {
            return Err(failure(400, "INVALID_ARGUMENT", "List should have at most 100 items"));
        }
        let keeps_ids = self.is_at_least(5);
        let session = self.sessions.entry(id.to_owned()).or_default();
        for message in messages {
            self.ticks += 1;
            let mut stored = Map::new();
            stored.insert("id".into(), format!("msg_{:032}", self.ticks).into());
            stored.insert("role".into(), message["role"].clone());
            stored.insert("parts".into(), json!([{"type": "text", "text": message["content"]}]));
            let now = Value::from(time_of(self.ticks));
            stored.insert("created_at".into(), message.get("created_at").cloned().unwrap_or(now));
            for name in ["turn_id", "peer_id"] {
                if let Some(value) = message.get(name).filter(|_| keeps_ids || name == "peer_id") {
                    stored.insert(name.into(), value.clone());
                }
            }
            session.current.push(stored.into());
        }
        Ok(json!({"session_id": id, "message_count": session.current.len(), "added": messages.len()}))
    }

    fn context(&self, request: &Request, id: &str) -> Answer {
        let session = match self.sessions.get(id) {
            Some(session) => session,
            None if !self.is_at_least(4) => &Session::default(),
            None => return Err(missing("Session", id)),
        };
        // The oldest messages are left out beyond the budget.
        let budget: usize = parameter(request, "token_budget").map_or(128_000, |budget| budget.parse().unwrap());
        let mut left = budget;
        let mut messages: Vec<&Value> = Vec::new();
        for message in session.current.iter().rev() {
            let cost = message["parts"][0]["text"].as_str().unwrap().len() / 4;
            if cost > left {
                break;
            }
            left -= cost;
            messages.push(message);
        }
        messages.reverse();
        Ok(
            json!({"messages": messages, "latest_archive_overview": "", "stats": {"totalArchives": session.archives.len()}}),
        )
    }

    fn archive(&self, id: &str, archive: &str) -> Answer {
        let number = archive.strip_prefix("archive_").and_then(|number| number.parse::<usize>().ok());
        let messages = number.and_then(|number| self.sessions.get(id)?.archives.get(number.checked_sub(1)?));
        match messages {
            Some(messages) => Ok(json!({"archive_id": archive, "overview": "", "messages": messages})),
            None => Err(failure(404, "NOT_FOUND", &format!("Archive {archive} not found"))),
        }
    }

    fn commit(&mut self, id: &str, user: &str) -> Answer {
        let Some(session) = self.sessions.get_mut(id) else { return Err(missing("Session", id)) };
        if session.current.is_empty() {
            return Ok(
                json!({"session_id": id, "status": "skipped", "task_id": null, "archived": false, "reason": "no_messages"}),
            );
        }
        let messages = std::mem::take(&mut session.current);
        session.archives.push(messages.clone());
        let peers_only = session.peers_only;
        let mut count = 0;
        if self.settings.extracts && !self.settings.task_fails {
            for message in messages.iter().filter(|message| message["role"] == "user") {
                let peer = message["peer_id"].as_str().filter(|_| peers_only);
                let root = peer.map_or_else(
                    || format!("viking://user/{user}"),
                    |peer| format!("viking://user/{user}/peers/{peer}"),
                );
                let text = format!("# Said\nThe user said.\n\n- {}", message["parts"][0]["text"].as_str().unwrap());
                self.ticks += 1;
                let uri = format!("{root}/memories/entities/said/said_{}.md", self.ticks);
                self.write(&uri, &text);
                count += 1;
            }
        }
        self.ticks += 1;
        let task = format!("task-{}", self.ticks);
        self.tasks.insert(task.clone(), (self.settings.task_polls, count));
        Ok(json!({"session_id": id, "status": "accepted", "task_id": task, "archived": true}))
    }

    fn task(&mut self, id: &str) -> Answer {
        let fails = self.settings.task_fails;
        let Some((polls, count)) = self.tasks.get_mut(id) else {
            return Err(failure(404, "NOT_FOUND", "Task not found or expired"));
        };
        if *polls > 0 {
            *polls -= 1;
            return Ok(json!({"task_id": id, "status": "running", "result": null, "error": null}));
        }
        if fails {
            let error = "Extraction could not be parsed as operations after 4 iterations";
            return Ok(json!({"task_id": id, "status": "failed", "result": null, "error": error}));
        }
        let extracted = if *count == 0 { json!({}) } else { json!({"memory_write": *count}) };
        Ok(json!({"task_id": id, "status": "completed", "error": null, "result": {"memories_extracted": extracted}}))
    }
}

fn kind_of(uri: &str) -> &'static str {
    if uri.contains("/memories/") { "memory" } else { "resource" }
}

/// `[text](address)` becomes `text`.
fn without_links(text: &str) -> String {
    match text.split_once("](") {
        Some((before, after)) if before.contains('[') => {
            let (start, label) = before.rsplit_once('[').unwrap();
            format!("{start}{label}{}", without_links(after.split_once(')').map_or("", |(_, rest)| rest)))
        }
        _ => text.to_owned(),
    }
}

/// A moment for each tick, so that the order of changes is known.
fn time_of(tick: u64) -> String {
    format!("2026-01-02T{:02}:{:02}:{:02}Z", tick / 3600 % 24, tick / 60 % 60, tick % 60)
}

fn failure(status: u16, code: &str, message: &str) -> Response {
    let error = json!({"code": code, "message": message, "details": {}});
    Response::status(status, json!({"status": "error", "result": null, "error": error, "telemetry": null}))
}

fn missing(what: &str, name: &str) -> Response {
    failure(404, "NOT_FOUND", &format!("{what} not found: {name}"))
}

fn denied(uri: &str) -> Response {
    failure(403, "PERMISSION_DENIED", &format!("Access denied for {uri}"))
}
