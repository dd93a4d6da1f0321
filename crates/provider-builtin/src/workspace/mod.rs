//! The Markdown workspaces of a home: one for each scope that has documents. Files are the truth; the store only knows
//! what was read of them.

mod import;
mod sync;
mod tools;
mod watching;

use std::path::PathBuf;
use std::sync::Arc;

use memory_core::{Result, Scope, Viewer};

use crate::blocking::blocking;
use crate::config::BuiltinConfig;
use crate::documents::hash_bytes;
use crate::store::Store;

pub use import::DocumentSink;
pub use sync::DocumentReport;
pub(crate) use tools::tool_definitions;
pub use watching::DocumentWatch;

/// File systems allow 255 bytes for one component of a path.
const LONGEST_COMPONENT: usize = 200;

/// Finds the workspace of a scope.
#[derive(Debug, Clone)]
pub(crate) struct Workspaces {
    default_scope: Scope,
    default_folder: PathBuf,
    others: PathBuf,
}

impl Workspaces {
    /// Finds out whose the configured workspace is. The first to have documents there owns it for good: another user
    /// of the same home, by whatever configuration, gets a workspace of its own.
    pub(crate) async fn of(config: &BuiltinConfig, store: &Arc<Store>) -> Result<Self> {
        let (store, folder, configured) = (store.clone(), config.workspace.clone(), config.default_scope.clone());
        let name = format!("workspace_owner:{}", folder.display());
        let default_scope = blocking(move || {
            let known = store.read("find the owner of the workspace", |connection| Store::meta(connection, &name))?;
            match known {
                Some(key) => Scope::from_key(&key),
                None if !folder.is_dir() => Ok(configured),
                None => store.write("note the owner of the workspace", |connection| {
                    Store::set_meta(connection, &name, &configured.key())?;
                    Ok(configured.clone())
                }),
            }
        })
        .await?;
        Ok(Self { default_scope, default_folder: config.workspace.clone(), others: config.home.join("workspaces") })
    }

    /// Whose the configured workspace is.
    pub(crate) fn default_scope(&self) -> &Scope {
        &self.default_scope
    }

    /// The folder of a scope, whether it exists or not.
    pub(crate) fn folder(&self, scope: &Scope) -> PathBuf {
        if *scope == self.default_scope {
            return self.default_folder.clone();
        }
        self.others.join(file_name(&scope.user)).join(file_name(&scope.space)).join(file_name(&scope.owner.to_string()))
    }

    /// The folders that hold all workspaces.
    pub(crate) fn folders(&self) -> [PathBuf; 2] {
        [self.default_folder.clone(), self.others.clone()]
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
    if safe.len() <= LONGEST_COMPONENT {
        return safe;
    }
    // No encoded character lacks its full stop: a shortened name is like no other.
    let beginning: String = name.chars().filter(|character| character.is_alphanumeric()).take(30).collect();
    format!("{beginning}%{}", hash_bytes(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_safe_and_distinct_components() {
        let (long, longer) = ("长".repeat(127), "长".repeat(128));
        let names = ["a", "a/b", "a%2f.b", "..", ".", "张三", "a b", "A", "member:t/m", &long, &longer];
        let files: std::collections::HashSet<String> = names.iter().map(|name| file_name(name)).collect();
        assert_eq!(files.len(), names.len());
        assert!(files.iter().all(|file| !file.contains('/') && file != "." && file != ".." && file.len() <= 255));
    }
}
