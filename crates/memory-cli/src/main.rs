//! The `memory` command: arguments in, results out.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod arguments;
mod commands;
mod exit;
mod output;
mod settings;
mod usage;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::exit::{Exit, Stop};
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage::explain(&error).into(),
    };
    let output = Output::new(&arguments.global);
    match run(arguments, &output) {
        Ok(exit) => exit.into(),
        Err(stop) => stop.report(&output).into(),
    }
}

fn run(arguments: Arguments, output: &Output) -> Result<Exit, Stop> {
    if let Some(exit) = commands::without_settings(&arguments.command, output)? {
        return Ok(exit);
    }
    // One worker beside the main thread: an index may compute while a file is awaited, and starting stays cheap.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| memory_core::Error::unexpected("cannot start").with_source(error))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = commands::run(arguments, output) => outcome,
            signal = tokio::signal::ctrl_c() => Err(match signal {
                Ok(()) => Stop::Interrupted,
                Err(error) => memory_core::Error::unexpected("cannot listen to signals").with_source(error).into(),
            }),
        }
    });
    // A thread that still waits for input must not keep a finished or interrupted command alive.
    runtime.shutdown_background();
    outcome
}
