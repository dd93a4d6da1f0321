//! Everything that is wrong with a configuration, gathered and reported at once. No value is ever part of it.

use super::nearest::is_presentable;
use crate::{Error, ErrorKind, Result};

/// At most so many problems are spelt out.
const MOST_REPORTED: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// `FILE:LINE`, the name of a variable or of a flag.
    pub(super) place: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, place: impl Into<String>, message: impl Into<String>, hint: Option<String>) {
        self.0.push(Problem { place: place.into(), message: message.into(), hint });
    }

    /// One error for all of them, or none.
    pub(super) fn into_result(self) -> Result<()> {
        let mut problems = self.0.into_iter();
        let Some(first) = problems.next() else { return Ok(()) };
        let mut error = Error::new(ErrorKind::ConfigInvalid, format!("{}: {}", first.place, first.message))
            .with_operation("read configuration");
        if let Some(hint) = first.hint {
            error = error.with_hint(hint);
        }
        let rest: Vec<Problem> = problems.collect();
        for problem in rest.iter().take(MOST_REPORTED) {
            let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            error = error.with_hint(format!("also wrong: {}: {}{hint}", problem.place, problem.message));
        }
        if rest.len() > MOST_REPORTED {
            error = error.with_hint(format!("and {} more", rest.len() - MOST_REPORTED));
        }
        Err(error)
    }
}

/// A name in backquotes, or a description where repeating it could show a credential.
pub(super) fn quoted(name: &str) -> String {
    if name.split('.').all(is_presentable) { format!("`{name}`") } else { "a name that is not repeated here".into() }
}
