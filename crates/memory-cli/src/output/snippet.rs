//! The part of a text that answers a question, with the words that matched.
//!
//! Words are compared the way the index compares them: stemmed, folded, Chinese as bigrams.

use std::collections::HashSet;
use std::ops::Range;

use memory_index::{Side, analyze, query_terms};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::layout::{one_line, wrap};
use super::style::Style;

/// Only so much of a text is looked at, in bytes: reading on is for `memory get`.
const LOOKED_AT: usize = 200_000;

/// The words of a question.
pub(crate) struct Matcher {
    terms: HashSet<String>,
}

/// A passage with the places that matched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    text: String,
    matches: Vec<Range<usize>>,
}

impl Matcher {
    /// For a question.
    pub(crate) fn new(query: &str) -> Self {
        Self { terms: query_terms(query).into_iter().map(|term| term.text).collect() }
    }

    /// The passage of at most `columns` columns with the most matches.
    pub(crate) fn passage(&self, text: &str, columns: usize) -> Passage {
        let text = one_line(text.get(..floor(text, LOOKED_AT)).unwrap_or(text));
        let matches = self.matches(&text);
        let window = best_window(&text, &matches, columns);
        let (before, after) = (window.start > 0, window.end < text.len());
        let lead = if before { "… " } else { "" };
        let shift = |at: usize| at - window.start + lead.len();
        let inside = matches.iter().filter(|range| range.start >= window.start && range.end <= window.end);
        let matches = inside.map(|range| shift(range.start)..shift(range.end)).collect();
        let tail = if after { " …" } else { "" };
        let body = text.get(window.clone()).unwrap_or_default().trim_end();
        Passage { text: format!("{lead}{body}{tail}"), matches }
    }

    /// Where the words of the question stand, in order, touching ones joined. Single Chinese characters count only where
    /// no longer run matches: alone they are rarely what was meant.
    fn matches(&self, text: &str) -> Vec<Range<usize>> {
        let tokens = analyze(text, Side::Index).into_iter().filter(|token| self.terms.contains(&token.text));
        let mut found: Vec<Range<usize>> = tokens.map(|token| token.start..token.end).collect();
        let is_single = |range: &Range<usize>| {
            let mut characters = text.get(range.clone()).unwrap_or_default().chars();
            matches!((characters.next(), characters.next()), (Some(c), None) if c.width() == Some(2))
        };
        if found.iter().any(|range| !is_single(range)) {
            found.retain(|range| !is_single(range));
        }
        found.sort_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in found {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }
}

impl Passage {
    /// The passage in lines of `width` columns, matches highlighted.
    pub(crate) fn lines(&self, width: usize, style: Style) -> Vec<String> {
        wrap(&self.text, width).into_iter().map(|line| self.paint(line, style)).collect()
    }

    fn paint(&self, line: Range<usize>, style: Style) -> String {
        let mut painted = String::new();
        let mut at = line.start;
        for range in self.matches.iter().filter(|range| range.start < line.end && range.end > line.start) {
            let (start, end) = (range.start.max(line.start), range.end.min(line.end));
            painted.push_str(self.text.get(at..start).unwrap_or_default());
            painted.push_str(&style.highlight(self.text.get(start..end).unwrap_or_default()));
            at = end;
        }
        painted.push_str(self.text.get(at..line.end).unwrap_or_default());
        painted
    }
}

/// The stretch of at most `columns` columns that covers the most matched text, with some words before the first match.
fn best_window(text: &str, matches: &[Range<usize>], columns: usize) -> Range<usize> {
    if text.width() <= columns {
        return 0..text.len();
    }
    let best = matches
        .iter()
        .map(|first| {
            let end = forward(text, first.start, columns * 3 / 4);
            let covered: usize =
                matches.iter().filter(|other| other.start >= first.start && other.end <= end).map(Range::len).sum();
            (first.start, covered)
        })
        .rev()
        .max_by_key(|(_, covered)| *covered);
    let start = best.map_or(0, |(start, _)| start_of_word(text, backward(text, start, columns / 4)));
    start..end_of_word(text, start, forward(text, start, columns.saturating_sub(4)))
}

/// The byte `columns` columns after `from`.
fn forward(text: &str, from: usize, columns: usize) -> usize {
    let mut used = 0;
    let rest = text.get(from..).unwrap_or_default();
    let stop = rest.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    stop.map_or(text.len(), |(position, _)| from + position)
}

/// The byte `columns` columns before `from`.
fn backward(text: &str, from: usize, columns: usize) -> usize {
    let mut used = 0;
    let before = text.get(..from).unwrap_or_default();
    let stop = before.char_indices().rev().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    stop.map_or(0, |(position, c)| position + c.len_utf8())
}

/// Moves into the word at `at`, if it stands in one, to the word after it.
fn start_of_word(text: &str, at: usize) -> usize {
    let inside = text.get(..at).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric);
    let rest = text.get(at..).unwrap_or_default();
    let narrow = |c: char| c.is_alphanumeric() && c.width() == Some(1);
    if at == 0 || !inside {
        return at;
    }
    let skipped: usize = rest.chars().take_while(|c| narrow(*c)).map(char::len_utf8).sum();
    let after = at + skipped;
    let spaces: usize =
        text.get(after..).unwrap_or_default().chars().take_while(|c| *c == ' ').map(char::len_utf8).sum();
    after + spaces
}

/// Moves out of the word that `at` would cut, unless nothing would be left.
fn end_of_word(text: &str, start: usize, at: usize) -> usize {
    let narrow = |c: char| c.is_alphanumeric() && c.width() == Some(1);
    if !text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(narrow) {
        return at;
    }
    let kept = text.get(start..at).unwrap_or_default().trim_end_matches(narrow);
    if kept.is_empty() { at } else { start + kept.len() }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(query: &str, text: &str, columns: usize) -> String {
        let passage = Matcher::new(query).passage(text, columns);
        let mut marked = String::new();
        let mut at = 0;
        for range in &passage.matches {
            marked += &passage.text[at..range.start];
            marked += &format!("[{}]", &passage.text[range.clone()]);
            at = range.end;
        }
        marked + &passage.text[at..]
    }

    #[test]
    fn words_match_by_their_stem() {
        assert_eq!(marked("which cats were adopted?", "She Adopts a cat.", 80), "She [Adopts] a [cat].");
    }

    #[test]
    fn chinese_matches_in_runs() {
        assert_eq!(
            marked("小猫叫什么名字", "我上周领养了一只小猫，名字叫年糕", 80),
            "我上周领养了一只[小猫]，[名字]叫年糕"
        );
    }

    #[test]
    fn a_single_character_matches_when_nothing_longer_does() {
        assert_eq!(marked("猫", "我养了猫", 80), "我养了[猫]");
    }

    #[test]
    fn the_window_moves_to_the_matches() {
        let text =
            format!("{} the violin lesson is on Tuesday {}", "one two three ".repeat(40), "four five six ".repeat(40));
        let passage = Matcher::new("violin lesson").passage(&text, 60);
        assert!(passage.text.starts_with("… ") && passage.text.ends_with(" …"), "{passage:?}");
        assert!(passage.text.width() <= 60, "{passage:?}");
        assert_eq!(passage.matches.len(), 2);
        assert!(
            passage
                .text
                .split(' ')
                .all(|word| "… one two three the violin lesson is on Tuesday four five six".contains(word))
        );
    }

    #[test]
    fn long_chinese_text_is_cut_to_width() {
        let text = format!("{}小提琴课在星期二{}", "今天天气很好。".repeat(60), "明天去爬山。".repeat(60));
        let passage = Matcher::new("小提琴课是哪天").passage(&text, 60);
        assert!(passage.text.contains("小提琴课在星期二") && passage.text.width() <= 60, "{passage:?}");
    }

    #[test]
    fn highlighting_survives_line_ends() {
        let passage = Matcher::new("小提琴").passage("小提琴小提琴小提琴", 80);
        let lines = passage.lines(8, Style::new(true));
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.starts_with("\u{1b}[") && line.ends_with("\u{1b}[0m")), "{lines:?}");
        assert_eq!(passage.lines(8, Style::new(false)).concat(), "小提琴小提琴小提琴");
    }
}
