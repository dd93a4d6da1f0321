//! A provider with the stand-in it talks to.

use memory_conformance::fake::{
    FakeServer, MEM0_PLATFORM_KEY, MEM0_SELF_HOSTED_KEY, Mem0Platform, Mem0SelfHosted, Recorded,
};
use memory_core::config::{Config, Mem0Dialect};
use memory_core::{
    MemoryProvider, NewMemory, SafeUrl, Scope, SearchRequest, Secret, Viewer, WriteItem, WriteRequest, WriteResult,
};
use provider_mem0::{Mem0Config, Mem0Provider};

pub(crate) const UNKNOWN: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

pub(crate) struct Setup {
    pub(crate) platform: Option<Mem0Platform>,
    pub(crate) own: Option<Mem0SelfHosted>,
    pub(crate) server: FakeServer,
    pub(crate) provider: Mem0Provider,
}

/// A provider for an address, with short limits.
pub(crate) fn provider_at(
    url: &str,
    key: &str,
    dialect: Mem0Dialect,
    change: impl FnOnce(&mut Config),
) -> Mem0Provider {
    let mut config = Config::default();
    let external = &mut config.memory.external;
    external.timeout = 10.0;
    external.mem0.base_url = SafeUrl::new(url);
    external.mem0.api_key = Secret::new(key);
    external.mem0.dialect = dialect;
    change(&mut config);
    Mem0Provider::new(Mem0Config::of(&config).unwrap()).unwrap()
}

pub(crate) async fn platform_with(change: impl FnOnce(&mut Config)) -> Setup {
    let mem0 = Mem0Platform::default();
    let server = mem0.serve().await;
    let provider = provider_at(server.url(), MEM0_PLATFORM_KEY, Mem0Dialect::Platform, change);
    Setup { platform: Some(mem0), own: None, server, provider }
}

pub(crate) async fn platform() -> Setup {
    platform_with(|_| {}).await
}

pub(crate) async fn self_hosted_with(change: impl FnOnce(&mut Config)) -> Setup {
    let mem0 = Mem0SelfHosted::default();
    let server = mem0.serve().await;
    let provider = provider_at(server.url(), MEM0_SELF_HOSTED_KEY, Mem0Dialect::SelfHosted, change);
    Setup { platform: None, own: Some(mem0), server, provider }
}

pub(crate) async fn self_hosted() -> Setup {
    self_hosted_with(|_| {}).await
}

impl Setup {
    pub(crate) fn texts(&self) -> Vec<String> {
        match (&self.platform, &self.own) {
            (Some(mem0), _) => mem0.texts(),
            (_, Some(mem0)) => mem0.texts(),
            _ => unreachable!(),
        }
    }

    pub(crate) async fn write(&self, new: NewMemory, repeated: bool) -> memory_core::Result<WriteResult> {
        let items = vec![WriteItem::Memory(Box::new(new))];
        let report = self.provider.write(WriteRequest { items, repeated, force: false }).await?;
        Ok(report.items.into_iter().next().unwrap())
    }

    pub(crate) async fn add(&self, scope: Scope, text: &str) -> String {
        let result = self.write(NewMemory::new(scope, text), false).await.unwrap();
        assert_eq!(result.outcome, memory_core::WriteOutcome::Stored, "{result:?}");
        result.id.unwrap()
    }

    pub(crate) async fn found(&self, viewer: &Viewer, query: &str) -> Vec<String> {
        let recall = self.provider.search(SearchRequest::new(viewer.clone(), query)).await.unwrap();
        recall.hits.into_iter().map(|hit| hit.text).collect()
    }

    /// The one request since the last time, checked for what every request has.
    pub(crate) fn only(&self) -> Recorded {
        let mut recorded = self.server.take_recorded();
        assert_eq!(recorded.len(), 1, "{:?}", recorded.iter().map(Recorded::line).collect::<Vec<_>>());
        let request = recorded.remove(0);
        self.check(&request);
        request
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let recorded = self.server.take_recorded();
        recorded.iter().for_each(|request| self.check(request));
        recorded.iter().map(Recorded::line).collect()
    }

    fn check(&self, request: &Recorded) {
        let (token, key) = match self.platform {
            Some(_) => (Some(format!("Token {MEM0_PLATFORM_KEY}")), None),
            None => (None, Some(MEM0_SELF_HOSTED_KEY)),
        };
        assert_eq!(request.header("authorization"), token.as_deref());
        assert_eq!(request.header("x-api-key"), key);
        assert_eq!(request.header("content-type"), (!request.body.is_empty()).then_some("application/json"));
        assert!(self.platform.is_none() || request.path.ends_with('/'), "{}", request.line());
        assert!(self.platform.is_some() || !request.path.ends_with('/'), "{}", request.line());
    }
}

pub(crate) fn user(name: &str) -> Scope {
    Scope { user: name.into(), ..Scope::default() }
}

pub(crate) fn viewer(name: &str) -> Viewer {
    Viewer::user(name, memory_core::DEFAULT_NAME)
}
