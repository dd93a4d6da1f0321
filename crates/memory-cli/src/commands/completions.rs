//! `memory completions` and `memory man`, both made from the table of arguments.

use clap::CommandFactory;
use memory_core::Error;

use crate::arguments::Arguments;
use crate::exit::{Exit, Stop};
use crate::output::Output;

/// Prints the completions of a shell.
pub(super) fn completions(shell: clap_complete::Shell, output: &Output) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "memory", &mut script);
    print(&script, output)
}

/// Prints the manual page, with a section for each command.
pub(super) fn man(output: &Output) -> Result<Exit, Stop> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    render(&command, &mut page)?;
    let mut pending: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    pending.reverse();
    while let Some(command) = pending.pop() {
        if command.get_name() == "help" {
            continue;
        }
        render(&command, &mut page)?;
        let inner: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        pending.extend(inner.into_iter().rev());
    }
    print(&page, output)
}

fn render(command: &clap::Command, page: &mut Vec<u8>) -> Result<(), Error> {
    let failed = |error| Error::unexpected("the manual page cannot be made").with_source(error);
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let man = clap_mangen::Man::new(command.clone().display_name(name));
    if page.is_empty() {
        return man.render(page).map_err(failed);
    }
    // One page: the commands follow as sections, without a title of their own.
    page.extend_from_slice(
        format!(".SH {}\n", command.get_bin_name().unwrap_or(command.get_name()).to_uppercase()).as_bytes(),
    );
    man.render_description_section(page).map_err(failed)?;
    man.render_synopsis_section(page).map_err(failed)?;
    man.render_options_section(page).map_err(failed)
}

fn print(bytes: &[u8], output: &Output) -> Result<Exit, Stop> {
    output.text(&String::from_utf8_lossy(bytes))?;
    Ok(Exit::Done)
}
