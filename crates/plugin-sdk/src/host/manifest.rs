//! `plugin.toml`: who a plugin is and which file it is, for each platform.

use std::collections::BTreeMap;

use memory_core::{Error, ErrorKind, Result};
use serde::Deserialize;

use super::version::{Version, is_met};
use crate::abi;

/// The name of the file.
pub const MANIFEST_FILE: &str = "plugin.toml";

/// The largest manifest, in bytes.
pub(super) const LARGEST_MANIFEST: usize = 64 * 1024;

/// Names that are taken: providers of this program, and keys beside which the section of a plugin stands in the
/// configuration.
const RESERVED: &[&str] = &[
    "builtin",
    "openjiuwen",
    "mem0",
    "openviking",
    "lakebase",
    "none",
    "both",
    "external",
    "provider",
    "timeout",
    "retries",
    "concurrency",
];

/// What a manifest says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Section `[plugin]`.
    pub plugin: Identity,
    /// Section `[library]`: the file for each platform, such as `x86_64-linux`.
    pub library: BTreeMap<String, LibraryFile>,
    /// Section `[requires]`.
    #[serde(default)]
    pub requires: Requires,
    /// Section `[config]`.
    #[serde(default)]
    pub config: ConfigInfo,
}

/// Who a plugin is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The name of the provider, and of the folder.
    pub name: String,
    /// The version of the plugin.
    pub version: String,
    /// The version of the interface, such as `1.0`.
    pub abi: String,
    /// `dylib`.
    #[serde(default = "dylib")]
    pub kind: String,
    /// What it is, in one sentence.
    #[serde(default)]
    pub description: String,
    /// Its licence, as an SPDX expression.
    #[serde(default)]
    pub license: String,
    /// Where it comes from.
    #[serde(default)]
    pub homepage: String,
}

fn dylib() -> String {
    "dylib".to_owned()
}

/// A file in the folder of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryFile {
    /// Its name, without a folder.
    pub file: String,
    /// The SHA-256 of its content, hexadecimal: found damaged if it differs. Trust is kept elsewhere.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// What a plugin needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Requires {
    /// Versions of this program, such as `>=0.3, <2`; empty means any.
    pub host: String,
}

/// About the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigInfo {
    /// A file with the JSON Schema of it.
    pub schema: Option<String>,
}

/// The platform of this program, as the manifest names it.
pub fn platform() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// An error unless `name` can be the name of a plugin.
pub fn check_name(name: &str) -> Result<()> {
    let fits = name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !fits {
        let shown: String = name.chars().take(70).collect();
        return Err(Error::new(
            ErrorKind::ConfigInvalid,
            format!("`{}` cannot be the name of a plugin", shown.escape_debug()),
        )
        .with_hint("use a lower-case letter, then lower-case letters, digits and hyphens, 63 at most"));
    }
    if RESERVED.contains(&name) {
        let message = format!("a plugin may not be called `{name}`: that name belongs to this program");
        return Err(Error::new(ErrorKind::ConfigInvalid, message).with_hint("give the plugin a name of its own"));
    }
    Ok(())
}

impl Manifest {
    /// Reads and checks a manifest. `folder` is the name of the folder it lies in.
    pub fn parse(text: &str, folder: &str) -> Result<Self> {
        let manifest: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text.get(..span.start).unwrap_or(text).matches('\n').count() + 1);
            let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
            wrong(format!("{MANIFEST_FILE}{place}: {}", error.message().replace('\n', " ")))
        })?;
        let Identity { name, version, abi, kind, .. } = &manifest.plugin;
        check_name(name)?;
        if name != folder {
            return Err(wrong(format!("the plugin is called `{name}`, and its folder `{}`", folder.escape_debug()))
                .with_hint(format!("rename the folder to {name}")));
        }
        if version.is_empty()
            || version.len() > 64
            || !version.chars().all(|c| c.is_ascii_alphanumeric() || ".+-".contains(c))
        {
            return Err(wrong(format!("plugin.version `{}` is not a version", version.escape_debug())));
        }
        if kind != "dylib" {
            return Err(wrong(format!("plugin.kind is `{}`; this program knows `dylib`", kind.escape_debug())));
        }
        check_abi(abi)?;
        manifest.library.values().try_for_each(check_file)?;
        if let Some(schema) = &manifest.config.schema {
            check_bare("config.schema", schema)?;
        }
        let host: Version = env!("CARGO_PKG_VERSION").parse()?;
        if !is_met(&manifest.requires.host, &host)? {
            let message =
                format!("the plugin needs a version {} of this program, which is {host}", manifest.requires.host);
            return Err(wrong(message).with_hint("install another version of the plugin or of this program"));
        }
        Ok(manifest)
    }

    /// The file for this platform.
    pub fn library_here(&self) -> Result<&LibraryFile> {
        let platform = platform();
        self.library.get(&platform).ok_or_else(|| {
            let known: Vec<&str> = self.library.keys().map(String::as_str).collect();
            wrong(format!("the plugin has no library for {platform}"))
                .with_context("available", known.join(", "))
                .with_hint(format!("build it for {platform} and add it to [library] in {MANIFEST_FILE}"))
        })
    }
}

fn check_abi(abi: &str) -> Result<()> {
    let parts =
        abi.split_once('.').and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
    match parts {
        None => Err(wrong(format!("plugin.abi `{}` is not a version like 1.0", abi.escape_debug()))),
        Some((major, _)) if major != abi::MAJOR => Err(other_abi(abi)),
        Some(_) => Ok(()),
    }
}

/// The error for another major version of the interface.
pub(super) fn other_abi(abi: &str) -> Error {
    let host = abi::version_text(abi::VERSION);
    wrong(format!("the plugin speaks version {abi} of the interface, this program {host}"))
        .with_hint("build the plugin with a plugin-sdk that fits, or use another version of this program")
}

fn check_file(library: &LibraryFile) -> Result<()> {
    check_bare("library.file", &library.file)?;
    match &library.sha256 {
        Some(sum) if sum.len() != 64 || !sum.chars().all(|c| c.is_ascii_hexdigit()) => {
            Err(wrong(format!("the sha256 of `{}` is not 64 hexadecimal digits", library.file)))
        }
        _ => Ok(()),
    }
}

fn check_bare(what: &str, file: &str) -> Result<()> {
    let bare = !file.is_empty()
        && file.len() <= 128
        && !file.starts_with('.')
        && file.chars().all(|c| c.is_alphanumeric() || "._-+".contains(c));
    if bare { Ok(()) } else { Err(wrong(format!("{what} `{}` is not a bare file name", file.escape_debug()))) }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::ConfigInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [plugin]
        name = "acme"
        version = "1.2.3-rc.1"
        abi = "1.0"
        description = "记忆"
        [library]
        "x86_64-linux" = { file = "libacme.so" }
        [requires]
        host = ">=0.1, <99"
    "#;

    #[test]
    fn a_manifest_is_read() {
        let manifest = Manifest::parse(GOOD, "acme").unwrap();
        assert_eq!((manifest.plugin.kind.as_str(), manifest.plugin.description.as_str()), ("dylib", "记忆"));
    }

    #[test]
    fn every_fault_is_named() {
        let with = |from: &str, to: &str| GOOD.replace(from, to);
        for (text, folder, said) in [
            (with("[requires]", "[requires]\nhots = 1"), "acme", "line 10: unknown field `hots`"),
            (with("name = \"acme\"", ""), "acme", "missing field `name`"),
            (with("[plugin]", "[plugin"), "acme", "line 2"),
            (with("\"acme\"", "\"Acme\""), "Acme", "`Acme` cannot be the name"),
            (with("\"acme\"", "\"mem0\""), "mem0", "may not be called `mem0`"),
            (GOOD.to_owned(), "acne", "its folder `acne`"),
            (with("1.2.3-rc.1", "1 2\\u001b"), "acme", "is not a version"),
            (with("abi = \"1.0\"", "abi = \"2.0\""), "acme", "speaks version 2.0 of the interface, this program 1.0"),
            (with("abi = \"1.0\"", "abi = \"one\""), "acme", "plugin.abi `one`"),
            (with("abi = \"1.0\"", "abi = \"1.0\"\nkind = \"wasm\""), "acme", "plugin.kind is `wasm`"),
            (with("libacme.so", "../libacme.so"), "acme", "is not a bare file name"),
            (with("libacme.so", ""), "acme", "is not a bare file name"),
            (with("\"libacme.so\"", "\"libacme.so\", sha256 = \"abc\""), "acme", "64 hexadecimal digits"),
            (with("<99", "<0.0.1"), "acme", "the plugin needs a version"),
            (with(">=0.1", "~>1"), "acme", "requires.host"),
        ] {
            let error = Manifest::parse(&text, folder).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
            assert!(error.to_string().contains(said), "expected {said:?} in: {error}");
        }
    }

    #[test]
    fn a_missing_platform_is_named() {
        let manifest = Manifest::parse(&GOOD.replace("x86_64-linux", "pdp11-unix"), "acme").unwrap();
        let error = manifest.library_here().unwrap_err();
        assert!(error.to_string().contains(&platform()) && error.to_string().contains("pdp11-unix"), "{error}");
    }
}
