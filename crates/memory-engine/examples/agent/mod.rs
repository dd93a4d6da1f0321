//! The loop: recall, ask the model, run its tools, answer, remember.

mod model;
mod openai;
mod stub;
mod words;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use memory_engine::core::config::Loader;
use memory_engine::core::{
    Clock, Conversation, ConversationSettings, Error, Result, SystemSleeper, TurnRecord, Viewer,
};
use memory_engine::{LiveMemory, Reload};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

pub(crate) use model::{Answer, ChatModel, Message, Prompt, ToolCall};
pub(crate) use openai::OpenAiModel;
pub(crate) use stub::StubModel;
use words::Words;

/// How often the configuration and the age of the session are looked at while nobody says anything.
const UPKEEP: Duration = Duration::from_secs(5);
/// A model that wants more tools than this for one turn must answer without them.
const MOST_TOOL_ROUNDS: usize = 6;
/// So many messages of the conversation the model is shown.
const LONGEST_HISTORY: usize = 40;
/// Every part of closing has a limit of its own; this is the last resort.
const CLOSING_LIMIT: Duration = Duration::from_secs(60);

/// What a conversation begins with.
pub(crate) struct Options {
    /// Reads the configuration.
    pub(crate) loader: Loader,
    /// The language of prompts: `zh` or `en`.
    pub(crate) language: String,
    /// The present moment.
    pub(crate) clock: Arc<dyn Clock>,
    /// The model; `None` for the one that the configuration names.
    pub(crate) model: Option<Arc<dyn ChatModel>>,
}

/// Answers every line of `input` on `output`, until it ends or `stop` is done. A memory that cannot be opened is an error;
/// whatever fails later is logged, and the conversation goes on.
pub(crate) async fn run(
    options: Options,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let Options { loader, language, clock, model } = options;
    // It hands over to the external provider in the background, when there is one.
    let live = LiveMemory::open(loader, clock.clone()).await?;
    let config = live.memory().config.clone();
    let (external, llm) = (&config.memory.external, &config.memory.llm);
    let model: Arc<dyn ChatModel> = match model {
        Some(model) => model,
        None if llm.is_configured() => Arc::new(OpenAiModel::of(llm)?),
        None => Arc::new(StubModel::new(&language)),
    };
    let settings = ConversationSettings {
        language: Some(language.clone()),
        ..ConversationSettings::of(external, clock.clone(), Arc::new(SystemSleeper))
    };
    // A session of its own: what was said in others is recalled, what is said now is in the prompt anyway.
    let viewer = Viewer::user(&external.user_id, &external.scope_id);
    let conversation = Conversation::begin(live.engine().clone(), viewer, settings);
    let patience = Duration::try_from_secs_f64(external.shutdown_timeout).unwrap_or(CLOSING_LIMIT);
    let mut agent = Agent { live, conversation, model, clock, words: Words::of(&language), history: Vec::new() };
    let outcome = agent.talk(input, output, stop).await;
    agent.close(patience).await;
    outcome
}

struct Agent {
    live: LiveMemory,
    conversation: Conversation,
    model: Arc<dyn ChatModel>,
    clock: Arc<dyn Clock>,
    words: &'static Words,
    /// What was said, without the tools and without what was recalled.
    history: Vec<Message>,
}

impl Agent {
    async fn talk(
        &mut self,
        input: impl AsyncBufRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let broken = |error: std::io::Error| Error::unexpected("the conversation broke off").with_source(error);
        let mut lines = input.lines();
        let mut upkeep = tokio::time::interval(UPKEEP);
        tokio::pin!(stop);
        loop {
            let line = tokio::select! {
                line = lines.next_line() => line.map_err(broken)?,
                _ = upkeep.tick() => {
                    self.upkeep().await;
                    continue;
                }
                () = &mut stop => None,
            };
            let Some(line) = line else { return Ok(()) };
            let said = line.trim();
            if said.is_empty() {
                continue;
            }
            let answer = tokio::select! {
                answer = self.turn(said) => answer,
                () = &mut stop => return Ok(()),
            };
            output.write_all(format!("{answer}\n").as_bytes()).await.map_err(broken)?;
            output.flush().await.map_err(broken)?;
        }
    }

    /// One turn: what the user said, and what is answered.
    async fn turn(&mut self, said: &str) -> String {
        self.upkeep().await;
        let answer = match self.answer(said).await {
            Ok(answer) => answer.trim().to_owned(),
            Err(error) => {
                tracing::error!(%error, "the model did not answer");
                String::new()
            }
        };
        let record = TurnRecord { user_text: said.to_owned(), assistant_text: answer.clone(), ..TurnRecord::default() };
        // It is kept in the background; a turn without an answer is not kept.
        if let Err(error) = self.conversation.after_turn(record).await {
            tracing::warn!(%error, "a turn is not kept");
        }
        if answer.is_empty() {
            return self.words.no_answer.to_owned();
        }
        self.history.push(Message::User(said.to_owned()));
        self.history.push(Message::Assistant(Answer { text: answer.clone(), tool_calls: Vec::new() }));
        let superfluous = self.history.len().saturating_sub(LONGEST_HISTORY);
        self.history.drain(..superfluous);
        answer
    }

    /// Asks the model until it wants no more tools.
    async fn answer(&self, said: &str) -> Result<String> {
        let mut messages = self.history.clone();
        messages.push(Message::User(said.to_owned()));
        let mut rounds = 0;
        loop {
            let mut prompt = self.prompt(said, &messages).await;
            if rounds == MOST_TOOL_ROUNDS {
                prompt.tools.clear();
            }
            let answer = self.model.answer(&prompt).await?;
            if answer.tool_calls.is_empty() || rounds == MOST_TOOL_ROUNDS {
                return Ok(answer.text);
            }
            rounds += 1;
            let calls = answer.tool_calls.clone();
            messages.push(Message::Assistant(answer));
            for call in calls {
                let text = self.run_tool(&call).await;
                messages.push(Message::Tool { call: call.id, text });
            }
        }
    }

    /// What the model is shown. Recalling comes first: it waits, within its limit, until an external provider is ready,
    /// and only then are there guidance and tools of it.
    async fn prompt(&self, said: &str, messages: &[Message]) -> Prompt {
        let injects = self.live.memory().config.memory.inject;
        let recalled = if injects { self.conversation.before_model(said).await } else { None };
        let parts = [self.words.instruction.to_owned(), self.conversation.guidance(), recalled.unwrap_or_default()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Prompt { system: parts.join("\n\n"), messages: messages.to_vec(), tools: self.conversation.tools() }
    }

    /// Runs a tool. A model that made a mistake is told, and can try again.
    async fn run_tool(&self, call: &ToolCall) -> String {
        let arguments = match call.arguments.trim() {
            "" => Ok(json!({})),
            text => serde_json::from_str::<Value>(text)
                .map_err(|error| Error::invalid("the arguments of a tool are JSON").with_source(error)),
        };
        let outcome = match arguments {
            Ok(arguments) => self.conversation.call_tool(&call.name, arguments).await,
            Err(error) => Err(error),
        };
        match outcome {
            Ok(result) => result.to_string(),
            Err(error) => {
                tracing::warn!(%error, tool = call.name, "a tool failed");
                json!({"error": error.to_string(), "hints": error.hints()}).to_string()
            }
        }
    }

    /// Follows the configuration, and ends a session in which nothing happens.
    async fn upkeep(&self) {
        match self.live.tick().await {
            Reload::Unchanged => {}
            Reload::Changed => tracing::info!("the configuration changed"),
            Reload::Refused(error) => tracing::warn!(%error, "the new configuration cannot be used"),
        }
        if let Err(error) = self.conversation.tick(self.clock.now()).await {
            tracing::warn!(%error, "the session cannot be ended");
        }
    }

    /// Ends the session, keeps what waits, hands over what can be handed over, and closes.
    async fn close(&self, patience: Duration) {
        if let Err(error) = self.conversation.shutdown(patience).await {
            tracing::warn!(%error, "the conversation did not close in time");
        }
        match tokio::time::timeout(CLOSING_LIMIT, self.live.shutdown()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the memory did not close well"),
            Err(_) => tracing::warn!("the memory did not close in time; what waits is in the queue"),
        }
    }
}
