//! The tools and the guidance for an agent, under the names that JiuwenSwarm and Hermes give them.

use memory_core::{
    Error, NewMemory, Origin, Result, SearchRequest, ToolDefinition, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use serde_json::{Map, Value, json};

use crate::provider::Mem0Provider;
use crate::scope::View;

/// The most results that a tool answers.
const MOST_RESULTS: usize = 50;

/// The tools.
pub(crate) fn definitions() -> Vec<ToolDefinition> {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
    };
    vec![
        tool(
            "mem0_profile",
            "Everything that Mem0 remembers about this user. Use it once, when a conversation begins.",
            json!({}),
            &[],
        ),
        tool(
            "mem0_search",
            "Searches the memories of this user by meaning. Use it when something said before may help.",
            json!({
                "query": { "type": "string", "description": "What to look for." },
                "rerank": { "type": "boolean", "description": "Rank the results once more: better, slower.", "default": false },
                "top_k": { "type": "integer", "description": "The most results, up to 50.", "default": 10 },
            }),
            &["query"],
        ),
        tool(
            "mem0_conclude",
            "Stores one lasting fact about this user, word for word. Use it for what the user states or decides.",
            json!({ "conclusion": { "type": "string", "description": "The fact, in one sentence." } }),
            &["conclusion"],
        ),
    ]
}

impl Mem0Provider {
    pub(crate) async fn run_tool(&self, viewer: &Viewer, name: &str, arguments: Value) -> Result<Value> {
        let arguments = Arguments::of(arguments)?;
        match name {
            "mem0_profile" => self.profile(viewer).await,
            "mem0_search" => {
                let query = arguments.text(&["query", "q", "question"])?;
                let top_k = arguments.number(&["top_k", "topK", "limit", "max_results"])?.unwrap_or(10);
                let rerank = arguments.flag("rerank")?.unwrap_or(false);
                let limit = top_k.clamp(1, MOST_RESULTS);
                let request = SearchRequest { limit, ..SearchRequest::new(viewer.clone(), query) };
                let hits = self.recall(&request, rerank).await?.hits;
                if hits.is_empty() {
                    return Ok(json!({ "result": "No relevant memories found." }));
                }
                let results: Vec<Value> =
                    hits.iter().map(|hit| json!({ "memory": hit.text, "score": hit.score })).collect();
                Ok(json!({ "count": results.len(), "results": results }))
            }
            "mem0_conclude" => {
                let conclusion = arguments.text(&["conclusion", "content", "fact", "text", "memory"])?;
                let new = NewMemory { origin: Origin::Agent, ..NewMemory::new(viewer.conversation()?, conclusion) };
                let items = vec![WriteItem::Memory(Box::new(new))];
                let report = self.write_items(&WriteRequest { items, ..WriteRequest::default() }).await?;
                match report.items.into_iter().next() {
                    Some(result) if result.outcome != WriteOutcome::Rejected => Ok(json!({ "result": "Fact stored." })),
                    refused => {
                        let reason = refused.and_then(|result| result.reason).unwrap_or_default();
                        Err(Error::invalid(format!("Mem0 did not store the fact: {reason}")))
                    }
                }
            }
            other => Err(Error::not_found(format!("Mem0 has no tool `{other}`"))
                .with_hint("its tools are mem0_profile, mem0_search and mem0_conclude")),
        }
    }

    async fn profile(&self, viewer: &Viewer) -> Result<Value> {
        viewer.check()?;
        let client = self.client().await?;
        let view = View::new(self.config(), viewer);
        let (records, _) = self.collect(client, &view, &view.selection(), false).await?;
        let lines: Vec<&str> =
            records.iter().map(|record| record.item.body()).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Ok(json!({ "result": "No memories stored yet." }));
        }
        Ok(json!({ "result": lines.join("\n"), "count": lines.len() }))
    }

    /// What an agent should know.
    pub(crate) fn guidance_in(&self, language: &str) -> String {
        let user = self.config().home_user();
        if language.to_lowercase().starts_with("zh") {
            return format!(
                "# Mem0 记忆\n已启用。用户：{user}\n用 mem0_search 查找记忆，用 mem0_conclude 保存事实，用 mem0_profile 查看全部记忆。"
            );
        }
        format!(
            "# Mem0 Memory\nActive. User: {user}\nUse mem0_search to find memories, mem0_conclude to store a fact, and \
             mem0_profile to see all of them."
        )
    }
}

/// The arguments of a call. Models write numbers as texts and names as they please.
struct Arguments(Map<String, Value>);

impl Arguments {
    fn of(arguments: Value) -> Result<Self> {
        let invalid = || Error::invalid("the arguments of a tool are a JSON object");
        match arguments {
            Value::Null => Ok(Self(Map::new())),
            Value::Object(map) => Ok(Self(map)),
            Value::String(text) => serde_json::from_str(&text).map(Self).map_err(|_| invalid()),
            _ => Err(invalid()),
        }
    }

    fn any(&self, names: &[&'static str]) -> Option<&Value> {
        names.iter().find_map(|name| self.0.get(*name).filter(|value| !value.is_null()))
    }

    fn text(&self, names: &[&'static str]) -> Result<String> {
        let text = match self.any(names) {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => String::new(),
        };
        if text.is_empty() {
            let name = names.first().copied().unwrap_or_default();
            return Err(Error::invalid(format!("Missing required parameter: {name}")));
        }
        Ok(text)
    }

    fn number(&self, names: &[&'static str]) -> Result<Option<usize>> {
        let Some(value) = self.any(names) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if number.is_finite() => Ok(Some(number.max(0.0) as usize)),
            _ => Err(Error::invalid(format!("`{}` is a number", names.first().copied().unwrap_or_default()))),
        }
    }

    fn flag(&self, name: &'static str) -> Result<Option<bool>> {
        match self.any(&[name]) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") || text == "1" => Ok(Some(true)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") || text == "0" => Ok(Some(false)),
            Some(Value::Number(number)) => Ok(Some(number.as_f64() != Some(0.0))),
            Some(_) => Err(Error::invalid(format!("`{name}` is true or false"))),
        }
    }
}
