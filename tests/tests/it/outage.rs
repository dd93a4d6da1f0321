//! The service behind the external provider dies in the middle of 200 turns, then the process that talks to it does, and
//! both come back. Everything but the service is real: the providers over HTTP, the queue on disk, the store.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_conformance::fake::{FakeServer, Fault, MEM0_PLATFORM_KEY, Mem0Platform, OpenViking, Recorded};
use memory_core::{
    Clock, Conversation, ConversationSettings, DeliveryQueue, DeliveryState, DeliveryWork, Item, LiveEngine,
    ManualClock, SystemClock, SystemSleeper, TurnRecord, Viewer,
};
use memory_engine::{Chosen, Memory};
use tests::Home;
use tokio::runtime::{Builder, Runtime};

const TURNS: usize = 200;
/// From this turn on the answers about what is added break off in the middle; what was asked for happens.
const ADDITIONS_BREAK: usize = 40;
/// From this turn on every answer does.
const ANSWERS_BREAK: usize = 55;
const SERVICE_DIES: usize = 60;
const PROCESS_DIES: usize = 100;
const SERVICE_RETURNS: usize = 140;

/// `memory.external.timeout`.
const BUDGET: Duration = Duration::from_millis(500);
/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_secs(2);
/// Seconds a turn takes for the circuit and the queue.
const PACE: i64 = 5;
/// Seconds to wait for an extraction. A delivery is reserved for longer than that, and the clock of the test, which runs
/// ahead of the real one, must not reach the end of it while a delivery is under way.
const PATIENCE: i64 = 20_000;
/// What the whole test waits for at the most.
const LIMIT: Duration = Duration::from_secs(60);

fn question(turn: usize) -> String {
    if turn.is_multiple_of(2) {
        format!("第 {turn} 个问题：西湖边哪家茶馆最安静？")
    } else {
        format!("Question {turn}: which train goes to Hangzhou?")
    }
}

fn answer(turn: usize) -> String {
    if turn.is_multiple_of(2) {
        format!("第 {turn} 个回答：去龙井村 🍵")
    } else {
        format!("Answer {turn}: the early one")
    }
}

/// What is asked and answered, in order.
fn everything() -> Vec<String> {
    (0..TURNS).flat_map(|turn| [question(turn), answer(turn)]).collect()
}

/// A stand-in, which keeps what it was told when its server dies.
enum Service {
    Mem0 { platform: Mem0Platform, infer: bool },
    OpenViking(OpenViking),
}

impl Service {
    async fn serve_at(&self, address: &str) -> FakeServer {
        match self {
            Self::Mem0 { platform, .. } => platform.serve_at(address).await,
            Self::OpenViking(service) => service.serve_at(address).await,
        }
    }

    fn config(&self, mode: &str, url: &str) -> String {
        let (name, section) = match self {
            Self::Mem0 { infer, .. } => (
                "mem0",
                format!(
                    "api_key: {MEM0_PLATFORM_KEY}, base_url: \"{url}\", dialect: platform, infer: {infer}, \
                     event_timeout: {PATIENCE}"
                ),
            ),
            Self::OpenViking(_) => ("openviking", format!("endpoint: \"{url}\", commit_timeout: {PATIENCE}")),
        };
        let timeout = BUDGET.as_secs_f64();
        format!(
            "memory:\n  engine: {mode}\n  external:\n    provider: {name}\n    timeout: {timeout}\n    \
             {name}: {{ {section} }}\n"
        )
    }

    /// The end of the path of a request that adds what was said.
    fn adds_at(&self) -> &'static str {
        match self {
            Self::Mem0 { .. } => "/memories/add/",
            Self::OpenViking(_) => "/messages/batch",
        }
    }

    /// The texts that such requests told it, in order; each of them had its effect.
    fn told(&self, requests: &[Recorded]) -> Vec<String> {
        let texts = |request: &Recorded| {
            let body = request.json();
            let messages = body["messages"].as_array().unwrap().iter();
            messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        requests.iter().filter(|request| request.path.ends_with(self.adds_at())).flat_map(texts).collect()
    }

    /// What is kept there, oldest first.
    fn kept(&self) -> Vec<String> {
        match self {
            Self::Mem0 { platform, .. } => platform.texts(),
            Self::OpenViking(service) => {
                let sessions = service.sessions();
                assert_eq!(sessions.len(), 1, "{sessions:?}");
                service.said(&sessions[0])
            }
        }
    }

    /// What should be kept there. Facts about the user come from what the user said.
    fn expected(&self) -> Vec<String> {
        match self {
            Self::Mem0 { infer: true, .. } => (0..TURNS).map(question).collect(),
            _ => everything(),
        }
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A server on threads of its own, which die with it: it listens no more, and every connection breaks.
struct Server {
    runtime: Runtime,
    fake: FakeServer,
}

impl Server {
    fn start(service: &Service, address: &str) -> Self {
        let runtime = runtime();
        let fake = runtime.block_on(service.serve_at(address));
        Self { runtime, fake }
    }

    fn address(&self) -> SocketAddr {
        self.fake.url().trim_start_matches("http://").parse().unwrap()
    }

    /// Kills it, and answers what it was told.
    fn kill(self, service: &Service) -> Vec<String> {
        self.runtime.shutdown_timeout(LIMIT);
        service.told(&self.fake.recorded())
    }
}

/// Nobody listens there, and nobody else can.
fn reserve(address: SocketAddr) -> tokio::net::TcpSocket {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

/// A process with one conversation, as far as threads can be one: it can be killed in the middle of everything.
struct Process {
    runtime: Runtime,
    memory: Memory,
    conversation: Conversation,
}

impl Process {
    fn start(home: &Home, clock: &Arc<ManualClock>) -> Self {
        let runtime = runtime();
        let (memory, conversation) = runtime.block_on(async {
            let memory = home.open_with(|_| {}, clock.clone()).await.unwrap();
            let courier = memory.engine.courier().unwrap().clone();
            tokio::spawn(async move { courier.run(pending()).await });
            let viewer = Viewer { session: Some("长对话".to_owned()), ..Viewer::user("小明", "__default__") };
            let external = &memory.config.memory.external;
            let settings = ConversationSettings::of(external, clock.clone(), Arc::new(SystemSleeper));
            let conversation = Conversation::begin(LiveEngine::new(memory.engine.clone()), viewer, settings);
            (memory, conversation)
        });
        Self { runtime, memory, conversation }
    }

    fn turn(&self, turn: usize) {
        let in_time = |call: &str, began: Instant| {
            let took = began.elapsed();
            assert!(took < BUDGET + SLACK, "{call} of turn {turn} took {took:?}");
        };
        let began = Instant::now();
        self.runtime.block_on(self.conversation.before_model(&question(turn)));
        in_time("before_model", began);
        let record = TurnRecord { user_text: question(turn), assistant_text: answer(turn), ..TurnRecord::default() };
        let began = Instant::now();
        self.runtime.block_on(self.conversation.after_turn(record)).unwrap();
        in_time("after_turn", began);
    }

    /// Waits until a turn is in the queue: before, it is in memory alone, and would die with the process.
    fn keep(&self, turn: usize) {
        let queue = self.memory.queue.as_ref().unwrap();
        let began = Instant::now();
        loop {
            let waiting = self.runtime.block_on(queue.list(0, TURNS)).unwrap();
            if let Some(last) = waiting.last()
                && let DeliveryWork::Turn { turn: kept } = &last.work
                && kept.user_text == question(turn)
                && last.state == DeliveryState::Waiting
            {
                return;
            }
            assert!(began.elapsed() < LIMIT, "{:?}", waiting.last());
        }
    }

    fn kill(self) {
        self.runtime.shutdown_timeout(LIMIT);
    }

    /// Ends the conversation, hands over all that waits, and closes.
    fn finish(self, clock: &ManualClock) {
        let (queue, courier) = (self.memory.queue.as_ref().unwrap(), self.memory.engine.courier().unwrap());
        let began = Instant::now();
        self.runtime.block_on(async {
            self.conversation.shutdown(LIMIT).await.unwrap();
            loop {
                let (waiting, refused) = queue.count().await.unwrap();
                assert_eq!(refused, 0, "{:?}", queue.list(0, TURNS).await);
                if waiting == 0 {
                    break;
                }
                assert!(began.elapsed() < LIMIT, "{waiting} wait, first {:?}", queue.list(0, 1).await);
                queue.retry(Chosen::All).await.unwrap();
                let report = courier.deliver_due(usize::MAX, LIMIT).await.unwrap();
                // The circuit is open, or the provider is not asked yet whether it is ready.
                if report.postponed > 0 {
                    clock.advance_seconds(60);
                }
            }
            self.memory.engine.shutdown().await.unwrap();
        });
    }
}

fn all_turns_are_there_exactly_once(service: &Service, mode: &str) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let mut server = Some(Server::start(service, "127.0.0.1:0"));
    let address = server.as_ref().unwrap().address();
    let mut reserved = None;
    let home = Home::new();
    std::fs::create_dir_all(home.path()).unwrap();
    std::fs::write(home.path().join("config.yaml"), service.config(mode, &format!("http://{address}"))).unwrap();
    let mut process = Process::start(&home, &clock);
    let (mut told, mut told_before) = (Vec::new(), 0);
    for turn in 0..TURNS {
        match turn {
            ADDITIONS_BREAK => {
                let server = server.as_ref().unwrap();
                server.fake.fail_always_at(service.adds_at(), Fault::CutInHalf);
                told_before = service.told(&server.fake.recorded()).len();
            }
            ANSWERS_BREAK => {
                let server = server.as_ref().unwrap();
                let began = Instant::now();
                while service.told(&server.fake.recorded()).len() < told_before + 4 {
                    assert!(began.elapsed() < LIMIT, "nothing was told while answers broke off");
                }
                server.fake.fail_always(Some(Fault::CutInHalf));
            }
            SERVICE_DIES => {
                told.extend(server.take().unwrap().kill(service));
                reserved = Some(reserve(address));
            }
            PROCESS_DIES => {
                process.keep(turn - 1);
                process.kill();
                // What the dead process had taken is free again after a while.
                clock.advance_seconds(PATIENCE * 2);
                process = Process::start(&home, &clock);
            }
            SERVICE_RETURNS => {
                drop(reserved.take());
                let returned = Server::start(service, &address.to_string());
                returned.fake.fail_next([Fault::CutInHalf, Fault::CutInHalf, Fault::CutInHalf]);
                server = Some(returned);
            }
            _ => {}
        }
        process.turn(turn);
        clock.advance_seconds(PACE);
    }
    process.finish(&clock);
    told.extend(server.unwrap().kill(service));
    assert_eq!(told, everything(), "what the service was told");
    assert_eq!(service.kept(), service.expected(), "what the service keeps");
    if mode == "both" {
        let mut messages: Vec<_> = runtime()
            .block_on(home.items())
            .into_iter()
            .map(|item| match item {
                Item::Message(message) => (message.position, message.content),
                other => panic!("{other:?}"),
            })
            .collect();
        messages.sort();
        let texts: Vec<_> = messages.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, everything(), "what the store keeps");
    }
}

#[test]
fn mem0_has_all_turns_exactly_once_in_mode_external() {
    all_turns_are_there_exactly_once(&Service::Mem0 { platform: Mem0Platform::default(), infer: false }, "external");
}

#[test]
fn mem0_has_all_turns_exactly_once_in_mode_both() {
    all_turns_are_there_exactly_once(&Service::Mem0 { platform: Mem0Platform::default(), infer: false }, "both");
}

#[test]
fn mem0_extracts_from_all_turns_exactly_once_in_mode_external() {
    all_turns_are_there_exactly_once(&Service::Mem0 { platform: Mem0Platform::default(), infer: true }, "external");
}

#[test]
fn openviking_has_all_turns_exactly_once_in_mode_external() {
    all_turns_are_there_exactly_once(&Service::OpenViking(OpenViking::default()), "external");
}

#[test]
fn openviking_has_all_turns_exactly_once_in_mode_both() {
    all_turns_are_there_exactly_once(&Service::OpenViking(OpenViking::default()), "both");
}
