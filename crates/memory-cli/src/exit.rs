//! How the command ends: exit codes, and the errors behind them.

use std::process::ExitCode;

use memory_core::{Error, ErrorKind};

use crate::output::Output;

/// The exit codes, as documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The operation failed, or part of it.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// What was named does not exist.
    NotFound = 3,
    /// Refused: switched off, out of scope, over budget, locked.
    Refused = 4,
    /// Interrupted.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// The code for an error.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidRequest => Self::Usage,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Forbidden | ErrorKind::Disabled | ErrorKind::Busy => Self::Refused,
            ErrorKind::Cancelled => Self::Interrupted,
            _ => Self::Failed,
        }
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It failed.
    Failed(Error),
    /// Whoever read the output has seen enough, as in `memory list | head`.
    ReaderGone,
    /// Ctrl-C.
    Interrupted,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    /// Says why, where there is something to say, and gives the exit code.
    pub(crate) fn report(self, output: &Output) -> Exit {
        match self {
            Self::Failed(error) => {
                output.error(&error);
                Exit::of(error.kind())
            }
            Self::ReaderGone => Exit::Done,
            Self::Interrupted => {
                output.error(&Error::new(ErrorKind::Cancelled, "interrupted"));
                Exit::Interrupted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_documented_codes() {
        for (kind, code) in [
            (ErrorKind::InvalidRequest, 2),
            (ErrorKind::NotFound, 3),
            (ErrorKind::Forbidden, 4),
            (ErrorKind::Disabled, 4),
            (ErrorKind::Busy, 4),
            (ErrorKind::Cancelled, 130),
            (ErrorKind::Storage, 1),
            (ErrorKind::ConfigInvalid, 1),
        ] {
            assert_eq!(Exit::of(kind) as u8, code, "{kind:?}");
        }
    }
}
