//! Sessions there: messages go in, a commit archives them and lets the server extract memories.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use memory_core::{
    Error, ErrorKind, Id, Item, ListPage, ListRequest, Message, NewMessage, Result, Scope, Timestamp, Turn, Viewer,
    WriteOutcome, WriteResult, strip_fences,
};
use serde_json::{Value, json};

use crate::client::{Call, Caller};
use crate::error::{exists_already, is_missing, of_reply};
use crate::identity::Place;
use crate::wire::{Commit, Messages, StoredMessage, Task, body};

/// The most messages in one call; the server refuses more.
const BATCH: usize = 100;

/// Far more than a session holds: servers leave out the oldest messages beyond it.
const TOKEN_BUDGET: &str = "1000000000";

/// How long to wait before asking for a task again, at first and at most.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What is remembered about sessions while the process lives.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// How the last commit went.
    last_commit: Mutex<Option<CommitOutcome>>,
}

/// How a commit went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    /// There was nothing to extract from.
    Nothing,
    /// So many memories were extracted.
    Extracted(u64),
    /// The server says why not; the messages are in its archive.
    Failed(String),
    /// It goes on after we stopped waiting.
    Unfinished,
    /// This server would mix what it extracts with memories of other scopes.
    Withheld,
}

impl CommitOutcome {
    /// One line about it, when it is not as it should be.
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            Self::Nothing | Self::Extracted(1..) => None,
            Self::Extracted(0) => Some(
                "the last session was archived, but no memory was extracted from it; see `vlm` of the \
                                        OpenViking server"
                    .to_owned(),
            ),
            Self::Failed(reason) => {
                Some(format!("the last session was archived, but extraction from it failed: {reason}"))
            }
            Self::Unfinished => Some("extraction from the last session goes on beyond commit_timeout".to_owned()),
            Self::Withheld => Some(
                "OpenViking before 0.4 cannot keep scopes apart in extraction; the last session was kept \
                                    without it"
                    .to_owned(),
            ),
        }
    }
}

impl Sessions {
    /// How the last commit went.
    pub(crate) fn last_commit(&self) -> Option<CommitOutcome> {
        self.last_commit.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A message on its way.
#[derive(Debug, Clone)]
struct Outgoing {
    role: &'static str,
    text: String,
    at: Option<Timestamp>,
    external_id: Option<String>,
}

impl Outgoing {
    fn of(message: NewMessage) -> Self {
        let role = match message.role {
            memory_core::Role::User => "user",
            memory_core::Role::Assistant => "assistant",
            memory_core::Role::System => "system",
            memory_core::Role::Tool => "tool",
        };
        Self { role, text: message.content, at: message.created_at, external_id: message.external_id }
    }

    fn json(&self, peer: Option<&str>) -> Value {
        body([
            ("role", Some(json!(self.role))),
            ("content", Some(json!(self.text))),
            ("created_at", self.at.map(|at| json!(at.to_string()))),
            ("turn_id", self.external_id.as_ref().map(|id| json!(id))),
            ("peer_id", peer.map(|peer| json!(peer))),
        ])
    }

    /// True when a message there is this one. Servers up to 0.4.9 forget ids: there role, text and time must do.
    fn is(&self, stored: &StoredMessage) -> bool {
        let same_role = serde_json::to_value(stored.role()).is_ok_and(|role| role == self.role);
        match (&self.external_id, &stored.turn_id) {
            (Some(ours), Some(theirs)) => same_role && ours == theirs,
            _ => {
                let same_time =
                    self.at.is_none_or(|at| stored.created_at.parse::<Timestamp>().is_ok_and(|then| then == at));
                same_role && same_time && stored.text() == self.text
            }
        }
    }

    /// Whether it is among the messages there; each of them is one message only.
    fn is_taken_from(&self, stored: &mut Vec<StoredMessage>) -> bool {
        let place = stored.iter().position(|stored| self.is(stored));
        place.map(|place| stored.remove(place)).is_some()
    }

    /// The id of a message: of its foreign id, else of what it is.
    fn id(&self, session: &str, position: usize) -> Id {
        let at = self.at.map(|at| at.to_string()).unwrap_or_default();
        let key = self.external_id.clone().unwrap_or_else(|| format!("{at}\u{1f}{position}\u{1f}{}", self.text));
        Id::of_foreign(&format!("{session}\u{1f}{}\u{1f}{key}", self.role))
    }
}

impl Caller<'_> {
    /// Puts messages of one scope and session into the session there, in order. `repeated` ones are looked for first.
    pub(crate) async fn write_messages(&self, messages: Vec<NewMessage>, repeated: bool) -> Result<Vec<WriteResult>> {
        let Some(first) = messages.first() else { return Ok(Vec::new()) };
        let place = self.place(&first.scope);
        let session = place.session(&first.session_id);
        let mut stored = if repeated { self.stored(&place, &session).await? } else { Vec::new() };
        let mut results = Vec::new();
        let mut fresh: Vec<Outgoing> = Vec::new();
        let mut seen = HashSet::new();
        for (position, message) in messages.into_iter().map(Outgoing::of).enumerate() {
            if message.text.trim().is_empty() {
                results.push(WriteResult::rejected("the message is empty"));
                continue;
            }
            let in_batch = message.external_id.as_ref().is_some_and(|id| !seen.insert(id.clone()));
            let known = in_batch || message.is_taken_from(&mut stored);
            let outcome = if known { WriteOutcome::Deduped } else { WriteOutcome::Stored };
            results.push(WriteResult::with_id(outcome, message.id(&session, position).as_str()));
            if !known {
                fresh.push(message);
            }
        }
        self.post(&place, &session, &fresh).await?;
        Ok(results)
    }

    /// Puts a turn into its session there, without what was recalled into it.
    pub(crate) async fn write_turn(&self, turn: Turn) -> Result<()> {
        let place = self.place(&turn.viewer.conversation()?);
        let session = place.session(session_of(&turn.viewer));
        let spoken = [("user", &turn.user_text), ("assistant", &turn.assistant_text)];
        let mut messages: Vec<Outgoing> = spoken
            .into_iter()
            .map(|(role, text)| Outgoing {
                role,
                text: strip_fences(text).trim().to_owned(),
                at: turn.at,
                external_id: turn.external_id.clone(),
            })
            .filter(|message| !message.text.is_empty())
            .collect();
        if turn.repeated && !messages.is_empty() {
            let mut stored = self.stored(&place, &session).await?;
            messages.retain(|message| !message.is_taken_from(&mut stored));
        }
        self.post(&place, &session, &messages).await
    }

    async fn post(&self, place: &Place, session: &str, messages: &[Outgoing]) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let peer = place.peer.as_deref().filter(|_| self.connection.has_peers);
        let key = format!("{}\u{1f}{session}", self.user);
        if peer.is_some() && !self.connection.is_prepared(&key) {
            // What is extracted goes to the peer alone, whatever the model makes of it.
            let body = json!({
                "session_id": session,
                "memory_policy": {"self": {"enabled": false}, "peer": {"enabled": true}},
            });
            let segments = ["api", "v1", "sessions"];
            let reply = self.reply(&Call::post(&segments, &body).peer(peer)).await?;
            if !reply.is_success() && !exists_already(&reply) {
                return Err(of_reply(self.service(), &reply));
            }
            self.connection.prepare(key);
        }
        for batch in messages.chunks(BATCH) {
            let body = json!({"messages": batch.iter().map(|message| message.json(peer)).collect::<Vec<_>>()});
            let segments = ["api", "v1", "sessions", session, "messages", "batch"];
            let _: Value = self.result(&Call::post(&segments, &body).peer(peer)).await?;
        }
        Ok(())
    }

    /// Every message of a session there, archived ones first.
    async fn stored(&self, place: &Place, session: &str) -> Result<Vec<StoredMessage>> {
        let peer = place.peer.as_deref();
        let segments = ["api", "v1", "sessions", session, "context"];
        let query = [("token_budget", TOKEN_BUDGET)];
        let current: Option<Messages> = self.found(&Call::get(&segments).query(&query).peer(peer)).await?;
        let Some(current) = current else { return Ok(Vec::new()) };
        let mut stored: Vec<StoredMessage> = Vec::new();
        for number in 1..=current.archives() {
            let archive = format!("archive_{number:03}");
            let segments = ["api", "v1", "sessions", session, "archives", &archive];
            let archived: Option<Messages> = self.found(&Call::get(&segments).peer(peer)).await?;
            stored.extend(archived.unwrap_or_default().messages);
        }
        stored.extend(current.messages);
        let mut seen = HashSet::new();
        stored.retain(|message| message.id.is_empty() || seen.insert(message.id.clone()));
        Ok(stored)
    }

    /// The messages of the viewer's session, in the order they were said.
    pub(crate) async fn list_messages(&self, request: &ListRequest) -> Result<ListPage> {
        let viewer = &request.viewer;
        if viewer.session.is_none() {
            return Err(Error::new(ErrorKind::Unsupported, "OpenViking lists the messages of one session only")
                .with_hint("name the session"));
        }
        let scope: Scope = viewer.conversation()?;
        let place = self.place(&scope);
        let stored = self.stored(&place, &place.session(session_of(viewer))).await?;
        let start: usize = match &request.cursor {
            None => 0,
            Some(cursor) => {
                cursor.parse().map_err(|_| Error::invalid("the cursor is not one of a list of OpenViking"))?
            }
        };
        let limit = if request.limit == 0 { 50 } else { request.limit };
        let next = (start.saturating_add(limit) < stored.len()).then(|| (start + limit).to_string());
        let items = stored.into_iter().enumerate().skip(start).take(limit).map(|(position, stored)| {
            Item::Message(Box::new(Message {
                id: Id::of_foreign(&stored.id),
                scope: scope.clone(),
                session_id: session_of(viewer).to_owned(),
                position: position as u64,
                role: stored.role(),
                speaker: None,
                content: stored.text(),
                created_at: stored.created_at.parse().unwrap_or_else(|_| self.server.clock.now()),
                external_id: stored.turn_id.clone(),
                attrs: Default::default(),
            }))
        });
        Ok(ListPage { items: items.collect(), next })
    }

    /// Ends the viewer's session: archives it and waits, within bounds, for what is extracted.
    pub(crate) async fn commit(&self, sessions: &Sessions, viewer: &Viewer) -> Result<()> {
        // A temporary team says nothing, so there is nothing to end.
        let Ok(scope) = viewer.conversation() else { return Ok(()) };
        let place = self.place(&scope);
        let session = place.session(session_of(viewer));
        let outcome = self.commit_session(&place, &session).await?;
        match (&outcome, outcome.problem()) {
            (_, Some(problem)) => tracing::warn!(session, "{problem}"),
            (outcome, None) => tracing::debug!(session, ?outcome, "session committed"),
        }
        *sessions.last_commit.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        Ok(())
    }

    async fn commit_session(&self, place: &Place, session: &str) -> Result<CommitOutcome> {
        if place.peer.is_some() && !self.connection.has_peers {
            return Ok(CommitOutcome::Withheld);
        }
        let segments = ["api", "v1", "sessions", session, "commit"];
        let body = json!({});
        let reply = self.reply(&Call::post(&segments, &body).peer(place.peer.as_deref())).await?;
        if is_missing(&reply) {
            return Ok(CommitOutcome::Nothing);
        }
        let commit: Commit = self.result_of(&reply)?;
        match commit.task_id {
            None => Ok(CommitOutcome::Nothing),
            Some(task) => Ok(self.follow(&task).await),
        }
    }

    /// Follows a task until it has ended. The messages are safe by then: no failure here is one of the commit.
    async fn follow(&self, task: &str) -> CommitOutcome {
        let waiting = async {
            let mut wait = FIRST_WAIT;
            loop {
                let segments = ["api", "v1", "tasks", task];
                match self.result::<Task>(&Call::get(&segments)).await {
                    Ok(task) if task.status == "completed" => return CommitOutcome::Extracted(task.memories()),
                    Ok(task) if matches!(task.status.as_str(), "failed" | "cancelled") => {
                        let reason = match task.error {
                            Some(Value::String(reason)) => reason,
                            Some(reason) => reason.to_string(),
                            None => task.status,
                        };
                        return CommitOutcome::Failed(reason.chars().take(300).collect());
                    }
                    Err(error) if !error.is_retryable() => return CommitOutcome::Failed(error.to_string()),
                    Ok(_) | Err(_) => {}
                }
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        };
        tokio::time::timeout(self.server.config.commit_timeout, waiting).await.unwrap_or(CommitOutcome::Unfinished)
    }
}

/// The session of a viewer, or the default one.
pub(crate) fn session_of(viewer: &Viewer) -> &str {
    viewer.session.as_deref().unwrap_or(memory_core::DEFAULT_NAME)
}
