//! `.env` files: `KEY=VALUE` lines with comments, quotes and an optional `export`. Nothing is expanded.

use std::collections::BTreeMap;

/// A value and its line.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) value: String,
    pub(super) line: usize,
}

/// A line that is not an assignment. It carries no text of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadLine {
    pub(super) line: usize,
    pub(super) message: &'static str,
}

/// Reads every line; of two lines for one name the later one wins.
pub(super) fn parse(text: &str) -> (BTreeMap<String, Assignment>, Vec<BadLine>) {
    let mut assignments = BTreeMap::new();
    let mut bad = Vec::new();
    for (number, content) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let line = number + 1;
        match assignment(content) {
            Ok(Some((name, value))) => {
                assignments.insert(name.to_owned(), Assignment { value, line });
            }
            Ok(None) => {}
            Err(message) => bad.push(BadLine { line, message }),
        }
    }
    (assignments, bad)
}

fn assignment(line: &str) -> Result<Option<(&str, String)>, &'static str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => line,
    };
    let (name, value) = line.split_once('=').ok_or("expected NAME=VALUE")?;
    let name = name.trim_end();
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err("expected a name of letters, digits and underscores before `=`");
    }
    Ok(Some((name, unquote(value.trim_start())?)))
}

fn unquote(value: &str) -> Result<String, &'static str> {
    if let Some(inside) = value.strip_prefix('\'') {
        let (text, rest) = inside.split_once('\'').ok_or("the quote is not closed")?;
        return only_comment(rest).map(|()| text.to_owned());
    }
    let Some(inside) = value.strip_prefix('"') else {
        let end = value
            .char_indices()
            .find(|(at, c)| {
                *c == '#' && value.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']))
            })
            .map_or(value.len(), |(at, _)| at);
        return Ok(value.get(..end).unwrap_or_default().trim_end().to_owned());
    };
    let mut text = String::new();
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return only_comment(characters.as_str()).map(|()| text),
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some(literal @ ('"' | '\\' | '$')) => text.push(literal),
                Some(other) => text.extend(['\\', other]),
                None => break,
            },
            other => text.push(other),
        }
    }
    Err("the quote is not closed")
}

fn only_comment(rest: &str) -> Result<(), &'static str> {
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') { Ok(()) } else { Err("there is something after the closing quote") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_forms_are_read() {
        let text = "\u{feff}# 注释\n\nA=1\r\nexport B = two words # note\nC=\"x\\n\\\"y\\\" \\q 中文\" # c\nD='$raw \\n'\nE=\n  F=a#b\nA=2\nexport=x";
        let (values, bad) = parse(text);
        assert_eq!(bad, []);
        let got: Vec<(&str, &str, usize)> =
            values.iter().map(|(name, found)| (name.as_str(), found.value.as_str(), found.line)).collect();
        assert_eq!(
            got,
            [
                ("A", "2", 9),
                ("B", "two words", 4),
                ("C", "x\n\"y\" \\q 中文", 5),
                ("D", "$raw \\n", 6),
                ("E", "", 7),
                ("F", "a#b", 8),
                ("export", "x", 10)
            ]
        );
    }

    #[test]
    fn bad_lines_are_numbered() {
        let (values, bad) = parse("A=1\ncanary\nB C=1\nD=\"x\nE='x' y\n=z");
        assert_eq!(values.len(), 1);
        assert_eq!(bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    }
}
