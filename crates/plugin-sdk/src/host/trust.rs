//! Which libraries a person has said to trust: kept on the side of the host, by the hash of the file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::directory::Installed;
use super::manifest::check_name;
use super::safe_path;

/// The name of the file in the home.
pub const TRUST_FILE: &str = "plugins.trust.toml";

/// The largest trust file, in bytes.
const LARGEST: u64 = 1 << 20;

/// A plugin that is trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// Its name.
    pub name: String,
    /// The version it had.
    pub version: String,
    /// The SHA-256 of its library, hexadecimal.
    pub sha256: String,
    /// Since when.
    pub added: Timestamp,
}

/// The file with the trusted plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    path: PathBuf,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Contents {
    plugin: Vec<Trusted>,
}

impl TrustStore {
    /// The file in the home.
    pub fn new(home: &Path) -> Self {
        Self { path: home.join(TRUST_FILE) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All that is trusted.
    pub fn list(&self) -> Result<Vec<Trusted>> {
        if std::fs::symlink_metadata(&self.path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(Vec::new());
        }
        let text = safe_path::read_text(&self.path, LARGEST)?;
        let contents: Contents = toml::from_str(&text).map_err(|error| {
            let message = format!("{}: {}", self.path.display(), error.message().replace('\n', " "));
            Error::new(ErrorKind::Corrupt, message).with_hint("remove the file and trust your plugins again")
        })?;
        Ok(contents.plugin)
    }

    /// What was trusted under this name.
    pub fn find(&self, name: &str) -> Result<Option<Trusted>> {
        Ok(self.list()?.into_iter().find(|trusted| trusted.name == name))
    }

    /// An error unless exactly this file is trusted under this name.
    pub fn check(&self, plugin: &Installed) -> Result<()> {
        let name = plugin.name();
        match self.find(name)? {
            Some(trusted) if trusted.sha256 == plugin.sha256 => Ok(()),
            Some(trusted) => Err(Error::new(
                ErrorKind::Forbidden,
                format!("the library of the plugin `{name}` has changed since it was trusted"),
            )
            .with_context("path", plugin.library.display())
            .with_context("sha256", &plugin.sha256)
            .with_context("trusted", trusted.sha256)
            .with_hint(format!("if you changed it, run `memory plugin trust {name}` again"))),
            None => Err(Error::new(ErrorKind::Forbidden, format!("the plugin `{name}` is not trusted"))
                .with_context("path", plugin.library.display())
                .with_hint(format!(
                    "a plugin runs with your rights; if you trust it, run `memory plugin trust {name}`"
                ))),
        }
    }

    /// Trusts a file, in place of what was trusted under its name.
    pub fn trust(&self, plugin: &Installed, now: Timestamp) -> Result<Trusted> {
        let trusted = Trusted {
            name: plugin.name().to_owned(),
            version: plugin.version().to_owned(),
            sha256: plugin.sha256.clone(),
            added: now,
        };
        let mut all = self.list()?;
        all.retain(|other| other.name != trusted.name);
        all.push(trusted.clone());
        self.store(&all)?;
        Ok(trusted)
    }

    /// Takes the trust in a name back. False when there was none.
    pub fn untrust(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        let mut all = self.list()?;
        let before = all.len();
        all.retain(|other| other.name != name);
        if all.len() == before {
            return Ok(false);
        }
        self.store(&all)?;
        Ok(true)
    }

    /// Writes a new file in the place of the old one, readable by this user alone.
    fn store(&self, all: &[Trusted]) -> Result<()> {
        let mut text =
            "# Written by `memory plugin trust`. A plugin is loaded only when its library has this hash.\n".to_owned();
        for Trusted { name, version, sha256, added } in all {
            // Names, versions, hashes and times have no characters that would need escapes.
            text.push_str(&format!(
                "\n[[plugin]]\nname = \"{name}\"\nversion = \"{version}\"\nsha256 = \"{sha256}\"\nadded = \"{added}\"\n"
            ));
        }
        let new = self.path.with_extension("toml.new");
        let write = || -> std::io::Result<()> {
            if let Some(home) = self.path.parent() {
                std::fs::create_dir_all(home)?;
            }
            // A former attempt may have left it, with other permissions.
            let _ = std::fs::remove_file(&new);
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)?;
            self.path.parent().map_or(Ok(()), |home| File::open(home)?.sync_all())
        };
        write().map_err(|error| {
            Error::new(ErrorKind::Storage, format!("cannot write {}", self.path.display())).with_source(error)
        })
    }
}
