//! Changing, forgetting, and what was before.

use memory_core::{
    Attributes, DeleteReport, DeleteRequest, Error, ErrorKind, MemoryChanges, Result, Revision, UpdateRequest, Viewer,
    WriteOutcome, WriteResult,
};
use serde_json::{Value, json};

use crate::client::{Dialect, MOST};
use crate::error;
use crate::metadata as names;
use crate::provider::Mem0Provider;
use crate::record::Record;
use crate::scope::View;

impl Mem0Provider {
    pub(crate) async fn change(&self, request: &UpdateRequest) -> Result<WriteResult> {
        request.viewer.check()?;
        let changes = &request.changes;
        if changes.body.as_ref().is_some_and(|body| body.trim().is_empty()) {
            return Err(Error::invalid("the new text is empty").with_hint("to forget a memory, delete it"));
        }
        let client = self.client().await?;
        let view = View::new(self.config(), &request.viewer);
        // Mem0 has no conditional update; within this process, at least, reading and changing are one step.
        let _one_at_a_time = self.one_change_at_a_time().await;
        let record = self.resolve(client, &view, &request.id).await?.ok_or_else(|| error::no_memory(&request.id))?;
        require_write(&request.viewer, &record)?;
        if request.expected_revision.is_some_and(|expected| expected != record.revision()) {
            let message = format!("the memory `{}` stands at revision {}", request.id, record.revision());
            return Err(Error::new(ErrorKind::Conflict, message).with_hint("read it again"));
        }
        let mut body = json!({ "metadata": changed(&record, changes) });
        let mut set = |key: &str, value: Value| body.as_object_mut().map(|body| body.insert(key.to_owned(), value));
        if let Some(text) = &changes.body {
            set("text", text.clone().into());
        }
        if let Some(end) = changes.expires_at {
            set("expiration_date", end.map(names::day).into());
        }
        client.update(&record.item.id, &body).await?;
        Ok(WriteResult::with_id(WriteOutcome::Stored, record.id().as_str()))
    }

    pub(crate) async fn forget(&self, request: &DeleteRequest) -> Result<DeleteReport> {
        request.viewer.check()?;
        let client = self.client().await?;
        let view = View::new(self.config(), &request.viewer);
        let mut report = DeleteReport { dry_run: request.dry_run, ..DeleteReport::default() };
        let mut found: Vec<(Record, &String)> = Vec::new();
        for id in &request.ids {
            match self.resolve(client, &view, id).await? {
                Some(record) if found.iter().any(|(known, _)| known.item.id == record.item.id) => {}
                Some(record) => {
                    require_write(&request.viewer, &record)?;
                    found.push((record, id));
                }
                None => report.missing.push(id.clone()),
            }
        }
        if request.dry_run {
            report.deleted = found.iter().map(|(record, _)| record.id().to_string()).collect();
            return Ok(report);
        }
        if client.dialect() == Dialect::Platform && found.len() > 1 {
            for batch in found.chunks(MOST) {
                let uuids: Vec<&str> = batch.iter().map(|(record, _)| record.item.id.as_str()).collect();
                client.delete_many(&uuids).await?;
                report.deleted.extend(batch.iter().map(|(record, _)| record.id().to_string()));
            }
        } else {
            for (record, id) in found {
                if client.delete(&record.item.id).await? {
                    report.deleted.push(record.id().to_string());
                } else {
                    report.missing.push(id.clone());
                }
            }
        }
        if request.erase && !report.deleted.is_empty() {
            report
                .notes
                .push("Mem0 removes a memory for good, but keeps its history; this side cannot erase that".into());
        }
        Ok(report)
    }

    pub(crate) async fn former_states(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        viewer.check()?;
        let client = self.client().await?;
        let view = View::new(self.config(), viewer);
        let record = self.resolve(client, &view, id).await?.ok_or_else(|| error::no_memory(id))?;
        let mut rows = client.history(&record.item.id).await?;
        rows.sort_by_key(|row| row.at());
        let now = self.now();
        let states = (1..).zip(rows).map(|(revision, row)| {
            let memory = row.new_memory.as_ref().map(|text| {
                let mut former = record.clone();
                former.item.memory = Some(text.clone());
                if row.metadata.as_ref().is_some_and(|metadata| !metadata.is_empty()) {
                    former.item.metadata.clone_from(&row.metadata);
                }
                memory_core::Memory { revision, updated_at: row.at(), ..former.memory(now) }
            });
            let operation = match row.event.as_str() {
                "ADD" => "created".to_owned(),
                "UPDATE" => "updated".to_owned(),
                "DELETE" => "deleted".to_owned(),
                other => other.to_lowercase(),
            };
            Revision { revision, operation, at: row.at(), memory }
        });
        Ok(states.collect())
    }
}

fn require_write(viewer: &Viewer, record: &Record) -> Result<()> {
    if viewer.may_write(&record.scope) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Forbidden, "this viewer may read it, but not change it")
        .with_hint("memories of a team are its leader's"))
}

/// The whole metadata after the changes. The platform replaces metadata and the self-hosted server lays the new over the
/// old, so what is cleared is `null`, which both read as nothing.
fn changed(record: &Record, changes: &MemoryChanges) -> Attributes {
    let mut metadata = record.item.metadata.clone().unwrap_or_default();
    let mut set = |key: &str, value: Value| metadata.insert(key.to_owned(), value);
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::from);
    if let Some(title) = &changes.title {
        set(names::TITLE, text(title));
    }
    if let Some(category) = &changes.category {
        set(names::CATEGORY, text(category));
    }
    if let Some(tags) = &changes.tags {
        set(names::TAGS, json!(tags));
    }
    if let Some(keywords) = &changes.keywords {
        set(names::KEYWORDS, json!(keywords));
    }
    if let Some(relevance) = &changes.relevance {
        set(names::RELEVANCE, json!(relevance));
    }
    if let Some(time) = &changes.event_at {
        set(names::EVENT_AT, json!(time));
    }
    if let Some(time) = &changes.expires_at {
        set(names::EXPIRES_AT, json!(time));
    }
    if let Some(pinned) = changes.pinned {
        set(names::PINNED, pinned.into());
    }
    set(names::REVISION, (record.revision() + 1).into());
    if let Some(changed) = &changes.attrs {
        let mut attrs = record.own_attrs();
        for (key, value) in changed {
            // What another program wrote stays where it put it.
            let foreign = !names::is_ours(key) && metadata.contains_key(key);
            let place = if foreign { &mut metadata } else { &mut attrs };
            place.insert(key.clone(), value.clone());
        }
        attrs.retain(|_, value| !value.is_null());
        metadata.insert(names::ATTRS.to_owned(), Value::Object(attrs));
    }
    metadata
}
