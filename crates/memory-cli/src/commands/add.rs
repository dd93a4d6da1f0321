//! `memory add`

use memory_core::{Error, NewMemory, WriteItem, WriteOutcome, WriteRequest};

use super::{Context, text_argument};
use crate::arguments::{AddArguments, FieldArguments};
use crate::exit::{Exit, Stop};

/// Writes one memory.
pub(super) async fn add(context: &Context<'_>, arguments: AddArguments) -> Result<Exit, Stop> {
    let gateway = &context.settings.loaded.config.memory.gateway;
    let body = text_argument(&arguments.text, gateway.max_memory_bytes).await?;
    if body.trim().is_empty() {
        return Err(Error::invalid("there is no text to remember").with_operation("add").into());
    }
    let memory =
        new_memory(NewMemory::new(context.viewer().writable()?, body), arguments.fields, arguments.external_id);
    let request = WriteRequest { items: vec![WriteItem::Memory(Box::new(memory))], force: arguments.force };
    let memory = context.open().await?;
    let written = memory.engine.write(request).await;
    memory.engine.shutdown().await?;
    let result = written?.items.pop().ok_or_else(|| Error::unexpected("the store gave no answer for the memory"))?;

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
            (WriteOutcome::Queued, _) => context.output.line(&format!("queued {id}{remark}"))?,
            (WriteOutcome::Rejected, _) => {
                let reason = result.reason.as_deref().unwrap_or("the store refused it");
                context.output.error(&Error::invalid(format!("not stored: {reason}")));
                if reason.contains("forgotten") || reason.contains("tombstone") {
                    context.output.hint("write it all the same with --force");
                }
            }
        }
    }
    Ok(if result.outcome == WriteOutcome::Rejected { Exit::Failed } else { Exit::Done })
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
