//! Any chat model behind an OpenAI-compatible `/chat/completions`.

use std::time::Duration;

use async_trait::async_trait;
use memory_engine::core::config::LlmConfig;
use memory_engine::core::{Result, SafeUrl};
use memory_http::{JsonClient, Method, Service, of_nonsense};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{Answer, ChatModel, Message, Prompt, ToolCall};

/// Where a model is asked for that has a key and no address.
const OPENAI: &str = "https://api.openai.com/v1";
/// How long a model may think.
const LONGEST_ANSWER: Duration = Duration::from_secs(120);

/// A model of section `memory.llm`.
pub(crate) struct OpenAiModel {
    client: JsonClient,
    model: String,
}

impl OpenAiModel {
    /// The model that the section names. Nothing is sent before it is asked.
    pub(crate) fn of(config: &LlmConfig) -> Result<Self> {
        let service = Service {
            name: "The chat model",
            url: if config.api_base.is_empty() { SafeUrl::new(OPENAI) } else { config.api_base.clone() },
            key: config.api_key.clone(),
            key_hint: "check memory.llm.api_key (LLM_API_KEY)",
            url_hint: "check memory.llm.api_base (LLM_API_BASE)",
        };
        let mut builder = JsonClient::builder(service).timeout(LONGEST_ANSWER);
        if !config.api_key.is_empty() {
            builder = builder.header("authorization", &format!("Bearer {}", config.api_key.expose()))?;
        }
        Ok(Self { client: builder.build()?, model: config.model.clone() })
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn answer(&self, prompt: &Prompt) -> Result<Answer> {
        let mut messages = vec![json!({"role": "system", "content": prompt.system})];
        messages.extend(prompt.messages.iter().map(message));
        let mut body = json!({"model": self.model, "messages": messages});
        let tools = prompt.tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect::<Vec<_>>();
        if let Some(body) = body.as_object_mut().filter(|_| !tools.is_empty()) {
            body.insert("tools".to_owned(), tools.into());
        }
        let reply = self.client.call(Method::POST, &["chat", "completions"], &[], &[], Some(&body)).await?;
        let completion: Completion = reply.json(self.client.service())?;
        let choice = completion.choices.into_iter().next();
        let said = choice.ok_or_else(|| of_nonsense(self.client.service(), "it has no choices"))?.message;
        let calls = said.tool_calls.unwrap_or_default().into_iter();
        let calls = calls.map(|Call { id, function: Function { name, arguments } }| ToolCall { id, name, arguments });
        Ok(Answer { text: said.content.unwrap_or_default(), tool_calls: calls.collect() })
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Tool { call, text } => json!({"role": "tool", "tool_call_id": call, "content": text}),
        Message::Assistant(answer) if answer.tool_calls.is_empty() => {
            json!({"role": "assistant", "content": answer.text})
        }
        Message::Assistant(Answer { text, tool_calls }) => {
            let call = |call: &ToolCall| {
                let ToolCall { id, name, arguments } = call;
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            };
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            json!({"role": "assistant", "content": content, "tool_calls": tool_calls.iter().map(call).collect::<Vec<_>>()})
        }
    }
}
