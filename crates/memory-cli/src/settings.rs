//! From flags to the configuration in effect and the viewer who asks.

use std::sync::Arc;

use memory_core::config::{Config, Environment, Loaded, Loader};
use memory_core::{Error, ErrorKind, Result, SystemClock, Team, TeamRole, Viewer};
use memory_engine::{BuiltinProvider, Memory};

use crate::arguments::Global;

/// What a command works with.
pub(crate) struct Settings {
    /// The configuration and where it came from.
    pub(crate) loaded: Loaded,
    /// Who asks.
    pub(crate) viewer: Viewer,
    /// Whether a flag says who asks; without one, commands about the whole home mean the whole home.
    pub(crate) viewer_is_named: bool,
    /// `--yes`.
    pub(crate) yes: bool,
}

impl Settings {
    /// Reads the configuration and starts the log.
    pub(crate) fn load(global: &Global) -> Result<Self> {
        let loaded = loader(global).load()?;
        let log = &loaded.config.memory.log;
        // With --json a failure is one object on stderr: remarks are left out, unless they were asked for.
        let unasked = *log == Config::default().memory.log && global.verbose == 0;
        start_log(if global.json && unasked { "off" } else { log })?;
        let external = &loaded.config.memory.external;
        let viewer = Viewer {
            agent: global.agent.clone(),
            workspace: global.workspace.clone(),
            team: global.team.as_deref().map(team),
            session: global.session.clone(),
            // Who asks is not part of the configuration: the workspace stays with the configured user.
            ..Viewer::user(
                global.user.as_deref().unwrap_or(&external.user_id),
                global.space.as_deref().unwrap_or(&external.scope_id),
            )
        };
        viewer.check()?;
        let viewer_is_named =
            [&global.user, &global.space, &global.agent, &global.workspace, &global.team, &global.session]
                .into_iter()
                .any(Option::is_some);
        Ok(Self { loaded, viewer, viewer_is_named, yes: global.yes })
    }

    /// Opens the memory. Someone waits for the command: closing takes no longer than a call does.
    pub(crate) async fn open(&self) -> Result<Memory> {
        let mut loaded = self.loaded.clone();
        let external = &mut loaded.config.memory.external;
        external.shutdown_timeout = external.shutdown_timeout.min(external.timeout);
        Memory::open(&loaded, Arc::new(SystemClock)).await
    }

    /// Opens the memory for work that may take its time to hand things over.
    pub(crate) async fn open_patiently(&self) -> Result<Memory> {
        Memory::open(&self.loaded, Arc::new(SystemClock)).await
    }

    /// The viewer, when a flag names one.
    pub(crate) fn named_viewer(&self) -> Option<&Viewer> {
        self.viewer_is_named.then_some(&self.viewer)
    }
}

/// The embedded store, for what only it offers.
pub(crate) fn builtin<'a>(memory: &'a Memory, operation: &'static str) -> Result<&'a BuiltinProvider> {
    memory.builtin.as_deref().ok_or_else(|| {
        let mode = memory.engine.mode();
        let kind =
            if mode == memory_core::config::EngineMode::None { ErrorKind::Disabled } else { ErrorKind::Unsupported };
        Error::new(kind, format!("`{operation}` needs the builtin store, and memory.engine is `{mode}`"))
            .with_operation(operation)
            .with_hint("set memory.engine (MEMORY_ENGINE) to builtin")
    })
}

fn loader(global: &Global) -> Loader {
    let mut loader = Loader::new(Environment::of_process());
    if let Some(home) = &global.home {
        loader = loader.with_home(home);
    }
    if let Some(config) = &global.config {
        loader = loader.with_config(config);
    }
    match (global.quiet, global.verbose) {
        (true, _) => loader.with_override("--quiet", "memory.log", "error"),
        (false, 0) => loader,
        (false, 1) => loader.with_override("--verbose", "memory.log", "info"),
        (false, _) => loader.with_override("--verbose", "memory.log", "debug"),
    }
}

/// `TEAM` speaks for its leader, `TEAM/MEMBER` for a member.
pub(crate) fn team(text: &str) -> Team {
    match text.split_once('/') {
        Some((name, member)) => Team { name: name.to_owned(), role: TeamRole::Member(member.to_owned()) },
        None => Team { name: text.to_owned(), role: TeamRole::Leader },
    }
}

fn start_log(filter: &str) -> Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter).map_err(|error| {
        Error::new(ErrorKind::ConfigInvalid, "memory.log is not a log filter")
            .with_source(error)
            .with_hint("write error, warn, info, debug, trace, or a filter such as info,tantivy=warn")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .try_init()
        .map_err(|error| Error::unexpected("cannot start the log").with_source(error))
}
