//! YAML front matter: the block between two `---` lines at the top of a Markdown file.
//!
//! Anything that is not a well-formed mapping is text like any other, never an error.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::{Map, Number, Value};

/// A front matter block longer than this, in bytes, is taken as text.
const MAX_BYTES: usize = 64 * 1024;

/// The values of a front matter block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// `title`.
    pub title: Option<String>,
    /// `tags` or `tag`: a list, or one text with commas; a leading `#` is removed.
    pub tags: Vec<String>,
    /// `date` or `created`.
    pub date: Option<FrontDate>,
    /// Every key as JSON, the ones above included.
    pub attributes: Map<String, Value>,
}

/// A date as the front matter states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontDate {
    /// Date and time on the writer's clock; midnight when no time is given.
    pub local: NaiveDateTime,
    /// The offset from UTC in minutes, when given.
    pub offset_minutes: Option<i32>,
}

/// A document cut into front matter and body.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed<'a> {
    /// The values, when there is a well-formed block.
    pub front_matter: Option<FrontMatter>,
    /// The text after the block; the whole text when there is none.
    pub body: &'a str,
    /// Number of the first line of `body` in the file, from 1.
    pub body_line: usize,
    /// Why something that looks like front matter was taken as text.
    pub problem: Option<String>,
}

/// Cuts `text` into front matter and body. A byte order mark before the block is allowed.
pub fn parse(text: &str) -> Parsed<'_> {
    let whole = Parsed { front_matter: None, body: text, body_line: 1, problem: None };
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = content.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return whole };

    let mut length = 0;
    let mut line_count = 2;
    let block = lines.find_map(|line| {
        let ends = matches!(line.trim_end(), "---" | "...");
        let found = (ends && length <= MAX_BYTES).then_some((length, line.len(), line_count));
        length += line.len();
        line_count += 1;
        found
    });
    // Without a closing line the first `---` is a thematic break.
    let Some((length, closing, last_line)) = block else { return whole };
    let start = first.len();
    let (Some(yaml), Some(body)) = (content.get(start..start + length), content.get(start + length + closing..)) else {
        return whole;
    };
    match read_mapping(yaml) {
        Ok(attributes) => {
            Parsed { front_matter: Some(FrontMatter::new(attributes)), body, body_line: last_line + 1, problem: None }
        }
        Err(problem) => Parsed { problem: Some(problem), ..whole },
    }
}

impl FrontMatter {
    fn new(attributes: Map<String, Value>) -> Self {
        let title = attributes.get("title").and_then(scalar_text).filter(|title| !title.is_empty());
        let tags = attributes.get("tags").or_else(|| attributes.get("tag")).map(tags_of).unwrap_or_default();
        let date = ["date", "created"].iter().find_map(|key| parse_date(&scalar_text(attributes.get(*key)?)?));
        Self { title, tags, date, attributes }
    }
}

fn read_mapping(yaml: &str) -> Result<Map<String, Value>, String> {
    match serde_yaml::from_str::<serde_yaml::Value>(yaml) {
        Ok(serde_yaml::Value::Null) => Ok(Map::new()),
        Ok(serde_yaml::Value::Mapping(mapping)) => Ok(mapping_to_json(mapping)),
        Ok(_) => Err("the block between the `---` lines is not a list of `key: value` lines".to_owned()),
        Err(error) => Err(format!("the block between the `---` lines is not valid YAML: {error}")),
    }
}

fn mapping_to_json(mapping: serde_yaml::Mapping) -> Map<String, Value> {
    let text_of = |key: serde_yaml::Value| match to_json(key) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    mapping.into_iter().map(|(key, value)| (text_of(key), to_json(value))).collect()
}

fn to_json(value: serde_yaml::Value) -> Value {
    match value {
        serde_yaml::Value::Null => Value::Null,
        serde_yaml::Value::Bool(flag) => Value::Bool(flag),
        serde_yaml::Value::String(text) => Value::String(text),
        serde_yaml::Value::Number(number) => {
            let whole = number.as_i64().map(Number::from).or_else(|| number.as_u64().map(Number::from));
            let number_or_text = whole.or_else(|| number.as_f64().and_then(Number::from_f64));
            number_or_text.map_or_else(|| Value::String(number.to_string()), Value::Number)
        }
        serde_yaml::Value::Sequence(items) => Value::Array(items.into_iter().map(to_json).collect()),
        serde_yaml::Value::Mapping(mapping) => Value::Object(mapping_to_json(mapping)),
        serde_yaml::Value::Tagged(tagged) => to_json(tagged.value),
    }
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn tags_of(value: &Value) -> Vec<String> {
    let texts: Vec<String> = match value {
        Value::Array(items) => items.iter().filter_map(scalar_text).collect(),
        other => scalar_text(other)
            .map(|text| text.split([',', '，', '、']).map(str::to_owned).collect())
            .unwrap_or_default(),
    };
    let mut tags: Vec<String> = Vec::new();
    for text in texts {
        let tag = text.trim().trim_start_matches('#');
        if !tag.is_empty() && !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

/// Understands RFC 3339, `YYYY-MM-DD[ T]HH:MM[:SS]`, `YYYY-MM-DD`, `YYYY/MM/DD` and `YYYY年M月D日`.
fn parse_date(text: &str) -> Option<FrontDate> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        let offset_minutes = Some(moment.offset().local_minus_utc() / 60);
        return Some(FrontDate { local: moment.naive_local(), offset_minutes });
    }
    let with_time = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    let local = with_time.or_else(|| {
        ["%Y-%m-%d", "%Y/%m/%d", "%Y年%m月%d日"]
            .iter()
            .find_map(|format| NaiveDate::parse_from_str(text, format).ok())
            .and_then(|date| date.and_hms_opt(0, 0, 0))
    })?;
    Some(FrontDate { local, offset_minutes: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_become_json_and_the_known_ones_are_understood() {
        let text = "---\ntitle: 周报 👍\ntags: [工作, '#rust', 工作, 7]\ndate: 2026-01-02T03:04:05+08:00\n\
                    count: 3\nnested: {a: [1.5, null, true]}\n---\n# Head\nbody\n";
        let parsed = parse(text);
        let front = parsed.front_matter.unwrap();
        assert_eq!(front.title.as_deref(), Some("周报 👍"));
        assert_eq!(front.tags, ["工作", "rust", "7"]);
        let date = front.date.unwrap();
        assert_eq!((date.local.to_string().as_str(), date.offset_minutes), ("2026-01-02 03:04:05", Some(480)));
        assert_eq!(front.attributes["count"], 3);
        assert_eq!(front.attributes["nested"], serde_json::json!({"a": [1.5, null, true]}));
        assert_eq!((parsed.body, parsed.body_line), ("# Head\nbody\n", 8));
    }

    #[test]
    fn forms_of_tags_and_dates() {
        let tags = |text: &str| parse(text).front_matter.unwrap().tags;
        assert_eq!(tags("---\ntags: a, b，c、d\n---\n"), ["a", "b", "c", "d"]);
        assert_eq!(tags("---\ntag: '#one'\n---\n"), ["one"]);
        assert_eq!(tags("---\ntags:\n---\n"), Vec::<String>::new());
        for (text, expected) in [
            ("2026-01-02", "2026-01-02 00:00:00"),
            ("2026/01/02", "2026-01-02 00:00:00"),
            ("2026-01-02 03:04", "2026-01-02 03:04:00"),
            ("2026年1月2日", "2026-01-02 00:00:00"),
        ] {
            let file = format!("---\ncreated: {text}\n---\n");
            assert_eq!(parse(&file).front_matter.unwrap().date.unwrap().local.to_string(), expected);
        }
        assert_eq!(parse("---\ndate: soon\n---\n").front_matter.unwrap().date, None);
    }

    #[test]
    fn what_is_not_front_matter_is_text() {
        for text in [
            "",
            "# Head\n---\nkey: value\n---\n",
            "---\nno closing line\n",
            "---\nkey: [unclosed\n---\nbody\n",
            "---\njust a sentence\n---\nbody\n",
            "----\nkey: value\n----\n",
            "---\n- a\n- b\n---\n",
        ] {
            let parsed = parse(text);
            assert_eq!((parsed.front_matter, parsed.body, parsed.body_line), (None, text, 1), "{text:?}");
        }
        assert!(parse("---\nkey: [unclosed\n---\n").problem.unwrap().contains("YAML"));
        assert_eq!(parse("---\nno closing line\n").problem, None);
    }

    #[test]
    fn byte_order_mark_crlf_dots_and_empty_block() {
        let parsed = parse("\u{feff}---\r\ntitle: x\r\n---\r\nbody");
        assert_eq!(parsed.front_matter.unwrap().title.as_deref(), Some("x"));
        assert_eq!((parsed.body, parsed.body_line), ("body", 4));
        let parsed = parse("---\ntitle: 12\n...\nbody");
        assert_eq!(parsed.front_matter.unwrap().title.as_deref(), Some("12"));
        let parsed = parse("---\n---\nbody");
        assert_eq!((parsed.front_matter, parsed.body_line), (Some(FrontMatter::default()), 3));
    }

    #[test]
    fn an_alias_bomb_is_text() {
        let mut yaml = "---\na0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            yaml += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 9].join(","));
        }
        yaml += "---\nbody";
        let parsed = parse(&yaml);
        assert_eq!(parsed.front_matter, None);
        assert!(parsed.problem.is_some());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_the_body_is_a_tail(text in "(---\n)?(\\PC|\n|: |---\n){0,60}") {
            let parsed = parse(&text);
            prop_assert!(text.ends_with(parsed.body));
            let before = text.len() - parsed.body.len();
            prop_assert_eq!(text[..before].matches('\n').count() + 1, parsed.body_line);
        }
    }
}
