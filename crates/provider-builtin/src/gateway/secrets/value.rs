//! Whether a value that is assigned to a name such as `password` is a credential or just a word.

use std::ops::Range;

/// What the name promises of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClass {
    /// `password:`, `密码：`: short and simple values count.
    Password,
    /// `the password is …`: prose follows as often as a value.
    Sentence,
    /// `api_key =`, `token:`: only long values that look random count.
    Key,
}

/// Words that stand where a value could stand.
const PLACEHOLDERS: [&str; 42] = [
    "required",
    "optional",
    "string",
    "text",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "placeholder",
    "example",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "hidden",
    "masked",
    "redacted",
    "changed",
    "expired",
    "invalid",
    "incorrect",
    "missing",
    "unknown",
    "empty",
    "unset",
    "default",
    "disabled",
    "enabled",
    "forgotten",
    "todo",
    "tbd",
    "n/a",
    "your_password",
    "yourpassword",
    "your-password",
    "your_api_key",
    "your-api-key",
    "your_token",
    "wrong",
];

/// Names before a dot that make a value a piece of code.
const OBJECTS: [&str; 20] = [
    "self", "this", "args", "config", "cfg", "env", "os", "process", "settings", "options", "opts", "params",
    "request", "req", "user", "data", "ctx", "secrets", "vars", "std",
];

/// Longest value looked at, in bytes.
const MAX_VALUE_BYTES: usize = 1024;

/// The place of the credential that stands at `start`, after `name` with its sign of assignment; `None` when what stands
/// there is none.
pub(super) fn secret_at(text: &str, start: usize, class: NameClass, name: &str) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let quoted =
        [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('「', '」')].into_iter().find_map(|(open, close)| {
            let inside = rest.strip_prefix(open)?;
            let line = inside.split(['\r', '\n']).next()?;
            let end = line.char_indices().take(MAX_VALUE_BYTES).find(|(_, character)| *character == close)?.0;
            Some((open.len_utf8(), inside.get(..end)?))
        });
    let (offset, value, is_quoted) = match quoted {
        Some((offset, value)) => (offset, value, true),
        None => {
            let end = rest.bytes().take(MAX_VALUE_BYTES).take_while(u8::is_ascii_graphic).count();
            (0, rest.get(..end)?, false)
        }
    };
    let length = secret_length(value, class, is_quoted, name)?;
    Some(start + offset..start + offset + length)
}

/// The length in bytes of the credential at the start of `value`.
fn secret_length(value: &str, class: NameClass, is_quoted: bool, name: &str) -> Option<usize> {
    let candidate = if is_quoted { value } else { without_sentence_end(value) };
    let lower = candidate.to_lowercase();
    let is_placeholder = candidate.is_empty() || PLACEHOLDERS.contains(&lower.as_str());
    if is_placeholder || is_template(candidate) || is_code(candidate) || is_code(value) {
        return None;
    }
    let characters = candidate.chars().count();
    let has_digit = candidate.chars().any(|c| c.is_ascii_digit());
    let has_letter = candidate.chars().any(char::is_alphabetic);
    let has_sign = candidate
        .chars()
        .any(|c| !c.is_alphanumeric() && !c.is_whitespace() && !matches!(c, '-' | '_' | '.' | ',' | '\''));
    let is_prose = is_quoted && candidate.split_whitespace().count() > 1;
    let is_secret = match class {
        NameClass::Key => characters >= 8 && has_digit && has_letter && !is_prose,
        NameClass::Sentence => !is_prose && is_strong(characters, has_digit, has_letter, has_sign),
        NameClass::Password => {
            let is_assigned = name.contains(['=', '＝']) || name.starts_with("--");
            let is_word = has_letter && !has_digit && !has_sign;
            match (is_word, is_quoted, is_assigned) {
                // A passphrase may be a sentence, but only as a quoted value in code.
                (true, true, _) => characters >= 4 && (!is_prose || is_assigned),
                (true, false, true) => characters >= 6,
                // `password: swordfish` may as well be the start of a sentence.
                (true, false, false) => false,
                (false, _, _) => !is_prose && is_strong(characters, has_digit, has_letter, has_sign),
            }
        }
    };
    is_secret.then_some(candidate.len())
}

/// A value that no sentence has at this place: letters with digits or signs, or a number of at least four digits.
fn is_strong(characters: usize, has_digit: bool, has_letter: bool, has_sign: bool) -> bool {
    match (has_letter, has_digit, has_sign) {
        (true, true, _) => characters >= 4,
        (true, false, true) => characters >= 6,
        (false, true, false) => characters >= 6 || characters == 4,
        (false, _, true) => characters >= 8,
        _ => false,
    }
}

/// True for a place that a program fills in, and for what this module itself has put there.
pub(super) fn is_template(value: &str) -> bool {
    let starts = ["${", "{{", "<", "$", "%", "[REDACTED", "{"];
    let is_masked = value.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '•' | '…' | '-' | '_' | '#' | '?'));
    is_masked || starts.iter().any(|start| value.starts_with(start) && value.len() > 1 && !is_dollar_password(value))
}

/// `$ecret9!` is a password, `$SECRET` and `$1` are variables.
fn is_dollar_password(value: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let rest = value.strip_prefix(['$', '%']);
    rest.is_some_and(|rest| !rest.starts_with(['{', '(']) && !is_name(rest.trim_end_matches('%')))
}

/// `os.environ["X"]`, `get_password()`, `config.password`.
fn is_code(value: &str) -> bool {
    let name: &str = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    let after = value.get(name.len()..).unwrap_or_default();
    let is_call = !name.is_empty() && after.starts_with('(') && value.ends_with(')');
    let is_field = after.starts_with(['.', '[']) || after.starts_with("::");
    is_call || (is_field && (OBJECTS.contains(&name) || after.contains('(')))
}

/// The value without punctuation that belongs to the sentence or list around it.
fn without_sentence_end(value: &str) -> &str {
    let end = value.find(['"', '\'', '`', ';']).unwrap_or(value.len());
    value.get(..end).unwrap_or(value).trim_end_matches([',', '.', ')', ']', '}', '>', '?', ':'])
}
