//! The fields of one JSON line, taken one by one, with errors that name the field.

use memory_core::{Owner, Scope, Viewer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Why a line is not taken in. It becomes the reason of a problem.
pub(super) type Refusal = String;

/// The fields of a line that have not been taken yet.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads a line: UTF-8, JSON, an object.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(line)
            .map_err(|error| format!("not valid UTF-8 (byte {})", error.valid_up_to().saturating_add(1)))?;
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err("not a JSON object".into()),
            Err(error) => Err(format!("not valid JSON: {}", describe(&error))),
        }
    }

    /// Whether there is such a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A field as text, left where it is.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Takes a field that may be missing or `null`.
    pub(super) fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Refusal> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value).map(Some).map_err(|error| format!("`{name}`: {error}")),
        }
    }

    /// Takes a field that must be there.
    pub(super) fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Refusal> {
        self.optional(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    /// Takes `user`, `space`, and `owner` or `agent` and `workspace`, and finds out where the item belongs. What the
    /// line does not say is the viewer's; `default` says what is the viewer's when the line names no owner.
    pub(super) fn scope(
        &mut self,
        viewer: &Viewer,
        default: fn(&Viewer) -> memory_core::Result<Scope>,
    ) -> Result<Scope, Refusal> {
        let mut of_line = Viewer {
            user: self.optional("user")?.unwrap_or_else(|| viewer.user.clone()),
            space: self.optional("space")?.unwrap_or_else(|| viewer.space.clone()),
            ..viewer.clone()
        };
        let owner: Option<Owner> = self.optional("owner")?;
        let (agent, workspace) = (self.optional("agent")?, self.optional("workspace")?);
        let scope = match owner {
            Some(owner) => Ok(Scope { user: of_line.user, space: of_line.space, owner }),
            None if agent.is_some() || workspace.is_some() => {
                let named = Viewer { agent, workspace, team: None, session: None, ..of_line };
                named.conversation()
            }
            None => {
                // A foreign user's item is nobody's but that user's: the viewer's agent or team has no part in it.
                if of_line.user != viewer.user || of_line.space != viewer.space {
                    of_line = Viewer::user(of_line.user, of_line.space);
                }
                default(&of_line)
            }
        };
        let scope = scope.map_err(|error| error.message().to_owned())?;
        scope.check().map_err(|error| error.message().to_owned())?;
        Ok(scope)
    }

    /// What is left.
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// A JSON error without the line, which is always the first.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.contains("hex escape") {
        return format!("a \\u escape that is half of a surrogate pair (column {})", error.column());
    }
    match text.split_once(" at line ") {
        Some((what, _)) => format!("{what} (column {})", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields {
        Fields::parse(json.as_bytes()).unwrap_or_else(|reason| panic!("{reason}"))
    }

    #[test]
    fn what_is_no_object_says_why() {
        let refusal = |line: &[u8]| Fields::parse(line).err().unwrap();
        assert_eq!(refusal(b"{\"a\":\"\xff\"}"), "not valid UTF-8 (byte 7)");
        assert_eq!(refusal(b"[1]"), "not a JSON object");
        assert!(refusal(br#"{"a":"\ud800"}"#).contains("surrogate"), "{}", refusal(br#"{"a":"\ud800"}"#));
        assert!(refusal(b"{\"a\":").starts_with("not valid JSON: EOF"), "{}", refusal(b"{\"a\":"));
        assert!(refusal("[".repeat(100_000).as_bytes()).contains("recursion limit"));
    }

    #[test]
    fn a_field_error_names_the_field() {
        let mut line = fields(r#"{"a":3,"b":null,"时间":"昨天"}"#);
        assert_eq!(line.required::<String>("a").unwrap_err(), "`a`: invalid type: integer `3`, expected a string");
        assert_eq!(line.required::<String>("b").unwrap_err(), "`b` is missing");
        assert!(line.optional::<memory_core::Timestamp>("时间").unwrap_err().contains("is not a time"));
    }

    #[test]
    fn the_owner_is_the_line_s_or_else_the_viewer_s() {
        let viewer = Viewer { agent: Some("coder".into()), ..Viewer::user("u", "s") };
        let scope =
            |json: &str| fields(json).scope(&viewer, Viewer::writable).map(|scope| scope.key().replace('\u{1f}', "|"));
        assert_eq!(scope("{}").unwrap(), "u|s|agent:coder");
        assert_eq!(scope(r#"{"user":"张三"}"#).unwrap(), "张三|s|user");
        assert_eq!(scope(r#"{"workspace":"w"}"#).unwrap(), "u|s|workspace:w");
        assert_eq!(scope(r#"{"owner":"team:red","space":"t"}"#).unwrap(), "u|t|team:red");
        assert_eq!(scope(r#"{"user":"  "}"#).unwrap_err(), "the user name is empty");
        assert!(scope(r#"{"owner":"boss"}"#).unwrap_err().starts_with("`owner`: "));
    }
}
