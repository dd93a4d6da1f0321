//! The known name that a misspelt one probably means.

use super::keys;

/// The nearest key or section for an unknown path.
pub(super) fn nearest_key(path: &str) -> Option<&'static str> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let known = || keys::settings().map(|key| key.path).chain(keys::SECTIONS.iter().map(|(section, _)| *section));
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let sibling = known()
        .filter(|candidate| candidate.rsplit_once('.').is_some_and(|(above, _)| above == parent))
        .map(|candidate| (distance(last(candidate), name), candidate))
        .min_by_key(|(far, _)| *far)
        .filter(|(far, _)| *far <= 1 + name.chars().count() / 3);
    // A key that is right but stands in the wrong section.
    let moved =
        || known().filter(|candidate| last(candidate) == name).min_by_key(|candidate| distance(candidate, path));
    sibling
        .map(|(_, candidate)| candidate)
        .or_else(moved)
        .or_else(|| known().min_by_key(|candidate| distance(candidate, path)))
}

/// The member of `names` nearest to `name`, if it is near enough to be a slip.
pub(super) fn nearest_name<'a>(names: impl Iterator<Item = &'a str>, name: &str, most: usize) -> Option<&'a str> {
    names
        .map(|candidate| (distance(candidate, name), candidate))
        .min()
        .filter(|(far, _)| *far <= most)
        .map(|(_, name)| name)
}

/// Whether a name may be repeated in a message. Names that no one would choose for a key may be a credential that ended
/// up in the wrong place.
pub(super) fn is_presentable(name: &str) -> bool {
    let fitting = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 64
        && name.chars().all(fitting)
        && name.bytes().filter(u8::is_ascii_digit).count() <= 3
}

/// Levenshtein's distance; names longer than any key are cut, since they are near to none.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, a) in left.chars().take(100).enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        if let Some(first) = row.first_mut() {
            *first = before;
        }
        for (cell, b) in row.iter_mut().skip(1).zip(&right) {
            let here = (diagonal + usize::from(a != *b)).min(before + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = here;
            before = here;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (left, right, expected) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("记忆", "记录", 1), ("same", "same", 0)]
        {
            assert_eq!(distance(left, right), expected, "{left} {right}");
            assert_eq!(distance(right, left), expected, "{right} {left}");
        }
    }

    #[test]
    fn slips_find_their_key() {
        for (wrong, right) in [
            ("memory.engin", "memory.engine"),
            ("memory.serch", "memory.search"),
            ("memory.search.vector_wieght", "memory.search.vector_weight"),
            ("memory.api_keys", "memory.server.api_keys"),
            ("memroy", "memory"),
            ("engine", "memory.engine"),
        ] {
            assert_eq!(nearest_key(wrong), Some(right), "{wrong}");
        }
        assert!(nearest_key("什么").is_some());
    }

    #[test]
    fn what_may_be_a_credential_is_not_presentable() {
        assert!(is_presentable("vector_wieght") && is_presentable("mem0"));
        for secret in ["sk-1234abcd", "AKIA0123456789", "-x", "a b", "", "密钥"] {
            assert!(!is_presentable(secret), "{secret}");
        }
    }
}
