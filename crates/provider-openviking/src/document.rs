//! A memory as a Markdown file: a heading when it has a title, the text, and one last line with the fields that OpenViking
//! has no place for. Everything in it is found by search.
//!
//! ```text
//! # Breakfast
//!
//! Rice porridge on Sundays
//!
//! <!-- memory {"category":"preference","title":"Breakfast","tags":["food"],"created_at":"2026-02-03T08:00:00Z"} -->
//! ```

use memory_core::{Id, Memory, State, Timestamp};
use serde_json::{Map, Value};

use crate::identity::Place;

const OPEN: &str = "\n\n<!-- memory ";
const CLOSE: &str = " -->";

/// Holds the text when the file cannot: servers cut white space at the beginning, take their own comments out, and take
/// addresses of their own out to put them back later, at places that have moved meanwhile.
const EXACT: &str = "text";

/// Fields that follow from where the file is, or stand in it in another way.
const IMPLIED: &[&str] = &["id", "user", "space", "owner", "body", "state"];

/// Values that go without saying: every word in the file weighs on what it is found by.
const USUAL: &[(&str, &str)] = &[
    ("kind", "\"note\""),
    ("relevance", "\"medium\""),
    ("quality", "0.5"),
    ("origin", "\"user\""),
    ("compression", "\"raw\""),
    ("revision", "1"),
];

/// Times that are the first one unless they say otherwise.
const CREATED: &str = "created_at";
const LATER: &[&str] = &["observed_at", "updated_at"];

/// The file of a memory.
pub(crate) fn render(memory: &Memory) -> String {
    let mut fields = match serde_json::to_value(memory) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let created_at = fields.get(CREATED).cloned();
    fields.retain(|name, value| {
        let text = value.to_string();
        let is_usual = USUAL.contains(&(name.as_str(), text.as_str()))
            || LATER.contains(&name.as_str()) && created_at.as_ref() == Some(value);
        !IMPLIED.contains(&name.as_str()) && !is_usual && !is_empty(value)
    });
    let body = plain(&memory.body);
    if body != memory.body || body.starts_with(char::is_whitespace) {
        fields.insert(EXACT.to_owned(), Value::from(memory.body.as_str()));
    }
    // No text among the fields may close the comment or look like a link.
    let json = Value::Object(fields).to_string();
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('(', "\\u0028");
    let json = json.replace("://", ":\\u002f\\u002f");
    format!("{}{}{OPEN}{json}{CLOSE}", heading(memory.title.as_deref()), body)
}

fn heading(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!("# {}\n\n", plain(title)))
}

/// A text as it may stand in the file, where it is there to be found.
fn plain(text: &str) -> String {
    text.replace("<!--", "&lt;!--").replace("viking://", "viking: //").replace('\0', "")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        _ => false,
    }
}

/// The memory in a file of a folder. A file without our last line is one that the server extracted or somebody wrote:
/// all of it is the text, `modified` the time. Where it is decides whose it is, whatever it says.
pub(crate) fn parse(place: &Place, uri: &str, content: &str, modified: Timestamp, now: Timestamp) -> Memory {
    let ours = content.trim_end().strip_suffix(CLOSE).and_then(|content| content.rsplit_once(OPEN));
    let fields = ours.and_then(|(text, json)| Some((text, serde_json::from_str::<Map<String, Value>>(json).ok()?)));
    let (text, mut fields) = fields.unwrap_or((content, Map::new()));
    let title = fields.get("title").and_then(Value::as_str).map(str::to_owned);
    let body = match fields.remove(EXACT) {
        Some(Value::String(exact)) => exact,
        _ => text.strip_prefix(&heading(title.as_deref())).unwrap_or(text).to_owned(),
    };
    let mut memory = of_fields(fields).unwrap_or_else(|| foreign(place, uri, modified));
    memory.scope = place.scope.clone();
    memory.id = id_of(uri);
    memory.body = body;
    memory.state = match memory.expires_at {
        Some(at) if at <= now => State::Expired,
        _ => State::Active,
    };
    memory
}

fn of_fields(mut fields: Map<String, Value>) -> Option<Memory> {
    if fields.is_empty() {
        return None;
    }
    let scope = memory_core::Scope::default();
    fields.insert("id".into(), Value::from(Id::of_foreign("").as_str()));
    fields.insert("user".into(), scope.user.into());
    fields.insert("space".into(), scope.space.into());
    fields.insert("owner".into(), scope.owner.to_string().into());
    fields.insert("body".into(), Value::from(""));
    for (name, value) in USUAL {
        fields.entry(*name).or_insert(serde_json::from_str(value).ok()?);
    }
    let created_at = fields.get(CREATED)?.clone();
    for name in LATER {
        fields.entry(*name).or_insert(created_at.clone());
    }
    serde_json::from_value(Value::Object(fields)).ok()
}

/// A memory of which nothing but the text is known.
fn foreign(place: &Place, uri: &str, modified: Timestamp) -> Memory {
    let path = uri.strip_prefix(place.root.as_str()).unwrap_or(uri).trim_start_matches('/');
    let kind = path.split('/').next().unwrap_or_default().trim_end_matches(".md");
    let category = match kind {
        "preferences" => "preference",
        "entities" => "entity",
        "events" => "event",
        "notes" => "note",
        other => other.trim_end_matches('s'),
    };
    Memory {
        id: id_of(uri),
        scope: place.scope.clone(),
        kind: if kind == "profile" { memory_core::MemoryKind::Profile } else { memory_core::MemoryKind::Note },
        category: Some(category.to_owned()).filter(|category| !category.is_empty()),
        title: None,
        body: String::new(),
        tags: Vec::new(),
        keywords: Vec::new(),
        relevance: memory_core::Relevance::default(),
        quality: 0.5,
        attrs: Map::new(),
        place: None,
        origin: memory_core::Origin::System,
        source_sessions: Vec::new(),
        external_id: Some(uri.to_owned()),
        event_at: None,
        observed_at: modified,
        created_at: modified,
        updated_at: modified,
        accessed_at: None,
        access_count: 0,
        expires_at: None,
        state: State::Active,
        compression: memory_core::Compression::Raw,
        pinned: false,
        revision: 1,
    }
}

/// The id by which a file is known: its name where that is one of ours.
pub(crate) fn id_of(uri: &str) -> Id {
    let name = uri.rsplit('/').next().unwrap_or_default();
    let ours = uri.contains("/memories/") && uri.contains("/notes/");
    name.strip_suffix(".md").filter(|_| ours).and_then(|name| name.parse().ok()).unwrap_or_else(|| Id::of_foreign(uri))
}

#[cfg(test)]
mod tests {
    use memory_core::Scope;

    use super::*;

    const URI: &str = "viking://user/u/memories/notes/01ARZ3NDEKTSV4RRFFQ69G5FAV.md";

    fn place() -> Place {
        Place { scope: Scope::default(), peer: None, root: "viking://user/u/memories".into() }
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn memory(body: &str) -> Memory {
        let mut memory = foreign(&place(), URI, time("2026-02-03T08:00:00+08:00"));
        memory.body = body.to_owned();
        memory
    }

    #[test]
    fn every_text_and_field_comes_back() {
        let full = Memory {
            title: Some("早餐 <b> [x](viking://resources/x) --> 🍚".into()),
            category: Some("preference".into()),
            tags: vec!["food".into(), "上海 (home)".into()],
            attrs: serde_json::json!({"stars": 4, "nested": {"a": [1, null]}, "zero": 0}).as_object().cloned().unwrap(),
            event_at: Some(time("2026-02-03T08:00:00+08:00")),
            external_id: Some("crm-7/客户".into()),
            pinned: true,
            revision: 7,
            quality: 0.0,
            ..memory("Rice porridge")
        };
        for memory in [
            full,
            memory("  spaces \n\n around \r\n\t"),
            memory("<!-- MEMORY_FIELDS\n{}\n--> and <!-- memory {} -->"),
            memory("\n\n<!-- memory {\"title\":\"fake\"} -->"),
            memory("nul \0 and 👩‍🚀 한국어"),
            memory("# a heading of its own"),
        ] {
            let file = render(&memory);
            let read = parse(&place(), URI, file.trim(), time("2020-01-01"), time("2026-03-01"));
            assert_eq!(read, memory, "{file}");
            assert_eq!(read.event_at.map(|at| at.to_string()), memory.event_at.map(|at| at.to_string()));
        }
    }

    #[test]
    fn a_foreign_file_is_all_text() {
        let uri = "viking://user/u/memories/preferences/tea.md";
        let text = "# tea\nlikes oolong\n\n<!-- memory not json -->";
        let read = parse(&place(), uri, text, time("2026-01-02"), time("2026-03-01"));
        assert_eq!((read.body.as_str(), read.category.as_deref()), (text, Some("preference")));
        assert_eq!((read.external_id.as_deref(), read.created_at), (Some(uri), time("2026-01-02")));
        assert_eq!(read.id, Id::of_foreign(uri));
    }

    #[test]
    fn where_it_is_decides_whose_it_is() {
        let lie = "text\n\n<!-- memory {\"user\":\"other\",\"owner\":\"agent:x\",\"id\":\"00000000000000000000000000\",\
                   \"observed_at\":\"2026-01-01\",\"created_at\":\"2026-01-01\",\"updated_at\":\"2026-01-01\",\"revision\":1} -->";
        let read = parse(&place(), URI, lie, time("2026-01-02"), time("2026-03-01"));
        assert_eq!((read.scope, read.id.as_str()), (Scope::default(), "01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    }
}
