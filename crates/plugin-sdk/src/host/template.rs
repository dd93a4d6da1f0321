//! Writes a plugin to begin with: `memory plugin new`.

use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Result};

use super::manifest::{MANIFEST_FILE, check_name, platform};

const CARGO: &str = include_str!("template/Cargo.toml.txt");
const MANIFEST: &str = include_str!("template/plugin.toml.txt");
const LIBRARY: &str = include_str!("template/lib.rs.txt");
const README: &str = include_str!("template/README.md.txt");

/// Where the new plugin takes the `plugin-sdk` from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sdk {
    /// The version of this program, from the registry.
    Version,
    /// A folder: the crate itself or the repository that it is in.
    Path(PathBuf),
    /// A git repository.
    Git(String),
}

/// Writes the files of a new plugin into a folder, whose last part is the name of the plugin. The folder must not exist or be
/// empty. Answers the files.
pub fn write_template(folder: &Path, sdk: &Sdk) -> Result<Vec<PathBuf>> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check_name(name)?;
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || folder.is_file() {
        return Err(Error::new(ErrorKind::Conflict, format!("{} exists already", folder.display()))
            .with_hint("name a folder that does not exist yet"));
    }
    let crate_name = name.replace('-', "_");
    let file = format!("{}{crate_name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let fill = |text: &str| -> Result<String> {
        Ok(text
            .replace("{{name}}", name)
            .replace("{{file}}", &file)
            .replace("{{platform}}", &platform())
            .replace("{{sdk}}", &dependency(sdk)?))
    };
    let files = [("Cargo.toml", CARGO), (MANIFEST_FILE, MANIFEST), ("src/lib.rs", LIBRARY), ("README.md", README)];
    let mut written = Vec::new();
    for (file, text) in files.into_iter().chain([(".gitignore", "/target\n")]) {
        let path = folder.join(file);
        let failed =
            |error| Error::new(ErrorKind::Storage, format!("cannot write {}", path.display())).with_source(error);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&path, fill(text)?).map_err(failed)?;
        written.push(path);
    }
    Ok(written)
}

fn dependency(sdk: &Sdk) -> Result<String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match sdk {
        Sdk::Version => Ok(quoted(env!("CARGO_PKG_VERSION"))),
        Sdk::Git(address) => Ok(format!("{{ git = {} }}", quoted(address))),
        Sdk::Path(path) => {
            let missing = || Error::not_found(format!("there is no plugin-sdk in {}", path.display()));
            let path = path.canonicalize().map_err(|_| missing())?;
            let places = [path.clone(), path.join("crates/plugin-sdk")];
            let found = places.iter().find(|place| {
                std::fs::read_to_string(place.join("Cargo.toml"))
                    .is_ok_and(|text| text.contains("name = \"plugin-sdk\""))
            });
            let found = found.ok_or_else(missing)?;
            Ok(format!("{{ path = {} }}", quoted(&found.to_string_lossy())))
        }
    }
}
