//! A stub in place of a chat model. What it says follows from the prompt alone.

use async_trait::async_trait;
use memory_engine::core::{FENCE_TAG, Result};
use serde_json::Value;

use super::model::{Answer, ChatModel, Message, Prompt, ToolCall};
use super::words::Words;

/// How a user asks for a search.
const SEARCH: [&str; 3] = ["search:", "搜索：", "搜索:"];

/// Repeats what was recalled, searches when the user says `search: …`, and takes note of everything else.
pub(crate) struct StubModel(&'static Words);

impl StubModel {
    /// A stub that speaks `language`.
    pub(crate) fn new(language: &str) -> Self {
        Self(Words::of(language))
    }

    fn own_words(&self) -> [&'static str; 3] {
        [self.0.noted, self.0.remembered, self.0.found]
    }

    /// The best of what was recalled, without what the stub itself said once.
    fn recalled<'a>(&self, prompt: &'a Prompt) -> Option<&'a str> {
        let (_, fenced) = prompt.system.split_once(&format!("<{FENCE_TAG}>"))?;
        fenced
            .lines()
            .filter_map(|line| line.strip_prefix("- "))
            .map(|line| line.split_once("] ").map_or(line, |(_, text)| text))
            .find(|line| self.own_words().iter().all(|own| !line.contains(own.trim_end())))
    }
}

#[async_trait]
impl ChatModel for StubModel {
    async fn answer(&self, prompt: &Prompt) -> Result<Answer> {
        let say = |text: String| Ok(Answer { text, tool_calls: Vec::new() });
        match prompt.messages.last() {
            Some(Message::Tool { text, .. }) => match found(text) {
                Some(found) => say(format!("{}{found}", self.0.found)),
                None => say(self.0.found_nothing.to_owned()),
            },
            Some(Message::User(said)) => {
                let query = SEARCH.iter().find_map(|prefix| said.strip_prefix(prefix)).map(str::trim);
                let tool = prompt.tools.iter().find(|tool| tool.name.ends_with("_search"));
                if let (Some(query), Some(tool)) = (query, tool) {
                    let arguments = serde_json::json!({ "query": query }).to_string();
                    let call = ToolCall { id: "call-1".to_owned(), name: tool.name.clone(), arguments };
                    return Ok(Answer { text: String::new(), tool_calls: vec![call] });
                }
                match self.recalled(prompt) {
                    Some(recalled) => say(format!("{}{recalled}", self.0.remembered)),
                    None => say(format!("{}{said}", self.0.noted)),
                }
            }
            Some(Message::Assistant(_)) | None => say(String::new()),
        }
    }
}

/// The first result of a search tool, whosever it is.
fn found(result: &str) -> Option<String> {
    let result: Value = serde_json::from_str(result).ok()?;
    let places = ["/data/results/0/snippet", "/results/0/memory", "/results/0/abstract"];
    places.iter().find_map(|place| result.pointer(place)?.as_str().map(str::to_owned))
}
