//! The part of the gateway that needs no store, for text that goes elsewhere: size and names, stored form, secrets.

use memory_core::config::SecretPolicy;
use memory_core::{NewMemory, NewMessage, WriteItem};

use super::normalise::{canonical, normalise};
use super::{secrets, validate};
use crate::config::GatewaySettings;

/// An item as it may leave the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Sanitised {
    /// The item, in stored form and without secrets.
    pub item: WriteItem,
    /// What was changed, in words for the writer.
    pub note: Option<String>,
}

/// A text that may be stored, and what was changed on the way.
pub(crate) struct Cleaned {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
}

/// Brings an item into the form in which the builtin provider keeps it. The error is a sentence for the writer.
pub fn sanitise(settings: &GatewaySettings, item: &WriteItem) -> Result<Sanitised, String> {
    match item {
        WriteItem::Memory(new) => {
            memory(settings, new).map(|(memory, note)| Sanitised { item: WriteItem::Memory(Box::new(memory)), note })
        }
        WriteItem::Message(new) => message(settings, new).map(|(content, note)| {
            let message = NewMessage { content, ..NewMessage::clone(new) };
            Sanitised { item: WriteItem::Message(Box::new(message)), note }
        }),
    }
}

/// A memory in its stored form.
pub(super) fn memory(settings: &GatewaySettings, new: &NewMemory) -> Result<(NewMemory, Option<String>), String> {
    validate::memory(new, settings)?;
    let Cleaned { text, note } = clean(settings.secrets, &normalise(&new.body))?;
    // Invisible characters say nothing either.
    if canonical(&text).is_empty() {
        return Err("the text is empty".to_owned());
    }
    let title = new.title.as_deref().map(|title| clean(settings.secrets, &normalise(title))).transpose()?;
    Ok((NewMemory { body: text, title: title.map(|title| title.text), ..new.clone() }, note))
}

/// The text of a message. It is kept verbatim: only secrets are taken out, and NUL, which no text has.
pub(super) fn message(settings: &GatewaySettings, new: &NewMessage) -> Result<(String, Option<String>), String> {
    validate::message(new, settings)?;
    let Cleaned { text, note } = clean(settings.secrets, &new.content.replace('\0', ""))?;
    Ok((text, note))
}

/// Takes secrets out of a text, or refuses it, as configured.
pub(super) fn clean(policy: SecretPolicy, text: &str) -> Result<Cleaned, String> {
    if policy == SecretPolicy::Off {
        return Ok(Cleaned { text: text.to_owned(), note: None });
    }
    let (redacted, findings) = secrets::redact(text);
    if findings.is_empty() {
        return Ok(Cleaned { text: text.to_owned(), note: None });
    }
    let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = kinds.join(", ");
    match policy {
        SecretPolicy::Refuse => Err(format!("the text holds a secret ({kinds})")),
        _ => Ok(Cleaned { text: redacted, note: Some(format!("a secret was taken out ({kinds})")) }),
    }
}

#[cfg(test)]
mod tests {
    use memory_core::{Role, Scope};

    use super::*;

    fn settings(secrets: SecretPolicy) -> GatewaySettings {
        GatewaySettings {
            secrets,
            max_memory_bytes: 1_000,
            max_message_bytes: 1_000,
            near_duplicates: true,
            near_duplicate_threshold: 0.9,
        }
    }

    const SECRET: &str = "部署密码: Tr0ub4dor&3xyz 好的";

    #[test]
    fn memories_are_normalised_and_lose_their_secrets() {
        let memory =
            NewMemory { title: Some("t \r\n".into()), ..NewMemory::new(Scope::default(), format!("{SECRET}\r\n")) };
        let done = sanitise(&settings(SecretPolicy::Redact), &WriteItem::Memory(Box::new(memory.clone()))).unwrap();
        let WriteItem::Memory(clean) = done.item else { panic!() };
        assert!(!clean.body.contains("Tr0ub4dor") && clean.body.starts_with("部署密码"), "{}", clean.body);
        assert_eq!(clean.title.as_deref(), Some("t"));
        assert!(done.note.unwrap().contains("password"));
        let refused = sanitise(&settings(SecretPolicy::Refuse), &WriteItem::Memory(Box::new(memory)));
        assert!(refused.unwrap_err().contains("secret"));
    }

    #[test]
    fn messages_stay_verbatim_otherwise() {
        let message = NewMessage::new(Scope::default(), "一", Role::User, "  two  spaces 👍\r\n");
        let item = WriteItem::Message(Box::new(message));
        assert_eq!(sanitise(&settings(SecretPolicy::Redact), &item), Ok(Sanitised { item, note: None }));
    }

    #[test]
    fn what_the_gateway_refuses_is_refused() {
        let memory = |body: String| WriteItem::Memory(Box::new(NewMemory::new(Scope::default(), body)));
        for body in ["x".repeat(1_001), "\u{200b}".into(), " ".into()] {
            assert!(sanitise(&settings(SecretPolicy::Redact), &memory(body)).is_err());
        }
    }
}
