//! Tests of the whole module on real files.

mod findings;
mod generated;
mod hostile;
mod sources;
mod table;
mod variables;
mod written;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Environment, Loaded, Loader};
use crate::{Error, Result};

/// A folder that goes away with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("memory-config-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A loader whose home is `home` in this folder, with nothing but these variables.
    fn loader(&self, variables: &[(&str, &str)]) -> Loader {
        let home = self.0.join("home");
        let user_home = self.0.join("小明");
        let given = [("MEMORY_HOME", home.to_str().unwrap()), ("HOME", user_home.to_str().unwrap())];
        let all = given.into_iter().chain(variables.iter().copied());
        Loader::new(Environment::new(all, self.0.join("cwd")))
    }

    /// Loads with this `config.yaml` in the home.
    fn load(&self, yaml: &str, variables: &[(&str, &str)]) -> Result<Loaded> {
        self.write("home/config.yaml", yaml);
        self.loader(variables).load()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Loads `yaml` alone.
fn load(yaml: &str) -> Result<Loaded> {
    Folder::new().load(yaml, &[])
}

/// The error of `yaml`, with its hints, as a person sees it.
fn complaint(yaml: &str) -> String {
    everything(&load(yaml).unwrap_err())
}

fn everything(error: &Error) -> String {
    format!("{error}\n{}", error.hints().join("\n"))
}
