//! The filter language of `--filter`: AND, OR, NOT and comparisons on the fields of a hit.
//!
//! `{"category":"fact"}`, `{"created_at":{"gte":"2026-01-01"}}`, `{"OR":[{"tags":{"contains":"work"}},{"attrs.city":"上海"}]}`.

use std::cmp::Ordering;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{Error, Hit, Result, Timestamp};

/// The deepest nesting that is read.
const DEEPEST: usize = 16;

const FIELDS: &[&str] = &[
    "id",
    "kind",
    "title",
    "text",
    "category",
    "tags",
    "owner",
    "session_id",
    "speaker",
    "role",
    "external_id",
    "event_at",
    "created_at",
    "path",
];

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    In,
    NotIn,
    Contains,
    ContainsAnyCase,
}

const OPERATORS: &[(&str, Operator)] = &[
    ("eq", Operator::Equal),
    ("ne", Operator::NotEqual),
    ("gt", Operator::Greater),
    ("gte", Operator::GreaterOrEqual),
    ("lt", Operator::Less),
    ("lte", Operator::LessOrEqual),
    ("in", Operator::In),
    ("nin", Operator::NotIn),
    ("contains", Operator::Contains),
    ("icontains", Operator::ContainsAnyCase),
];

#[derive(Debug, Clone, PartialEq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Compare { field: String, operator: Operator, value: Value },
}

/// A condition on hits, read from JSON and checked when read.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    source: Value,
    node: Node,
}

impl Filter {
    /// Reads a filter. Unknown fields and operators are errors that name what exists.
    pub fn parse(source: &Value) -> Result<Self> {
        Ok(Self { node: parse_node(source, 0)?, source: source.clone() })
    }

    /// True when `hit` meets the condition.
    pub fn matches(&self, hit: &Hit) -> bool {
        evaluate(&self.node, hit)
    }
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Value::deserialize(deserializer)?;
        Self::parse(&source).map_err(|error| serde::de::Error::custom(error.message()))
    }
}

fn parse_node(source: &Value, depth: usize) -> Result<Node> {
    if depth > DEEPEST {
        return Err(Error::invalid(format!("the filter is nested deeper than {DEEPEST}")));
    }
    let object = source.as_object().ok_or_else(|| {
        Error::invalid("a filter is a JSON object")
            .with_hint("for example {\"category\":\"fact\"} or {\"AND\":[{…},{…}]}")
    })?;
    let mut nodes = Vec::with_capacity(object.len());
    for (key, value) in object {
        nodes.push(match key.as_str() {
            "AND" => Node::All(parse_list(key, value, depth)?),
            "OR" => Node::Any(parse_list(key, value, depth)?),
            "NOT" => match value {
                Value::Array(_) => Node::Not(Box::new(Node::Any(parse_list(key, value, depth)?))),
                _ => Node::Not(Box::new(parse_node(value, depth + 1)?)),
            },
            field => parse_field(field, value)?,
        });
    }
    match nodes.len() {
        1 => nodes.pop().ok_or_else(|| Error::unexpected("a filter lost its only part")),
        _ => Ok(Node::All(nodes)),
    }
}

fn parse_list(key: &str, value: &Value, depth: usize) -> Result<Vec<Node>> {
    let list = value.as_array().ok_or_else(|| Error::invalid(format!("`{key}` in a filter takes a list")))?;
    list.iter().map(|item| parse_node(item, depth + 1)).collect()
}

fn parse_field(field: &str, value: &Value) -> Result<Node> {
    let known = FIELDS.contains(&field) || field.strip_prefix("attrs.").is_some_and(|rest| !rest.is_empty());
    if !known {
        return Err(Error::invalid(format!("a filter knows no field `{field}`"))
            .with_hint(format!("fields are {}, and attrs.NAME", FIELDS.join(", "))));
    }
    let Value::Object(comparisons) = value else {
        return compare(field, Operator::Equal, value);
    };
    let parts: Result<Vec<Node>> = comparisons
        .iter()
        .map(|(name, value)| match OPERATORS.iter().find(|(known, _)| known == name) {
            Some((_, operator)) => compare(field, *operator, value),
            None => {
                let names: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
                Err(Error::invalid(format!("a filter knows no operator `{name}`"))
                    .with_hint(format!("operators are {}", names.join(", "))))
            }
        })
        .collect();
    Ok(Node::All(parts?))
}

fn compare(field: &str, operator: Operator, value: &Value) -> Result<Node> {
    let fits = match operator {
        Operator::In | Operator::NotIn => value.is_array(),
        Operator::Contains | Operator::ContainsAnyCase => value.is_string(),
        _ => !value.is_array() && !value.is_object(),
    };
    if !fits {
        return Err(Error::invalid(format!("the value for `{field}` in the filter has the wrong type")).with_hint(
            "`in` and `nin` take a list, `contains` takes a text, the others a text, number, true, false or null",
        ));
    }
    let is_time = matches!(field, "created_at" | "event_at");
    if is_time && let Some(text) = value.as_str() {
        text.parse::<Timestamp>()?;
    }
    Ok(Node::Compare { field: field.to_owned(), operator, value: value.clone() })
}

fn evaluate(node: &Node, hit: &Hit) -> bool {
    match node {
        Node::All(nodes) => nodes.iter().all(|node| evaluate(node, hit)),
        Node::Any(nodes) => nodes.iter().any(|node| evaluate(node, hit)),
        Node::Not(node) => !evaluate(node, hit),
        Node::Compare { field, operator, value } => evaluate_comparison(&field_of(hit, field), *operator, value),
    }
}

fn field_of(hit: &Hit, field: &str) -> Value {
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::String);
    let time = |value: Option<Timestamp>| value.map_or(Value::Null, |time| Value::String(time.to_string()));
    match field {
        "id" => Value::String(hit.id.to_string()),
        "kind" => serde_json::to_value(hit.kind).unwrap_or(Value::Null),
        "title" => text(&hit.title),
        "text" => Value::String(hit.text.clone()),
        "category" => text(&hit.category),
        "tags" => Value::from(hit.tags.clone()),
        "owner" => Value::String(hit.scope.owner.to_string()),
        "session_id" => text(&hit.session_id),
        "speaker" => text(&hit.speaker),
        "role" => serde_json::to_value(hit.role).unwrap_or(Value::Null),
        "external_id" => text(&hit.external_id),
        "event_at" => time(hit.event_at),
        "created_at" => time(Some(hit.created_at)),
        "path" => text(&hit.source.path),
        _ => field.strip_prefix("attrs.").and_then(|name| hit.attrs.get(name)).cloned().unwrap_or(Value::Null),
    }
}

fn evaluate_comparison(actual: &Value, operator: Operator, wanted: &Value) -> bool {
    match operator {
        Operator::Equal => equal(actual, wanted),
        Operator::NotEqual => !equal(actual, wanted),
        Operator::Greater => order(actual, wanted) == Some(Ordering::Greater),
        Operator::GreaterOrEqual => matches!(order(actual, wanted), Some(Ordering::Greater | Ordering::Equal)),
        Operator::Less => order(actual, wanted) == Some(Ordering::Less),
        Operator::LessOrEqual => matches!(order(actual, wanted), Some(Ordering::Less | Ordering::Equal)),
        Operator::In => wanted.as_array().is_some_and(|list| list.iter().any(|item| equal(actual, item))),
        Operator::NotIn => !wanted.as_array().is_some_and(|list| list.iter().any(|item| equal(actual, item))),
        Operator::Contains => contains(actual, wanted, false),
        Operator::ContainsAnyCase => contains(actual, wanted, true),
    }
}

fn equal(actual: &Value, wanted: &Value) -> bool {
    match actual {
        Value::Array(items) => items.contains(wanted),
        _ => actual == wanted || order(actual, wanted) == Some(Ordering::Equal),
    }
}

/// Numbers by value, times by moment, other texts by their characters; nothing else has an order.
fn order(actual: &Value, wanted: &Value) -> Option<Ordering> {
    match (actual, wanted) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => match (a.parse::<Timestamp>(), b.parse::<Timestamp>()) {
            (Ok(a), Ok(b)) => Some(a.cmp(&b)),
            _ => Some(a.cmp(b)),
        },
        _ => None,
    }
}

fn contains(actual: &Value, wanted: &Value, any_case: bool) -> bool {
    let Some(wanted) = wanted.as_str() else { return false };
    let fold = |text: &str| if any_case { text.to_lowercase() } else { text.to_owned() };
    match actual {
        Value::String(text) => fold(text).contains(&fold(wanted)),
        Value::Array(items) => items.iter().filter_map(Value::as_str).any(|item| fold(item) == fold(wanted)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HitKind, Scope, Source};
    use serde_json::json;

    fn hit() -> Hit {
        Hit {
            id: "01HZYABCDEFGHJKMNPQRSTVWXY".parse().unwrap(),
            kind: HitKind::Memory,
            score: 1.0,
            scores: Default::default(),
            title: None,
            text: "喜欢喝茶".into(),
            category: Some("preference".into()),
            tags: vec!["Home".into(), "茶".into()],
            scope: Scope::default(),
            session_id: None,
            speaker: None,
            role: None,
            external_id: None,
            event_at: None,
            created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
            attrs: json!({"stars": 4, "city": "上海"}).as_object().cloned().unwrap(),
            source: Source::default(),
            neighbors: Vec::new(),
        }
    }

    #[test]
    fn conditions_hold_or_not() {
        for (filter, expected) in [
            (json!({}), true),
            (json!({"category": "preference"}), true),
            (json!({"category": "fact"}), false),
            (json!({"category": {"in": ["fact", "preference"]}}), true),
            (json!({"category": {"nin": ["fact"]}}), true),
            (json!({"tags": "茶"}), true),
            (json!({"tags": {"contains": "home"}}), false),
            (json!({"tags": {"icontains": "home"}}), true),
            (json!({"attrs.stars": {"gt": 3, "lt": 5}}), true),
            (json!({"attrs.stars": {"gt": 4}}), false),
            (json!({"attrs.missing": null}), true),
            (json!({"attrs.missing": {"gt": 1}}), false),
            (json!({"created_at": {"gte": "2026-01-02", "lt": "2026-01-03"}}), true),
            (json!({"created_at": {"eq": "2026-01-02T11:04:05+08:00"}}), true),
            (json!({"text": {"contains": "喝"}}), true),
            (json!({"AND": [{"category": "preference"}, {"NOT": {"attrs.city": "北京"}}]}), true),
            (json!({"OR": [{"category": "fact"}, {"attrs.city": "上海"}]}), true),
            (json!({"NOT": [{"category": "fact"}, {"attrs.city": "上海"}]}), false),
        ] {
            assert_eq!(Filter::parse(&filter).unwrap().matches(&hit()), expected, "{filter}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for filter in [
            json!([]),
            json!({"colour": "red"}),
            json!({"category": {"like": "x"}}),
            json!({"category": {"in": "x"}}),
            json!({"AND": {}}),
            json!({"created_at": {"gt": "yesterday"}}),
        ] {
            assert!(Filter::parse(&filter).is_err(), "{filter}");
        }
        let deep = (0..40).fold(json!({"category": "x"}), |inner, _| json!({"NOT": inner}));
        assert!(Filter::parse(&deep).is_err());
    }
}
