//! `${NAME}` and `${NAME:-default}` in texts of the configuration file.

/// Replaces every reference; `None` where there is none. An unset or empty variable gives the default, and without a
/// default the empty text. There is no nesting and no escape; what does not have this form stays as it is.
pub(super) fn interpolate(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut result = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some((before, after)) = rest.split_once("${") {
        result.push_str(before);
        match reference(after) {
            Some((name, default, remainder)) => {
                let value = lookup(name).filter(|value| !value.is_empty());
                result.push_str(value.as_deref().unwrap_or(default));
                found = true;
                rest = remainder;
            }
            None => {
                result.push_str("${");
                rest = after;
            }
        }
    }
    result.push_str(rest);
    found.then_some(result)
}

/// Splits `NAME:-default}rest` into its three parts.
fn reference(text: &str) -> Option<(&str, &str, &str)> {
    let (inside, rest) = text.split_once('}')?;
    let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let valid = starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then_some((name, default, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_and_empty_give_the_default() {
        let lookup = |name: &str| match name {
            "SET" => Some("值".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("${SET}", Some("值")),
            ("a ${SET} b ${UNSET:-默认} c", Some("a 值 b 默认 c")),
            ("${EMPTY:-d}", Some("d")),
            ("${UNSET}", Some("")),
            ("${UNSET:-http://h:1/x}", Some("http://h:1/x")),
            ("${SET:-${SET}}", Some("值}")),
            ("no reference", None),
            ("$SET ${1} ${a b} ${SET", None),
            ("${ ${SET}", Some("${ 值")),
        ] {
            assert_eq!(interpolate(text, &lookup).as_deref(), expected, "{text}");
        }
    }
}
