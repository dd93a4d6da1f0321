//! Cuts a document into chunks for the index: along its headings, within a budget, with line numbers.
//!
//! A chunk never reaches over a heading unless the section before it is small; within a section it ends at a blank
//! line where one is near, and inside a code block only when the block alone is over the budget.

mod lines;
mod split;

use self::lines::{Boundary, Unit, units};

/// Weight of one Latin character. Weights are halves of characters, so that they stay whole numbers.
const LATIN: usize = 2;

/// How large chunks may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkOptions {
    /// Budget of a chunk in Latin characters. A character of Chinese, Japanese or Korean counts as 2.5, of any other
    /// script outside Latin as 1.5, in proportion to the tokens that models make of them.
    pub max_characters: usize,
    /// Sections below this many Latin characters are joined with the next one when both fit.
    pub min_characters: usize,
    /// Whole lines up to this many Latin characters are repeated at the start of the next chunk of the same section.
    pub overlap_characters: usize,
}

impl Default for ChunkOptions {
    fn default() -> Self {
        Self { max_characters: 1200, min_characters: 300, overlap_characters: 0 }
    }
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The text as it stands in the document, without blank lines around it.
    pub text: String,
    /// Number of its first line, from 1.
    pub start_line: usize,
    /// Number of its last line.
    pub end_line: usize,
    /// Counts the chunks that start and end on the same line, from 0: the pieces of a long line.
    pub part: usize,
    /// Headings above its start, outermost first, as `Title > Section`. Where small sections are joined, what they
    /// have in common.
    pub heading_path: String,
}

/// Weight of a text in halves of Latin characters.
pub fn weight(text: &str) -> usize {
    text.chars().map(character_weight).sum()
}

fn character_weight(character: char) -> usize {
    match character {
        '\0'..='\u{24f}' | '\u{2010}'..='\u{205e}' => LATIN,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' => 5,
        '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{1f000}'.. => 5,
        _ => 3,
    }
}

/// Cuts `text` into chunks; `first_line` is the number of its first line in the file. Every line that is not blank is
/// in some chunk. The same text always gives the same chunks.
pub fn chunk(text: &str, first_line: usize, options: &ChunkOptions) -> Vec<Chunk> {
    let budget = Budget {
        max: options.max_characters.max(8) * LATIN,
        min: options.min_characters.min(options.max_characters / 2) * LATIN,
        overlap: options.overlap_characters.min(options.max_characters / 4) * LATIN,
    };
    let (units, sections) = units(text, budget.max);
    let mut pieces: Vec<Piece> = Vec::new();
    for section in &sections {
        let cut = cut_section(&units, section.start, section.end, &budget);
        join_small(&units, &sections, &mut pieces, cut, section.number, &budget);
    }
    let mut chunks: Vec<Chunk> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some(mut chunk) = render(&units, &piece, first_line) else { continue };
        chunk.heading_path = heading_path(&sections, &piece);
        if let Some(last) =
            chunks.last().filter(|last| last.start_line == chunk.start_line && last.end_line == chunk.end_line)
        {
            chunk.part = last.part + 1;
        }
        chunks.push(chunk);
    }
    chunks
}

struct Budget {
    max: usize,
    min: usize,
    overlap: usize,
}

/// A run of units that becomes a chunk, and the sections it takes part of.
struct Piece {
    start: usize,
    end: usize,
    first_section: usize,
    last_section: usize,
}

/// Cuts the units `start..end` of one section into runs within the budget.
fn cut_section(units: &[Unit], start: usize, end: usize, budget: &Budget) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut from = skip_blank(units, start, end);
    // Overlap repeats lines, so this remembers how far the text is covered.
    let mut covered = from;
    while covered < end {
        let limit = fill(units, from, end, budget.max);
        let to = if limit == end { end } else { best_cut(units, covered, limit, budget.max) };
        runs.push((from, to));
        covered = skip_blank(units, to, end);
        from = covered;
        if covered < end && covered == to {
            from = overlap_start(units, to, end, budget);
        }
    }
    runs
}

fn skip_blank(units: &[Unit], from: usize, end: usize) -> usize {
    units.get(from..end).map_or(end, |rest| from + rest.iter().take_while(|unit| unit.is_blank()).count())
}

/// The end of the longest run from `from` within `max`, at least one unit long.
fn fill(units: &[Unit], from: usize, end: usize, max: usize) -> usize {
    let mut total = 0;
    for (position, unit) in units.iter().enumerate().take(end).skip(from) {
        total += unit.weight;
        if position > from && unit.starts_line {
            total += LATIN;
        }
        if total > max && position > from {
            return position;
        }
    }
    end
}

/// The best place to cut in `from + 1..=limit`, where the run is full at `limit`.
fn best_cut(units: &[Unit], from: usize, limit: usize, max: usize) -> usize {
    let boundary_at = |position: usize| units.get(position).map_or(Boundary::Block, |unit| unit.before);
    let weight_to = |position: usize| -> usize {
        units.get(from..position).map_or(0, |run| run.iter().map(|unit| unit.weight + LATIN).sum())
    };
    let latest =
        |allowed: fn(Boundary) -> bool| (from + 1..=limit).rev().find(|position| allowed(boundary_at(*position)));
    let is_full_enough = |position: &usize| weight_to(*position) >= max / 3;

    if let Some(cut) = latest(|boundary| boundary == Boundary::Block).filter(is_full_enough) {
        return cut;
    }
    if boundary_at(limit) == Boundary::Fence {
        // A code block that fits into one chunk is kept whole; a longer one must be cut somewhere.
        let fence_start =
            (from..limit).rev().find(|position| boundary_at(*position) != Boundary::Fence).unwrap_or(from);
        let mut fence_weight = 0;
        for (position, unit) in units.iter().enumerate().skip(fence_start) {
            let is_after = position > fence_start && unit.before != Boundary::Fence;
            if is_after || fence_weight > max {
                break;
            }
            fence_weight += unit.weight + LATIN;
        }
        if fence_start > from && fence_weight <= max {
            return fence_start;
        }
        return limit;
    }
    latest(|boundary| boundary != Boundary::Fence).filter(is_full_enough).unwrap_or(limit)
}

/// Where the next run starts so that it repeats whole lines before `to` within the budget of the overlap.
fn overlap_start(units: &[Unit], to: usize, end: usize, budget: &Budget) -> usize {
    let next = units.get(to).map_or(0, |unit| unit.weight);
    if fill(units, to, end, budget.max) == to || units.get(to).is_some_and(|unit| !unit.starts_line) {
        return to;
    }
    let mut start = to;
    let mut total = 0;
    for (position, unit) in units.iter().enumerate().take(to).rev() {
        total += unit.weight + LATIN;
        // The next line must still fit, or the run would not move on.
        if !unit.is_whole_line || total > budget.overlap || total + next > budget.max {
            break;
        }
        start = position;
    }
    start
}

/// Adds the runs of a section to the pieces, joining the last piece with the first run when both are small.
fn join_small(
    units: &[Unit],
    sections: &[lines::Section],
    pieces: &mut Vec<Piece>,
    runs: Vec<(usize, usize)>,
    section: usize,
    budget: &Budget,
) {
    let level_of = |number: usize| sections.get(number).map_or(0, |section| section.level());
    for (position, (start, end)) in runs.into_iter().enumerate() {
        if let Some(last) = pieces.last_mut().filter(|_| position == 0) {
            let weight_of = |from: usize, to: usize| -> usize {
                units.get(from..to).map_or(0, |run| run.iter().map(|unit| unit.weight + LATIN).sum())
            };
            let is_small = weight_of(last.start, last.end) < budget.min;
            let is_same_branch = level_of(section) >= level_of(last.first_section);
            if is_small && is_same_branch && weight_of(last.start, end) <= budget.max {
                last.end = end;
                last.last_section = section;
                continue;
            }
        }
        pieces.push(Piece { start, end, first_section: section, last_section: section });
    }
}

/// The headings that the first and the last section of a piece have in common; the own heading of a piece that only
/// goes down from it.
fn heading_path(sections: &[lines::Section], piece: &Piece) -> String {
    let path_of = |number: usize| sections.get(number).map_or(&[][..], |section| section.path.as_slice());
    let mut common = path_of(piece.first_section);
    for number in piece.first_section + 1..=piece.last_section {
        let shared = common.iter().zip(path_of(number)).take_while(|(a, b)| a == b).count();
        common = common.get(..shared).unwrap_or_default();
    }
    common.iter().map(|(_, title)| title.as_str()).filter(|title| !title.is_empty()).collect::<Vec<_>>().join(" > ")
}

/// Puts the text of a run together; `None` when it is blank.
fn render(units: &[Unit], piece: &Piece, first_line: usize) -> Option<Chunk> {
    let run = units.get(piece.start..piece.end)?;
    let from = run.iter().position(|unit| !unit.is_blank())?;
    let to = run.iter().rposition(|unit| !unit.is_blank())?;
    let run = run.get(from..=to)?;
    let mut text = String::new();
    for (position, unit) in run.iter().enumerate() {
        if position > 0 && unit.starts_line {
            text.push('\n');
        }
        text.push_str(unit.text);
    }
    let text = text.trim_end().to_owned();
    let (start_line, end_line) = (run.first()?.line + first_line, run.last()?.line + first_line);
    Some(Chunk { text, start_line, end_line, part: 0, heading_path: String::new() })
}

#[cfg(test)]
mod tests;
