//! The Markdown workspaces of a home: one for each scope that has documents. Files are the truth; the store only knows
//! what was read of them.

mod import;
mod sync;
mod tools;

use std::path::PathBuf;

use memory_core::{Scope, Viewer};

use crate::config::BuiltinConfig;

pub use sync::DocumentReport;
pub(crate) use tools::tool_definitions;

/// Finds the workspace of a scope.
#[derive(Debug, Clone)]
pub(crate) struct Workspaces {
    default_scope: Scope,
    default_folder: PathBuf,
    others: PathBuf,
}

impl Workspaces {
    pub(crate) fn new(config: &BuiltinConfig) -> Self {
        Self {
            default_scope: config.default_scope.clone(),
            default_folder: config.workspace.clone(),
            others: config.home.join("workspaces"),
        }
    }

    /// The folder of a scope, whether it exists or not.
    pub(crate) fn folder(&self, scope: &Scope) -> PathBuf {
        if *scope == self.default_scope {
            return self.default_folder.clone();
        }
        self.others
            .join(file_name(&scope.user))
            .join(file_name(&scope.space))
            .join(file_name(&scope.owner.to_string()))
    }

    /// The readable scopes of a viewer that have a folder.
    pub(crate) fn existing(&self, viewer: &Viewer) -> Vec<(Scope, PathBuf)> {
        viewer
            .readable()
            .into_iter()
            .map(|scope| {
                let folder = self.folder(&scope);
                (scope, folder)
            })
            .filter(|(_, folder)| folder.is_dir())
            .collect()
    }
}

/// A name as one component of a path: letters and digits stay, everything else becomes `%` and hexadecimal digits, so
/// distinct names have distinct files and none can climb out.
fn file_name(name: &str) -> String {
    use std::fmt::Write;
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_alphanumeric() || matches!(character, '-' | '_') {
            safe.push(character);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(safe, "%{:x}.", u32::from(character));
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_safe_and_distinct_components() {
        let names = ["a", "a/b", "a%2f.b", "..", ".", "张三", "a b", "A", "member:t/m"];
        let files: std::collections::HashSet<String> = names.iter().map(|name| file_name(name)).collect();
        assert_eq!(files.len(), names.len());
        assert!(files.iter().all(|file| !file.contains('/') && file != "." && file != ".."));
    }
}
