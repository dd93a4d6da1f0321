//! A memory that follows its configuration.

use std::path::PathBuf;
use std::sync::Arc;

use memory_conformance::fake::{MEM0_PLATFORM_KEY, Mem0Platform};
use memory_core::config::{EngineMode, Environment, Loader};
use memory_core::{Clock, DeliveryQueue, ManualClock, SystemClock, Turn, Viewer};
use memory_engine::{LiveMemory, Reload};

struct Home {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

impl Home {
    fn new(config: &str) -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap(), clock: Arc::new(ManualClock::new(SystemClock.now())) };
        std::fs::create_dir_all(home.path()).unwrap();
        home.write(config);
        home
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("家")
    }

    fn write(&self, config: &str) {
        std::fs::write(self.path().join("config.yaml"), config).unwrap();
    }

    async fn open(&self) -> LiveMemory {
        let environment = Environment::new([("HOME", self.folder.path().to_str().unwrap())], self.folder.path());
        let loader = Loader::new(environment).with_home(self.path());
        LiveMemory::open(loader, self.clock.clone()).await.unwrap()
    }
}

fn external(mode: &str, url: &str) -> String {
    format!(
        "memory:\n  engine: {mode}\n  external:\n    provider: mem0\n    timeout: 1\n    shutdown_timeout: 1\n    \
         mem0: {{ api_key: {MEM0_PLATFORM_KEY}, base_url: \"{url}\", dialect: platform, infer: false }}\n"
    )
}

/// A port that nobody listens on.
fn dead_url() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_noticed_and_a_comment_is_none() {
    let home = Home::new("memory: { engine: builtin }\n");
    let live = home.open().await;
    home.write("# 注释\nmemory: { engine: builtin }\n");
    assert!(matches!(live.reload().await, Reload::Unchanged));
    home.write("memory: { engine: none }\n");
    assert!(matches!(live.tick().await, Reload::Unchanged), "looked at a moment ago");
    assert_eq!(live.memory().engine.mode(), EngineMode::Builtin);
    home.clock.advance_seconds(2);
    let held = live.memory();
    assert!(matches!(live.tick().await, Reload::Changed));
    assert_eq!((held.engine.mode(), live.memory().engine.mode()), (EngineMode::Builtin, EngineMode::None));
    assert_eq!(live.engine().current().mode(), EngineMode::None);
    drop(held);
    // The environment of the home counts too.
    std::fs::write(home.path().join(".env"), "MEMORY_ENGINE=builtin\n").unwrap();
    home.clock.advance_seconds(2);
    assert!(matches!(live.tick().await, Reload::Changed));
    assert_eq!(live.memory().engine.mode(), EngineMode::Builtin);
    live.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_be_used_changes_nothing_and_is_told_once() {
    let home = Home::new("memory: { engine: builtin }\n");
    let live = home.open().await;
    for (wrong, named) in [
        ("memory: { engin: none }\n", "engin"),
        ("memory: { engine: both, external: { provider: nobody } }\n", "nobody"),
        ("memory: { engine: external, external: { provider: openjiuwen } }\n", "openjiuwen"),
        ("memory: { engine: external, external: { provider: mem0 } }\n", "key"),
    ] {
        home.write(wrong);
        match live.reload().await {
            Reload::Refused(error) => assert!(error.to_string().contains(named), "{error}"),
            other => panic!("{wrong}: {other:?}"),
        }
        assert!(matches!(live.reload().await, Reload::Unchanged), "told once");
        assert_eq!(live.memory().engine.mode(), EngineMode::Builtin);
    }
    home.write("memory: { engine: builtin }\n");
    assert!(matches!(live.reload().await, Reload::Unchanged), "back to what is in effect");
    live.shutdown().await.unwrap();
}

/// Turns are written while the service is out of reach, and the configuration changes in the middle of it.
async fn no_turn_is_lost(mode: &str) {
    let home = Home::new(&external(mode, &dead_url()));
    let live = home.open().await;
    let viewer = Viewer { session: Some("会话".to_owned()), ..Viewer::user("小明", "__default__") };
    let turn = |number: usize| Turn {
        viewer: viewer.clone(),
        user_text: format!("I like tea number {number} 喜欢茶"),
        assistant_text: format!("Noted as {number}"),
        external_id: Some(format!("turn-{number}")),
        ..Turn::default()
    };
    let service = Mem0Platform::default();
    let server = service.serve().await;
    for number in 0..20 {
        let memory = live.memory();
        if number == 10 {
            home.write(&external(mode, server.url()));
            // What failed before is due again.
            home.clock.advance_seconds(3_600);
            assert!(matches!(live.reload().await, Reload::Changed));
        }
        // The tenth goes to the memory that was replaced while it was held.
        memory.engine.sync_turn(turn(number)).await.unwrap();
    }
    let queue = live.memory().queue.clone().unwrap();
    let courier = live.memory().engine.courier().unwrap().clone();
    for _ in 0..50 {
        home.clock.advance_seconds(3_600);
        courier.deliver_due(usize::MAX, std::time::Duration::from_secs(10)).await.unwrap();
        if queue.count().await.unwrap() == (0, 0) {
            break;
        }
    }
    assert_eq!(queue.count().await.unwrap(), (0, 0), "{:?}", queue.list(0, 3).await);
    live.shutdown().await.unwrap();
    let texts = service.texts();
    for number in 0..20 {
        for text in [format!("I like tea number {number} 喜欢茶"), format!("Noted as {number}")] {
            assert_eq!(texts.iter().filter(|stored| **stored == text).count(), 1, "{text}: {texts:?}");
        }
    }
    let order: Vec<&String> = texts.iter().filter(|text| text.starts_with("I like tea")).collect();
    let expected: Vec<String> = (0..20).map(|number| format!("I like tea number {number} 喜欢茶")).collect();
    assert!(order.into_iter().eq(&expected), "in order: {texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_turn_is_lost_in_mode_external() {
    no_turn_is_lost("external").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_turn_is_lost_in_mode_both() {
    no_turn_is_lost("both").await;
}
