//! The document tools an agent is offered, under the names and arguments that JiuwenSwarm's prompts use (both its
//! spellings). A result is `{success, data, error}`: a tool that fails answers, it does not break the agent's loop.

use memory_core::{
    Error, ErrorKind, HitKind, Owner, Result, Scope, SearchRequest, Team, TeamRole, ToolDefinition, Viewer,
};
use serde_json::{Value, json};

use crate::blocking::blocking;
use crate::documents::edit::{WriteMode, edit, write};
use crate::documents::read::get_lines;
use crate::documents::safe_path::Workspace;
use crate::provider::BuiltinProvider;

/// The longest snippet of a search result, in characters.
const SNIPPET: usize = 700;

/// Results of a search when the caller does not say.
const RESULTS: usize = 10;

/// The tools and their arguments.
pub(crate) fn tool_definitions() -> Vec<ToolDefinition> {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({"type": "object", "properties": properties, "required": required}),
    };
    let path = json!({"type": "string", "description": "MEMORY.md, USER.md, YYYY-MM-DD.md or a path in the workspace"});
    let hash = json!({"type": "string", "description": "content_hash from an earlier read: refuse when the file has changed since"});
    vec![
        tool(
            "memory_search",
            "Search memories, conversations and documents for what is relevant to a question.",
            json!({
                "query": {"type": "string"},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 50, "default": RESULTS},
                "min_score": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
                "session_key": {"type": "string", "description": "only this session's messages"}
            }),
            &["query"],
        ),
        tool(
            "memory_get",
            "Read some lines of a document found by memory_search.",
            json!({"path": path, "from_line": {"type": "integer", "minimum": 1}, "lines": {"type": "integer", "minimum": 1}}),
            &["path"],
        ),
        tool(
            "read_memory",
            "Read a document, whole or in part.",
            json!({"path": path, "offset": {"type": "integer", "minimum": 1}, "limit": {"type": "integer", "minimum": 1}}),
            &["path"],
        ),
        tool(
            "write_memory",
            "Write a document, or append to it.",
            json!({"path": path, "content": {"type": "string"}, "append": {"type": "boolean", "default": false}, "expected_hash": hash}),
            &["path", "content"],
        ),
        tool(
            "edit_memory",
            "Replace a text that occurs exactly once in a document.",
            json!({"path": path, "old_text": {"type": "string"}, "new_text": {"type": "string"}, "expected_hash": hash}),
            &["path", "old_text", "new_text"],
        ),
    ]
}

impl BuiltinProvider {
    /// Runs a document tool. Only an unknown name is an error; everything else is told in the result.
    pub(crate) async fn call_document_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        let outcome = match name {
            "memory_search" => self.tool_search(viewer, &arguments).await,
            "memory_get" | "read_memory" => self.tool_read(viewer, &arguments).await,
            "write_memory" => self.tool_write(viewer, &arguments).await,
            "edit_memory" => self.tool_edit(viewer, &arguments).await,
            _ => {
                return Err(Error::not_found(format!("Unknown tool: {name}"))
                    .with_operation("call_tool")
                    .with_hint("the tools are memory_search, memory_get, read_memory, write_memory and edit_memory"));
            }
        };
        Ok(match outcome {
            Ok(data) => json!({"success": true, "data": data, "error": null}),
            Err(error) => json!({"success": false, "data": null, "error": error.to_string(), "hints": error.hints()}),
        })
    }

    async fn tool_search(&self, viewer: &Viewer, arguments: &Value) -> Result<Value> {
        let query = text(arguments, &["query"])?.ok_or_else(|| missing("query"))?;
        let mut viewer = viewer.clone();
        if let Some(session) = text(arguments, &["session_key", "sessionKey"])? {
            viewer.session = Some(session);
        }
        let mut request = SearchRequest::new(viewer, query);
        request.limit = number(arguments, &["max_results", "maxResults"])?.unwrap_or(RESULTS).clamp(1, 50);
        if let Some(score) = arguments.get("min_score").or_else(|| arguments.get("minScore")) {
            request.min_score = score.as_f64().ok_or_else(|| Error::invalid("min_score is a number from 0 to 1"))?;
        }
        let recall = memory_core::MemoryProvider::search(self, request).await?;
        let results: Vec<Value> = recall
            .hits
            .iter()
            .map(|hit| {
                let citation = match (&hit.source.path, hit.source.lines) {
                    (Some(path), Some([first, last])) if first == last => format!("{path}#L{first}"),
                    (Some(path), Some([first, last])) => format!("{path}#L{first}-L{last}"),
                    _ => hit.id.to_string(),
                };
                json!({
                    "id": hit.id, "path": hit.source.path, "source": source_name(hit.kind),
                    "start_line": hit.source.lines.map(|lines| lines[0]), "end_line": hit.source.lines.map(|lines| lines[1]),
                    "snippet": hit.text.chars().take(SNIPPET).collect::<String>(), "score": hit.score, "citation": citation,
                    "date": hit.event_at.unwrap_or(hit.created_at), "speaker": hit.speaker,
                })
            })
            .collect();
        Ok(
            json!({"results": results, "provider": "builtin", "model": self.indexes().embedder().id(), "disabled": false,
            "outcome": recall.outcome, "reason": recall.reason}),
        )
    }

    async fn tool_read(&self, viewer: &Viewer, arguments: &Value) -> Result<Value> {
        let path = text(arguments, &["path"])?.ok_or_else(|| missing("path"))?;
        let from = number(arguments, &["from_line", "from", "offset"])?;
        let count = number(arguments, &["lines", "limit"])?;
        let this = self.clone();
        let viewer = viewer.clone();
        let lines = blocking(move || get_lines(&this.workspace_of(&viewer, false)?, &path, from, count)).await?;
        Ok(json!({
            "path": lines.path, "absolute_path": lines.absolute, "text": lines.text, "content": lines.text,
            "total_lines": lines.total_lines, "totalLines": lines.total_lines, "from_line": lines.from, "start_line": lines.from,
            "to_line": lines.to, "end_line": lines.to, "truncated": lines.truncated, "content_hash": lines.content_hash,
            "disabled": false,
        }))
    }

    async fn tool_write(&self, viewer: &Viewer, arguments: &Value) -> Result<Value> {
        let path = text(arguments, &["path"])?.ok_or_else(|| missing("path"))?;
        let content = text(arguments, &["content"])?.ok_or_else(|| missing("content"))?;
        let append = arguments.get("append").and_then(Value::as_bool).unwrap_or(false);
        let expected = text(arguments, &["expected_hash"])?;
        let (this, viewer) = (self.clone(), viewer.clone());
        let (written, note) = blocking(move || {
            let cleaned = this.gateway().clean(&content).map_err(Error::invalid)?;
            let workspace = this.workspace_of(&viewer, true)?;
            let mode = if append { WriteMode::Append } else { WriteMode::Overwrite };
            Ok((write(&workspace, &path, &cleaned.text, mode, expected.as_deref())?, cleaned.note))
        })
        .await?;
        Ok(json!({
            "path": written.path, "full_path": written.absolute, "fullPath": written.absolute, "appended": written.appended,
            "file_existed": written.file_existed, "fileExisted": written.file_existed, "content_hash": written.content_hash,
            "note": note,
        }))
    }

    async fn tool_edit(&self, viewer: &Viewer, arguments: &Value) -> Result<Value> {
        let path = text(arguments, &["path"])?.ok_or_else(|| missing("path"))?;
        let old_text = text(arguments, &["old_text", "oldText"])?.ok_or_else(|| missing("old_text"))?;
        let new_text = text(arguments, &["new_text", "newText", "with"])?.ok_or_else(|| missing("new_text"))?;
        let expected = text(arguments, &["expected_hash"])?;
        let (this, viewer) = (self.clone(), viewer.clone());
        let (edited, note) = blocking(move || {
            let cleaned = this.gateway().clean(&new_text).map_err(Error::invalid)?;
            let workspace = this.workspace_of(&viewer, true)?;
            Ok((edit(&workspace, &path, &old_text, &cleaned.text, expected.as_deref())?, cleaned.note))
        })
        .await?;
        Ok(
            json!({"path": edited.path, "replaced": true, "line": edited.line, "content_hash": edited.content_hash, "note": note}),
        )
    }

    /// The workspace that a viewer reads and writes; made when it is to be written.
    fn workspace_of(&self, viewer: &Viewer, make: bool) -> Result<Workspace> {
        viewer.check()?;
        let scope = if make { viewer.conversation()? } else { reading_scope(viewer)? };
        let folder = self.workspaces().folder(&scope);
        if make {
            std::fs::create_dir_all(&folder)
                .map_err(|error| crate::error::from_io("create the workspace", &folder, error))?;
        } else if !folder.is_dir() {
            return Err(Error::new(ErrorKind::NotFound, "there are no documents here yet")
                .with_hint("write one with write_memory, or `memory import` a folder of Markdown files"));
        }
        Workspace::open(&folder, self.config().layout)
    }
}

/// Whose documents a viewer reads: a temporary team reads those of the team it came from.
fn reading_scope(viewer: &Viewer) -> Result<Scope> {
    match &viewer.team {
        Some(Team { name, role: TeamRole::Temporary }) => {
            Ok(Scope { user: viewer.user.clone(), space: viewer.space.clone(), owner: Owner::Team(name.clone()) })
        }
        _ => viewer.conversation(),
    }
}

fn source_name(kind: HitKind) -> &'static str {
    match kind {
        HitKind::Message => "sessions",
        _ => "memory",
    }
}

fn missing(name: &str) -> Error {
    Error::invalid(format!("{name} is required"))
}

fn text(arguments: &Value, names: &[&str]) -> Result<Option<String>> {
    match names.iter().find_map(|name| arguments.get(*name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Error::invalid(format!("{} is a text", names.first().unwrap_or(&"it")))),
    }
}

fn number(arguments: &Value, names: &[&str]) -> Result<Option<usize>> {
    match names.iter().find_map(|name| arguments.get(*name)) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| Error::invalid(format!("{} is a whole number from 0", names.first().unwrap_or(&"it")))),
    }
}
