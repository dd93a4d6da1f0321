//! The calls, one function each, in whichever interface the service speaks.

use memory_core::Result;
use memory_http::{JsonClient, Method, Reply, Service, of_nonsense};
use serde_json::{Value, json};

use crate::config::Mem0Config;
use crate::error;
use crate::filter::Selection;
use crate::wire::{Addition, Event, Events, HistoryRow, Listed, RemoteMemory};

/// How many memories the platform lists at once.
pub(crate) const PAGE_SIZE: usize = 100;

/// The most memories that either interface answers at once. The self-hosted server has no pages beyond.
pub(crate) const MOST: usize = 1000;

/// Which interface a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Platform,
    SelfHosted,
}

impl Dialect {
    /// As the configuration calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::SelfHosted => "self_hosted",
        }
    }
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<RemoteMemory>,
    pub(crate) more: bool,
}

/// A client of one service that speaks one interface.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    dialect: Dialect,
    calls: JsonClient,
    /// The self-hosted server extracts facts while the caller waits, so that has a time limit of its own.
    extractions: JsonClient,
}

impl Client {
    /// A client; nothing is called yet.
    pub(crate) fn new(config: &Mem0Config, dialect: Dialect) -> Result<Self> {
        let client = |timeout| {
            let builder = JsonClient::builder(error::service(&config.section)).timeout(timeout);
            let key = config.section.api_key.expose().trim();
            let builder = match dialect {
                _ if key.is_empty() => builder,
                Dialect::Platform => builder.header("authorization", &format!("Token {key}"))?,
                Dialect::SelfHosted => builder.header("x-api-key", key)?,
            };
            builder.build()
        };
        Ok(Self { dialect, calls: client(config.timeout)?, extractions: client(config.event_timeout())? })
    }

    /// The interface it speaks.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whom it talks to.
    pub(crate) fn service(&self) -> &Service {
        self.calls.service()
    }

    /// Asks for a sign of life: a reply of any status.
    pub(crate) async fn ping(&self, user_id: &str) -> Result<Reply> {
        match self.dialect {
            Dialect::Platform => self.call(Method::GET, &["v1", "ping", ""], &[], None).await,
            Dialect::SelfHosted => {
                self.call(Method::GET, &["memories"], &[("user_id", user_id), ("top_k", "1")], None).await
            }
        }
    }

    /// Adds messages.
    pub(crate) async fn add(&self, body: &Value) -> Result<Addition> {
        let path: &[&str] = match self.dialect {
            Dialect::Platform => &["v3", "memories", "add", ""],
            Dialect::SelfHosted => &["memories"],
        };
        let extracts = body.get("infer").and_then(Value::as_bool).unwrap_or(true);
        let calls = if extracts && self.dialect == Dialect::SelfHosted { &self.extractions } else { &self.calls };
        let reply = calls.call(Method::POST, path, &[], &[], Some(body)).await?;
        let value: Value = self.offered(&reply, path)?.json(self.service())?;
        Addition::of(value).ok_or_else(|| of_nonsense(self.service(), "it is no answer to an addition"))
    }

    /// Searches. `body` has the question and the conditions.
    pub(crate) async fn search(&self, body: &Value) -> Result<Vec<RemoteMemory>> {
        let path: &[&str] = match self.dialect {
            Dialect::Platform => &["v3", "memories", "search", ""],
            Dialect::SelfHosted => &["search"],
        };
        let reply = self.call(Method::POST, path, &[], Some(body)).await?;
        Ok(self.listed(&reply, path)?.items)
    }

    /// A page of what is selected, from 1. The self-hosted server has one page only.
    pub(crate) async fn page(&self, selection: &Selection, number: usize, show_expired: bool) -> Result<Page> {
        match self.dialect {
            Dialect::Platform => {
                let (number, size) = (number.to_string(), PAGE_SIZE.to_string());
                let mut body = json!({ "filters": selection.filters() });
                if show_expired && let Some(body) = body.as_object_mut() {
                    body.insert("show_expired".into(), true.into());
                }
                let path = ["v3", "memories", ""];
                let query = [("page", number.as_str()), ("page_size", size.as_str())];
                let reply = self.call(Method::POST, &path, &query, Some(&body)).await?;
                self.listed(&reply, &path)
            }
            Dialect::SelfHosted => {
                let most = MOST.to_string();
                let mut query = selection.top_level();
                query.push(("top_k", most.as_str()));
                if show_expired {
                    query.push(("show_expired", "true"));
                }
                let reply = self.call(Method::GET, &["memories"], &query, None).await?;
                let page = self.listed(&reply, &["memories"])?;
                if page.items.len() >= MOST {
                    tracing::warn!("self-hosted Mem0 lists {MOST} memories of a user at most; there may be more");
                }
                Ok(Page { more: false, ..page })
            }
        }
    }

    /// One memory, when it is there.
    pub(crate) async fn get(&self, uuid: &str) -> Result<Option<RemoteMemory>> {
        let reply = self.call(Method::GET, &self.memory(uuid), &[], None).await?;
        if is_missing(&reply) {
            return Ok(None);
        }
        // The self-hosted server answers `null` for a memory that is not there.
        let found: Option<RemoteMemory> = reply.json(self.service())?;
        match found {
            Some(found) if found.id.is_empty() => Err(of_nonsense(self.service(), "a memory without an id")),
            found => Ok(found),
        }
    }

    /// Changes one memory.
    pub(crate) async fn update(&self, uuid: &str, body: &Value) -> Result<()> {
        let reply = self.call(Method::PUT, &self.memory(uuid), &[], Some(body)).await?;
        if is_missing(&reply) { Err(error::no_memory(uuid)) } else { reply.json::<Value>(self.service()).map(drop) }
    }

    /// Removes one memory; false when it was not there.
    pub(crate) async fn delete(&self, uuid: &str) -> Result<bool> {
        let reply = self.call(Method::DELETE, &self.memory(uuid), &[], None).await?;
        if is_missing(&reply) {
            return Ok(false);
        }
        reply.success(self.service()).map(|()| true)
    }

    /// Removes many memories, at most [`MOST`] at once; the platform only.
    pub(crate) async fn delete_many(&self, uuids: &[&str]) -> Result<()> {
        let memories: Vec<Value> = uuids.iter().map(|uuid| json!({ "memory_id": uuid })).collect();
        let body = json!({ "memories": memories });
        self.call(Method::DELETE, &["v1", "batch", ""], &[], Some(&body)).await?.success(self.service())
    }

    /// The former states of one memory.
    pub(crate) async fn history(&self, uuid: &str) -> Result<Vec<HistoryRow>> {
        let path: &[&str] = match self.dialect {
            Dialect::Platform => &["v1", "memories", uuid, "history", ""],
            Dialect::SelfHosted => &["memories", uuid, "history"],
        };
        let reply = self.call(Method::GET, path, &[], None).await?;
        if is_missing(&reply) { Err(error::no_memory(uuid)) } else { reply.json(self.service()) }
    }

    /// One event; `None` when it is not known, or not yet.
    pub(crate) async fn event(&self, id: &str) -> Result<Option<Event>> {
        let reply = self.call(Method::GET, &["v1", "event", id, ""], &[], None).await?;
        if reply.status == 404 { Ok(None) } else { reply.json(self.service()).map(Some) }
    }

    /// The newest events; none where the service does not tell.
    pub(crate) async fn events(&self) -> Result<Vec<Event>> {
        let reply = self.call(Method::GET, &["v1", "events", ""], &[], None).await?;
        if reply.status == 404 { Ok(Vec::new()) } else { Ok(reply.json::<Events>(self.service())?.results) }
    }

    /// The version a self-hosted server says it has.
    pub(crate) async fn version(&self) -> Option<String> {
        if self.dialect == Dialect::Platform {
            return None;
        }
        let reply = self.call(Method::GET, &["openapi.json"], &[], None).await.ok()?;
        reply.is_success().then(|| reply.value())??.pointer("/info/version")?.as_str().map(str::to_owned)
    }

    async fn call(&self, method: Method, path: &[&str], query: &[(&str, &str)], body: Option<&Value>) -> Result<Reply> {
        self.calls.call(method, path, query, &[], body).await
    }

    fn memory<'a>(&self, uuid: &'a str) -> Vec<&'a str> {
        match self.dialect {
            Dialect::Platform => vec!["v1", "memories", uuid, ""],
            Dialect::SelfHosted => vec!["memories", uuid],
        }
    }

    fn listed(&self, reply: &Reply, path: &[&str]) -> Result<Page> {
        let (items, next) = match self.offered(reply, path)?.json(self.service())? {
            Listed::Page { results, next } => (results, next),
            Listed::Bare(results) => (results, None),
        };
        if items.iter().any(|item: &RemoteMemory| item.id.is_empty()) {
            return Err(of_nonsense(self.service(), "a memory without an id"));
        }
        Ok(Page { items, more: next.is_some() })
    }

    /// The reply, unless there is no such path: then the address is wrong or the service too old.
    fn offered<'a>(&self, reply: &'a Reply, path: &[&str]) -> Result<&'a Reply> {
        if matches!(reply.status, 404 | 405) {
            return Err(error::no_path(self.service(), reply, &format!("/{}", path.join("/"))));
        }
        Ok(reply)
    }
}

/// True when the service says that there is no such memory, and not that there is no such path.
fn is_missing(reply: &Reply) -> bool {
    if reply.status != 404 {
        return false;
    }
    let says = |key: &str| reply.value().and_then(|value| value.get(key)?.as_str().map(str::to_owned));
    ["error", "detail", "message"].iter().filter_map(|key| says(key)).any(|said| said != "Not Found")
}
