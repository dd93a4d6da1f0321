//! What both stand-ins for Mem0 share: rows, ids, extraction, history.

use std::collections::BTreeMap;

use memory_core::{Clock, SystemClock, Timestamp};
use serde_json::{Map, Value, json};

use super::{Request, words::overlap};

/// Texts from which nothing is extracted begin with one of these.
const SMALL_TALK: [&str; 8] = ["hi", "hello", "ok", "thanks", "bye", "你好", "谢谢", "再见"];

/// A stored memory.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) text: String,
    pub(super) ids: BTreeMap<String, String>,
    pub(super) role: String,
    pub(super) metadata: Map<String, Value>,
    pub(super) created_at: String,
    pub(super) updated_at: String,
    pub(super) expiration_date: Option<String>,
}

impl Row {
    /// True when its last day is over.
    pub(super) fn is_expired(&self) -> bool {
        self.expiration_date.as_deref().is_some_and(|last| last < &SystemClock.now().to_string()[..10])
    }
}

/// The rows and what became of them.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    pub(super) history: BTreeMap<String, Vec<Value>>,
    counter: u64,
}

impl Rows {
    /// The next number.
    pub(super) fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// A new id; its first digits differ from those of the ones before.
    pub(super) fn uuid(&mut self) -> String {
        let number = self.count();
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{:08x}-{:04x}-4000-8000-{number:012x}", mixed >> 32, mixed & 0xffff)
    }

    /// A moment later than those before.
    pub(super) fn tick(&mut self) -> String {
        let begin: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        begin.plus_seconds(self.count() as i64).to_string()
    }

    /// Stores a row.
    pub(super) fn add(&mut self, mut row: Row) -> String {
        row.number = self.count();
        row.id = self.uuid();
        if row.created_at.is_empty() {
            row.created_at = self.tick();
        }
        row.updated_at.clone_from(&row.created_at);
        let (id, text, at, metadata) = (row.id.clone(), row.text.clone(), row.created_at.clone(), row.metadata.clone());
        self.rows.push(row);
        self.record(&id, "ADD", None, Some(&text), &at, &at, &metadata);
        id
    }

    /// One row.
    pub(super) fn find(&mut self, id: &str) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.id == id)
    }

    /// Changes one row; false when it is not there.
    pub(super) fn update(&mut self, id: &str, body: &Value, replace_metadata: bool) -> bool {
        let now = self.tick();
        let Some(row) = self.find(id) else { return false };
        let former = row.text.clone();
        if let Some(text) = body["text"].as_str() {
            row.text = text.to_owned();
        }
        if let Some(metadata) = body["metadata"].as_object() {
            if replace_metadata {
                row.metadata.clone_from(metadata);
            } else {
                row.metadata.extend(metadata.clone());
            }
        }
        if let Some(end) = body.get("expiration_date") {
            row.expiration_date = end.as_str().map(str::to_owned);
        }
        row.updated_at.clone_from(&now);
        let (text, made, metadata) = (row.text.clone(), row.created_at.clone(), row.metadata.clone());
        self.record(id, "UPDATE", Some(&former), Some(&text), &made, &now, &metadata);
        true
    }

    /// Removes one row; false when it is not there.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some(place) = self.rows.iter().position(|row| row.id == id) else { return false };
        let row = self.rows.remove(place);
        let now = self.tick();
        self.record(id, "DELETE", Some(&row.text), None, &row.created_at, &now, &row.metadata);
        true
    }

    #[expect(clippy::too_many_arguments, reason = "one row of a history")]
    fn record(
        &mut self,
        id: &str,
        event: &str,
        old: Option<&str>,
        new: Option<&str>,
        created_at: &str,
        updated_at: &str,
        metadata: &Map<String, Value>,
    ) {
        let number = self.uuid();
        let row = json!({
            "id": number, "memory_id": id, "old_memory": old, "new_memory": new, "event": event,
            "created_at": created_at, "updated_at": updated_at, "metadata": metadata,
        });
        self.history.entry(id.to_owned()).or_default().push(row);
    }

    /// The rows that share words with a question, best first, newest first among equals.
    pub(super) fn ranked(&self, question: &str, threshold: f64, wanted: impl Fn(&Row) -> bool) -> Vec<(f64, Row)> {
        let scored = self.rows.iter().filter(|row| wanted(row)).map(|row| (overlap(question, &row.text), row.clone()));
        let mut found: Vec<(f64, Row)> = scored.filter(|(score, _)| *score > 0.0 && *score >= threshold).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.number.cmp(&a.1.number)));
        found
    }
}

/// The messages of a body, as role and text.
pub(super) fn messages(body: &Value) -> Option<Vec<(String, String)>> {
    body["messages"]
        .as_array()?
        .iter()
        .map(|message| Some((message["role"].as_str()?.to_owned(), message["content"].as_str()?.to_owned())))
        .collect()
}

/// What a model would keep of a message: all of it, or nothing when it is small talk.
pub(super) fn is_worth_keeping(text: &str) -> bool {
    let lower = text.to_lowercase();
    let first = lower.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    !SMALL_TALK.iter().any(|word| first == *word || (!word.is_ascii() && first.starts_with(word)))
}

/// The ids in a body.
pub(super) fn ids(body: &Value, names: &[&str]) -> BTreeMap<String, String> {
    let given = names.iter().filter_map(|name| Some(((*name).to_owned(), body[*name].as_str()?.to_owned())));
    given.filter(|(_, value)| !value.is_empty()).collect()
}

/// True for the shape of a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let shape =
        |(place, c): (usize, char)| if matches!(place, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() };
    text.len() == 36 && text.char_indices().all(shape)
}

/// A value in the query of a request.
pub(super) fn parameter(request: &Request, name: &str) -> Option<String> {
    let pair = request.query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?;
    let mut bytes = Vec::new();
    let mut rest = pair.1.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    Some(String::from_utf8(bytes).unwrap())
}
