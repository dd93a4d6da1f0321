//! `memory list`

use memory_core::config::EngineMode;
use memory_core::{HitKind, ListRequest, ListSort};

use super::Context;
use crate::arguments::ListArguments;
use crate::exit::{Exit, Stop};
use crate::output::item_line;

/// The size of a page with `--all`.
const PAGE: usize = 500;

/// Lists memories or messages, newest change first unless told otherwise.
pub(super) async fn list(context: &Context<'_>, arguments: ListArguments) -> Result<Exit, Stop> {
    let conditional = !arguments.categories.is_empty()
        || !arguments.tags.is_empty()
        || arguments.state.is_some()
        || arguments.cursor.is_some();
    let kind = arguments.kind;
    let mut request = ListRequest {
        viewer: context.viewer().clone(),
        kind: Some(kind),
        categories: arguments.categories,
        tags: arguments.tags,
        state: arguments.state,
        sort: arguments.sort,
        limit: if arguments.all { PAGE } else { usize::try_from(arguments.limit).unwrap_or(PAGE) },
        cursor: arguments.cursor,
    };
    let memory = context.open().await?;
    let mut page = memory.engine.list(request.clone()).await?;
    if arguments.all && context.output.json {
        while let Some(next) = page.next.take() {
            request.cursor = Some(next);
            let more = memory.engine.list(request.clone()).await?;
            page.items.extend(more.items);
            page.next = more.next;
        }
    }
    if context.output.json {
        context.output.value(&page)?;
    } else if page.items.is_empty() {
        match (conditional, kind) {
            (true, _) => context.output.note("nothing fits these conditions"),
            (false, HitKind::Message) => {
                context.output.note("no messages yet");
                context.output.hint("take in a conversation with `memory import FILE`");
            }
            (false, _) => nothing_to_list(context, &memory, request.sort).await?,
        }
    } else {
        loop {
            let lines =
                page.items.iter().map(|item| item_line(item, context.output.width, context.output.style) + "\n");
            context.output.text(&lines.collect::<String>())?;
            match page.next.take() {
                Some(next) if arguments.all => request.cursor = Some(next),
                Some(next) => {
                    context.output.hint(&format!("there is more: `memory list --cursor {next}`, or `--all`"));
                    break;
                }
                None => break,
            }
            page = memory.engine.list(request.clone()).await?;
        }
    }
    memory.engine.shutdown().await?;
    Ok(Exit::Done)
}

/// A store without memories may still have messages.
async fn nothing_to_list(context: &Context<'_>, memory: &memory_engine::Memory, sort: ListSort) -> Result<(), Stop> {
    if memory.engine.mode() == EngineMode::None {
        context.output.note("memory is switched off (memory.engine is `none`)");
        context.output.hint("set memory.engine (MEMORY_ENGINE) to builtin");
        return Ok(());
    }
    let messages = ListRequest {
        viewer: context.viewer().clone(),
        kind: Some(HitKind::Message),
        sort,
        limit: 1,
        ..Default::default()
    };
    if memory.engine.list(messages).await?.items.is_empty() {
        context.nothing_stored();
    } else {
        context.output.note("no memories yet, but there are messages");
        context.output.hint("see them with `memory list --kind message`, or find one with `memory search`");
    }
    Ok(())
}
