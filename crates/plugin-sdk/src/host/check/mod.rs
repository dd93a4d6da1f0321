//! Examines a plugin through its interface, as a host that is not kind: `memory plugin check`. This runs its code.

mod probes;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use memory_core::{Error, ErrorKind, MemoryProvider, Result};
use serde::Serialize;
use serde_json::{Map, Value};

use super::directory::Installed;
use super::instance::{Instance, Opening};
use super::provider::{LoadOptions, PluginProvider};
use super::services::Services;
use super::system::StdoutWatch;

/// How to examine.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// The configuration to open it with. It is really used: what is written goes where the configuration says.
    pub config: Map<String, Value>,
    /// A folder for the plugin's data, made for the examination and removed after it.
    pub scratch: PathBuf,
    /// How long any one step may take.
    pub deadline: Duration,
    /// Whether to look for output on standard output. That concerns the whole process: off where others write to it.
    pub watch_stdout: bool,
}

/// How one step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Not as it should.
    Failed,
    /// Not tried, because the plugin does not offer what it needs.
    Skipped,
}

/// What one step found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What was examined.
    pub name: &'static str,
    /// How it went.
    pub outcome: Outcome,
    /// What was seen, in one line.
    pub message: String,
}

/// One step's answer: what was seen, `None` when it does not apply, or what is wrong.
type Finding = Result<Option<String>>;

/// Examines a plugin. An error means that the examination itself could not be done.
pub async fn check(plugin: &Installed, options: CheckOptions) -> Result<Vec<Verdict>> {
    let unusable = |what: &str, error: std::io::Error| {
        Error::new(ErrorKind::Storage, format!("cannot {what} {}", options.scratch.display())).with_source(error)
    };
    std::fs::create_dir_all(&options.scratch).map_err(|error| unusable("create", error))?;
    let watch = if options.watch_stdout {
        let file = capture(&options).map_err(|error| unusable("write to", error))?;
        Some(
            StdoutWatch::start(file)
                .map_err(|error| Error::unexpected("cannot watch standard output").with_source(error))?,
        )
    } else {
        None
    };
    let mut examination = Examination { plugin, options: &options, verdicts: Vec::new() };
    examination.run().await;
    let mut verdicts = examination.verdicts;
    if let Some(watch) = watch {
        let written =
            watch.finish().map_err(|error| Error::unexpected("cannot restore standard output").with_source(error))?;
        let finding = if written.is_empty() {
            Ok(Some("nothing was written".to_owned()))
        } else {
            let start: String = written.chars().take(60).collect();
            Err(Error::unexpected(format!(
                "it wrote {:?}: that breaks programs that speak over standard output",
                start
            )))
        };
        verdicts.push(verdict("standard output", finding));
    }
    std::fs::remove_dir_all(&options.scratch).map_err(|error| unusable("remove", error))?;
    Ok(verdicts)
}

fn capture(options: &CheckOptions) -> std::io::Result<File> {
    let path = options.scratch.join("stdout");
    OpenOptions::new().create(true).truncate(true).read(true).write(true).mode(0o600).open(path)
}

fn verdict(name: &'static str, finding: Finding) -> Verdict {
    let (outcome, message) = match finding {
        Ok(Some(seen)) => (Outcome::Passed, seen),
        Ok(None) => (Outcome::Skipped, "the plugin does not offer it".to_owned()),
        Err(error) => {
            let hints: Vec<String> = error.hints().iter().map(|hint| format!("; {hint}")).collect();
            (Outcome::Failed, format!("{error}{}", hints.concat()))
        }
    };
    Verdict { name, outcome, message }
}

struct Examination<'a> {
    plugin: &'a Installed,
    options: &'a CheckOptions,
    verdicts: Vec<Verdict>,
}

impl Examination<'_> {
    async fn run(&mut self) {
        let plugin = self.plugin;
        let manifest = format!("{} {} at {}", plugin.name(), plugin.version(), plugin.folder.display());
        self.note("manifest and files", Ok(Some(manifest)));
        let provider = match PluginProvider::load(plugin, self.load_options()).await {
            Ok(provider) => provider,
            Err(error) => return self.note("loads and describes itself", Err(error)),
        };
        let capability = provider.capability();
        let offers = probes::offers(&capability);
        self.note("loads and describes itself", Ok(Some(format!("as in its manifest; offers {offers}"))));
        self.note("wrong configuration", self.wrong_configuration().await);
        let instance = match self.open(None).await {
            Ok(instance) => std::sync::Arc::new(instance),
            Err(error) => return self.note("a second instance", Err(error)),
        };
        let deadline = self.options.deadline;
        self.note("broken request", probes::broken_request(&instance, deadline).await);
        self.note("unknown method", probes::unknown_method(&instance, deadline).await);
        self.note("health", probes::health(&provider).await);
        self.note("64 calls at once", probes::many_at_once(&instance, &capability, deadline).await);
        self.note("a request of 1 MiB", probes::large_request(&instance, &capability, deadline).await);
        self.note("text of every script", probes::round_trip(&provider).await);
        self.note("cancelled calls", probes::cancelled(&instance, &capability, deadline).await);
        self.note("close with calls under way", probes::close(&instance, &capability, deadline).await);
        self.note("shutdown", provider.shutdown().await.map(|()| Some("drained and closed".to_owned())));
        let strays = instance.strays() + provider.stray_completions();
        self.note(
            "each call completed once",
            if strays == 0 {
                Ok(Some("no completion too many".to_owned()))
            } else {
                Err(Error::unexpected(format!("{strays} completions belonged to no call")))
            },
        );
    }

    fn note(&mut self, name: &'static str, finding: Finding) {
        self.verdicts.push(verdict(name, finding));
    }

    fn load_options(&self) -> LoadOptions {
        LoadOptions {
            config: self.options.config.clone(),
            open_deadline: self.options.deadline,
            call_deadline: self.options.deadline,
            ..LoadOptions::new(self.options.scratch.join("data"), self.options.scratch.join("cache"))
        }
    }

    /// Opens an instance of its own, with other bytes in place of the configuration on demand.
    async fn open(&self, config: Option<&[u8]>) -> Result<Instance> {
        let configured = || serde_json::to_vec(&self.options.config).unwrap_or_default();
        let opening = Opening {
            library: self.plugin.library.clone(),
            sha256: self.plugin.sha256.clone(),
            abi: self.plugin.manifest.plugin.abi.clone(),
            config: config.map_or_else(configured, <[u8]>::to_vec),
        };
        let scratch = self.options.scratch.join("second");
        let (services, table) =
            Services::register(self.plugin.name(), &scratch.join("data"), &scratch.join("cache"), None)?;
        let deadline = self.options.deadline;
        tokio::task::spawn_blocking(move || Instance::open(opening, services, table, deadline))
            .await
            .map_err(|error| Error::unexpected("the loading thread stopped").with_source(error))?
    }

    async fn wrong_configuration(&self) -> Finding {
        match self.open(Some(b"{\"broken")).await {
            Ok(_) => Err(Error::unexpected("it opens with a configuration that is not JSON")),
            Err(error) if error.kind() == ErrorKind::ConfigInvalid => Ok(Some("refused as config_invalid".to_owned())),
            Err(error) => {
                Err(Error::unexpected(format!("refused as {}, not as config_invalid: {error}", probes::kind(&error))))
            }
        }
    }
}
