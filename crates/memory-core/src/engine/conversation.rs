//! A conversation of an agent, as the hooks of an agent framework see it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{LiveEngine, raw_user_text};
use crate::config::ExternalConfig;
use crate::layers::{Backoff, Deadline, after};
use crate::{
    Clock, Error, ErrorKind, IdGenerator, Result, SessionContext, Sleeper, Timestamp, ToolDefinition, Turn, Viewer,
    fence, strip_fences,
};

/// The longest that recalling for a prompt may hold up a turn.
const PREFETCH_LIMIT: Duration = Duration::from_secs(5);
/// Turns that may wait; then [`Conversation::after_turn`] waits too.
const MOST_WAITING: usize = 64;
/// How often a turn is tried that cannot even be kept in the queue, as when the disk is full.
const MOST_ATTEMPTS: u32 = 5;

/// How conversations are held.
#[derive(Clone)]
pub struct ConversationSettings {
    /// The longest that recalling may hold up one turn, all its model calls together.
    pub prefetch_limit: Duration,
    /// How many turns may wait to be kept.
    pub most_waiting: usize,
    /// How long after the last turn a session counts as ended.
    pub idle_limit: Duration,
    /// The language of prompts, such as `en` or `zh`.
    pub language: Option<String>,
    /// The present moment.
    pub clock: Arc<dyn Clock>,
    /// Waits.
    pub sleeper: Arc<dyn Sleeper>,
}

impl ConversationSettings {
    /// The settings that section `memory.external` gives.
    pub fn of(config: &ExternalConfig, clock: Arc<dyn Clock>, sleeper: Arc<dyn Sleeper>) -> Self {
        Self {
            prefetch_limit: PREFETCH_LIMIT,
            most_waiting: MOST_WAITING,
            idle_limit: Duration::try_from_secs_f64(config.idle_timeout).unwrap_or(Duration::MAX),
            language: None,
            clock,
            sleeper,
        }
    }
}

/// What set a turn off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnKind {
    /// The user said something.
    #[default]
    User,
    /// A schedule.
    Scheduled,
    /// A sign of life.
    Heartbeat,
}

/// A finished turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnRecord {
    /// What set it off.
    pub kind: TurnKind,
    /// What the user said; an envelope around it is taken off.
    pub user_text: String,
    /// What the agent answered.
    pub assistant_text: String,
    /// When the user spoke; default now.
    pub at: Option<Timestamp>,
    /// A foreign id, by which the turn is kept only once.
    pub external_id: Option<String>,
}

/// What became of a finished turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// It waits to be kept.
    Accepted,
    /// It is not kept: nobody spoke, or one of the two said nothing.
    Skipped,
}

/// One conversation of one viewer in one session. Turns are kept in the background, in order; recalling never holds a turn
/// up for longer than its limit, whatever the providers do.
pub struct Conversation {
    live: LiveEngine,
    viewer: Viewer,
    settings: ConversationSettings,
    state: Mutex<State>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct State {
    /// `None` once it is closed.
    jobs: Option<mpsc::Sender<Job>>,
    /// What the present turn asked, and what was recalled, fenced.
    recalled: Option<(String, Option<String>)>,
    /// How long the present turn has been held up.
    spent: Duration,
    /// Whether there were turns since the session was ended.
    open: bool,
    last_active: Timestamp,
}

enum Job {
    Turn(Box<Turn>),
    End,
}

impl Conversation {
    /// Begins a conversation, and begins to get the providers ready without waiting for them. A viewer without a session
    /// gets one of its own. Needs a tokio runtime around it.
    pub fn begin(live: LiveEngine, viewer: Viewer, settings: ConversationSettings) -> Self {
        let now = settings.clock.now();
        let session = viewer.session.clone().unwrap_or_else(|| IdGenerator::default().next(now).to_string());
        let viewer = Viewer { session: Some(session), ..viewer };
        let context = SessionContext { viewer: viewer.clone(), language: settings.language.clone() };
        let engine = live.current();
        tokio::spawn(async move {
            if let Err(error) = engine.initialize(&context).await {
                tracing::debug!(%error, "a provider is not ready yet");
            }
        });
        let (jobs, waiting) = mpsc::channel(settings.most_waiting.max(1));
        let worker = tokio::spawn(work(waiting, live.clone(), viewer.clone(), settings.clone()));
        let state = State { jobs: Some(jobs), recalled: None, spent: Duration::ZERO, open: false, last_active: now };
        Self { live, viewer, settings, state: Mutex::new(state), worker: Mutex::new(Some(worker)) }
    }

    /// Whose conversation it is, and its session.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Recalls for the prompt of a model call: a fenced text, or `None`. Within one turn the same question is asked once,
    /// provided every provider answered; otherwise it is asked again while the limit lasts.
    pub async fn before_model(&self, query: &str) -> Option<String> {
        let query = raw_user_text(&strip_fences(query));
        let started = self.settings.clock.now();
        let left = {
            let mut state = self.state();
            state.last_active = started;
            match &state.recalled {
                Some((asked, recalled)) if *asked == query => return recalled.clone(),
                _ => self.settings.prefetch_limit.saturating_sub(state.spent),
            }
        };
        if query.is_empty() || left.is_zero() {
            return None;
        }
        let prefetch = self.live.current().prefetch(&self.viewer, &query, left).await;
        let recalled = prefetch.text.map(|text| fence(&text)).filter(|text| !text.is_empty());
        let mut state = self.state();
        let took = self.settings.clock.now().nanoseconds().saturating_sub(started.nanoseconds());
        state.spent += Duration::from_nanos(u64::try_from(took).unwrap_or(0));
        if prefetch.complete {
            state.recalled = Some((query, recalled.clone()));
        }
        recalled
    }

    /// Hands a finished turn over to be kept. Waits only while too many turns wait already. An error only when the
    /// conversation is closed.
    pub async fn after_turn(&self, record: TurnRecord) -> Result<TurnOutcome> {
        let user_text = raw_user_text(&strip_fences(&record.user_text));
        let assistant_text = strip_fences(&record.assistant_text).trim().to_owned();
        let now = self.settings.clock.now();
        let jobs = {
            let mut state = self.state();
            (state.recalled, state.spent, state.last_active) = (None, Duration::ZERO, now);
            if record.kind != TurnKind::User || user_text.is_empty() || assistant_text.is_empty() {
                return Ok(TurnOutcome::Skipped);
            }
            state.open = true;
            state.jobs.clone()
        };
        let turn = Turn {
            viewer: self.viewer.clone(),
            user_text,
            assistant_text,
            at: Some(record.at.unwrap_or(now)),
            // An id of the caller's may have come before.
            repeated: record.external_id.is_some(),
            external_id: record.external_id,
        };
        send(jobs, Job::Turn(Box::new(turn))).await.map(|()| TurnOutcome::Accepted)
    }

    /// Ends the session once its turns are kept. Does nothing when there was no turn since it was ended last.
    pub async fn end(&self) -> Result<()> {
        let jobs = {
            let mut state = self.state();
            if !std::mem::take(&mut state.open) {
                return Ok(());
            }
            state.jobs.clone()
        };
        send(jobs, Job::End).await
    }

    /// Ends the session when nothing has happened for too long. To be called now and then.
    pub async fn tick(&self, now: Timestamp) -> Result<()> {
        let is_idle = now >= after(self.state().last_active, self.settings.idle_limit);
        if is_idle { self.end().await } else { Ok(()) }
    }

    /// Ends the session and closes the conversation. An error when its turns could not be kept within `limit`; they are
    /// still worked on while the process lives.
    pub async fn shutdown(&self, limit: Duration) -> Result<()> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let work = async {
            self.end().await?;
            self.state().jobs = None;
            match worker {
                Some(worker) => worker
                    .await
                    .map_err(|error| Error::unexpected("the worker of a conversation broke down").with_source(error)),
                None => Ok(()),
            }
        };
        Deadline::after(&*self.settings.sleeper, limit).bound(work).await.unwrap_or_else(|_| {
            let message = format!("turns of session `{}` still wait after {} s", self.session(), limit.as_secs_f64());
            Err(Error::new(ErrorKind::Timeout, message))
        })
    }

    /// The tools that can be served now.
    pub fn tools(&self) -> Vec<ToolDefinition> {
        self.live.current().tools()
    }

    /// Runs a tool. It acts for the viewer and not for this session alone: what was said in others can be found, and what is
    /// written outlives it.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<Value> {
        let viewer = Viewer { session: None, ..self.viewer.clone() };
        self.live.current().call_tool(&viewer, name, arguments).await
    }

    /// What the agent should know about using its memory.
    pub fn guidance(&self) -> String {
        self.live.current().guidance(self.settings.language.as_deref().unwrap_or("en"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> &str {
        self.viewer.session.as_deref().unwrap_or_default()
    }
}

async fn send(jobs: Option<mpsc::Sender<Job>>, job: Job) -> Result<()> {
    let closed = || Error::new(ErrorKind::Cancelled, "the conversation is closed");
    jobs.ok_or_else(closed)?.send(job).await.map_err(|_| closed())
}

/// Keeps turns one after the other until the conversation is closed and none waits.
async fn work(mut jobs: mpsc::Receiver<Job>, live: LiveEngine, viewer: Viewer, settings: ConversationSettings) {
    let ids = IdGenerator::default();
    let backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10), 1);
    while let Some(mut job) = jobs.recv().await {
        // What is tried twice needs a name, so that it is kept once.
        if let Job::Turn(turn) = &mut job
            && turn.external_id.is_none()
        {
            turn.external_id = Some(ids.next(settings.clock.now()).to_string());
        }
        for attempt in 1..=MOST_ATTEMPTS {
            let outcome = match &job {
                Job::Turn(turn) => live.current().keep_turn((**turn).clone()).await,
                Job::End => live.current().end_session(&viewer).await,
            };
            let Err(error) = outcome else { break };
            let session = viewer.session.as_deref().unwrap_or_default();
            match error.kind() {
                ErrorKind::Disabled => break,
                ErrorKind::InvalidRequest | ErrorKind::Unsupported | ErrorKind::Forbidden => {
                    tracing::warn!(%error, session, "a turn is not kept");
                    break;
                }
                _ if attempt == MOST_ATTEMPTS => tracing::error!(%error, session, "a turn is lost"),
                _ => settings.sleeper.sleep(backoff.pause(attempt, error.retry_after_ms())).await,
            }
        }
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("viewer", &self.viewer).finish_non_exhaustive()
    }
}
