//! Lists, page by page.

use plugin_sdk::memory_core::{
    Error, HitKind, Item, ListPage, ListRequest, ListSort, Memory, Result, State, Timestamp,
};

use crate::records::Contents;

/// One page of memories or messages. The cursor is the id that the page before ended with.
pub(crate) fn page(contents: &Contents, request: ListRequest, now: Timestamp) -> Result<ListPage> {
    let mut items: Vec<Item> = if request.kind == Some(HitKind::Message) {
        contents.messages(&request.viewer).map(|message| Item::Message(Box::new(message.clone()))).collect()
    } else {
        let wanted = request.state.unwrap_or_default();
        let readable = request.viewer.readable();
        let mut memories: Vec<&Memory> = contents
            .memories()
            .filter(|memory| readable.contains(&memory.scope) && state_at(memory, now) == wanted)
            .filter(|memory| {
                (request.categories.is_empty()
                    || memory.category.as_ref().is_some_and(|name| request.categories.contains(name)))
                    && request.tags.iter().all(|tag| memory.tags.contains(tag))
            })
            .collect();
        memories.sort_by(|one, two| match request.sort {
            ListSort::Relevance | ListSort::Importance => one.relevance.cmp(&two.relevance),
            ListSort::Created => one.created_at.cmp(&two.created_at),
            // Recall leaves no trace in the file.
            ListSort::Recent | ListSort::Accessed => one.updated_at.cmp(&two.updated_at),
        });
        memories.into_iter().map(|memory| Item::Memory(Box::new(memory.clone()))).collect()
    };
    items.reverse();
    if let Some(cursor) = &request.cursor {
        let at = items.iter().position(|item| id(item) == Some(cursor));
        let at = at.ok_or_else(|| Error::invalid("the cursor is no longer there").with_hint("list from the start"))?;
        items.drain(..=at);
    }
    let limit = if request.limit == 0 { 50 } else { request.limit };
    let more = items.len() > limit;
    items.truncate(limit);
    let next = if more { items.last().and_then(id).map(ToOwned::to_owned) } else { None };
    Ok(ListPage { items, next })
}

fn state_at(memory: &Memory, now: Timestamp) -> State {
    match memory.state {
        State::Active if memory.expires_at.is_some_and(|end| end <= now) => State::Expired,
        state => state,
    }
}

fn id(item: &Item) -> Option<&str> {
    match item {
        Item::Memory(memory) => Some(memory.id.as_str()),
        Item::Message(message) => Some(message.id.as_str()),
        Item::Chunk(_) => None,
    }
}
