//! A home and a folder of plugins in a temporary place, and libraries to put there.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use memory_core::{Result, SearchRequest, Viewer};
use plugin_sdk::host::{Installed, LoadOptions, PluginDirectory, PluginProvider, platform};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder of plugins and a home.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.root()).unwrap();
        set_mode(&place.root(), 0o755);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("plugins")
    }

    pub(crate) fn directory(&self) -> PluginDirectory {
        PluginDirectory::new(self.root())
    }

    pub(crate) fn library(&self, name: &str) -> PathBuf {
        self.root().join(name).join("library.so")
    }

    /// Puts a library there under a name, with a manifest that fits.
    pub(crate) fn install(&self, name: &str, library: &Path) -> PathBuf {
        self.install_with(name, library, |manifest| manifest)
    }

    pub(crate) fn install_with(&self, name: &str, library: &Path, change: impl Fn(String) -> String) -> PathBuf {
        let folder = self.root().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        set_mode(&folder, 0o755);
        // A new file under the old name: a copy over a file that is in use would change running code.
        let new = folder.join("library.new");
        std::fs::copy(library, &new).unwrap();
        std::fs::rename(&new, folder.join("library.so")).unwrap();
        set_mode(&folder.join("library.so"), 0o644);
        let manifest = format!(
            "[plugin]\nname = \"{name}\"\nversion = \"0.1.0\"\nabi = \"1.0\"\n[library]\n\"{}\" = {{ file = \"library.so\" }}\n",
            platform()
        );
        std::fs::write(folder.join("plugin.toml"), change(manifest)).unwrap();
        set_mode(&folder.join("plugin.toml"), 0o644);
        folder
    }

    pub(crate) fn options(&self, config: Value) -> LoadOptions {
        LoadOptions {
            config: config.as_object().cloned().unwrap(),
            call_deadline: Duration::from_secs(20),
            open_deadline: Duration::from_secs(20),
            ..LoadOptions::new(self.path("data"), self.path("cache"))
        }
    }

    pub(crate) async fn load(&self, name: &str, config: Value) -> Result<PluginProvider> {
        PluginProvider::load(&self.directory().find(name)?, self.options(config)).await
    }

    /// The plugin of this workspace that misbehaves as it is told.
    pub(crate) async fn faulty(&self, fault: &str) -> Result<PluginProvider> {
        self.install("faulty", &built("faulty_plugin"));
        self.load("faulty", json!({"fault": fault})).await
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A library that cargo built beside this test.
pub(crate) fn built(name: &str) -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let path = folder.join(file);
    assert!(path.is_file(), "{} is not built", path.display());
    path
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compiles a C file to a library.
pub(crate) fn compile(source: &Path, library: &Path, flags: &[String]) {
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared"])
        .arg(format!("-I{}", repository().join("crates/plugin-sdk/include").display()))
        .args(flags)
        .arg("-o")
        .args([library, source])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The hostile library with one fault.
pub(crate) fn hostile(place: &Place, fault: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hostile.c");
    let library = place.path(&format!("{fault}.so"));
    let marker = place.path("marker");
    // A fault leaves out the use of something that the others need.
    let unused = ["-Wno-unused-const-variable", "-Wno-unused-function"].map(str::to_owned);
    let flags = [vec![format!("-D{fault}"), format!("-DMARKER=\"{}\"", marker.display())], unused.to_vec()].concat();
    compile(&source, &library, &flags);
    library
}

/// Finds a plugin and says what went wrong, which must be something.
pub(crate) fn refused(result: Result<Installed>) -> memory_core::Error {
    match result {
        Ok(plugin) => panic!("accepted: {plugin:?}"),
        Err(error) => error,
    }
}

pub(crate) fn question(text: &str) -> SearchRequest {
    SearchRequest::new(Viewer::default(), text)
}
