//! Looking up, listing, and the history of a memory.

use memory_core::{
    ChunkItem, Error, GetReport, HitKind, Id, Item, ListPage, ListRequest, Memory, Result, Revision, State, Viewer,
};

use crate::gateway::normalise::content_hash;
use crate::provider::BuiltinProvider;
use crate::store::{Mark, ResolvedItem, Store};

/// Items of a page when the request does not say.
const DEFAULT_PAGE: usize = 50;

/// The most items of a page.
const LONGEST_PAGE: usize = 1_000;

impl BuiltinProvider {
    pub(crate) async fn get_items(&self, viewer: &Viewer, ids: &[String]) -> Result<GetReport> {
        viewer.check()?;
        let (viewer, ids) = (viewer.clone(), ids.to_vec());
        self.read("get", move |connection| {
            let mut report = GetReport::default();
            for id in ids {
                let item = match Store::resolve(connection, &viewer, &id)? {
                    Some(ResolvedItem::Memory(row)) if row.memory.state != State::Deleted => {
                        Some(Item::Memory(Box::new(row.memory)))
                    }
                    Some(ResolvedItem::Message(row)) if row.state == State::Active => {
                        Some(Item::Message(Box::new(row.message)))
                    }
                    Some(ResolvedItem::Chunk(row, document)) => {
                        Some(Item::Chunk(Box::new(ChunkItem { document: document.document, chunk: row.chunk })))
                    }
                    _ => None,
                };
                match item {
                    Some(item) => report.items.push(item),
                    None => report.missing.push(id),
                }
            }
            Ok(report)
        })
        .await
    }

    /// For each of these memories of another system, whether its like was forgotten here and must not come back. An id is
    /// the one that the memory had here, where that is known.
    pub async fn were_forgotten(&self, memories: &[(&Memory, Option<&Id>)]) -> Result<Vec<bool>> {
        let asked: Vec<_> = memories
            .iter()
            .map(|(memory, id)| {
                let hash = content_hash(&memory.body).into_bytes();
                let marks = Mark::of_memory(&hash, memory.external_id.as_deref());
                (memory.scope.key(), marks, id.map(ToString::to_string))
            })
            .collect();
        self.read("look for tombstones", move |connection| {
            let mut answers = Vec::with_capacity(asked.len());
            for (scope, marks, id) in asked {
                let by_id = id.map(|id| Store::has_tombstone_of(connection, &id)).transpose()?.unwrap_or(false);
                let scope = Store::known_scope_number(connection, &scope)?;
                let by_mark = scope.map(|scope| Store::has_tombstone(connection, scope, &marks)).transpose()?;
                answers.push(by_id || by_mark.unwrap_or(false));
            }
            Ok(answers)
        })
        .await
    }

    pub(crate) async fn list_items(&self, request: ListRequest) -> Result<ListPage> {
        request.viewer.check()?;
        let offset = parse_cursor(request.cursor.as_deref())?;
        let limit = match request.limit {
            0 => DEFAULT_PAGE,
            limit => limit.min(LONGEST_PAGE),
        };
        let now = self.clock().now();
        self.read("list", move |connection| {
            let scopes = Store::known_scope_numbers(connection, &request.viewer.readable_keys())?;
            // One more than asked for tells whether there is a next page.
            let mut items: Vec<Item> = match request.kind {
                None | Some(HitKind::Memory) => {
                    Store::list_memories(connection, &scopes, &request, offset, limit + 1, now)?
                        .into_iter()
                        .map(|row| Item::Memory(Box::new(row.memory)))
                        .collect()
                }
                Some(HitKind::Message) => {
                    let state = request.state.unwrap_or(State::Active);
                    let session = request.viewer.session.as_deref();
                    Store::list_messages(connection, &scopes, session, state, offset, limit + 1)?
                        .into_iter()
                        .map(|row| Item::Message(Box::new(row.message)))
                        .collect()
                }
                Some(HitKind::Document) => documents_page(connection, &scopes, offset, limit + 1)?,
                Some(HitKind::Fact | HitKind::Lesson) => Vec::new(),
            };
            let next = (items.len() > limit).then(|| (offset + limit).to_string());
            items.truncate(limit);
            Ok(ListPage { items, next })
        })
        .await
    }

    pub(crate) async fn memory_history(&self, viewer: &Viewer, id: &str) -> Result<Vec<Revision>> {
        viewer.check()?;
        let (viewer, id) = (viewer.clone(), id.to_owned());
        self.read("history", move |connection| {
            let Some(ResolvedItem::Memory(row)) = Store::resolve(connection, &viewer, &id)? else {
                return Err(Error::not_found(format!("there is no memory `{id}` here"))
                    .with_hint("`memory list` shows what this viewer may read"));
            };
            let events = Store::events_of(connection, row.memory.id.as_str())?;
            let mut states = Store::former_states(connection, row.key)?;
            states.push(row.memory.clone());
            Ok(states
                .into_iter()
                .map(|memory| {
                    let event = events.iter().find(|event| event.revision == memory.revision);
                    Revision {
                        revision: memory.revision,
                        operation: event.map_or_else(|| "created".to_owned(), |event| event.operation.clone()),
                        at: event.map_or(memory.updated_at, |event| event.at),
                        memory: Some(memory),
                    }
                })
                .collect())
        })
        .await
    }
}

fn documents_page(connection: &rusqlite::Connection, scopes: &[i64], offset: usize, limit: usize) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for scope in scopes {
        for document in Store::documents_of(connection, *scope)? {
            let first = Store::chunks_of(connection, document.key)?.into_iter().next();
            items.extend(
                first.map(|row| {
                    Item::Chunk(Box::new(ChunkItem { document: document.document.clone(), chunk: row.chunk }))
                }),
            );
        }
    }
    Ok(items.into_iter().skip(offset).take(limit).collect())
}

fn parse_cursor(cursor: Option<&str>) -> Result<usize> {
    match cursor {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| {
            Error::invalid("the cursor is not one that a list gave")
                .with_hint("pass `next` of the page before, unchanged")
        }),
    }
}
