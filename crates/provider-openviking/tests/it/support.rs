//! A provider with the stand-in it talks to.

use std::sync::Arc;

use memory_conformance::fake::{FakeServer, OpenViking, OpenVikingSettings, Recorded};
use memory_core::config::Config;
use memory_core::{
    DeleteRequest, Item, ListRequest, ManualClock, Memory, MemoryChanges, MemoryProvider, NewMemory, NewMessage, Owner,
    Role, SafeUrl, Scope, SearchRequest, Secret, Timestamp, Turn, UpdateRequest, Viewer, WriteItem, WriteRequest,
    WriteResult,
};
use provider_openviking::{OpenVikingConfig, OpenVikingProvider};

pub(crate) struct Setup {
    pub(crate) viking: OpenViking,
    pub(crate) server: FakeServer,
    pub(crate) provider: OpenVikingProvider,
}

/// A provider for an address, with a clock that stands still.
pub(crate) fn provider_at(url: &str, change: impl FnOnce(&mut Config)) -> OpenVikingProvider {
    let mut config = Config::default();
    config.memory.external.openviking.endpoint = SafeUrl::new(url);
    change(&mut config);
    let clock = ManualClock::new(time("2026-06-01T12:00:00Z"));
    OpenVikingProvider::with_clock(OpenVikingConfig::of(&config).unwrap(), Arc::new(clock)).unwrap()
}

pub(crate) async fn setup_with(settings: OpenVikingSettings, change: impl FnOnce(&mut Config)) -> Setup {
    let viking = OpenViking::new(settings);
    let server = viking.serve().await;
    let provider = provider_at(server.url(), change);
    Setup { viking, server, provider }
}

pub(crate) async fn setup() -> Setup {
    setup_with(OpenVikingSettings::default(), |_| {}).await
}

pub(crate) async fn version(version: &str) -> Setup {
    setup_with(OpenVikingSettings { version: version.into(), ..OpenVikingSettings::default() }, |_| {}).await
}

pub(crate) fn key(key: &str) -> impl FnOnce(&mut Config) {
    let key = Secret::new(key);
    move |config| config.memory.external.openviking.api_key = key
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn viewer() -> Viewer {
    Viewer::default()
}

pub(crate) fn in_session(session: &str) -> Viewer {
    Viewer { session: Some(session.into()), ..viewer() }
}

pub(crate) fn note(text: &str) -> NewMemory {
    NewMemory::new(Scope::default(), text)
}

pub(crate) fn owned(owner: Owner, text: &str) -> NewMemory {
    NewMemory::new(Scope { owner, ..Scope::default() }, text)
}

pub(crate) fn turn(session: &str, id: &str, user: &str) -> Turn {
    Turn {
        viewer: in_session(session),
        user_text: user.into(),
        assistant_text: format!("about {user}"),
        at: Some(time("2026-04-01T08:00:00+08:00")),
        external_id: Some(id.into()),
        repeated: false,
    }
}

pub(crate) fn message(session: &str, id: Option<&str>, text: &str) -> NewMessage {
    NewMessage {
        external_id: id.map(str::to_owned),
        created_at: Some(time("2026-04-01T08:00:00Z")),
        ..NewMessage::new(Scope::default(), session, Role::User, text)
    }
}

impl Setup {
    pub(crate) async fn write(&self, new: NewMemory) -> memory_core::Result<WriteResult> {
        let request = WriteRequest { items: vec![WriteItem::Memory(Box::new(new))], ..WriteRequest::default() };
        Ok(self.provider.write(request).await?.items.remove(0))
    }

    pub(crate) async fn add(&self, text: &str) -> String {
        self.write(note(text)).await.unwrap().id.unwrap()
    }

    pub(crate) async fn say(&self, messages: Vec<NewMessage>, repeated: bool) -> memory_core::Result<Vec<WriteResult>> {
        let items = messages.into_iter().map(|message| WriteItem::Message(Box::new(message))).collect();
        Ok(self.provider.write(WriteRequest { items, repeated, ..WriteRequest::default() }).await?.items)
    }

    pub(crate) async fn found(&self, request: SearchRequest) -> Vec<String> {
        self.provider.search(request).await.unwrap().hits.into_iter().map(|hit| hit.text).collect()
    }

    pub(crate) async fn ask(&self, query: &str) -> Vec<String> {
        self.found(SearchRequest::new(viewer(), query)).await
    }

    pub(crate) async fn get(&self, id: &str) -> Option<Memory> {
        let report = self.provider.get(&viewer(), &[id.to_owned()]).await.unwrap();
        report.items.into_iter().next().map(|item| match item {
            Item::Memory(memory) => *memory,
            other => panic!("{other:?}"),
        })
    }

    pub(crate) async fn list(&self, request: ListRequest) -> (Vec<String>, Option<String>) {
        let page = self.provider.list(request).await.unwrap();
        let text = |item| match item {
            Item::Memory(memory) => memory.body,
            Item::Message(message) => message.content,
            other => panic!("{other:?}"),
        };
        (page.items.into_iter().map(text).collect(), page.next)
    }

    pub(crate) async fn update(&self, id: &str, changes: MemoryChanges) -> memory_core::Result<WriteResult> {
        let request = UpdateRequest { viewer: viewer(), id: id.into(), changes, expected_revision: None };
        self.provider.update(request).await
    }

    pub(crate) async fn delete(&self, id: &str) -> memory_core::Result<Vec<String>> {
        let request = DeleteRequest { viewer: viewer(), ids: vec![id.into()], erase: false, dry_run: false };
        Ok(self.provider.delete(request).await?.deleted)
    }

    /// The requests since the last time, as `METHOD path?query`.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.server.take_recorded().iter().map(Recorded::line).collect()
    }

    /// The requests of one kind since the last time.
    pub(crate) fn requests(&self, method: &str, path: &str) -> Vec<Recorded> {
        let all = self.server.take_recorded();
        all.into_iter().filter(|request| request.method == method && request.path == path).collect()
    }
}
