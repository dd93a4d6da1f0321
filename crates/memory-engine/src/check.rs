//! One live round trip at a provider: write, recall, forget.

use std::time::{Duration, Instant};

use memory_core::{
    Capability, DeleteRequest, Descriptor, Error, ErrorKind, MemoryProvider, NewMemory, Result, SearchRequest,
    SessionContext, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use serde::Serialize;

/// How often what was written is looked for, and the pause between two tries: services index behind an answer.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(500);

/// One step of a round trip.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckStep {
    /// `reach`, `write`, `recall` or `forget`.
    pub name: &'static str,
    /// Whether it went well.
    pub ok: bool,
    /// What is wrong, in one line.
    pub message: String,
    /// How long it took.
    pub took_ms: f64,
}

/// What a round trip showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// The provider.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether all steps went well.
    pub ok: bool,
    /// What is wrong, or that all is well, in one line.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
    /// The steps, in order.
    pub steps: Vec<CheckStep>,
    /// How long all of them took.
    pub took_ms: f64,
}

/// Writes a memory as `viewer`, recalls it and forgets it again. `mark` is a word that nothing else there holds. A failure is
/// part of the report, and what was written is removed all the same. A step that takes longer than `limit` fails.
pub async fn check(provider: &dyn MemoryProvider, viewer: &Viewer, mark: &str, limit: Duration) -> CheckReport {
    let trip = RoundTrip { provider, viewer, mark, limit, capability: provider.capability() };
    let mut steps = Steps::default();
    let begin = Instant::now();
    let outcome = trip.run(&mut steps).await;
    let Descriptor { name, version, .. } = provider.descriptor();
    let Steps(steps) = steps;
    let (message, hints) = match &outcome {
        Ok(()) => {
            let done: Vec<&str> = steps.iter().map(|step| step.name).collect();
            (format!("{} work", done.join(", ")), Vec::new())
        }
        Err(error) => {
            let step = steps.iter().find(|step| !step.ok).map_or("check", |step| step.name);
            (format!("{step}: {}{error}", verdict(error.kind())), error.hints().to_vec())
        }
    };
    CheckReport { name, version, ok: outcome.is_ok(), message, hints, steps, took_ms: milliseconds(begin) }
}

#[derive(Default)]
struct Steps(Vec<CheckStep>);

impl Steps {
    fn note<T>(&mut self, name: &'static str, begin: Instant, outcome: Result<T>) -> Result<T> {
        let message = outcome.as_ref().err().map_or_else(|| "works".to_owned(), Error::to_string);
        self.0.push(CheckStep { name, ok: outcome.is_ok(), message, took_ms: milliseconds(begin) });
        outcome
    }
}

#[derive(Clone, Copy)]
struct RoundTrip<'a> {
    provider: &'a dyn MemoryProvider,
    viewer: &'a Viewer,
    mark: &'a str,
    limit: Duration,
    capability: Capability,
}

impl RoundTrip<'_> {
    async fn run(self, steps: &mut Steps) -> Result<()> {
        let begin = Instant::now();
        steps.note("reach", begin, self.within(self.reach()).await)?;
        let text = format!("{}: the favourite colour of this check is teal 记忆检查", self.mark);
        let begin = Instant::now();
        let id = steps.note("write", begin, self.within(self.write(&text)).await)?;
        let mut outcome = Ok(());
        if self.capability.search {
            let begin = Instant::now();
            outcome = steps.note("recall", begin, self.within(self.recall(&id, &text)).await);
        }
        // Also when it was not recalled.
        if self.capability.delete {
            let begin = Instant::now();
            let forgotten = steps.note("forget", begin, self.within(self.forget(&id)).await);
            outcome = outcome.and(forgotten);
        }
        outcome
    }

    async fn within<T>(self, step: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::time::timeout(self.limit, step).await.unwrap_or_else(|_| {
            let message = format!("no answer within {} s", self.limit.as_secs_f64());
            Err(Error::new(ErrorKind::Timeout, message)
                .with_hint("see whether the address is right and the service runs"))
        })
    }

    async fn reach(self) -> Result<()> {
        let context = SessionContext { viewer: self.viewer.clone(), language: None };
        self.provider.initialize(&context).await?;
        let health = self.provider.health().await;
        if health.ok { Ok(()) } else { Err(Error::new(ErrorKind::Unreachable, health.message)) }
    }

    async fn write(self, text: &str) -> Result<String> {
        if !self.capability.write {
            return Err(Error::unsupported(&self.provider.descriptor().name, "write"));
        }
        let new =
            NewMemory { external_id: Some(self.mark.to_owned()), ..NewMemory::new(self.viewer.writable()?, text) };
        let request = WriteRequest { items: vec![WriteItem::Memory(Box::new(new))], force: true, repeated: false };
        let result = self.provider.write(request).await?.items.into_iter().next();
        let result = result.ok_or_else(|| Error::new(ErrorKind::BadReply, "the write had no answer"))?;
        if result.outcome == WriteOutcome::Rejected {
            let reason = result.reason.unwrap_or_else(|| "it gave no reason".to_owned());
            return Err(Error::invalid(format!("it refused the text: {reason}")));
        }
        result.id.ok_or_else(|| {
            let reason = result.reason.unwrap_or_else(|| "nothing became of the text".to_owned());
            Error::new(ErrorKind::BadReply, format!("it took the text, but made no memory of it: {reason}"))
                .with_hint("see whether extraction is switched on there")
        })
    }

    async fn recall(self, id: &str, text: &str) -> Result<()> {
        let mut found = 0;
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let recall = self.provider.search(SearchRequest::new(self.viewer.clone(), text)).await?;
            let is_it = |hit: &memory_core::Hit| hit.id.as_str() == id || hit.text.contains(self.mark);
            if recall.hits.iter().any(is_it) {
                return Ok(());
            }
            found = recall.hits.len();
        }
        Err(Error::new(
            ErrorKind::BadReply,
            format!("what was written is not among the {found} hits of a search for it"),
        )
        .with_hint("its index may be slow or switched off; try again in a minute"))
    }

    async fn forget(self, id: &str) -> Result<()> {
        let ids = vec![id.to_owned()];
        let request = DeleteRequest { viewer: self.viewer.clone(), ids: ids.clone(), erase: false, dry_run: false };
        let report = self.provider.delete(request).await?;
        if report.deleted.is_empty() {
            return Err(Error::new(
                ErrorKind::BadReply,
                format!("what was written cannot be forgotten: `{id}` is unknown there"),
            ));
        }
        if self.capability.get && !self.provider.get(self.viewer, &ids).await?.items.is_empty() {
            return Err(Error::new(ErrorKind::BadReply, format!("what was forgotten is still there: `{id}`")));
        }
        Ok(())
    }
}

/// What the usual mistakes are, in plain words before those of the service.
fn verdict(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Unauthorized => "the key is missing or refused: ",
        ErrorKind::Unreachable => "it is out of reach: ",
        ErrorKind::NotFound => "the address or the version is not the right one: ",
        _ => "",
    }
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1_000.0
}
