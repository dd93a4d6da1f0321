//! The folder of the plugins: `<root>/<name>/plugin.toml` and the library beside it. Nothing is executed here.

use std::io::Read;
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};

use super::manifest::{LARGEST_MANIFEST, MANIFEST_FILE, Manifest, check_name};
use super::safe_path;

/// The largest library, in bytes: 1 GiB.
const LARGEST_LIBRARY: u64 = 1 << 30;

/// The folder that plugins are found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDirectory {
    root: PathBuf,
}

/// A plugin whose manifest, folder and file are in order. Not trusted yet, not loaded yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Installed {
    /// What it says about itself.
    pub manifest: Manifest,
    /// Its folder.
    pub folder: PathBuf,
    /// Its library.
    pub library: PathBuf,
    /// The SHA-256 of the library, hexadecimal.
    pub sha256: String,
    /// Bytes of the library.
    pub size: u64,
}

impl Installed {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.manifest.plugin.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.manifest.plugin.version
    }
}

impl PluginDirectory {
    /// The folder `root`, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every folder in it with what was found, sorted by name. Names that begin with `.` or `_` are passed over.
    pub fn list(&self) -> Result<Vec<(String, Result<Installed>)>> {
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let message = format!("cannot read {}", self.root.display());
                return Err(Error::new(ErrorKind::Storage, message).with_source(error));
            }
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !name.starts_with(['.', '_']) && self.root.join(name).is_dir())
            .collect();
        names.sort();
        Ok(names.into_iter().map(|name| (name.clone(), self.find(&name))).collect())
    }

    /// The plugin called `name`, when everything about it is in order: name, paths, owners, manifest, file.
    pub fn find(&self, name: &str) -> Result<Installed> {
        check_name(name)?;
        if std::fs::symlink_metadata(self.root.join(name)).is_err() {
            return Err(Error::not_found(format!("there is no plugin `{name}` in {}", self.root.display()))
                .with_hint("`memory plugin list` shows what is there"));
        }
        let root = safe_path::check_root(&self.root)?;
        inspect(&root.join(name), |folder, file| Ok(folder.join(file)))
    }
}

/// A plugin under development in any folder of this user: its library lies beside the manifest, or where cargo puts it. For
/// [`check`](super::check) only.
pub fn in_development(folder: &Path) -> Result<Installed> {
    let missing = || Error::not_found(format!("there is no {MANIFEST_FILE} in {}", folder.display()));
    let folder = folder.canonicalize().map_err(|_| missing())?;
    let parent = folder.parent().ok_or_else(missing)?;
    safe_path::check_root(parent)?;
    inspect(&folder, |folder, file| {
        let built = ["", "target/release", "target/debug"].map(|place| folder.join(place).join(file));
        let newest = built.iter().filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max();
        newest.map(|(_, path)| path.clone()).ok_or_else(|| {
            Error::not_found(format!("{file} is neither in {} nor in its target folder", folder.display()))
                .with_hint("build it first: `cargo build --release`")
        })
    })
}

fn inspect(folder: &Path, place: impl Fn(&Path, &str) -> Result<PathBuf>) -> Result<Installed> {
    safe_path::check_folder(folder)?;
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let path = folder.join(MANIFEST_FILE);
    let in_file = |error: Error| error.with_context("manifest", path.display());
    let text = safe_path::read_text(&path, LARGEST_MANIFEST as u64)?;
    let manifest = Manifest::parse(&text, name).map_err(in_file)?;
    let file = manifest.library_here().map_err(in_file)?;
    let library = place(folder, &file.file)?;
    let (sha256, size) = hash(&library)?;
    if let Some(expected) = &file.sha256
        && !expected.eq_ignore_ascii_case(&sha256)
    {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("{} is not the file that the manifest names", library.display()),
        )
        .with_context("sha256", &sha256)
        .with_context("expected", expected)
        .with_hint(
            "install the plugin again; after a build of your own, correct or remove the sha256 in plugin.toml",
        ));
    }
    Ok(Installed { folder: folder.to_owned(), library, sha256, size, manifest })
}

fn hash(path: &Path) -> Result<(String, u64)> {
    let mut file = safe_path::open_file(path, LARGEST_LIBRARY)?;
    let (mut hasher, mut buffer, mut size) = (Sha256::new(), vec![0; 1 << 16], 0);
    loop {
        let read = file.read(&mut buffer).map_err(|error| {
            Error::new(ErrorKind::Storage, format!("cannot read {}", path.display())).with_source(error)
        })?;
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
        size += read as u64;
    }
    Ok((hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), size))
}
