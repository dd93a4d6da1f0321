//! `config.yaml`: read, checked against the key table, and turned into a layer. Errors name file, line and key, never a
//! value.

mod node;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use figment::value::{Dict, Empty, Tag, Value};

use self::node::{Content, Entry, Node};
use super::interpolate::interpolate;
use super::kind::{Base, DoesNotFit, Kind, read_flag};
use super::layer::Layer;
use super::nearest::{is_presentable, nearest_key};
use super::problem::{Problems, quoted};
use super::{SettingOrigin, keys};
use crate::{Error, ErrorKind, Result};

/// A larger file is no configuration.
pub(super) const LARGEST_FILE_BYTES: u64 = 1 << 20;

/// Reads a configuration file whole, within limits. `None` when it does not exist.
pub(super) fn read_file(path: &Path) -> Result<Option<String>> {
    let storage = |message: &str| Error::new(ErrorKind::Storage, format!("{message} {}", path.display()));
    match std::fs::metadata(path) {
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(storage("cannot read").with_source(error)),
        Ok(metadata) if !metadata.is_file() => return Err(storage("this is not a file:")),
        Ok(_) => {}
    }
    let file = std::fs::File::open(path).map_err(|error| storage("cannot read").with_source(error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| storage("cannot read").with_source(error))?;
    if bytes.len() as u64 > LARGEST_FILE_BYTES {
        return Err(Error::new(ErrorKind::ConfigInvalid, format!("{} is larger than 1 MiB", path.display()))
            .with_hint("a configuration is a few pages; is this the right file?"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count();
            Err(Error::new(ErrorKind::ConfigInvalid, format!("{}:{line}: this is not UTF-8 text", path.display()))
                .with_hint("save the file as UTF-8"))
        }
    }
}

/// Checks `text` and makes a layer of it. `lookup` gives the variables for `${NAME}`.
pub(super) fn layer(
    text: &str,
    file: &Path,
    base: Base<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
    problems: &mut Problems,
) -> Layer {
    let mut checker = Checker { file, base, lookup, problems, layer: Layer::new("file") };
    match node::parse(text) {
        Err(error) => {
            let place = error.line.map_or_else(|| file.display().to_string(), |line| checker.place(line));
            checker.problems.add(place, error.message, error.hint);
        }
        Ok(Node { content: Content::Null, .. }) => {}
        Ok(Node { content: Content::Map(entries), .. }) => checker.section(&entries, ""),
        Ok(node) => {
            let hint = Some("the file begins with `memory:`, and everything else stands indented below it".to_owned());
            checker.problems.add(checker.place(node.line), "expected the section `memory`", hint);
        }
    }
    checker.layer
}

struct Checker<'a> {
    file: &'a Path,
    base: Base<'a>,
    lookup: &'a dyn Fn(&str) -> Option<String>,
    problems: &'a mut Problems,
    layer: Layer,
}

impl Checker<'_> {
    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.file.display())
    }

    fn origin(&self, line: usize) -> SettingOrigin {
        SettingOrigin::File { path: self.file.to_path_buf(), line }
    }

    fn section(&mut self, entries: &[Entry], section: &str) {
        for entry in entries {
            let path = if section.is_empty() { entry.key.clone() } else { format!("{section}.{}", entry.key) };
            if let Some(key) = keys::find(&path) {
                self.setting(key, entry);
            } else if keys::is_section(&path) {
                match &entry.value.content {
                    Content::Map(inner) => self.section(inner, &path),
                    Content::Null => {}
                    _ => self.wrong(entry, &path, "a section, with its keys indented below it", None),
                }
            } else if section == keys::PLUGIN_PARENT && is_plugin_name(&entry.key) && is_plugin_section(&entry.value) {
                let mut origins = BTreeMap::new();
                let value = self.free(&entry.value, &path, &mut origins);
                self.layer.set_section(&path, value, origins);
            } else {
                let hint = nearest_key(&path).map(|known| format!("did you mean `{known}`?"));
                self.problems.add(self.place(entry.line), format!("unknown key {}", quoted(&path)), hint);
            }
        }
    }

    fn setting(&mut self, key: &keys::Key, entry: &Entry) {
        match self.value(&key.kind, &entry.value) {
            Ok(Some(value)) => self.layer.set(key.path, value, self.origin(entry.line)),
            Ok(None) => {}
            Err(Mismatch::Unquoted) => {
                let hint =
                    Some("quote this value, for example \"0042\"; without quotes YAML may read another value".into());
                self.wrong(entry, key.path, &key.kind.expected(), hint);
            }
            Err(Mismatch::Kind) => self.wrong(entry, key.path, &key.kind.expected(), None),
            Err(Mismatch::Null) => {
                let hint = Some("write a value, or remove the line to use the default".to_owned());
                self.wrong(entry, key.path, &key.kind.expected(), hint);
            }
        }
    }

    fn wrong(&mut self, entry: &Entry, path: &str, expected: &str, hint: Option<String>) {
        self.problems.add(self.place(entry.value.line.max(entry.line)), format!("`{path}`: expected {expected}"), hint);
    }

    /// The value of a known key; `None` where it is empty, which means unset.
    fn value(&self, kind: &Kind, node: &Node) -> Result<Option<Value>, Mismatch> {
        let unquoted = if kind.is_text() && !kind.is_list() { Mismatch::Unquoted } else { Mismatch::Kind };
        match &node.content {
            Content::Null => kind.read_null().map(Some).map_err(|_| Mismatch::Null),
            Content::Bool(flag) => kind.read_bool(*flag).map(Some).map_err(|_| unquoted),
            Content::Integer(number) => match u64::try_from(*number) {
                Ok(number) => kind.read_integer(number).map(Some).map_err(|_| unquoted),
                Err(_) => kind.read_number(*number as f64).map(Some).map_err(|_| unquoted),
            },
            Content::Float(number) => kind.read_number(*number).map(Some).map_err(|_| unquoted),
            Content::Text { text, bare_digits } => self.text(kind, text, *bare_digits),
            Content::List(items) if kind.is_list() => self.list(kind, items).map(Some),
            Content::List(_) | Content::Map(_) => Err(Mismatch::Kind),
        }
    }

    fn text(&self, kind: &Kind, text: &str, bare_digits: bool) -> Result<Option<Value>, Mismatch> {
        if let Some(text) = interpolate(text, self.lookup) {
            return if text.trim().is_empty() { Ok(None) } else { Ok(Some(kind.read_text(&text, self.base)?)) };
        }
        if text.trim().is_empty() && (kind.is_text() && !kind.is_list()) && *kind != Kind::Text {
            return Ok(None);
        }
        match kind {
            Kind::Text if text.is_empty() => Ok(None),
            Kind::Id if bare_digits && text.bytes().all(|byte| byte.is_ascii_digit()) => Err(Mismatch::Unquoted),
            Kind::Integer { .. } | Kind::Number { .. } | Kind::SecretList | Kind::IdList | Kind::PathList => {
                Err(Mismatch::Kind)
            }
            Kind::Flag | Kind::OptionalFlag => Ok(Some(Value::from(read_flag(text).ok_or(Mismatch::Kind)?))),
            _ => Ok(Some(kind.read_text(text, self.base)?)),
        }
    }

    fn list(&self, kind: &Kind, items: &[Node]) -> Result<Value, Mismatch> {
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.content {
                Content::Text { text, .. } => {
                    texts.push(interpolate(text, self.lookup).unwrap_or_else(|| text.clone()))
                }
                Content::Integer(_) | Content::Float(_) | Content::Bool(_) => return Err(Mismatch::Unquoted),
                Content::Null | Content::List(_) | Content::Map(_) => return Err(Mismatch::Kind),
            }
        }
        Ok(kind.read_list(texts.iter().map(String::as_str), self.base)?)
    }

    /// A value that only a plugin understands.
    fn free(&self, node: &Node, path: &str, origins: &mut BTreeMap<String, SettingOrigin>) -> Value {
        if let Content::Map(entries) = &node.content {
            let dict: Dict = entries
                .iter()
                .map(|entry| (entry.key.clone(), self.free(&entry.value, &format!("{path}.{}", entry.key), origins)))
                .collect();
            return Value::Dict(Tag::Default, dict);
        }
        origins.insert(path.to_owned(), self.origin(node.line));
        match &node.content {
            Content::Null | Content::Map(_) => Value::from(Empty::None),
            Content::Bool(flag) => Value::from(*flag),
            Content::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => Value::from(number),
                (_, Ok(number)) => Value::from(number),
                _ => Value::from(*number as f64),
            },
            Content::Float(number) => Value::from(*number),
            Content::Text { text, .. } => Value::from(interpolate(text, self.lookup).unwrap_or_else(|| text.clone())),
            Content::List(items) => {
                let mut ignored = BTreeMap::new();
                Value::from(items.iter().map(|item| self.free(item, path, &mut ignored)).collect::<Vec<Value>>())
            }
        }
    }
}

enum Mismatch {
    /// The value is of another kind.
    Kind,
    /// YAML reads it as something else than text.
    Unquoted,
    /// There is no value.
    Null,
}

impl From<DoesNotFit> for Mismatch {
    fn from(_: DoesNotFit) -> Self {
        Self::Kind
    }
}

/// Plugin names are lower case letters, digits and hyphens; underscores are taken too.
pub(super) fn is_plugin_name(name: &str) -> bool {
    is_presentable(name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
}

fn is_plugin_section(node: &Node) -> bool {
    matches!(node.content, Content::Map(_) | Content::Null)
}
