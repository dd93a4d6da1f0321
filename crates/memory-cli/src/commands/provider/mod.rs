//! `memory provider list | check | queue | sync`

mod check;
mod list;
mod queue;
mod sync;

pub(super) use check::round_trip;

use super::Context;
use crate::arguments::ProviderCommand;
use crate::exit::{Exit, Stop};

/// The name of the embedded store.
const BUILTIN: &str = "builtin";

/// Runs one of the commands.
pub(super) async fn provider(context: &Context<'_>, command: &ProviderCommand) -> Result<Exit, Stop> {
    match command {
        ProviderCommand::List => list::list(context),
        ProviderCommand::Check { name } => check::check(context, name.as_deref()).await,
        ProviderCommand::Queue(arguments) => queue::queue(context, arguments).await,
        ProviderCommand::Sync { .. } => sync::sync(context).await,
    }
}
