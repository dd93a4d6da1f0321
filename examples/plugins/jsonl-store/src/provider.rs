//! The provider: the contract over the file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use plugin_sdk::prelude::*;
use serde::Deserialize;

use crate::journal::Record;
use crate::list::page;
use crate::records::{Contents, Records};
use crate::search::search;
use crate::write::{LONGEST_TEXT, forgotten, update, write, write_message};

/// The name in the manifest and in the configuration.
pub(crate) const NAME: &str = "jsonl-store";

/// The section `memory.external.jsonl-store`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The file; default `memories.jsonl` in the folder that the host gives.
    pub file: Option<PathBuf>,
}

/// Memories and messages in a file.
pub struct JsonlStore {
    records: Arc<Mutex<Records>>,
    clock: Arc<dyn Clock>,
}

impl Plugin for JsonlStore {
    type Config = Config;

    async fn open(host: Host, config: Config) -> Result<Self> {
        let file = config.file.unwrap_or_else(|| host.data_dir().join("memories.jsonl"));
        Ok(Self { records: Arc::new(Mutex::new(Records::open(file)?)), clock: Arc::new(SystemClock) })
    }

    fn config_schema() -> Option<Value> {
        Some(plugin_sdk::serde_json::json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {"file": {"type": "string", "description": "Where to keep the memories"}},
        }))
    }
}

impl JsonlStore {
    /// Runs `work` as one transaction on a thread that may block.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Contents, Timestamp) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let now = self.clock.now();
        self.blocking(move |records| records.transaction(|contents| work(contents, now))).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Records) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let records = Arc::clone(&self.records);
        let task =
            tokio::task::spawn_blocking(move || work(&mut records.lock().unwrap_or_else(PoisonError::into_inner)));
        task.await.map_err(|error| Error::unexpected("the writing thread stopped").with_source(error))?
    }
}

#[async_trait]
impl MemoryProvider for JsonlStore {
    fn descriptor(&self) -> Descriptor {
        Descriptor {
            name: NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: env!("CARGO_PKG_DESCRIPTION").to_owned(),
        }
    }

    fn capability(&self) -> Capability {
        Capability {
            write: true,
            write_messages: true,
            search: true,
            search_with_filter: true,
            search_by_time: true,
            get: true,
            list: true,
            update: true,
            delete: true,
            erase: true,
            history: true,
            sync_turn: true,
            idempotent: true,
            offline: true,
            max_batch: None,
            max_text_bytes: Some(LONGEST_TEXT),
        }
    }

    async fn initialize(&self, context: &SessionContext) -> Result<()> {
        context.viewer.check()
    }

    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        self.with(|contents, now| Ok(WriteReport { items: write(contents, request, now) })).await
    }

    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        let start = std::time::Instant::now();
        let mut recall = self.with(move |contents, now| search(contents, &request, now)).await?;
        recall.took_ms = start.elapsed().as_secs_f64() * 1000.0;
        Ok(recall)
    }

    async fn get(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        let (viewer, ids) = (viewer.clone(), ids.to_vec());
        self.with(move |contents, _| {
            let mut report = GetReport::default();
            for id in ids {
                match contents.find(&viewer, &id, false)? {
                    Some(item) => report.items.push(item),
                    None => report.missing.push(id),
                }
            }
            Ok(report)
        })
        .await
    }

    async fn list(&self, request: ListRequest) -> Result<ListPage> {
        self.with(move |contents, now| page(contents, request, now)).await
    }

    async fn update(&self, request: UpdateRequest) -> Result<WriteResult> {
        self.with(|contents, now| update(contents, request, now)).await
    }

    async fn delete(&self, request: DeleteRequest) -> Result<DeleteReport> {
        let DeleteRequest { viewer, ids, erase, dry_run } = request;
        let (mut report, gone) = self
            .with(move |contents, now| {
                let mut report = DeleteReport { dry_run, ..DeleteReport::default() };
                let mut gone = Vec::new();
                for id in ids {
                    // What is forgotten already can still be erased.
                    let (found, scope, change) = match contents.find(&viewer, &id, erase)? {
                        Some(Item::Memory(memory)) => {
                            let (found, scope) = (memory.id.clone(), memory.scope.clone());
                            let change = (memory.state != State::Deleted).then(|| Record::Memory {
                                operation: "deleted".into(),
                                memory: Box::new(forgotten(*memory, now)),
                            });
                            (found, scope, change)
                        }
                        Some(Item::Message(message)) => {
                            let change = Record::Forgotten { message: message.id.clone() };
                            (message.id, message.scope, Some(change))
                        }
                        _ => {
                            report.missing.push(id);
                            continue;
                        }
                    };
                    if !viewer.may_write(&scope) {
                        return Err(Error::new(ErrorKind::Forbidden, format!("`{id}` may be read, not changed")));
                    }
                    report.deleted.push(found.to_string());
                    gone.push(found);
                    if let Some(change) = change.filter(|_| !dry_run) {
                        contents.change(change);
                    }
                }
                Ok((report, gone))
            })
            .await?;
        if erase && !dry_run && !gone.is_empty() {
            self.blocking(move |records| records.erase(&gone)).await?;
            report
                .notes
                .push("the file was written anew without the text; copies and backups of it are not".to_owned());
        }
        Ok(report)
    }

    async fn history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        let (viewer, id) = (viewer.clone(), id.to_owned());
        self.with(move |contents, _| match contents.find(&viewer, &id, true)? {
            Some(Item::Memory(memory)) => Ok(contents.states(&memory.id).to_vec()),
            _ => Err(Error::not_found(format!("there is no memory `{id}`"))),
        })
        .await
    }

    async fn sync_turn(&self, turn: Turn) -> Result<()> {
        let scope = turn.viewer.conversation()?;
        let session = turn.viewer.session.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
        let said = [(Role::User, "user", turn.user_text), (Role::Assistant, "assistant", turn.assistant_text)];
        self.with(move |contents, now| {
            for (role, part, text) in said {
                let text = strip_fences(&text);
                if text.trim().is_empty() {
                    continue;
                }
                let message = NewMessage {
                    created_at: Some(turn.at.unwrap_or(now)),
                    external_id: turn.external_id.as_ref().map(|id| format!("{id}/{part}")),
                    ..NewMessage::new(scope.clone(), &session, role, text)
                };
                if let Some(reason) = write_message(contents, message, now).reason {
                    return Err(Error::invalid(format!("the turn cannot be kept: {reason}")));
                }
            }
            Ok(())
        })
        .await
    }

    async fn prefetch(&self, viewer: &Viewer, query: &str) -> Result<Option<String>> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        let recall = self.search(SearchRequest { limit: 5, ..SearchRequest::new(viewer.clone(), query) }).await?;
        let lines: Vec<String> = recall.hits.iter().map(|hit| format!("- {}", hit.text.replace('\n', " "))).collect();
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }

    async fn end_session(&self, _viewer: &Viewer) -> Result<()> {
        // Everything is durable already.
        Ok(())
    }

    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    async fn call_tool(&self, _viewer: &Viewer, name: &str, _arguments: Value) -> Result<Value> {
        Err(Error::not_found(format!("`{NAME}` has no tool `{name}`")))
    }

    fn guidance(&self, language: &str) -> String {
        match language {
            "zh" => "记忆按词语检索：请使用记忆中可能出现的原词提问。".to_owned(),
            _ => "Memories are found by their words: ask with words that the memory is likely to contain.".to_owned(),
        }
    }

    async fn health(&self) -> Health {
        match self.with(|contents, _| Ok((contents.memories().count(), contents.all_messages().count()))).await {
            Ok((memories, messages)) => Health {
                ok: true,
                message: format!("{memories} memories and {messages} messages"),
                details: plugin_sdk::serde_json::json!({"memories": memories, "messages": messages}),
            },
            Err(error) => Health { ok: false, message: error.to_string(), details: Value::Null },
        }
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
