//! Text in columns: what a terminal shows wide (Chinese, Japanese, Korean, emoji) takes two.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Makes stored text safe to print: control characters, which could command the terminal, and characters that turn the
/// direction of text around become `\u{FFFD}`; line ends and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|c| *c != '\r').map(|c| if commands_terminal(c) { '\u{FFFD}' } else { c }).collect()
}

fn commands_terminal(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Clean text on one line, with single spaces.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts a line to `width` columns and marks the cut.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect();
    format!("{}…", kept.trim_end())
}

/// Breaks one line of text into lines of `width` columns: between words, and anywhere between wide characters. Returns
/// byte ranges.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut used, mut break_at) = (0, 0, None::<usize>);
    let mut previous = None::<char>;
    for (position, c) in text.char_indices() {
        if position > start && may_break(previous, c) {
            break_at = Some(position);
        }
        previous = Some(c);
        let columns = c.width().unwrap_or(0);
        if used + columns > width && position > start && c != ' ' {
            let end = break_at.filter(|end| *end > start).unwrap_or(position);
            lines.push(trimmed(text, start..end));
            start = end;
            break_at = None;
            used = text.get(start..position).map_or(0, UnicodeWidthStr::width);
        }
        used += columns;
    }
    if start < text.len() {
        lines.push(trimmed(text, start..text.len()));
    }
    lines
}

/// A line may end after a space, and beside a wide character unless that is punctuation which belongs to the one before.
fn may_break(previous: Option<char>, c: char) -> bool {
    let wide = |c: char| c.width() == Some(2);
    let closing =
        |c: char| matches!(c, '，' | '。' | '、' | '！' | '？' | '：' | '；' | '）' | '」' | '』' | '》' | '”');
    previous.is_some_and(|previous| previous == ' ' || ((wide(previous) || wide(c)) && !closing(c)))
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let end = text.get(range.clone()).map_or(range.end, |line| range.start + line.trim_end().len());
    range.start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize) -> Vec<&str> {
        wrap(text, width).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn lines_break_between_words_and_wide_characters() {
        assert_eq!(lines("a cat named Momo", 8), ["a cat", "named", "Momo"]);
        assert_eq!(lines("我养了一只猫", 6), ["我养了", "一只猫"]);
        assert_eq!(lines("我有一只猫。", 10), ["我有一只", "猫。"]);
        assert_eq!(lines("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(lines("用 Rust 写", 6), ["用", "Rust", "写"]);
        assert_eq!(lines("", 4), Vec::<&str>::new());
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let text = "今天 we met in 上海, ate 小笼包 and talked about the 🚀 project until late at night";
        for width in 2..40 {
            assert!(lines(text, width).iter().all(|line| line.width() <= width), "{width}");
            let joined: String = lines(text, width).concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
    }

    #[test]
    fn a_cut_is_marked_and_fits() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("a long line", 7), "a long…");
        assert_eq!(shorten("我养了一只猫", 6), "我养…");
    }

    #[test]
    fn stored_text_cannot_command_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mred\u{7}\r\n\tb"), "a\u{FFFD}[31mred\u{FFFD}\n\tb");
        assert_eq!(one_line("  a\n\n b\u{202E}c "), "a b\u{FFFD}c");
    }
}
