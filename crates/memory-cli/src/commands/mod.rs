//! One file for each command.

mod add;
mod batch;
mod bench;
mod completions;
mod config;
mod doctor;
mod export;
mod forget;
mod get;
mod history;
mod import;
mod init;
mod list;
mod model;
mod plugin;
mod provider;
mod reindex;
mod restore;
mod search;
mod status;
mod update;

use std::io::Read;

use memory_core::{DeliveryQueue, Error, ErrorKind, Viewer};
use memory_engine::Memory;

use crate::arguments::{Arguments, Command};
use crate::exit::{Exit, Stop};
use crate::output::Output;
use crate::settings::Settings;

/// What every command gets.
pub(crate) struct Context<'a> {
    settings: Settings,
    output: &'a Output,
}

impl Context<'_> {
    async fn open(&self) -> Result<Memory, Error> {
        self.settings.open().await
    }

    /// Opens it for work that may take its time to hand things over.
    async fn open_patiently(&self) -> Result<Memory, Error> {
        self.settings.open_patiently().await
    }

    /// Closes the memory: hands over what is due within the budget, and says what waits.
    async fn close(&self, memory: &Memory) -> Result<(), Error> {
        memory.engine.shutdown().await?;
        if let Some(queue) = &memory.queue {
            let (waiting, refused) = queue.count().await?;
            let provider = queue.provider();
            if waiting > 0 {
                self.output.note(&format!("{waiting} in the queue to {provider}, handed over when it answers"));
            }
            if refused > 0 {
                self.output.note(&format!("{provider} refused {refused}: see `memory provider queue`"));
            }
        }
        Ok(())
    }

    fn viewer(&self) -> &Viewer {
        &self.settings.viewer
    }

    /// An empty answer of an empty store is no riddle.
    fn nothing_stored(&self) {
        self.output.note("nothing stored yet");
        self.output.hint("write something with `memory add TEXT`, or take in files with `memory import PATH`");
    }
}

/// Runs what needs no configuration.
pub(crate) fn without_settings(command: &Command, output: &Output) -> Result<Option<Exit>, Stop> {
    match command {
        Command::Completions(arguments) => completions::completions(arguments.shell, output).map(Some),
        Command::Man => completions::man(output).map(Some),
        _ => Ok(None),
    }
}

/// Runs a command.
pub(crate) async fn run(arguments: Arguments, output: &Output) -> Result<Exit, Stop> {
    let context = Context { settings: Settings::load(&arguments.global)?, output };
    match arguments.command {
        Command::Init => init::init(&context).await,
        Command::Add(arguments) => add::add(&context, arguments).await,
        Command::Search(arguments) => search::search(&context, *arguments).await,
        Command::Get(arguments) => get::get(&context, &arguments.ids).await,
        Command::List(arguments) => list::list(&context, arguments).await,
        Command::Update(arguments) => update::update(&context, arguments).await,
        Command::Forget(arguments) => forget::forget(&context, arguments).await,
        Command::Restore(arguments) => restore::restore(&context, arguments).await,
        Command::History(arguments) => history::history(&context, &arguments.id).await,
        Command::Import(arguments) => import::import(&context, arguments).await,
        Command::Export(arguments) => export::export(&context, arguments).await,
        Command::Status => status::status(&context).await,
        Command::Stats => status::stats(&context).await,
        Command::Doctor(arguments) => doctor::doctor(&context, arguments.fix).await,
        Command::Reindex(arguments) => reindex::reindex(&context, &arguments).await,
        Command::Bench(command) => bench::bench(&context, &command).await,
        Command::Config(command) => config::config(&context, &command),
        Command::Provider(command) => provider::provider(&context, &command).await,
        Command::Plugin(command) => plugin::plugin(&context, &command).await,
        Command::Model(command) => model::model(&context, command).await,
        // Answered before the configuration is read.
        Command::Completions(_) | Command::Man => Ok(Exit::Done),
    }
}

/// The words of an argument as one text, or standard input for `-`. Input beyond `most` bytes is not read: whoever
/// stores it refuses it for its size.
async fn text_argument(words: &[String], most: usize) -> Result<String, Error> {
    match words {
        [dash] if dash == "-" => {
            let read = tokio::task::spawn_blocking(move || {
                // A few bytes more than allowed, so that a text cut inside a character is still too long without it.
                let (mut bytes, limit) = (Vec::new(), u64::try_from(most).unwrap_or(u64::MAX).saturating_add(4));
                std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map(|_| bytes)
            });
            let bytes =
                read.await.map_err(|error| Error::unexpected("the reading thread stopped").with_source(error))?;
            let mut bytes = bytes
                .map_err(|error| Error::new(ErrorKind::Storage, "cannot read standard input").with_source(error))?;
            if let Err(error) = std::str::from_utf8(&bytes)
                && error.error_len().is_none()
                && error.valid_up_to() > most
            {
                bytes.truncate(error.valid_up_to());
            }
            String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to() + 1;
                Error::invalid(format!("standard input is not valid UTF-8 (byte {at})"))
            })
        }
        words => Ok(words.join(" ")),
    }
}
