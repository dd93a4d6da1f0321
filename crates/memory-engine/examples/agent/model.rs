//! What the loop expects of a chat model.

use async_trait::async_trait;
use memory_engine::core::{Result, ToolDefinition};

/// What a model is shown.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    /// The instruction, the guidance of the memory, and what was recalled.
    pub(crate) system: String,
    /// What was said, oldest first.
    pub(crate) messages: Vec<Message>,
    /// The tools it may call.
    pub(crate) tools: Vec<ToolDefinition>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// The user said it.
    User(String),
    /// The model said it.
    Assistant(Answer),
    /// A tool answered a call.
    Tool {
        /// The id of the call.
        call: String,
        /// What it answered.
        text: String,
    },
}

/// What a model says, or the tools it wants first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    /// The text.
    pub(crate) text: String,
    /// The tools.
    pub(crate) tool_calls: Vec<ToolCall>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    /// Its id.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The arguments as the model wrote them; they should be JSON.
    pub(crate) arguments: String,
}

/// A chat model.
#[async_trait]
pub(crate) trait ChatModel: Send + Sync {
    /// Says the next thing.
    async fn answer(&self, prompt: &Prompt) -> Result<Answer>;
}
