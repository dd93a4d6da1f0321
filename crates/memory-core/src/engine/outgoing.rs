//! What leaves for the external provider: sanitised, named, and made into deliveries.

use std::sync::Arc;

use serde_json::Value;

use super::{DeliveryWork, NewDelivery, Sanitise};
use crate::{
    Capability, Clock, Error, Id, IdGenerator, MemoryChanges, NewMemory, NewMessage, Owner, Result, Role, Scope, Turn,
    Viewer, WriteItem, strip_fences,
};

/// Makes deliveries. Everything in them has passed the sanitiser.
pub(super) struct Outgoing {
    pub(super) sanitise: Sanitise,
    pub(super) ids: IdGenerator,
    pub(super) clock: Arc<dyn Clock>,
}

impl Outgoing {
    /// A name that nothing else has.
    pub(super) fn fresh(&self) -> Id {
        self.ids.next(self.clock.now())
    }

    /// Gives an item an external id, unless it has one.
    pub(super) fn name(&self, item: &mut WriteItem) {
        let external_id = match item {
            WriteItem::Memory(memory) => &mut memory.external_id,
            WriteItem::Message(message) => &mut message.external_id,
        };
        if external_id.as_ref().is_none_or(|id| id.trim().is_empty()) {
            *external_id = Some(self.fresh().to_string());
        }
    }

    /// Names a memory without a foreign id by what it says, so that importing it again makes it once. Tells whether it did.
    pub(super) fn name_by_text(item: &mut WriteItem) -> bool {
        match item {
            WriteItem::Memory(memory) if memory.external_id.as_ref().is_none_or(|id| id.trim().is_empty()) => {
                let title = memory.title.as_deref().unwrap_or_default();
                let name = ["text", title.trim(), memory.body.trim()].join("\u{1f}");
                memory.external_id = Some(Id::of_foreign(&name).to_string());
                true
            }
            _ => false,
        }
    }

    /// The delivery of a named item. Its key is its ticket: the same item again is the same delivery.
    pub(super) fn write(&self, item: WriteItem, force: bool) -> Result<NewDelivery> {
        let item = (self.sanitise)(item)?;
        let (scope, local_id) = (scope_of(&item).clone(), ticket(&item));
        let key = format!("write/{local_id}");
        Ok(NewDelivery { scope, key, local_id: Some(local_id), work: DeliveryWork::Write { item, force } })
    }

    /// The delivery of a change.
    pub(super) fn update(&self, scope: Scope, viewer: Viewer, id: Id, changes: MemoryChanges) -> Result<NewDelivery> {
        let changes = self.changes(&viewer, changes)?;
        let work = DeliveryWork::Update { viewer, id: id.clone(), changes };
        Ok(NewDelivery { scope, key: format!("update/{}", self.fresh()), local_id: Some(id), work })
    }

    /// The delivery of a wish to forget.
    pub(super) fn delete(&self, scope: Scope, viewer: Viewer, id: Id, erase: bool) -> NewDelivery {
        let work = DeliveryWork::Delete { viewer, id: id.clone(), erase };
        NewDelivery { scope, key: format!("delete/{}", self.fresh()), local_id: Some(id), work }
    }

    /// The deliveries of a turn: the turn itself, or its two messages for a provider that keeps only those, or none.
    pub(super) fn turn(&self, turn: Turn, capability: Capability) -> Result<Vec<NewDelivery>> {
        let scope = turn.viewer.conversation()?;
        let external_id = turn.external_id.clone().filter(|id| !id.trim().is_empty());
        let external_id = external_id.unwrap_or_else(|| self.fresh().to_string());
        let at = turn.at.unwrap_or_else(|| self.clock.now());
        let session = session_of(&turn.viewer).to_owned();
        let said = |role: Role, name: &str, text: &str| {
            WriteItem::Message(Box::new(NewMessage {
                created_at: Some(at),
                external_id: Some(format!("{external_id}/{name}")),
                ..NewMessage::new(scope.clone(), session.clone(), role, strip_fences(text))
            }))
        };
        let messages =
            [said(Role::User, "user", &turn.user_text), said(Role::Assistant, "assistant", &turn.assistant_text)];
        if !capability.sync_turn {
            let kept = messages.into_iter().filter(|message| capability.write_messages && !is_blank(message));
            return kept.map(|message| self.write(message, false)).collect();
        }
        let [user_text, assistant_text] = messages.map(|message| self.sanitised_text(message));
        let key = format!("turn/{}", Id::of_foreign(&[&scope.key(), &*session, &*external_id].join("\u{1f}")));
        let turn = Turn {
            user_text: user_text?,
            assistant_text: assistant_text?,
            at: Some(at),
            external_id: Some(external_id),
            ..turn
        };
        Ok(vec![NewDelivery { scope, key, local_id: None, work: DeliveryWork::Turn { turn } }])
    }

    /// The delivery of the end of a session.
    pub(super) fn end_session(&self, viewer: &Viewer) -> Result<NewDelivery> {
        let work = DeliveryWork::EndSession { viewer: viewer.clone() };
        Ok(NewDelivery { scope: viewer.conversation()?, key: format!("end/{}", self.fresh()), local_id: None, work })
    }

    /// A text that leaves as part of a question.
    pub(super) fn text(&self, viewer: &Viewer, text: &str) -> Result<String> {
        let message = NewMessage::new(personal(viewer), session_of(viewer), Role::User, text);
        self.sanitised_text(WriteItem::Message(Box::new(message)))
    }

    /// The arguments of a tool, with every text in them sanitised.
    pub(super) fn arguments(&self, viewer: &Viewer, value: Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(viewer, &text)?),
            Value::Array(values) => {
                Value::Array(values.into_iter().map(|value| self.arguments(viewer, value)).collect::<Result<_>>()?)
            }
            Value::Object(fields) => {
                let sanitised = fields.into_iter().map(|(name, value)| Ok((name, self.arguments(viewer, value)?)));
                Value::Object(sanitised.collect::<Result<_>>()?)
            }
            other => other,
        })
    }

    fn changes(&self, viewer: &Viewer, changes: MemoryChanges) -> Result<MemoryChanges> {
        let optional = |text: Option<Option<String>>| {
            text.map(|text| text.map(|text| self.text(viewer, &text)).transpose()).transpose()
        };
        let attrs = changes.attrs.map(Value::Object).map(|attrs| self.arguments(viewer, attrs)).transpose()?;
        let body = changes.body.map(|body| {
            let memory = NewMemory::new(personal(viewer), body);
            self.sanitised_text(WriteItem::Memory(Box::new(memory)))
        });
        Ok(MemoryChanges {
            body: body.transpose()?,
            title: optional(changes.title)?,
            category: optional(changes.category)?,
            attrs: attrs.and_then(|attrs| if let Value::Object(attrs) = attrs { Some(attrs) } else { None }),
            ..changes
        })
    }

    fn sanitised_text(&self, item: WriteItem) -> Result<String> {
        if is_blank(&item) {
            return Ok(String::new());
        }
        Ok(match (self.sanitise)(item)? {
            WriteItem::Memory(memory) => memory.body,
            WriteItem::Message(message) => message.content,
        })
    }
}

/// The id under which a named item is known here until it has one there. The same item always has the same.
pub(super) fn ticket(item: &WriteItem) -> Id {
    let (scope, session, external_id) = match item {
        WriteItem::Memory(memory) => (&memory.scope, "", &memory.external_id),
        WriteItem::Message(message) => (&message.scope, message.session_id.as_str(), &message.external_id),
    };
    Id::of_foreign(&[&scope.key(), session, external_id.as_deref().unwrap_or_default()].join("\u{1f}"))
}

/// The scope of an item.
pub(super) fn scope_of(item: &WriteItem) -> &Scope {
    match item {
        WriteItem::Memory(memory) => &memory.scope,
        WriteItem::Message(message) => &message.scope,
    }
}

/// An error when a provider does not keep such an item.
pub(super) fn check_capability(item: &WriteItem, capability: Capability, name: &str) -> Result<()> {
    match item {
        WriteItem::Memory(_) if !capability.write => Err(Error::unsupported(name, "write")),
        WriteItem::Message(_) if !capability.write_messages => Err(Error::unsupported(name, "write_messages")),
        _ => Ok(()),
    }
}

/// The scope of a viewer's own things.
pub(super) fn personal(viewer: &Viewer) -> Scope {
    Scope { user: viewer.user.clone(), space: viewer.space.clone(), owner: Owner::User }
}

fn is_blank(item: &WriteItem) -> bool {
    let text = match item {
        WriteItem::Memory(memory) => &memory.body,
        WriteItem::Message(message) => &message.content,
    };
    text.trim().is_empty()
}

fn session_of(viewer: &Viewer) -> &str {
    viewer.session.as_deref().unwrap_or(crate::DEFAULT_NAME)
}
