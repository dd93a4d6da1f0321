//! `memory update`

use memory_core::{Error, Item, MemoryChanges, UpdateRequest, WriteOutcome};
use serde_json::Value;

use super::add::named;
use super::get::not_found;
use super::{Context, text_argument};
use crate::arguments::UpdateArguments;
use crate::exit::{Exit, Stop};
use crate::output::{one_line, shorten};

/// Changes the fields given. The former state stays in the history, so this acts at once; `--dry-run` only shows it.
pub(super) async fn update(context: &Context<'_>, arguments: UpdateArguments) -> Result<Exit, Stop> {
    let id = arguments.id.id.clone();
    let (revision, dry_run) = (arguments.revision, arguments.dry_run);
    let changes = changes(context, arguments).await?;
    if changes == MemoryChanges::default() {
        let error = Error::invalid("no field to change is given").with_operation("update");
        return Err(error
            .with_hint("for example `memory update ID --title \"A title\"`; see `memory update --help`")
            .into());
    }
    let memory = context.open().await?;
    let mut found = memory.engine.get(context.viewer(), std::slice::from_ref(&id)).await?;
    let before = match found.items.pop() {
        Some(item @ Item::Memory(_)) => item,
        Some(_) => {
            return Err(
                Error::invalid(format!("`{id}` is not a memory; messages and documents are not changed here")).into()
            );
        }
        None => return Err(not_found(&found.missing).into()),
    };
    let preview = difference(&before, &changes);
    if dry_run {
        memory.engine.shutdown().await?;
        if context.output.json {
            context.output.value(&serde_json::json!({"dry_run": true, "changes": preview_json(&preview)}))?;
        } else {
            context.output.text(&preview_text(context, &preview))?;
            context.output.hint("nothing was changed; run it without --dry-run to change it");
        }
        return Ok(Exit::Done);
    }
    let request = UpdateRequest { viewer: context.viewer().clone(), id, changes, expected_revision: revision };
    let written = memory.engine.update(request).await;
    context.close(&memory).await?;
    let result = written?;
    let rejected = result.outcome == WriteOutcome::Rejected;
    if context.output.json {
        context.output.value(&result)?;
    } else if rejected {
        let reason = result.reason.as_deref().unwrap_or("the store refused it");
        context.output.error(&Error::invalid(format!("not changed: {reason}")));
    } else {
        let id = result.id.as_deref().unwrap_or("–");
        context.output.text(&preview_text(context, &preview))?;
        let word = if result.outcome == WriteOutcome::Queued { "queued the change of" } else { "changed" };
        context.output.line(&format!("{} {id}", context.output.style.good(word)))?;
    }
    Ok(if rejected { Exit::Failed } else { Exit::Done })
}

async fn changes(context: &Context<'_>, arguments: UpdateArguments) -> Result<MemoryChanges, Error> {
    let most = context.settings.loaded.config.memory.gateway.max_memory_bytes;
    let words = arguments.body.map(|body| vec![body]).unwrap_or(arguments.text);
    let body = if words.is_empty() { None } else { Some(text_argument(&words, most).await?) };
    if body.as_ref().is_some_and(|body| body.trim().is_empty()) {
        return Err(Error::invalid("the new text is empty").with_hint("to remove a memory use `memory forget ID`"));
    }
    let fields = arguments.fields;
    let given = |list: Vec<String>| if list.is_empty() { None } else { Some(named(list)) };
    let cleared = |text: String| if text.trim().is_empty() { None } else { Some(text) };
    Ok(MemoryChanges {
        body,
        title: fields.title.map(cleared),
        category: fields.category.map(cleared),
        tags: given(fields.tags),
        keywords: given(fields.keywords),
        relevance: fields.relevance,
        event_at: fields.event_at.map(|time| time.0),
        expires_at: fields.expires.map(|time| time.0),
        attrs: if fields.attributes.is_empty() { None } else { Some(fields.attributes.into_iter().collect()) },
        pinned: arguments.pinned,
    })
}

/// Field, before, after.
type Difference = (&'static str, Value, Value);

fn difference(before: &Item, changes: &MemoryChanges) -> Vec<Difference> {
    let before = serde_json::to_value(before).unwrap_or_default();
    let after = serde_json::to_value(changes).unwrap_or_default();
    let given = [
        ("body", changes.body.is_some()),
        ("title", changes.title.is_some()),
        ("category", changes.category.is_some()),
        ("tags", changes.tags.is_some()),
        ("keywords", changes.keywords.is_some()),
        ("relevance", changes.relevance.is_some()),
        ("event_at", changes.event_at.is_some()),
        ("expires_at", changes.expires_at.is_some()),
        ("attrs", changes.attrs.is_some()),
        ("pinned", changes.pinned.is_some()),
    ];
    let value = |object: &Value, name: &str| object.get(name).cloned().unwrap_or(Value::Null);
    given
        .into_iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| (name, value(&before, name), value(&after, name)))
        .collect()
}

fn preview_json(preview: &[Difference]) -> Value {
    let fields = preview
        .iter()
        .map(|(name, before, after)| ((*name).to_owned(), serde_json::json!({"before": before, "after": after})));
    Value::Object(fields.collect())
}

fn preview_text(context: &Context<'_>, preview: &[Difference]) -> String {
    let shown = |value: &Value| match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => shorten(&one_line(text), 60),
        other => shorten(&one_line(&other.to_string()), 60),
    };
    let style = context.output.style;
    let lines = preview.iter().map(|(name, before, after)| {
        format!("  {} {} → {}\n", style.label(name), style.faint(&shown(before)), shown(after))
    });
    lines.collect()
}
