//! What the command prints: results to standard output, everything else to standard error.

mod item;
mod layout;
mod page;
mod progress;
mod snippet;
mod style;

use std::io::{IsTerminal, Write};

use memory_core::{Error, ErrorKind};
use serde::Serialize;

use crate::arguments::{Color, Global};
use crate::exit::Stop;

pub(crate) use item::{item_details, item_line};
pub(crate) use layout::{clean, one_line, shorten};
pub(crate) use page::{bytes, page};
pub(crate) use progress::ProgressBars;
pub(crate) use snippet::Matcher;
pub(crate) use style::Style;

/// The width where there is no terminal, in columns.
const DEFAULT_WIDTH: usize = 100;

/// How and where to print.
pub(crate) struct Output {
    /// Results and errors as JSON.
    pub(crate) json: bool,
    /// No hints.
    quiet: bool,
    /// The style of results.
    pub(crate) style: Style,
    error_style: Style,
    /// Columns of the terminal.
    pub(crate) width: usize,
}

impl Output {
    /// From the flags and the terminal.
    pub(crate) fn new(global: &Global) -> Self {
        let colored = |terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !no_color(),
        };
        let terminal = std::io::stdout().is_terminal();
        let width = if terminal { terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) } else { None };
        Self {
            json: global.json,
            quiet: global.quiet,
            style: Style::new(colored(terminal)),
            error_style: Style::new(colored(std::io::stderr().is_terminal())),
            width: width.unwrap_or(DEFAULT_WIDTH).clamp(40, 160),
        }
    }

    /// Without flags, for errors in the flags themselves.
    pub(crate) fn plain(json: bool) -> Self {
        let error_style = Style::new(std::io::stderr().is_terminal() && !no_color());
        Self { json, quiet: false, style: Style::new(false), error_style, width: DEFAULT_WIDTH }
    }

    /// Prints text as it is.
    pub(crate) fn text(&self, text: &str) -> Result<(), Stop> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Stop::ReaderGone,
            _ => Error::new(ErrorKind::Storage, "cannot write to standard output").with_source(error).into(),
        })
    }

    /// Prints a line.
    pub(crate) fn line(&self, line: &str) -> Result<(), Stop> {
        self.text(&format!("{line}\n"))
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn value(&self, value: &impl Serialize) -> Result<(), Stop> {
        let text = serde_json::to_string(value)
            .map_err(|error| Error::unexpected("the result cannot be written as JSON").with_source(error))?;
        self.line(&text)
    }

    /// Prints an error with its hints.
    pub(crate) fn error(&self, error: &Error) {
        if self.json {
            say(&format!("{}\n", error.to_json()));
            return;
        }
        let mut text = format!("{} {}\n", self.error_style.error("error:"), clean(&error.to_string()));
        for (position, hint) in error.hints().iter().enumerate() {
            let gap = if position == 0 { "\n" } else { "" };
            text.push_str(&format!("{gap}{} {}\n", self.error_style.hint("hint:"), clean(hint)));
        }
        say(&text);
    }

    /// Says something beside the result.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(&format!("{text}\n"));
        }
    }

    /// Says what to do next.
    pub(crate) fn hint(&self, text: &str) {
        if !self.json {
            self.note(&format!("\n{} {text}", self.error_style.hint("hint:")));
        }
    }

    /// Says something that must not be missed.
    pub(crate) fn warning(&self, text: &str) {
        say(&format!("{} {text}\n", self.error_style.warning("warning:")));
    }

    /// Bars for long work; they show on a terminal only.
    pub(crate) fn progress(&self) -> ProgressBars {
        ProgressBars::new(!self.quiet && std::io::stderr().is_terminal())
    }
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// There is no better place to complain when standard error fails.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
