//! `memory add`

use memory_core::{Error, NewMemory, NoProgress, WriteItem, WriteOutcome, WriteRequest};
use memory_engine::Memory;

use super::{Context, text_argument};
use crate::arguments::{AddArguments, FieldArguments};
use crate::exit::{Exit, Stop};

/// Changes that may wait before an `add` takes them into the indexes: a search looks through them on its own.
const MOST_WAITING: u64 = 256;

/// Writes one memory.
pub(super) async fn add(context: &Context<'_>, arguments: AddArguments) -> Result<Exit, Stop> {
    let gateway = &context.settings.loaded.config.memory.gateway;
    let body = text_argument(&arguments.text, gateway.max_memory_bytes).await?;
    if body.trim().is_empty() {
        return Err(Error::invalid("there is no text to remember").with_operation("add").into());
    }
    let memory =
        new_memory(NewMemory::new(context.viewer().writable()?, body), arguments.fields, arguments.external_id);
    let request =
        WriteRequest { items: vec![WriteItem::Memory(Box::new(memory))], force: arguments.force, repeated: false };
    let memory = context.open().await?;
    let result = memory
        .engine
        .write(request)
        .await?
        .items
        .pop()
        .ok_or_else(|| Error::unexpected("the store gave no answer for the memory"))?;

    if context.output.json {
        context.output.value(&result)?;
    } else {
        let style = context.output.style;
        let id = result.id.as_deref().unwrap_or("–");
        let remark = result.reason.as_ref().map(|reason| style.faint(&format!("  ({reason})"))).unwrap_or_default();
        match (result.outcome, &result.superseded) {
            (WriteOutcome::Stored, _) => context.output.line(&format!("{} {id}{remark}", style.good("stored")))?,
            (WriteOutcome::Deduped, _) => context.output.line(&format!("known already as {id}{remark}"))?,
            (WriteOutcome::Superseded, Some(old)) => {
                context.output.line(&format!("{} {id} in place of {old}{remark}", style.good("stored")))?;
            }
            (WriteOutcome::Superseded, None) => {
                context.output.line(&format!("{} {id}{remark}", style.good("stored")))?
            }
            (WriteOutcome::Queued, _) => {
                context.output.line(&format!("{} {id}{remark}", style.label("queued")))?;
            }
            (WriteOutcome::Rejected, _) => {
                let reason = result.reason.as_deref().unwrap_or("the store refused it");
                context.output.error(&Error::invalid(format!("not stored: {reason}")));
                if reason.contains("forgotten") || reason.contains("tombstone") {
                    context.output.hint("write it all the same with --force");
                }
            }
        }
    }
    catch_up(&memory).await;
    context.close(&memory).await?;
    Ok(if result.outcome == WriteOutcome::Rejected { Exit::Failed } else { Exit::Done })
}

/// Takes what waits into the indexes once in a while. The memory is stored already: a failure here is only told.
async fn catch_up(memory: &Memory) {
    let Some(store) = memory.builtin.as_deref() else { return };
    let outcome = async {
        if store.lag().await? > MOST_WAITING {
            store.index_pending(&NoProgress).await?;
        }
        Ok::<(), Error>(())
    };
    if let Err(error) = outcome.await {
        tracing::warn!(%error, "stored, but not indexed yet");
    }
}

fn new_memory(memory: NewMemory, fields: FieldArguments, external_id: Option<String>) -> NewMemory {
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    NewMemory {
        title: given(fields.title),
        category: given(fields.category),
        tags: named(fields.tags),
        keywords: named(fields.keywords),
        relevance: fields.relevance.unwrap_or_default(),
        attrs: fields.attributes.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        event_at: fields.event_at.and_then(|time| time.0),
        expires_at: fields.expires.and_then(|time| time.0),
        external_id: given(external_id),
        ..memory
    }
}

/// Without blanks around and without empty ones.
pub(super) fn named(words: Vec<String>) -> Vec<String> {
    words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}
