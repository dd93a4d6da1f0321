//! A home of its own for each test, the library that opens it, and the binary that works in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use memory_core::config::{Config, Environment, Loader};
use memory_core::{Clock, Item, SystemClock};
use memory_engine::Memory;
use provider_builtin::BuiltinProvider;
use serde_json::Value;
use tempfile::TempDir;

use crate::child::{Run, run_to_end};
use crate::files::copy_folder;

/// The built `memory`, which lies beside the folder of the test executables.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent().and_then(Path::parent).unwrap().join("memory");
    assert!(
        binary.is_file(),
        "there is no {}: build the workspace first (cargo build --workspace --bins)",
        binary.display()
    );
    binary
}

/// A number from the environment, for runs that are longer than usual.
pub fn number_of(variable: &str, usual: usize) -> usize {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
        Err(_) => usual,
    }
}

/// A home that is gone after the test.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
    path: PathBuf,
    variables: Vec<(String, String)>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// A home that does not exist yet, in a temporary folder of its own.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        Self { folder, path, variables: Vec::new() }
    }

    /// A home at a place of the test's choice.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::new() }
    }

    /// A copy that can be damaged.
    pub fn copy(&self) -> Self {
        let copy = Self { variables: self.variables.clone(), ..Self::new() };
        copy_folder(&self.path, &copy.path);
        copy
    }

    /// Sets a variable for the binary.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Where the home is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the documents of the default viewer.
    pub fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }

    /// A file beside the home.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A document in the workspace.
    pub fn document(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Opens it with the default configuration.
    pub async fn open(&self) -> Memory {
        self.open_with(|_| {}, Arc::new(SystemClock)).await.unwrap()
    }

    /// Opens it with a changed configuration and a clock.
    pub async fn open_with(
        &self,
        change: impl FnOnce(&mut Config),
        clock: Arc<dyn Clock>,
    ) -> memory_core::Result<Memory> {
        let environment = Environment::new(Vec::<(String, String)>::new(), self.folder.path());
        let mut loaded = Loader::new(environment).with_home(&self.path).load()?;
        change(&mut loaded.config);
        Memory::open(&loaded, clock).await
    }

    /// The binary with nothing of the surrounding environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        self.prepare(&mut command);
        command
    }

    /// Gives a command this home and nothing of the surrounding environment.
    pub fn prepare(&self, command: &mut Command) {
        command.env_clear().env("HOME", self.folder.path()).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("MEMORY_HOME", &self.path);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
    }

    /// Runs the binary.
    pub fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> Run {
        self.run_with_input(arguments, b"")
    }

    /// Runs the binary with `input` on its standard input.
    pub fn run_with_input<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A], input: &[u8]) -> Run {
        let mut command = self.command();
        command.args(arguments);
        run_to_end(command, input)
    }

    /// Runs the binary, which dies when it reaches `failpoint` for the `count`-th time.
    pub fn run_until(&self, failpoint: &str, count: usize, arguments: &[&str]) -> Run {
        let mut command = self.command();
        command.env("MEMORY_TEST_FAILPOINT", format!("{failpoint}:{count}")).args(arguments);
        run_to_end(command, b"")
    }

    /// Runs with `--json`, expects success, reads the answer.
    pub fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[&["--json"], arguments].concat()).done().value()
    }

    /// Everything that is stored, by the library.
    pub async fn items(&self) -> Vec<Item> {
        let memory = self.open().await;
        let items = all_items(memory.builtin.as_deref().unwrap()).await;
        memory.engine.shutdown().await.unwrap();
        items
    }
}

async fn all_items(provider: &BuiltinProvider) -> Vec<Item> {
    let mut items = Vec::new();
    let mut keep = |item| {
        items.push(item);
        Ok(())
    };
    provider.export(None, &mut keep).await.unwrap();
    items
}
