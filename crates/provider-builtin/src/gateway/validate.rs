//! What may be written: sizes, names, numbers. A refusal is a sentence for the writer.

use memory_core::{NewMemory, NewMessage};

use crate::config::GatewaySettings;

/// The most tags or keywords of a memory.
const MOST_LABELS: usize = 64;

/// The longest tag, keyword, category, title, place or foreign id, in characters.
const LONGEST_LABEL: usize = 512;

/// The largest attributes, in bytes of JSON.
const LARGEST_ATTRIBUTES: usize = 64 * 1024;

pub(super) fn memory(new: &NewMemory, settings: &GatewaySettings) -> Result<(), String> {
    new.scope.check().map_err(|error| error.message().to_owned())?;
    size("memory", new.body.len(), settings.max_memory_bytes)?;
    for (what, value) in
        [("title", &new.title), ("category", &new.category), ("place", &new.place), ("external id", &new.external_id)]
    {
        if let Some(value) = value {
            label(what, value)?;
        }
    }
    for (what, labels) in [("tags", &new.tags), ("keywords", &new.keywords)] {
        if labels.len() > MOST_LABELS {
            return Err(format!("a memory has at most {MOST_LABELS} {what}"));
        }
        labels.iter().try_for_each(|value| label(what, value))?;
    }
    if let Some(quality) = new.quality
        && !(0.0..=1.0).contains(&quality)
    {
        return Err("quality is a number from 0 to 1".to_owned());
    }
    attributes(&new.attrs)
}

pub(super) fn message(new: &NewMessage, settings: &GatewaySettings) -> Result<(), String> {
    new.scope.check().map_err(|error| error.message().to_owned())?;
    memory_core::Scope { owner: memory_core::Owner::Session(new.session_id.clone()), ..new.scope.clone() }
        .check()
        .map_err(|error| error.message().to_owned())?;
    size("message", new.content.len(), settings.max_message_bytes)?;
    if new.content.trim().is_empty() {
        return Err("the message is empty".to_owned());
    }
    for (what, value) in [("speaker", &new.speaker), ("external id", &new.external_id)] {
        if let Some(value) = value {
            label(what, value)?;
        }
    }
    attributes(&new.attrs)
}

fn size(what: &str, bytes: usize, limit: usize) -> Result<(), String> {
    if bytes > limit {
        return Err(format!("the {what} has {bytes} bytes, at most {limit} are allowed"));
    }
    Ok(())
}

fn label(what: &str, value: &str) -> Result<(), String> {
    if value.trim().is_empty() {
        return Err(format!("the {what} is empty"));
    }
    if value.chars().count() > LONGEST_LABEL {
        return Err(format!("the {what} is longer than {LONGEST_LABEL} characters"));
    }
    if value.contains('\0') {
        return Err(format!("the {what} holds a NUL character"));
    }
    Ok(())
}

fn attributes(attributes: &memory_core::Attributes) -> Result<(), String> {
    let bytes = serde_json::to_vec(attributes).map_or(usize::MAX, |json| json.len());
    if bytes > LARGEST_ATTRIBUTES {
        return Err(format!("the attributes have {bytes} bytes of JSON, at most {LARGEST_ATTRIBUTES} are allowed"));
    }
    Ok(())
}
