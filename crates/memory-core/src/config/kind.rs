//! What sort of value a key takes, and how that value is read from text. Nothing is guessed: the kind decides.

use std::path::{Component, Path, PathBuf};

use figment::value::{Empty, Value};

/// The sort of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Free text.
    Text,
    /// A name or id; digits are text too.
    Id,
    /// A whole number within limits.
    Integer {
        /// The smallest accepted number.
        minimum: u64,
        /// The largest accepted number.
        maximum: u64,
    },
    /// A number within limits.
    Number {
        /// The smallest accepted number.
        minimum: f64,
        /// The largest accepted number.
        maximum: f64,
    },
    /// Yes or no.
    Flag,
    /// Yes, no, or not set, in which case something else decides.
    OptionalFlag,
    /// One of a few names.
    Choice(&'static [&'static str]),
    /// A credential.
    Secret,
    /// Several credentials.
    SecretList,
    /// Several names or ids.
    IdList,
    /// An `http` or `https` address.
    Url,
    /// `HOST:PORT`.
    Listen,
    /// A file or folder.
    Path,
    /// Several files or folders.
    PathList,
}

/// Where relative paths start and what `~` is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) directory: &'a Path,
    pub(super) user_home: Option<&'a Path>,
}

/// A value that does not fit its kind. It carries no value on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DoesNotFit;

impl Kind {
    /// Whether values are masked wherever they are shown.
    pub const fn is_secret(&self) -> bool {
        matches!(self, Self::Secret | Self::SecretList)
    }

    /// What is accepted, to follow "expected".
    pub fn expected(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Id => "an id (a text)".into(),
            Self::Integer { minimum, maximum: u64::MAX } => format!("a whole number of at least {minimum}"),
            Self::Integer { minimum, maximum } => format!("a whole number from {minimum} to {maximum}"),
            Self::Number { minimum, maximum } => format!("a number from {minimum} to {maximum}"),
            Self::Flag | Self::OptionalFlag => "true or false".into(),
            Self::Choice(names) => format!("one of {}", names.join(", ")),
            Self::Secret => "a key (a text)".into(),
            Self::SecretList => "a list of keys (texts)".into(),
            Self::IdList => "a list of ids (texts)".into(),
            Self::Url => "an address such as http://host:port/path".into(),
            Self::Listen => "an address such as 127.0.0.1:8930".into(),
            Self::Path => "a path (a text)".into(),
            Self::PathList => "a list of paths (texts)".into(),
        }
    }

    pub(super) const fn is_list(&self) -> bool {
        matches!(self, Self::SecretList | Self::IdList | Self::PathList)
    }

    /// Whether a number or a date in YAML has to be quoted for this kind.
    pub(super) const fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Id
                | Self::Secret
                | Self::SecretList
                | Self::IdList
                | Self::Url
                | Self::Listen
                | Self::Path
                | Self::PathList
        )
    }

    /// Reads a value written as text: in a variable, a flag, or a `${…}` in the file. Lists are split at commas.
    pub(super) fn read_text(&self, text: &str, base: Base<'_>) -> Result<Value, DoesNotFit> {
        let trimmed = text.trim();
        match self {
            Self::Text => Ok(Value::from(text)),
            Self::Id | Self::Secret => Ok(Value::from(trimmed)),
            Self::Integer { .. } => self.read_integer(trimmed.parse().map_err(|_| DoesNotFit)?),
            Self::Number { .. } => self.read_number(trimmed.parse().map_err(|_| DoesNotFit)?),
            Self::Flag | Self::OptionalFlag => read_flag(trimmed).map(Value::from).ok_or(DoesNotFit),
            Self::Choice(names) => names
                .iter()
                .find(|name| trimmed.eq_ignore_ascii_case(name))
                .map(|name| Value::from(*name))
                .ok_or(DoesNotFit),
            Self::Url => is_url(trimmed).then(|| Value::from(trimmed)).ok_or(DoesNotFit),
            Self::Listen => is_listen(trimmed).then(|| Value::from(trimmed)).ok_or(DoesNotFit),
            Self::Path => resolve_path(trimmed, base).map(Value::from).ok_or(DoesNotFit),
            Self::SecretList | Self::IdList | Self::PathList => self.read_list(trimmed.split(',').map(str::trim), base),
        }
    }

    /// Reads the items of a list; empty ones are left out.
    pub(super) fn read_list<'t>(
        &self,
        items: impl Iterator<Item = &'t str>,
        base: Base<'_>,
    ) -> Result<Value, DoesNotFit> {
        let item_kind = match self {
            Self::PathList => Self::Path,
            Self::IdList => Self::Id,
            _ => Self::Secret,
        };
        let values: Result<Vec<Value>, DoesNotFit> =
            items.filter(|item| !item.trim().is_empty()).map(|item| item_kind.read_text(item, base)).collect();
        values.map(Value::from)
    }

    pub(super) fn read_integer(&self, number: u64) -> Result<Value, DoesNotFit> {
        match self {
            Self::Integer { minimum, maximum } if (minimum..=maximum).contains(&&number) => Ok(Value::from(number)),
            Self::Number { .. } => self.read_number(number as f64),
            _ => Err(DoesNotFit),
        }
    }

    pub(super) fn read_number(&self, number: f64) -> Result<Value, DoesNotFit> {
        match self {
            Self::Number { minimum, maximum } if number >= *minimum && number <= *maximum => Ok(Value::from(number)),
            _ => Err(DoesNotFit),
        }
    }

    /// Reads a YAML `true` or `false`. A choice between names such as `on` and `off` takes it too, because some YAML
    /// writers turn one into the other.
    pub(super) fn read_bool(&self, flag: bool) -> Result<Value, DoesNotFit> {
        match self {
            Self::Flag | Self::OptionalFlag => Ok(Value::from(flag)),
            Self::Choice(names) => {
                let name = if flag { "on" } else { "off" };
                if names.contains(&name) { Ok(Value::from(name)) } else { Err(DoesNotFit) }
            }
            _ => Err(DoesNotFit),
        }
    }

    /// The value for "not set", where there is one.
    pub(super) fn read_null(&self) -> Result<Value, DoesNotFit> {
        if *self == Self::OptionalFlag { Ok(Value::from(Empty::None)) } else { Err(DoesNotFit) }
    }
}

/// `true/1/yes/on` and `false/0/no/off`, in any case.
pub(super) fn read_flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        // A port is a number, and brackets stand around an IPv6 address only.
        let (name, port) = match host.strip_prefix('[').map(|inner| inner.split_once(']')) {
            Some(Some((address, rest))) if address.parse::<std::net::Ipv6Addr>().is_ok() => {
                (address, rest.strip_prefix(':'))
            }
            Some(_) => return false,
            None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
        };
        let port_fits = port.is_none_or(|port| port.is_empty() || port.parse::<u16>().is_ok());
        !name.is_empty() && port_fits && !text.contains(|c: char| c.is_whitespace() || c.is_control())
    })
}

fn is_listen(text: &str) -> bool {
    match text.rsplit_once(':') {
        Some((host, port)) => {
            let bracketed = host.starts_with('[') && host.ends_with(']');
            let plain = !host.contains([':', '[', ']', '/']);
            !host.is_empty()
                && (bracketed || plain)
                && !host.contains(char::is_whitespace)
                && port.parse::<u16>().is_ok()
        }
        None => false,
    }
}

/// Expands `~`, joins a relative path to its base and drops `.`; `..` stays, since it may cross a symbolic link.
pub(super) fn resolve_path(text: &str, base: Base<'_>) -> Option<String> {
    if text.contains('\0') {
        return None;
    }
    let path = match text.strip_prefix('~') {
        None => base.directory.join(text),
        Some("") => base.user_home?.to_path_buf(),
        Some(rest) => base.user_home?.join(rest.strip_prefix('/')?.trim_start_matches('/')),
    };
    let clean: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    clean.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Result<Value, DoesNotFit> {
        let base = Base { directory: Path::new("/base"), user_home: Some(Path::new("/home/小明")) };
        kind.read_text(text, base)
    }

    #[test]
    fn digits_stay_text_where_text_is_wanted() {
        for kind in [Kind::Text, Kind::Id, Kind::Secret] {
            assert_eq!(read(kind, "0042").unwrap().as_str(), Some("0042"), "{kind:?}");
        }
    }

    #[test]
    fn numbers_keep_their_limits() {
        let kind = Kind::Integer { minimum: 1, maximum: 10 };
        assert_eq!(read(kind, " 10 ").unwrap().to_u128(), Some(10));
        for wrong in ["0", "11", "-1", "1.5", "ten", "", "१"] {
            assert_eq!(read(kind, wrong), Err(DoesNotFit), "{wrong}");
        }
        let kind = Kind::Number { minimum: 0.0, maximum: 1.0 };
        assert_eq!(read(kind, "0.25").unwrap().to_f64(), Some(0.25));
        for wrong in ["NaN", "inf", "1.01", "-0.1"] {
            assert_eq!(read(kind, wrong), Err(DoesNotFit), "{wrong}");
        }
    }

    #[test]
    fn flags_take_the_usual_words() {
        for (text, expected) in
            [("YES", true), ("1", true), ("on", true), ("False", false), ("0", false), ("no", false)]
        {
            assert_eq!(read(Kind::Flag, text).unwrap().to_bool(), Some(expected), "{text}");
        }
        assert_eq!(read(Kind::Flag, "maybe"), Err(DoesNotFit));
    }

    #[test]
    fn addresses_are_checked() {
        for right in [
            "http://127.0.0.1:1933",
            "https://用户@例子.公司/v1?key=x",
            "HTTP://h",
            "http://[::1]:80/v1",
            "http://[::1]",
        ] {
            assert!(read(Kind::Url, right).is_ok(), "{right}");
        }
        for wrong in [
            "localhost:80",
            "http://",
            "http:///v1",
            "http://a b",
            "ftp://h",
            "http://:80",
            "http://[bad",
            "http://[x]:1",
            "http://h:99999",
            "http://h:x",
        ] {
            assert_eq!(read(Kind::Url, wrong), Err(DoesNotFit), "{wrong}");
        }
        for right in ["127.0.0.1:0", "[::1]:8930", "localhost:80"] {
            assert!(read(Kind::Listen, right).is_ok(), "{right}");
        }
        for wrong in ["8930", ":8930", "::1:8930", "h:99999", "h:", "http://h:80"] {
            assert_eq!(read(Kind::Listen, wrong), Err(DoesNotFit), "{wrong}");
        }
    }

    #[test]
    fn paths_are_resolved() {
        let path = |text| read(Kind::Path, text).unwrap().into_string().unwrap();
        assert_eq!(path("./notes/../记忆"), "/base/notes/../记忆");
        assert_eq!(path("/x/./y"), "/x/y");
        assert_eq!(path("~"), "/home/小明");
        assert_eq!(path("~/笔记"), "/home/小明/笔记");
        assert_eq!(read(Kind::Path, "~other/x"), Err(DoesNotFit));
    }

    #[test]
    fn lists_are_split_at_commas() {
        let value = read(Kind::SecretList, " a, ,b ").unwrap();
        assert_eq!(value.deserialize::<Vec<String>>().unwrap(), ["a", "b"]);
    }
}
