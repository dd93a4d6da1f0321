//! The example agent, with scripted users: what its model is shown, what it answers, what is kept where.

#[path = "../../examples/agent/mod.rs"]
mod example;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use example::{Answer, ChatModel, Message, Options, Prompt, StubModel};
use memory_conformance::fake::{FakeServer, Fault, MEM0_PLATFORM_KEY, Mem0Platform, Response};
use memory_core::config::{Environment, Loader};
use memory_core::{Clock, DeliveryWork, HitKind, Item, ListRequest, ManualClock, Result, SystemClock, Viewer};
use memory_engine::{Memory, queue_of};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

struct Home(tempfile::TempDir);

impl Home {
    fn new(config: &str) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.path()).unwrap();
        home.write(config);
        home
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("家")
    }

    fn write(&self, config: &str) {
        std::fs::write(self.path().join("config.yaml"), config).unwrap();
    }

    fn loader(&self) -> Loader {
        let environment = Environment::new([("HOME", self.0.path().to_str().unwrap())], self.0.path());
        Loader::new(environment).with_home(self.path())
    }

    fn options(&self, language: &str, model: Option<Arc<dyn ChatModel>>) -> Options {
        let (loader, language) = (self.loader(), language.to_owned());
        Options { loader, language, clock: Arc::new(SystemClock), model }
    }

    /// One conversation, from the first line to the end of the process. Answers what was said on stdout.
    async fn talk(&self, language: &str, model: Option<Arc<dyn ChatModel>>, lines: &[&str]) -> Vec<String> {
        let mut output = Vec::new();
        let input = lines.join("\n");
        let forever = std::future::pending();
        example::run(self.options(language, model), input.as_bytes(), &mut output, forever).await.unwrap();
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }

    /// What the builtin store has of all conversations.
    async fn messages(&self) -> Vec<String> {
        let memory = Memory::open(&self.loader().load().unwrap(), Arc::new(SystemClock)).await.unwrap();
        let builtin = memory.builtin.clone().unwrap();
        let request = ListRequest {
            viewer: Viewer::default(),
            kind: Some(HitKind::Message),
            limit: 1000,
            ..ListRequest::default()
        };
        let items = memory_core::MemoryProvider::list(&*builtin, request).await.unwrap().items;
        memory.engine.shutdown().await.unwrap();
        let text = |item| match item {
            Item::Message(message) => message.content,
            other => panic!("{other:?}"),
        };
        items.into_iter().map(text).collect()
    }
}

/// The stub, and what it was shown.
struct Recording {
    stub: StubModel,
    prompts: Mutex<Vec<Prompt>>,
}

impl Recording {
    fn new(language: &str) -> Arc<Self> {
        Arc::new(Self { stub: StubModel::new(language), prompts: Mutex::default() })
    }

    fn take(&self) -> Vec<Prompt> {
        std::mem::take(&mut *self.prompts.lock().unwrap())
    }
}

#[async_trait]
impl ChatModel for Recording {
    async fn answer(&self, prompt: &Prompt) -> Result<Answer> {
        self.prompts.lock().unwrap().push(prompt.clone());
        self.stub.answer(prompt).await
    }
}

fn config(mode: &str, url: &str) -> String {
    format!(
        "memory:\n  engine: {mode}\n  external:\n    provider: mem0\n    timeout: 2\n    shutdown_timeout: 2\n    \
         mem0: {{ api_key: {MEM0_PLATFORM_KEY}, base_url: \"{url}\", dialect: platform, infer: false }}\n"
    )
}

fn tools(prompt: &Prompt) -> Vec<&str> {
    prompt.tools.iter().map(|tool| tool.name.as_str()).collect()
}

struct Script {
    language: &'static str,
    instruction: &'static str,
    /// A part of the guidance of the builtin store, and of Mem0.
    guidance: [&'static str; 2],
    told: &'static str,
    question: &'static str,
    search: &'static str,
    fact: &'static str,
}

const SCRIPTS: [Script; 2] = [
    Script {
        language: "en",
        instruction: "You are a helpful assistant.",
        guidance: ["You have a long-term memory.", "# Mem0 Memory"],
        told: "I am allergic to peanuts",
        question: "What am I allergic to?",
        search: "search: allergic to peanuts",
        fact: "peanuts",
    },
    Script {
        language: "zh",
        instruction: "你是一个乐于助人的助手。",
        guidance: ["你拥有长期记忆。", "# Mem0 记忆"],
        told: "我对花生过敏",
        question: "我对什么过敏？",
        search: "搜索：花生过敏",
        fact: "花生",
    },
];

/// A first conversation tells something, a second one asks for it and searches for it.
async fn what_was_said_once_is_known(mode: &str, builtin: bool, external: bool) {
    for script in &SCRIPTS {
        let language = script.language;
        let service = Mem0Platform::default();
        let server = service.serve().await;
        let home = Home::new(&config(mode, server.url()));

        let model = Recording::new(language);
        let mut said = home.talk(language, Some(model.clone()), &[script.told]).await;
        let [prompt] = <[Prompt; 1]>::try_from(model.take()).unwrap();
        assert!(prompt.system.starts_with(script.instruction), "{}", prompt.system);
        for (is_there, guidance) in [builtin, external].into_iter().zip(script.guidance) {
            assert_eq!(prompt.system.contains(guidance), is_there, "{mode}: {}", prompt.system);
        }
        assert!(!prompt.system.contains("<memory-context>"), "nothing to recall: {}", prompt.system);
        assert_eq!(tools(&prompt).contains(&"memory_search"), builtin, "{mode}: {:?}", tools(&prompt));
        assert_eq!(tools(&prompt).contains(&"mem0_search"), external, "{mode}: {:?}", tools(&prompt));
        assert_eq!(prompt.messages, [Message::User(script.told.to_owned())]);

        let second = home.talk(language, Some(model.clone()), &[script.question, script.search]).await;
        let prompts = model.take();
        assert_eq!((second.len(), prompts.len()), (2, 3), "one model call, then two with a tool: {second:?}");
        for prompt in &prompts {
            let fences = ["<memory-context>", "</memory-context>"].map(|tag| prompt.system.matches(tag).count());
            assert_eq!(fences, [1, 1], "{}", prompt.system);
            let (_, fenced) = prompt.system.split_once("<memory-context>").unwrap();
            assert!(fenced.contains(script.fact), "{mode}: {}", prompt.system);
        }
        let told = |text: &str| text.ends_with(script.told);
        assert!(told(&second[0]) && second[0] != script.told, "{mode}: {second:?}");
        assert!(second[1].contains(script.fact), "{mode}: {second:?}");
        match prompts[2].messages.as_slice() {
            [_, _, Message::User(asked), Message::Assistant(answer), Message::Tool { call, text }] => {
                assert_eq!((asked.as_str(), &answer.tool_calls[0].id), (script.search, call));
                assert!(text.contains(script.fact), "{mode}: {text}");
            }
            other => panic!("{mode}: {other:?}"),
        }

        said.extend(second);
        said.extend([script.told, script.question, script.search].map(str::to_owned));
        said.sort();
        let check = |place: &str, mut kept: Vec<String>| {
            kept.sort();
            assert_eq!(kept, said, "{mode}, {place}: every text of every turn exactly once");
        };
        if external {
            check("at Mem0", service.texts());
        } else {
            assert!(server.recorded().is_empty(), "{mode} calls nobody");
        }
        if builtin {
            check("here", home.messages().await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_once_is_known_in_mode_builtin() {
    what_was_said_once_is_known("builtin", true, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_once_is_known_in_mode_external() {
    what_was_said_once_is_known("external", false, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_once_is_known_in_mode_both() {
    what_was_said_once_is_known("both", true, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_memory_it_talks_all_the_same() {
    let server = Mem0Platform::default().serve().await;
    let home = Home::new(&config("none", server.url()));
    let model = Recording::new("en");
    for _ in 0..2 {
        let said = home.talk("en", Some(model.clone()), &["I like tea", "search: tea"]).await;
        assert_eq!(said, ["Noted: I like tea", "Noted: search: tea"]);
        for prompt in model.take() {
            assert_eq!(prompt.system, "You are a helpful assistant. Answer briefly.");
            assert!(prompt.tools.is_empty());
        }
    }
    assert!(server.recorded().is_empty());
    assert!(!home.path().join("store.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_out_of_reach_stops_nothing_and_loses_nothing() {
    for mode in ["external", "both"] {
        let url = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let home = Home::new(&config(mode, &url));
        let model = Recording::new("zh");
        let said = home.talk("zh", Some(model.clone()), &["我住在杭州", "搜索：杭州"]).await;
        assert_eq!(said[0], "记下了：我住在杭州", "{mode}");
        assert_eq!(said.len(), 2);
        for prompt in model.take() {
            assert!(!prompt.system.contains("Mem0") && !tools(&prompt).contains(&"mem0_search"), "{mode}");
        }
        let queue = queue_of(&home.loader().load().unwrap(), Arc::new(SystemClock)).await.unwrap().unwrap();
        let waiting = queue.list(0, 10).await.unwrap();
        let what = waiting.iter().map(|delivery| match &delivery.work {
            DeliveryWork::Turn { turn } => turn.user_text.clone(),
            DeliveryWork::EndSession { .. } => "end".to_owned(),
            other => panic!("{other:?}"),
        });
        assert_eq!(what.collect::<Vec<_>>(), ["我住在杭州", "搜索：杭州", "end"], "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_injected_when_the_configuration_says_so() {
    let home = Home::new("memory: { engine: builtin }\n");
    home.talk("en", None, &["I am allergic to peanuts"]).await;
    home.write("memory: { engine: builtin, inject: false }\n");
    let model = Recording::new("en");
    let said = home.talk("en", Some(model.clone()), &["What am I allergic to?", "search: peanuts"]).await;
    assert_eq!(said[0], "Noted: What am I allergic to?");
    assert!(said[1].contains("peanuts"), "the tools are still there: {said:?}");
    assert!(model.take().iter().all(|prompt| !prompt.system.contains("<memory-context>")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_configuration_is_followed_between_two_turns() {
    let home = Home::new("memory: { engine: builtin }\n");
    let model = Recording::new("en");
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let options = Options { clock: clock.clone(), ..home.options("en", Some(model.clone())) };
    let (mut to_agent, input) = tokio::io::duplex(1024);
    let (output, from_agent) = tokio::io::duplex(1024);
    let agent = tokio::spawn(example::run(options, BufReader::new(input), output, std::future::pending()));
    let mut answers = BufReader::new(from_agent).lines();
    let mut guided = Vec::new();
    for mode in ["builtin", "none", "builtin"] {
        home.write(&format!("memory: {{ engine: {mode} }}\n"));
        clock.advance_seconds(3);
        to_agent.write_all(b"hello\n").await.unwrap();
        answers.next_line().await.unwrap().unwrap();
        guided.push(model.take()[0].system.contains("You have a long-term memory."));
    }
    assert_eq!(guided, [true, false, true]);
    drop(to_agent);
    agent.await.unwrap().unwrap();
}

/// Calls `memory_search`, and repeats what it found.
fn chat(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    let said = if last["role"] == "tool" {
        let result: Value = serde_json::from_str(last["content"].as_str().unwrap()).unwrap();
        json!({"role": "assistant", "content": format!("Found: {}", result["data"]["results"][0]["snippet"])})
    } else if body["tools"].is_array() && last["content"].as_str().unwrap().contains("花生") {
        let function = json!({"name": "memory_search", "arguments": "{\"query\": \"花生过敏\"}"});
        json!({"role": "assistant", "content": null,
            "tool_calls": [{"id": "call_7", "type": "function", "function": function}]})
    } else {
        json!({"role": "assistant", "content": "ok"})
    };
    json!({"id": "chat-1", "object": "chat.completion", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openai_compatible_model_gets_the_prompt_and_its_tools_run() {
    let server = FakeServer::start(|request| Response::ok(chat(&request.json()))).await;
    let home = Home::new(&format!(
        "memory: {{ engine: builtin, llm: {{ api_base: \"{}/v1\", api_key: canary-key, model: small }} }}\n",
        server.url()
    ));
    assert_eq!(home.talk("zh", None, &["我对虾过敏，也对花生过敏"]).await.len(), 1);
    server.take_recorded();
    server.fail_next([Fault::Status(500, json!({"error": {"message": "overloaded"}}))]);
    let said = home.talk("zh", None, &["这一句没有回答", "花生可以吃吗？"]).await;
    assert_eq!(said[0], "（模型没有回答，请再试一次。）");
    assert!(said[1].starts_with("Found: ") && said[1].contains("花生过敏"), "{said:?}");

    let [_, first, second] = <[_; 3]>::try_from(server.recorded()).unwrap();
    for request in [&first, &second] {
        assert_eq!(request.line(), "POST /v1/chat/completions");
        assert_eq!(request.header("authorization"), Some("Bearer canary-key"));
        let body = request.json();
        assert_eq!((&body["model"], &body["messages"][0]["role"]), (&json!("small"), &json!("system")));
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("你拥有长期记忆。") && system.contains("<memory-context>"), "{system}");
        assert_eq!(
            body["messages"][1],
            json!({"role": "user", "content": "花生可以吃吗？"}),
            "what failed is not history"
        );
        let tools = body["tools"].as_array().unwrap();
        let search = tools.iter().find(|tool| tool["function"]["name"] == "memory_search").unwrap();
        assert_eq!(
            (&search["type"], &search["function"]["parameters"]["type"]),
            (&json!("function"), &json!("object"))
        );
    }
    let messages = second.json()["messages"].clone();
    assert_eq!(messages[2]["tool_calls"][0]["id"], "call_7");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{\"query\": \"花生过敏\"}");
    assert_eq!((&messages[3]["role"], &messages[3]["tool_call_id"]), (&json!("tool"), &json!("call_7")));
    let kept = home.messages().await;
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert!(!kept.iter().any(|text| text.contains("没有回答")), "a turn without an answer is not kept: {kept:?}");
}
