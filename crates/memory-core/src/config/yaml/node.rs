//! YAML text as a tree that knows its lines. Built through serde, with limits, and without any text of the file in its
//! errors.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};

/// No configuration needs more values; an alias bomb does.
const MOST_NODES: usize = 20_000;
/// No configuration is nested deeper.
const DEEPEST: usize = 24;
/// More brackets than this are never open at once.
const MOST_OPEN_BRACKETS: usize = 100;
/// What a visitor fails with on purpose, so that the parser adds the position.
const POSITION: &str = "position";

/// A value and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    /// The text, and whether it stands there without quotes and begins like a number.
    Text {
        text: String,
        bare_digits: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Node,
}

/// Why a text is not a tree.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: Option<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Reads one document. An empty one is [`Content::Null`].
pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Node { line: 1, content: Content::Null });
    }
    if let Some(line) = too_deep(text) {
        return Err(SyntaxError { line: Some(line), message: "it is nested too deeply".to_owned(), hint: None });
    }
    let reader = Reader { lines: text.lines().collect(), nodes: Cell::new(0), fault: Cell::new(None) };
    let seed = NodeSeed { reader: &reader, depth: 0, line: 1 };
    seed.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| describe(&error, &reader))
}

/// The line where too many brackets are open. The parser needs time with the square of the depth before it hands out the
/// first value, so this is looked at before. Brackets in quotes count too; no one leaves that many open.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = 0usize;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > MOST_OPEN_BRACKETS {
                return Some(number + 1);
            }
        }
    }
    None
}

fn describe(error: &serde_yaml::Error, reader: &Reader<'_>) -> SyntaxError {
    let line = error.location().map(|location| location.line());
    // The parser's own texts are fixed sentences. To those of a visitor it adds the path, whose names may be anything, so
    // these are taken from where they were said.
    let printed = error.to_string();
    let message = reader.fault.get().unwrap_or_else(|| printed.split(" at ").next().unwrap_or_default());
    let indented_by_tab = line.and_then(|line| reader.lines.get(line.saturating_sub(1))).is_some_and(|text| {
        let indentation = text.len() - text.trim_start().len();
        text.get(..indentation).is_some_and(|space| space.contains('\t'))
    });
    let hint = if indented_by_tab {
        Some("YAML is indented with spaces; replace the tab".to_owned())
    } else if printed.contains("flow sequence") || printed.contains("flow mapping") || printed.contains("quoted scalar")
    {
        Some("a bracket or quote is not closed, or a comma is missing".to_owned())
    } else {
        None
    };
    let message = if message.contains("more than one document") {
        "a configuration is one document; remove what follows `---`".to_owned()
    } else {
        format!("this is not valid YAML: {message}")
    };
    SyntaxError { line, message, hint }
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    nodes: Cell<usize>,
    fault: Cell<Option<&'static str>>,
}

impl Reader<'_> {
    /// A real error, as opposed to a refusal that only asks for the position.
    fn fault<E: serde::de::Error>(&self, message: &'static str) -> E {
        self.fault.set(Some(message));
        E::custom(message)
    }

    /// Whether the value at this place (both counted from 1) has no quotes and begins like a number.
    fn bare_digits(&self, line: usize, column: usize) -> bool {
        let first = self.lines.get(line.saturating_sub(1)).and_then(|text| text.chars().nth(column.saturating_sub(1)));
        first.is_some_and(|first| first.is_ascii_digit() || matches!(first, '+' | '-'))
    }
}

struct NodeSeed<'r, 't> {
    reader: &'r Reader<'t>,
    depth: usize,
    /// The line of the key or list, until the value's own is known.
    line: usize,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_, '_> {
    type Value = Node;

    /// A scalar is stored and then refused: the parser adds its position to the refusal, which is the only way to learn
    /// it. A scalar is a single event, so nothing is left half read.
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let nodes = self.reader.nodes.get() + 1;
        self.reader.nodes.set(nodes);
        if nodes > MOST_NODES {
            return Err(self.reader.fault("it has far too many values"));
        }
        if self.depth > DEEPEST {
            return Err(self.reader.fault("it is nested too deeply"));
        }
        let stored = RefCell::new(None);
        let visitor = NodeVisitor { reader: self.reader, depth: self.depth, stored: &stored };
        match deserializer.deserialize_any(visitor) {
            Ok(content) => Ok(Node { line: self.line, content }),
            Err(refusal) => match stored.into_inner() {
                None => Err(refusal),
                Some(mut content) => {
                    let (line, column) = position(&refusal.to_string());
                    if let Content::Text { bare_digits, .. } = &mut content {
                        *bare_digits = self.reader.bare_digits(line, column);
                    }
                    Ok(Node { line, content })
                }
            },
        }
    }
}

/// Line and column out of `… at line 3 column 5`; the parser leaves out the very first place.
fn position(printed: &str) -> (usize, usize) {
    let numbers = printed.rsplit_once(" at line ").and_then(|(_, place)| place.split_once(" column "));
    numbers.and_then(|(line, column)| Some((line.parse().ok()?, column.parse().ok()?))).unwrap_or((1, 1))
}

struct NodeVisitor<'r, 't> {
    reader: &'r Reader<'t>,
    depth: usize,
    stored: &'r RefCell<Option<Content>>,
}

impl NodeVisitor<'_, '_> {
    fn store<E: serde::de::Error>(&self, content: Content) -> Result<Content, E> {
        *self.stored.borrow_mut() = Some(content);
        Err(E::custom(POSITION))
    }
}

impl<'de> Visitor<'de> for NodeVisitor<'_, '_> {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Content, E> {
        self.store(Content::Null)
    }

    /// Nothing but comments.
    fn visit_none<E: serde::de::Error>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Content, E> {
        self.store(Content::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Content, E> {
        self.store(Content::Integer(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Content, E> {
        self.store(Content::Integer(value.into()))
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Content, E> {
        self.store(Content::Integer(value))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Content, E> {
        self.store(Content::Integer(i128::try_from(value).unwrap_or(i128::MAX)))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Content, E> {
        self.store(Content::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Content, E> {
        self.store(Content::Text { text: value.to_owned(), bare_digits: false })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) =
            access.next_element_seed(NodeSeed { reader: self.reader, depth: self.depth + 1, line: 1 })?
        {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        while let Some((key, line)) = access.next_key_seed(KeySeed { reader: self.reader, seen: &mut seen })? {
            let value = access.next_value_seed(NodeSeed { reader: self.reader, depth: self.depth + 1, line })?;
            entries.push(Entry { line, key, value });
        }
        Ok(Content::Map(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _access: A) -> Result<Content, A::Error> {
        Err(self.reader.fault("a tag (`!…`) has no meaning here"))
    }
}

struct KeySeed<'s, 't> {
    reader: &'s Reader<'t>,
    seen: &'s mut HashSet<String>,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_, '_> {
    type Value = (String, usize);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let stored = RefCell::new(None);
        let refusal =
            match deserializer.deserialize_any(KeyVisitor { reader: self.reader, seen: self.seen, stored: &stored }) {
                Ok(never) => match never {},
                Err(refusal) => refusal,
            };
        match stored.into_inner() {
            None => Err(refusal),
            Some(key) => {
                let (line, _) = position(&refusal.to_string());
                Ok((key, line))
            }
        }
    }
}

enum Never {}

struct KeyVisitor<'s, 't> {
    reader: &'s Reader<'t>,
    seen: &'s mut HashSet<String>,
    stored: &'s RefCell<Option<String>>,
}

impl KeyVisitor<'_, '_> {
    fn key<E: serde::de::Error>(self, key: String) -> Result<Never, E> {
        if !self.seen.insert(key.clone()) {
            return Err(self.reader.fault("this key stands here twice"));
        }
        *self.stored.borrow_mut() = Some(key);
        Err(E::custom(POSITION))
    }
}

impl<'de> Visitor<'de> for KeyVisitor<'_, '_> {
    type Value = Never;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Never, E> {
        self.key(key.to_owned())
    }

    fn visit_bool<E: serde::de::Error>(self, key: bool) -> Result<Never, E> {
        self.key(key.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, key: u64) -> Result<Never, E> {
        self.key(key.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, key: i64) -> Result<Never, E> {
        self.key(key.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, _key: f64) -> Result<Never, E> {
        Err(self.reader.fault("a key is a name, not a number"))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Never, E> {
        Err(self.reader.fault("a key is missing before the colon"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _access: A) -> Result<Never, A::Error> {
        Err(self.reader.fault("a key is a name, not a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, _access: A) -> Result<Never, A::Error> {
        Err(self.reader.fault("a key is a name, not a section"))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _access: A) -> Result<Never, A::Error> {
        Err(self.reader.fault("a tag (`!…`) has no meaning here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(node: &Node) -> &[Entry] {
        match &node.content {
            Content::Map(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_value_knows_its_line() {
        let tree = parse("# 注释\nmemory:\n  engine: both\n  mem0: { a: 1,\n    b: [x,\n    y] }\n").unwrap();
        let memory = &entries(&tree)[0];
        assert_eq!((memory.line, memory.key.as_str()), (2, "memory"));
        let [engine, mem0] = entries(&memory.value) else { panic!() };
        assert_eq!((engine.line, engine.value.line, mem0.line), (3, 3, 4));
        let [a, b] = entries(&mem0.value) else { panic!() };
        assert_eq!((a.line, b.line), (4, 5));
        let Content::List(items) = &b.value.content else { panic!() };
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn bare_digits_are_told_from_quoted_ones() {
        let tree = parse("名: 0042\nb: \"0042\"\nc: x0042").unwrap();
        let bare: Vec<bool> = entries(&tree)
            .iter()
            .map(|entry| matches!(entry.value.content, Content::Text { bare_digits: true, .. }))
            .collect();
        assert_eq!(bare, [true, false, false]);
    }

    #[test]
    fn nothing_and_comments_are_empty() {
        for text in ["", "\n\n", "# only\n", "---\n", "\u{feff}# bom\n"] {
            assert!(matches!(parse(text).unwrap().content, Content::Null), "{text:?}");
        }
    }

    #[test]
    fn syntax_errors_name_the_line_and_no_text() {
        for (text, line, part) in [
            ("a: 1\nb: canary\nb: canary", 3, "twice"),
            ("canary:\n  a: 1\n  a: 2", 3, "twice"),
            ("\"canary at line 9 column 9\":\n  a: 1\n  a: 2", 3, "twice"),
            ("a:\n\t- canary", 2, "token"),
            ("a: [canary, x\nb: 1\n", 2, "not valid YAML"),
            ("a: 'canary", 1, "not valid YAML"),
            ("a: 1\n---\nb: canary\n", 0, "one document"),
            ("a: *canary", 1, "unknown anchor"),
            ("a: !canary x", 1, "tag"),
            ("? [canary]\n: 1", 1, "not a list"),
            ("a: 1\n: canary", 2, "YAML"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(part), "{text:?}: {error:?}");
            assert!(!format!("{error:?}").contains("canary"), "{error:?}");
            if line > 0 {
                assert_eq!(error.line, Some(line), "{text:?}: {error:?}");
            }
        }
        assert!(parse("a:\n\t- x").unwrap_err().hint.unwrap().contains("tab"));
    }

    #[test]
    fn bombs_are_refused() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let item = format!("*a{},", level - 1).repeat(10);
            bomb.push_str(&format!("a{level}: &a{level} [{item}]\n"));
        }
        assert!(parse(&bomb).unwrap_err().message.contains("too many values"));
        assert!(parse(&"[".repeat(1 << 20)).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))).unwrap_err().message.contains("deep"));
        assert!(parse(&format!("a: [{}]", "1,".repeat(MOST_NODES))).unwrap_err().message.contains("too many values"));
    }
}
