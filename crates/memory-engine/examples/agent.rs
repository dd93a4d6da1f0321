//! A small agent with a long-term memory: it reads what you say from stdin, line by line, and answers on stdout.
//!
//! ```sh
//! printf 'I am allergic to peanuts\n' | agent --home /tmp/agent
//! printf 'What am I allergic to?\nsearch: peanuts\n' | agent --home /tmp/agent
//! ```
//!
//! Without a chat model it has a stub for one. Any OpenAI-compatible one is used when `memory.llm` (`LLM_API_BASE`,
//! `LLM_API_KEY`, `LLM_MODEL`) names it. The loop is in `agent/mod.rs`; `docs/embedding.md` explains it.

#[path = "agent/mod.rs"]
mod agent;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use agent::Options;
use memory_engine::core::config::{Environment, Loader};
use memory_engine::core::{Error, ErrorKind, Result, SystemClock};

const USAGE: &str = "usage: agent [--home FOLDER] [--config FILE] [--user NAME] [--language en|zh]";

fn main() -> ExitCode {
    let outcome = tokio::runtime::Runtime::new().map_err(|error| Error::unexpected("no runtime").with_source(error));
    let outcome = outcome.and_then(|runtime| {
        let outcome = runtime.block_on(start());
        // A read of stdin that is under way would hold up the end of the process.
        runtime.shutdown_background();
        outcome
    });
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    let mut stderr = std::io::stderr();
    // Without a stderr there is nobody to tell.
    let _ = writeln!(stderr, "error: {error}");
    for hint in error.hints() {
        let _ = writeln!(stderr, "hint: {hint}");
    }
    ExitCode::FAILURE
}

async fn start() -> Result<()> {
    let mut loader = Loader::new(Environment::of_process());
    let mut language = "en".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| Error::invalid(USAGE))?;
        match flag.as_str() {
            "--home" => loader = loader.with_home(value),
            "--config" => loader = loader.with_config(value),
            "--user" => loader = loader.with_override(flag, "memory.external.user_id", value),
            "--language" => language = value,
            _ => return Err(Error::invalid(USAGE)),
        }
    }
    start_log(&loader.load()?.config.memory.log)?;
    let options = Options { loader, language, clock: Arc::new(SystemClock), model: None };
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    agent::run(options, input, tokio::io::stdout(), interrupted).await
}

/// What goes wrong with the memory is told on stderr and stops nothing.
fn start_log(filter: &str) -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|error| Error::new(ErrorKind::ConfigInvalid, "memory.log is not a log filter").with_source(error))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
    Ok(())
}
