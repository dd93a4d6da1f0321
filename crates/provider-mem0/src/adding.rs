//! Writing: memories as they are, messages and turns as they are or through Mem0's extraction.

use memory_core::{
    DEFAULT_NAME, Error, ErrorKind, Id, NewMemory, NewMessage, Result, Role, Scope, Timestamp, Turn, WriteItem,
    WriteOutcome, WriteReport, WriteRequest, WriteResult, strip_fences,
};
use serde_json::{Value, json};

use crate::client::{Client, Dialect, MOST};
use crate::error;
use crate::events;
use crate::metadata;
use crate::provider::Mem0Provider;
use crate::record::Record;
use crate::scope::{Address, View, viewer_of};
use crate::wire::{Added, Addition};

/// How many of the nearest memories are compared with a text that Mem0 did not store a second time.
const NEAREST: usize = 20;

/// What is about to be added.
struct Draft {
    messages: Vec<Value>,
    infer: bool,
    address: Address,
    at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl Draft {
    fn body(self, dialect: Dialect, metadata: memory_core::Attributes) -> Value {
        let mut body = self.address.ids;
        body.insert("messages".into(), self.messages.into());
        body.insert("infer".into(), self.infer.into());
        if !metadata.is_empty() {
            body.insert("metadata".into(), Value::Object(metadata));
        }
        if let Some(end) = self.expires_at {
            body.insert("expiration_date".into(), metadata::day(end).into());
        }
        if dialect == Dialect::Platform {
            if let Some(app_id) = self.address.app_id {
                body.insert("app_id".into(), app_id.into());
            }
            if let Some(at) = self.at {
                body.insert("timestamp".into(), at.nanoseconds().div_euclid(1_000_000_000).into());
            }
        }
        Value::Object(body)
    }
}

/// What became of an extraction.
enum Extraction {
    /// Something holds what was said; the first of it.
    Kept(Id),
    /// An attempt before has got so far.
    Known(Id),
    /// Nothing was extracted, now or in an attempt before.
    Nothing,
}

fn said(role: Role, text: &str) -> Value {
    // Mem0 skips messages of the system and knows no tools; who really spoke stands in the metadata.
    let role = if role == Role::Assistant { "assistant" } else { "user" };
    json!({ "role": role, "content": text })
}

/// The foreign id of one message of a turn.
fn part_of_turn(id: &str, role: Role) -> String {
    let role = if role == Role::User { "user" } else { "assistant" };
    format!("{id}:{role}")
}

impl Mem0Provider {
    pub(crate) async fn write_items(&self, request: &WriteRequest) -> Result<WriteReport> {
        let client = self.client().await?;
        let mut items: Vec<WriteResult> = Vec::with_capacity(request.items.len());
        for item in &request.items {
            let result = match item {
                WriteItem::Memory(new) => self.write_memory(client, new, request.repeated).await,
                WriteItem::Message(new) => {
                    match same_before(&request.items, items.len(), new).and_then(|at| items.get(at)) {
                        Some(same) => Ok(WriteResult { outcome: WriteOutcome::Deduped, ..same.clone() }),
                        None => self.write_message(client, new, request.repeated).await,
                    }
                }
            };
            items.push(match result {
                Err(error) if error::concerns_the_item(&error) => WriteResult::rejected(error.to_string()),
                result => result?,
            });
        }
        Ok(WriteReport { items })
    }

    async fn write_memory(&self, client: &Client, new: &NewMemory, repeated: bool) -> Result<WriteResult> {
        check(new)?;
        if repeated && let Some(external_id) = &new.external_id {
            let found = self.find(client, &new.scope, None, &[external_id], &new.body).await?;
            if let Some(found) = found.first() {
                return self.write_again(client, new, found).await;
            }
        }
        let address = self.config().address(&new.scope, None);
        let metadata = metadata::of_memory(new, address.marks.clone());
        let draft = Draft {
            messages: vec![said(Role::User, &new.body)],
            infer: false,
            address,
            at: new.created_at.or(new.observed_at),
            expires_at: new.expires_at,
        };
        self.keep(client, &new.scope, &new.body, draft.body(client.dialect(), metadata)).await
    }

    /// What an attempt before has written: the same text is there, another one is brought up to date.
    async fn write_again(&self, client: &Client, new: &NewMemory, found: &Record) -> Result<WriteResult> {
        if found.item.body() == new.body {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, found.id().as_str()));
        }
        let mut metadata = metadata::of_memory(new, self.config().address(&new.scope, None).marks);
        metadata.insert(metadata::REVISION.into(), (found.revision() + 1).into());
        let body =
            json!({ "text": new.body, "metadata": metadata, "expiration_date": new.expires_at.map(metadata::day) });
        client.update(&found.item.id, &body).await?;
        Ok(WriteResult::with_id(WriteOutcome::Stored, found.id().as_str()))
    }

    async fn write_message(&self, client: &Client, new: &NewMessage, repeated: bool) -> Result<WriteResult> {
        new.scope.check()?;
        if new.content.trim().is_empty() {
            return Err(Error::invalid("the message is empty"));
        }
        if !self.config().section.infer {
            return self.keep_message(client, new, repeated, false).await;
        }
        let messages = vec![said(new.role, &new.content)];
        let turn = Said { scope: &new.scope, session: &new.session_id, at: new.created_at, text: &new.content };
        match self.extract(client, &turn, messages, new.external_id.as_deref(), &[], repeated).await? {
            Extraction::Kept(id) => Ok(WriteResult::with_id(WriteOutcome::Stored, id.as_str())),
            Extraction::Known(id) => Ok(WriteResult::with_id(WriteOutcome::Deduped, id.as_str())),
            Extraction::Nothing => self.keep_message(client, new, repeated, true).await,
        }
    }

    /// Keeps a message as it was said.
    async fn keep_message(&self, client: &Client, new: &NewMessage, repeated: bool, raw: bool) -> Result<WriteResult> {
        if repeated && let Some(external_id) = &new.external_id {
            let session = Some(new.session_id.as_str());
            if let Some(found) = self.find(client, &new.scope, session, &[external_id], &new.content).await?.first() {
                return Ok(WriteResult::with_id(WriteOutcome::Deduped, found.id().as_str()));
            }
        }
        let address = self.config().address(&new.scope, Some(&new.session_id));
        let metadata = metadata::of_message(new, address.marks.clone(), raw);
        let draft = Draft {
            messages: vec![said(new.role, &new.content)],
            infer: false,
            address,
            at: new.created_at,
            expires_at: None,
        };
        self.keep(client, &new.scope, &new.content, draft.body(client.dialect(), metadata)).await
    }

    /// Takes a turn: what was said, without what had been recalled into it.
    pub(crate) async fn take_turn(&self, turn: &Turn) -> Result<()> {
        let scope = turn.viewer.conversation()?;
        scope.check()?;
        let texts =
            [(Role::User, strip_fences(&turn.user_text)), (Role::Assistant, strip_fences(&turn.assistant_text))];
        let parts: Vec<(Role, &str)> =
            texts.iter().map(|(role, text)| (*role, text.trim())).filter(|(_, text)| !text.is_empty()).collect();
        let Some((_, first)) = parts.first() else { return Ok(()) };
        let client = self.client().await?;
        let session = turn.viewer.session.as_deref().unwrap_or(DEFAULT_NAME);
        let id = turn.external_id.as_deref();
        let raw = self.config().section.infer;
        if raw {
            let messages = parts.iter().map(|(role, text)| said(*role, text)).collect();
            let raw_ids: Vec<String> =
                id.iter().flat_map(|id| parts.iter().map(|(role, _)| part_of_turn(id, *role))).collect();
            let said = Said { scope: &scope, session, at: turn.at, text: first };
            match self.extract(client, &said, messages, id, &raw_ids, turn.repeated).await? {
                Extraction::Kept(_) | Extraction::Known(_) => return Ok(()),
                Extraction::Nothing => {}
            }
        }
        for (role, text) in parts {
            let message = NewMessage {
                created_at: turn.at,
                external_id: id.map(|id| part_of_turn(id, role)),
                ..NewMessage::new(scope.clone(), session, role, text)
            };
            let result = self.keep_message(client, &message, turn.repeated, raw).await?;
            if result.outcome == WriteOutcome::Rejected {
                return Err(Error::new(ErrorKind::BadReply, result.reason.unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// Lets Mem0 extract facts, unless an attempt before has got so far. Nothing extracted is reported, not hidden.
    async fn extract(
        &self,
        client: &Client,
        what: &Said<'_>,
        messages: Vec<Value>,
        external_id: Option<&str>,
        raw_ids: &[String],
        repeated: bool,
    ) -> Result<Extraction> {
        let mut added = None;
        if repeated && let Some(external_id) = external_id {
            let mut ids = vec![external_id];
            ids.extend(raw_ids.iter().map(String::as_str));
            let found = self.find(client, what.scope, Some(what.session), &ids, what.text).await?;
            if let Some(extract) = found.iter().find(|record| record.external_id().as_deref() == Some(external_id)) {
                return Ok(Extraction::Known(extract.id()));
            }
            if !found.is_empty() {
                return Ok(Extraction::Nothing);
            }
            added = self.under_way(client, external_id).await?;
        }
        let added = match added {
            Some(added) => added,
            None => {
                let address = self.config().address(what.scope, Some(what.session));
                let metadata = metadata::of_extract(external_id, what.session, what.at, address.marks.clone());
                let draft = Draft { messages, infer: true, address, at: what.at, expires_at: None };
                let added = self.add(client, &draft.body(client.dialect(), metadata)).await;
                let own_model = client.dialect() == Dialect::SelfHosted;
                added.map_err(|error| if own_model { error::failed_extraction(error) } else { error })?
            }
        };
        match added.iter().find_map(Added::kept) {
            Some(id) => Ok(Extraction::Kept(Id::of_foreign(id))),
            None => {
                tracing::warn!("Mem0 extracted no memory from what was said; the text itself is kept");
                self.note_nothing_extracted();
                Ok(Extraction::Nothing)
            }
        }
    }

    /// What an attempt before has made or is making, when the platform still tells of it.
    async fn under_way(&self, client: &Client, external_id: &str) -> Result<Option<Vec<Added>>> {
        if client.dialect() == Dialect::SelfHosted {
            return Ok(None);
        }
        let events = client.events().await?;
        match events.iter().find(|event| event.status != "FAILED" && event.is_of(external_id)) {
            Some(event) => events::follow(client, &event.id, self.config().event_timeout()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Adds, and waits until it is real.
    async fn add(&self, client: &Client, body: &Value) -> Result<Vec<Added>> {
        match client.add(body).await? {
            Addition::Done(added) => Ok(added),
            Addition::Pending(ids) => {
                let mut added = Vec::new();
                for id in ids {
                    added.extend(events::follow(client, &id, self.config().event_timeout()).await?);
                }
                Ok(added)
            }
        }
    }

    /// Adds one text as it is. The platform drops an exact duplicate; then the one that is there is named.
    async fn keep(&self, client: &Client, scope: &Scope, text: &str, body: Value) -> Result<WriteResult> {
        let added = self.add(client, &body).await?;
        if let Some(id) = added.iter().find_map(Added::kept) {
            return Ok(WriteResult::with_id(WriteOutcome::Stored, Id::of_foreign(id).as_str()));
        }
        let near = self.nearest(client, scope, text, NEAREST).await?;
        Ok(match near.iter().find(|record| record.item.body() == text) {
            Some(same) => WriteResult::with_id(WriteOutcome::Deduped, same.id().as_str()),
            None => WriteResult::rejected(error::STORED_NOTHING),
        })
    }

    /// What is kept in a scope (and session) under one of some foreign ids.
    async fn find(
        &self,
        client: &Client,
        scope: &Scope,
        session: Option<&str>,
        external_ids: &[&str],
        text: &str,
    ) -> Result<Vec<Record>> {
        let viewer = viewer_of(scope);
        let view = View::new(self.config(), &viewer);
        let selection = view.selection().with_external_ids(external_ids);
        let (mut records, seen) = self.collect(client, &view, &selection, true).await?;
        // The self-hosted server lists no further; what carries the same text is near it.
        if client.dialect() == Dialect::SelfHosted && seen >= MOST {
            records.extend(self.nearest(client, scope, text, MOST).await?);
        }
        records.retain(|record| {
            let known = record.external_id().is_some_and(|id| external_ids.contains(&id.as_str()));
            let here = session.is_none_or(|session| record.session().as_deref().unwrap_or(DEFAULT_NAME) == session);
            known && here && record.scope == *scope
        });
        Ok(records)
    }

    async fn nearest(&self, client: &Client, scope: &Scope, text: &str, count: usize) -> Result<Vec<Record>> {
        let viewer = viewer_of(scope);
        let view = View::new(self.config(), &viewer);
        let question = crate::reading::Question { text, top_k: count, threshold: 0.0, ..Default::default() };
        let found = self.ask(client, &view, view.selection(), &question).await?.records;
        Ok(found.into_iter().filter(|record| record.scope == *scope).collect())
    }
}

/// Where and when something was said.
struct Said<'a> {
    scope: &'a Scope,
    session: &'a str,
    at: Option<Timestamp>,
    text: &'a str,
}

/// Where in a request the same message stands before `end`.
fn same_before(items: &[WriteItem], end: usize, new: &NewMessage) -> Option<usize> {
    new.external_id.as_ref()?;
    let key = |message: &NewMessage| (message.scope.clone(), message.session_id.clone(), message.external_id.clone());
    items.iter().take(end).position(|item| matches!(item, WriteItem::Message(other) if key(other) == key(new)))
}

fn check(new: &NewMemory) -> Result<()> {
    new.scope.check()?;
    let visible = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}');
    if !new.body.chars().any(visible) {
        return Err(Error::invalid("the text is empty"));
    }
    if new.quality.is_some_and(|quality| !(0.0..=1.0).contains(&quality)) {
        return Err(Error::invalid("the quality is a number from 0 to 1"));
    }
    if new.tags.iter().any(|tag| tag.trim().is_empty()) {
        return Err(Error::invalid("a tag is empty"));
    }
    Ok(())
}
