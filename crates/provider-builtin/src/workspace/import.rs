//! Markdown from elsewhere, copied into the workspace of a scope; and out of it again for a bundle.

use memory_core::{Result, Scope, Viewer, WriteOutcome, WriteResult};

use crate::blocking::blocking;
use crate::documents::edit::{WriteMode, write};
use crate::documents::hash_bytes;
use crate::documents::safe_path::Workspace;
use crate::provider::BuiltinProvider;
use crate::store::Store;

/// Takes the scope, the path and the content of one document.
pub type DocumentSink<'a> = dyn FnMut(&Scope, &str, &[u8]) -> Result<()> + Send + 'a;

/// Where imported files go, below the workspace.
const IMPORTED: &str = "memory/imported";

impl BuiltinProvider {
    /// Copies a Markdown file into the workspace of `scope`, below `memory/imported`. The same content again changes
    /// nothing; another content under the same path replaces the copy.
    pub async fn import_document(&self, scope: &Scope, relative_path: &str, content: &[u8]) -> Result<WriteResult> {
        let path = format!("./{IMPORTED}/{}", relative_path.trim_start_matches("./"));
        self.copy_document(scope, path, content, true).await
    }

    /// Puts a document of a bundle back where it was. Another content that is there already stays.
    pub async fn restore_document(&self, scope: &Scope, relative_path: &str, content: &[u8]) -> Result<WriteResult> {
        self.copy_document(scope, format!("./{relative_path}"), content, false).await
    }

    async fn copy_document(&self, scope: &Scope, path: String, content: &[u8], replace: bool) -> Result<WriteResult> {
        scope.check()?;
        let Ok(text) = std::str::from_utf8(content) else {
            return Ok(WriteResult::rejected("the file is not UTF-8 text"));
        };
        let (text, folder, layout) = (text.to_owned(), self.workspaces().folder(scope), self.config().layout);
        let (store, owner) = (self.shared_store(), scope.clone());
        let result = blocking(move || {
            // A scope that has documents is known, even before they are read.
            store.write("note a workspace", |connection| Store::scope_number(connection, &owner).map(|_| ()))?;
            std::fs::create_dir_all(&folder)
                .map_err(|error| crate::error::from_io("create the workspace", &folder, error))?;
            let workspace = Workspace::open(&folder, layout)?;
            let resolved = workspace.resolve(&path)?;
            let known = if resolved.exists { std::fs::read(&resolved.absolute).ok() } else { None };
            if known.as_deref().is_some_and(|known| hash_bytes(known) == hash_bytes(text.as_bytes())) {
                return Ok(WriteResult::with_id(WriteOutcome::Deduped, resolved.relative));
            }
            if known.is_some() && !replace {
                return Ok(WriteResult::rejected("another document has this path"));
            }
            let outcome = if known.is_some() { WriteOutcome::Superseded } else { WriteOutcome::Stored };
            let written = write(&workspace, &path, &text, WriteMode::Overwrite, None)?;
            Ok(WriteResult::with_id(outcome, written.path))
        })
        .await;
        match result {
            Err(error) if error.kind() == memory_core::ErrorKind::InvalidRequest => {
                Ok(WriteResult::rejected(error.to_string()))
            }
            result => result,
        }
    }

    /// Hands every document of the scopes that `viewer` may read (of all scopes, when `None`) to `sink`: scope, path
    /// and content. Answers how many there were.
    pub async fn export_documents(&self, viewer: Option<&Viewer>, sink: &mut DocumentSink<'_>) -> Result<u64> {
        let viewer = viewer.cloned();
        let rows = self
            .read("export documents", move |connection| {
                let scopes = match &viewer {
                    Some(viewer) => viewer.readable(),
                    None => Store::all_scopes(connection)?,
                };
                let mut rows = Vec::new();
                for scope in scopes {
                    if let Some(number) = Store::known_scope_number(connection, &scope.key())? {
                        rows.extend(Store::documents_of(connection, number)?);
                    }
                }
                Ok(rows)
            })
            .await?;
        let mut count = 0;
        for row in rows {
            let file = self.workspaces().folder(&row.document.scope).join(&row.document.path);
            let content = blocking(move || {
                std::fs::read(&file).map_err(|error| crate::error::from_io("read a document", &file, error))
            })
            .await?;
            sink(&row.document.scope, &row.document.path, &content)?;
            count += 1;
        }
        Ok(count)
    }
}
