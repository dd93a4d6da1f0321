//! What is recalled for a prompt, from one or two providers.

use super::sameness::Likeness;

/// The longest recalled text that goes into a prompt, in characters.
const LONGEST: usize = 12_000;

/// What was recalled for a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefetch {
    /// Unfenced text, or `None` when there is nothing.
    pub text: Option<String>,
    /// True when every provider of the mode answered in time.
    pub complete: bool,
}

/// Joins two recalled texts. A line of the second that says what a line of the first says is left out. What is longer than
/// a prompt should carry is cut at the end of a line; each text keeps at least half of the room.
pub(super) fn join(here: Option<String>, there: Option<String>) -> Option<String> {
    let (here, there) = (here.unwrap_or_default(), there.unwrap_or_default());
    let known: Vec<Likeness> = here.lines().map(|line| Likeness::of(without_date(line))).collect();
    let is_new = |line: &&str| {
        let likeness = Likeness::of(without_date(line));
        !known.iter().any(|known| known.is_same(&likeness))
    };
    let there = there.lines().filter(is_new).collect::<Vec<_>>().join("\n");
    let here_room = LONGEST.saturating_sub(there.chars().count()).max(LONGEST / 2);
    let here = cut(here.trim_end(), here_room);
    let there = cut(there.trim_end(), LONGEST.saturating_sub(here.chars().count()));
    let text = [here, there].into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(text)
}

/// A line of a list without its mark, date and score, such as `- [2026-01-02] …` and `- [0.83] …`.
fn without_date(line: &str) -> &str {
    let line = line.trim_start().trim_start_matches(['-', '*']).trim_start();
    match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((mark, rest)) if mark.chars().all(|c| c.is_ascii_digit() || "-.:TZ+ ".contains(c)) => rest.trim_start(),
        _ => line,
    }
}

fn cut(text: &str, room: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(room) else { return text };
    let kept = text.get(..end).unwrap_or_default();
    kept.rfind('\n').and_then(|end| kept.get(..end)).unwrap_or(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_same_line_is_recalled_once() {
        let joined =
            join(some("- [2026-01-02] 用户喜欢喝绿茶"), some("## Mem0\n- 用户喜欢喝绿茶。\n- [0.71] 用户住在上海"));
        assert_eq!(joined.unwrap(), "- [2026-01-02] 用户喜欢喝绿茶\n\n## Mem0\n- [0.71] 用户住在上海");
        assert_eq!(join(None, None), None);
        assert_eq!(join(some(" "), some("x")).unwrap(), "x");
    }

    #[test]
    fn a_long_text_leaves_room_for_the_other_and_ends_with_a_line() {
        let long = |mark: &str| (0..2000).map(|n| format!("- {mark}{n} 记忆")).collect::<Vec<_>>().join("\n");
        let joined = join(some(&long("a")), some(&long("b"))).unwrap();
        assert!(joined.chars().count() <= LONGEST + 2);
        assert!(joined.contains("- a0 记忆") && joined.contains("- b0 记忆"));
        assert!(joined.lines().all(|line| line.is_empty() || line.ends_with("记忆")));
        assert_eq!(join(some(&long("a")), None).unwrap().lines().next_back().unwrap().chars().last(), Some('忆'));
    }
}
