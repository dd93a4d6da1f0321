//! The lines of a document with what the chunker must know of them: headings, code blocks, weights.

use super::split::split_long_line;
use super::weight;

/// Longest heading text kept in a path, in characters.
const MAX_TITLE_CHARACTERS: usize = 120;

/// How good a place before a unit is for a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Between blocks: after a blank line, before a list item, at the edge of a code block.
    Block,
    /// Inside a paragraph or a long line.
    Text,
    /// Inside a code block.
    Fence,
}

/// A line, or a piece of a line that is over the budget.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    /// Number of the line, from 0.
    pub(super) line: usize,
    pub(super) text: &'a str,
    pub(super) weight: usize,
    /// False for a piece of a line that is not its first.
    pub(super) starts_line: bool,
    pub(super) is_whole_line: bool,
    pub(super) before: Boundary,
}

impl Unit<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// The units from a heading to the next one.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) number: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Level and text of the headings above and of its own.
    pub(super) path: Vec<(usize, String)>,
}

impl Section {
    /// Level of its heading, 1 to 6; 0 before the first heading.
    pub(super) fn level(&self) -> usize {
        self.path.last().map_or(0, |(level, _)| *level)
    }
}

/// Cuts `text` into units of at most `max` weight and finds the sections.
pub(super) fn units(text: &str, max: usize) -> (Vec<Unit<'_>>, Vec<Section>) {
    let mut units: Vec<Unit> = Vec::new();
    let mut sections = vec![Section::default()];
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut previous = Previous::Blank;
    for (number, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut before = previous.boundary_before(line);
        if let Some(open) = fence {
            before = Boundary::Fence;
            previous = Previous::Text;
            if open.is_closed_by(line) {
                fence = None;
                previous = Previous::Blank;
            }
        } else if let Some(open) = Fence::opened_by(line) {
            fence = Some(open);
            before = Boundary::Block;
        } else if let Some((level, title)) = heading(line) {
            begin_section(&mut sections, &mut path, units.len(), level, title);
            (before, previous) = (Boundary::Block, Previous::Heading);
        } else if let Some(level) = underline(line).filter(|_| previous == Previous::Paragraph) {
            // The line before is the heading: its unit becomes the first of the new section.
            let title = units.last().map_or("", |unit| unit.text.trim()).to_owned();
            begin_section(&mut sections, &mut path, units.len().saturating_sub(1), level, &title);
            (before, previous) = (Boundary::Text, Previous::Heading);
        } else {
            previous = previous.then(line);
        }
        push_line(&mut units, number, line, before, max);
    }
    if let Some(last) = sections.last_mut() {
        last.end = units.len();
    }
    (units, sections)
}

fn push_line<'a>(units: &mut Vec<Unit<'a>>, number: usize, line: &'a str, before: Boundary, max: usize) {
    let total = weight(line);
    if total <= max {
        units.push(Unit { line: number, text: line, weight: total, starts_line: true, is_whole_line: true, before });
        return;
    }
    for (position, text) in split_long_line(line, max).into_iter().enumerate() {
        let is_first = position == 0;
        let inside = if before == Boundary::Fence { Boundary::Fence } else { Boundary::Text };
        let before = if is_first { before } else { inside };
        let weight = weight(text);
        units.push(Unit { line: number, text, weight, starts_line: is_first, is_whole_line: false, before });
    }
}

fn begin_section(
    sections: &mut Vec<Section>,
    path: &mut Vec<(usize, String)>,
    start: usize,
    level: usize,
    title: &str,
) {
    if let Some(last) = sections.last_mut() {
        last.end = start;
    }
    path.retain(|(above, _)| *above < level);
    path.push((level, title.chars().take(MAX_TITLE_CHARACTERS).collect()));
    sections.push(Section { number: sections.len(), start, end: start, path: path.clone() });
}

/// What the line before was, as far as it matters for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Previous {
    Blank,
    Heading,
    /// The first line of a paragraph, which an underline turns into a heading.
    Paragraph,
    Text,
}

impl Previous {
    fn boundary_before(self, line: &str) -> Boundary {
        match self {
            Self::Blank => Boundary::Block,
            // A heading stays with what follows it.
            Self::Heading => Boundary::Text,
            Self::Paragraph | Self::Text if is_list_item(line) => Boundary::Block,
            Self::Paragraph | Self::Text => Boundary::Text,
        }
    }

    fn then(self, line: &str) -> Self {
        if line.trim().is_empty() {
            // A heading stays with what follows it, over blank lines, too.
            return if self == Self::Heading { Self::Heading } else { Self::Blank };
        }
        let is_plain = line.starts_with(|first: char| first.is_alphanumeric()) && !is_list_item(line);
        if is_plain && matches!(self, Self::Blank | Self::Heading) { Self::Paragraph } else { Self::Text }
    }
}

fn is_list_item(line: &str) -> bool {
    let rest = line.trim_start();
    if ["- ", "* ", "+ "].iter().any(|mark| rest.starts_with(mark)) {
        return true;
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (1..=9).contains(&digits) && rest.get(digits..).is_some_and(|rest| rest.starts_with(". ") || rest.starts_with(") "))
}

/// An open code block: the mark and how often it stands.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let rest = without_indent(line)?;
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = rest.chars().take_while(|character| *character == mark).count();
        let has_mark_after = rest.get(length..).is_some_and(|info| info.contains(mark));
        (length >= 3 && !(mark == '`' && has_mark_after)).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let rest = without_indent(line).unwrap_or_default().trim_end();
        rest.chars().count() >= self.length && rest.chars().all(|character| character == self.mark)
    }
}

/// The line without up to three spaces before it; `None` for an indented code line.
fn without_indent(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

/// Level and text of a `# heading`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = without_indent(line)?;
    let level = rest.bytes().take_while(|byte| *byte == b'#').count();
    let text = rest.get(level..)?;
    let is_heading = (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']));
    is_heading.then(|| (level, text.trim().trim_end_matches('#').trim_end()))
}

/// Level of the line under a heading: `===` or `---`.
fn underline(line: &str) -> Option<usize> {
    let rest = without_indent(line)?.trim_end();
    let consists_of = |mark: char| rest.len() >= 3 && rest.chars().all(|character| character == mark);
    if consists_of('=') {
        Some(1)
    } else if consists_of('-') {
        Some(2)
    } else {
        None
    }
}
