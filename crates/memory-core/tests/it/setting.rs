//! An engine over test providers, on virtual time.

use std::sync::Arc;
use std::time::Duration;

use memory_core::config::EngineMode;
use memory_core::*;

use crate::provider::TestProvider;
use crate::virtual_time::VirtualTime;

/// What must not leave in tests.
pub(crate) const SECRET: &str = "sk-geheim";

pub(crate) struct Setting {
    pub(crate) time: Arc<VirtualTime>,
    pub(crate) builtin: Arc<TestProvider>,
    pub(crate) external: Arc<TestProvider>,
    pub(crate) queue: Arc<VolatileQueue>,
    pub(crate) engine: Arc<Engine>,
}

impl Setting {
    pub(crate) fn new(mode: EngineMode) -> Self {
        Self::with(mode, |_| {}, GuardPolicy::default())
    }

    pub(crate) fn with(mode: EngineMode, capability: impl Fn(&mut Capability), policy: GuardPolicy) -> Self {
        let time = VirtualTime::start();
        let (builtin, external) =
            (TestProvider::builtin(time.clone()), TestProvider::external_with(time.clone(), capability));
        let queue = Arc::new(VolatileQueue::new(time.clone()));
        let engine = engine(mode, &builtin, &external, &queue, policy, &time);
        Self { time, builtin, external, queue, engine }
    }

    /// The engine of a process that starts now, over what the one before left.
    pub(crate) fn restart(&mut self, mode: EngineMode) {
        let policy = GuardPolicy::default();
        self.engine = engine(mode, &self.builtin, &self.external, &self.queue, policy, &self.time);
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.time.sleep(Duration::from_secs(seconds)).await;
    }

    /// Lets everything that can go on at once go on.
    pub(crate) async fn settle(&self) {
        self.time.sleep(Duration::from_millis(1)).await;
    }

    /// Delivers what is due until nothing waits.
    pub(crate) async fn deliver_all(&self) {
        for _ in 0..100 {
            self.engine.courier().unwrap().deliver_due(usize::MAX, Duration::from_secs(600)).await.unwrap();
            if self.queue.count().await.unwrap().0 == 0 {
                return;
            }
            self.pass(60).await;
        }
        panic!("still waiting: {:?}", self.queue.deliveries());
    }

    pub(crate) async fn add(&self, text: &str) -> WriteResult {
        self.write(memory(text)).await
    }

    pub(crate) async fn write(&self, memory: NewMemory) -> WriteResult {
        let items = vec![WriteItem::Memory(Box::new(memory))];
        let request = WriteRequest { items, force: false, repeated: false };
        self.engine.write(request).await.unwrap().items.pop().unwrap()
    }

    pub(crate) async fn recall(&self, query: &str) -> Recall {
        self.engine.search(SearchRequest::new(Viewer::default(), query)).await.unwrap()
    }

    pub(crate) async fn forget(&self, id: &str) -> DeleteReport {
        let ids = vec![id.to_owned()];
        let request = DeleteRequest { viewer: Viewer::default(), ids, erase: false, dry_run: false };
        self.engine.delete(request).await.unwrap()
    }

    pub(crate) async fn change(&self, id: &str, body: &str) -> Result<WriteResult> {
        let changes = MemoryChanges { body: Some(body.into()), ..MemoryChanges::default() };
        let request = UpdateRequest { viewer: Viewer::default(), id: id.into(), changes, expected_revision: None };
        self.engine.update(request).await
    }

    pub(crate) async fn get(&self, id: &str) -> Option<String> {
        match self.engine.get(&Viewer::default(), &[id.to_owned()]).await.unwrap().items.pop()? {
            Item::Memory(memory) => Some(memory.body),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn conversation(&self, session: &str) -> Conversation {
        let viewer = Viewer { session: Some(session.into()), ..Viewer::default() };
        let config = memory_core::config::ExternalConfig::default();
        let settings = ConversationSettings::of(&config, self.time.clone(), self.time.clone());
        Conversation::begin(LiveEngine::new(self.engine.clone()), viewer, settings)
    }
}

fn engine(
    mode: EngineMode,
    builtin: &Arc<TestProvider>,
    external: &Arc<TestProvider>,
    queue: &Arc<VolatileQueue>,
    policy: GuardPolicy,
    time: &Arc<VirtualTime>,
) -> Arc<Engine> {
    let external = External {
        provider: external.clone(),
        queue: queue.clone(),
        policy,
        sanitise: Arc::new(sanitise),
        context: SessionContext::default(),
        clock: time.clone(),
        sleeper: time.clone(),
    };
    Arc::new(Engine::builder(mode).builtin(builtin.clone()).external(external).build().unwrap())
}

/// Takes the secret out, and refuses what says so.
fn sanitise(mut item: WriteItem) -> Result<WriteItem> {
    let text = match &mut item {
        WriteItem::Memory(memory) => &mut memory.body,
        WriteItem::Message(message) => &mut message.content,
    };
    if text.contains("PRIVATE") {
        return Err(Error::invalid("this must not leave"));
    }
    *text = text.replace(SECRET, "[redacted]");
    Ok(item)
}

pub(crate) fn memory(text: &str) -> NewMemory {
    NewMemory::new(Scope::default(), text)
}

pub(crate) fn turn(text: &str) -> TurnRecord {
    TurnRecord { user_text: text.into(), assistant_text: format!("回答 {text}"), ..TurnRecord::default() }
}
