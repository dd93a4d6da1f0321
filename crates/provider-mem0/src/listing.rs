//! Lists: memories page by page to the end, messages in the order they were said.

use std::collections::HashMap;

use memory_core::{
    DEFAULT_NAME, Error, Hit, HitKind, Item, ListPage, ListRequest, ListSort, Neighbor, Result, Role, State, Timestamp,
};

use crate::client::{Client, Dialect};
use crate::provider::Mem0Provider;
use crate::reading::has;
use crate::record::Record;
use crate::scope::View;

/// How many items a list gives when nobody says.
const DEFAULT_LIMIT: usize = 50;

impl Mem0Provider {
    pub(crate) async fn list_items(&self, request: &ListRequest) -> Result<ListPage> {
        request.viewer.check()?;
        let limit = if request.limit == 0 { DEFAULT_LIMIT } else { request.limit };
        let (number, offset) = request.cursor.as_deref().map_or(Ok((1, 0)), place_of)?;
        let client = self.client().await?;
        let view = View::new(self.config(), &request.viewer);
        match request.kind {
            None | Some(HitKind::Memory) => self.list_memories(client, &view, request, limit, number, offset).await,
            Some(HitKind::Message) => {
                let session = request.viewer.session.as_deref();
                let mut messages = self.messages(client, &view).await?;
                messages.retain(|(_, record)| session.is_none_or(|id| record.session().as_deref() == Some(id)));
                messages.sort_by_key(|(_, record)| std::cmp::Reverse(record.created_at()));
                let next = (messages.len() > offset + limit).then(|| cursor(1, offset + limit));
                let page = messages.iter().skip(offset).take(limit);
                let items = page.map(|(position, record)| Item::Message(Box::new(record.message(*position))));
                Ok(ListPage { items: items.collect(), next })
            }
            Some(_) => Ok(ListPage::default()),
        }
    }

    async fn list_memories(
        &self,
        client: &Client,
        view: &View<'_>,
        request: &ListRequest,
        limit: usize,
        mut number: usize,
        mut offset: usize,
    ) -> Result<ListPage> {
        let state = request.state.unwrap_or_default();
        let selection = view.selection().with_categories(&request.categories);
        let now = self.now();
        let mut items = Vec::new();
        loop {
            let page = client.page(&selection, number, state == State::Expired).await?;
            let (more, count) = (page.more, page.items.len());
            let mut records: Vec<Option<Record>> =
                page.items.into_iter().map(|item| Some(Record { scope: view.scope_of(&item)?, item })).collect();
            if client.dialect() == Dialect::SelfHosted {
                // It lists everything at once and in no order.
                records.retain(Option::is_some);
                sort(&mut records, request.sort, now);
            }
            for (position, record) in records.into_iter().enumerate().skip(offset) {
                let wanted = |record: &Record| {
                    record.kind() == HitKind::Memory
                        && record.state(now) == state
                        && has(record, &request.categories, &request.tags)
                };
                let Some(record) = record.filter(wanted) else { continue };
                if items.len() == limit {
                    return Ok(ListPage { items, next: Some(cursor(number, position)) });
                }
                items.push(Item::Memory(Box::new(record.memory(now))));
            }
            if !more || count == 0 {
                return Ok(ListPage { items, next: None });
            }
            (number, offset) = (number + 1, 0);
        }
    }

    /// Every message that the viewer may read, with its place in its session, in the order they were said.
    async fn messages(&self, client: &Client, view: &View<'_>) -> Result<Vec<(u64, Record)>> {
        let (records, _) = self.collect(client, view, &view.selection(), false).await?;
        Ok(placed(records))
    }

    /// The place of a message in its session.
    pub(crate) async fn position(&self, client: &Client, view: &View<'_>, record: &Record) -> Result<u64> {
        let messages = self.messages(client, view).await?;
        Ok(messages.iter().find(|(_, other)| other.item.id == record.item.id).map_or(0, |(position, _)| *position))
    }

    /// Puts the messages around each hit that is a message beside it.
    pub(crate) async fn add_neighbors(
        &self,
        client: &Client,
        view: &View<'_>,
        hits: &mut [Hit],
        reach: usize,
    ) -> Result<()> {
        if !hits.iter().any(|hit| hit.kind == HitKind::Message) {
            return Ok(());
        }
        let messages = self.messages(client, view).await?;
        for hit in hits.iter_mut().filter(|hit| hit.kind == HitKind::Message) {
            let session: Vec<&Record> =
                messages.iter().map(|(_, record)| record).filter(|record| record.session() == hit.session_id).collect();
            let Some(own) = session.iter().position(|record| record.id() == hit.id) else { continue };
            let first = own.saturating_sub(reach);
            let around = session.iter().enumerate().skip(first).take(own - first + reach + 1);
            hit.neighbors = around
                .filter(|(place, _)| *place != own)
                .map(|(place, record)| {
                    let message = record.message(place as u64);
                    Neighbor {
                        id: message.id,
                        offset: i32::try_from(place as i64 - own as i64).unwrap_or_default(),
                        speaker: message.speaker,
                        role: message.role,
                        text: message.content,
                        created_at: message.created_at,
                    }
                })
                .collect();
        }
        Ok(())
    }
}

/// A place in the list: the page of the server, and the place on it unless it is the first.
fn cursor(number: usize, offset: usize) -> String {
    if offset == 0 { number.to_string() } else { format!("{number}.{offset}") }
}

fn place_of(cursor: &str) -> Result<(usize, usize)> {
    let (number, offset) = cursor.split_once('.').unwrap_or((cursor, "0"));
    match (number.parse(), offset.parse()) {
        (Ok(number), Ok(offset)) if number > 0 => Ok((number, offset)),
        _ => Err(Error::invalid("the cursor is none of Mem0's lists").with_hint("pass `next` of the page before")),
    }
}

fn sort(records: &mut [Option<Record>], by: ListSort, now: Timestamp) {
    records.sort_by_cached_key(|record| {
        let record = record.as_ref();
        let relevance = match by {
            ListSort::Relevance | ListSort::Importance => record.map(|record| record.memory(now).relevance),
            _ => None,
        };
        let time = match by {
            ListSort::Created => record.map(Record::created_at),
            _ => record.map(Record::updated_at),
        };
        std::cmp::Reverse((relevance, time))
    });
}

/// Messages with their places in their sessions, in the order they were said.
fn placed(records: Vec<Record>) -> Vec<(u64, Record)> {
    let mut messages: Vec<Record> = records.into_iter().filter(|record| record.kind() == HitKind::Message).collect();
    messages.sort_by_cached_key(|record| {
        let answer = record.message(0).role != Role::User;
        (record.created_at(), record.item.made_at(), answer, record.item.id.clone())
    });
    let mut next: HashMap<String, u64> = HashMap::new();
    messages
        .into_iter()
        .map(|record| {
            let place = next.entry(record.session().unwrap_or_else(|| DEFAULT_NAME.to_owned())).or_default();
            *place += 1;
            (*place - 1, record)
        })
        .collect()
}
