//! A JSON value as a page for people: a line for each value, sections indented.

use serde_json::Value;

use super::layout::one_line;
use super::style::Style;

/// Renders an object. Numbers of bytes get a unit.
pub(crate) fn page(value: &Value, style: Style) -> String {
    let mut text = String::new();
    section(value, 0, false, style, &mut text);
    text
}

fn section(value: &Value, depth: usize, in_bytes: bool, style: Style, text: &mut String) {
    let Value::Object(fields) = value else { return };
    let indent = "  ".repeat(depth);
    let widest = fields.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, value) in fields {
        let are_bytes = in_bytes || name.ends_with("bytes");
        let label = name.replace('_', " ");
        if matches!(value, Value::Object(fields) if !fields.is_empty()) {
            text.push_str(&format!("{indent}{}\n", style.label(&label)));
            section(value, depth + 1, are_bytes, style, text);
        } else {
            let padding = " ".repeat(widest.saturating_sub(name.chars().count()) + 2);
            text.push_str(&format!("{indent}{}{padding}{}\n", style.label(&label), scalar(value, are_bytes)));
        }
    }
}

fn scalar(value: &Value, are_bytes: bool) -> String {
    match value {
        Value::Null => "–".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) if text.is_empty() => "–".into(),
        Value::String(text) => one_line(text),
        Value::Number(number) => match number.as_u64() {
            Some(count) if are_bytes => bytes(count),
            Some(count) => thousands(count),
            None => number.to_string(),
        },
        Value::Array(items) if items.is_empty() => "–".into(),
        Value::Array(items) => items.iter().map(|item| element(item, are_bytes)).collect::<Vec<_>>().join(", "),
        Value::Object(_) => "–".into(),
    }
}

fn element(value: &Value, are_bytes: bool) -> String {
    match value {
        Value::Object(fields) => {
            let parts: Vec<String> = fields
                .iter()
                .map(|(name, value)| {
                    format!("{} {}", name.replace('_', " "), scalar(value, are_bytes || name.ends_with("bytes")))
                })
                .collect();
            format!("({})", parts.join(" · "))
        }
        other => scalar(other, are_bytes),
    }
}

/// A number of bytes with a unit.
pub(crate) fn bytes(count: u64) -> String {
    let mut amount = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if amount < 1000.0 {
            return if unit == "B" { format!("{count} B") } else { format!("{amount:.1} {unit}") };
        }
        amount /= 1000.0;
    }
    format!("{amount:.1} TB")
}

fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_indented_and_bytes_have_units() {
        let value = serde_json::json!({"memories": 12_345, "home": "/家", "bytes": {"store": 2_500_000}, "empty": {}, "lag": 0});
        assert_eq!(
            page(&value, Style::new(false)),
            "memories  12,345\nhome      /家\nbytes\n  store  2.5 MB\nempty     –\nlag       0\n"
        );
    }

    #[test]
    fn numbers_are_grouped() {
        let grouped: Vec<String> = [0, 999, 1000, 1_234_567].into_iter().map(thousands).collect();
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([bytes(0), bytes(999), bytes(1500)], ["0 B", "999 B", "1.5 kB"]);
    }
}
