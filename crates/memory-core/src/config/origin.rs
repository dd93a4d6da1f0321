//! Where each value came from.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::keys;
use super::load::Loaded;

/// Where a value came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingOrigin {
    /// Nothing sets it.
    #[default]
    Default,
    /// The configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The environment of the process.
    Environment {
        /// The variable.
        variable: String,
    },
    /// `.env` in the home.
    Dotenv {
        /// The variable.
        variable: String,
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The command line.
    Flag {
        /// The flag with its dashes.
        flag: String,
    },
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => write!(f, "environment {variable}"),
            Self::Dotenv { variable, path, line } => write!(f, "{}:{line} {variable}", path.display()),
            Self::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}

impl Serialize for SettingOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One line of `memory config show --origin`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Setting {
    /// The path of the key.
    pub path: String,
    /// The value in effect; credentials are masked.
    pub value: Value,
    /// Where it came from.
    pub origin: SettingOrigin,
}

/// Every value in effect with its origin: the keys in the order of the table, then the sections of plugins.
pub fn show(loaded: &Loaded) -> Vec<Setting> {
    let tree = serde_json::to_value(&loaded.config).unwrap_or_default();
    let mut leaves = Vec::new();
    collect(&tree, "", &mut leaves);
    let order = |path: &str| keys::settings().position(|key| key.path == path).unwrap_or(usize::MAX);
    leaves.sort_by(|(left, _), (right, _)| order(left).cmp(&order(right)).then_with(|| left.cmp(right)));
    leaves
        .into_iter()
        .map(|(path, value)| Setting { origin: loaded.origin(&path), path, value: value.clone() })
        .collect()
}

/// The leaves of a tree of sections. A list is a leaf.
pub(super) fn collect<'v>(value: &'v Value, path: &str, leaves: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(inner, &path, leaves);
            }
        }
        leaf => leaves.push((path.to_owned(), leaf)),
    }
}
