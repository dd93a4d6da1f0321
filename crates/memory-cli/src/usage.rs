//! Wrong usage, in the form of every other error; help and version as they are.

use clap::error::{Error, ErrorKind};

use crate::exit::Exit;
use crate::output::Output;

/// Prints what clap has to say and gives the exit code.
pub(crate) fn explain(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that is gone needs no help.
            let _ = error.print();
            return Exit::Done;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return Exit::Usage;
        }
        _ => {}
    }
    // The arguments could not be read, so the flags that shape errors are looked for by hand.
    let json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    Output::plain(json).error(&translate(&error.render().to_string()));
    Exit::Usage
}

/// Clap's text has the message first, then tips and the usage, in paragraphs.
fn translate(text: &str) -> memory_core::Error {
    let mut paragraphs = text.trim().split("\n\n").map(str::trim);
    let message = paragraphs.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message: Vec<&str> = message.lines().map(str::trim).collect();
    let mut error = memory_core::Error::invalid(message.join(" "));
    for paragraph in paragraphs {
        for line in paragraph.lines().map(str::trim) {
            let hint = line.strip_prefix("tip: ").or_else(|| line.strip_prefix("Usage: ").map(|_| line));
            if let Some(hint) = hint {
                error = error.with_hint(hint);
            }
        }
    }
    error.with_hint("see `memory --help`")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    fn error(arguments: &[&str]) -> memory_core::Error {
        translate(&Arguments::try_parse_from(arguments).unwrap_err().render().to_string())
    }

    #[test]
    fn tips_and_usage_become_hints() {
        let error = error(&["memory", "serch", "x"]);
        assert_eq!(error.message(), "unrecognized subcommand 'serch'");
        assert!(error.hints().iter().any(|hint| hint.contains("search")), "{:?}", error.hints());
    }

    #[test]
    fn a_list_of_missing_arguments_is_one_line() {
        let error = error(&["memory", "get"]);
        assert!(error.message().contains("<ID>"), "{error}");
        assert!(!error.message().contains('\n'));
    }
}
