//! The Markdown workspace: where files lie, what they say, how they are cut into chunks, watched, read and edited.
//!
//! Everything here is a pure function or a file operation; nothing knows the store.

pub mod change;
pub mod chunk;
pub mod edit;
pub mod frontmatter;
pub mod layout;
pub mod read;
pub mod safe_path;
pub mod watch;

use std::path::Path;

use memory_core::{Error, ErrorKind};
use sha2::{Digest, Sha256};

/// Largest document that is read, written or indexed, in bytes, unless configured otherwise.
pub const MAX_DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;

/// SHA-256 of the bytes of a file, as 64 lower-case hexadecimal digits. It names a version of a document.
pub fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal digits of `bytes`.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Turns an input/output error into an error that names the file and says what to do.
fn file_error(action: &str, path: &Path, error: std::io::Error) -> Error {
    use std::io::ErrorKind as Io;
    let message = format!("cannot {action} `{}`", path.display());
    let (kind, hint) = match error.kind() {
        Io::NotFound => (ErrorKind::NotFound, "check the path"),
        Io::PermissionDenied => (ErrorKind::Storage, "check the permissions of the file and its directory"),
        Io::StorageFull | Io::QuotaExceeded => (ErrorKind::Storage, "free some disk space and try again"),
        Io::ReadOnlyFilesystem => (ErrorKind::Storage, "the disk is read-only; mount it for writing"),
        _ => (ErrorKind::Storage, "check the disk and the path"),
    };
    Error::new(kind, message).with_hint(hint).with_source(error)
}

/// True for a name that ends in `.md`, in any case, and has something before it.
fn is_markdown_name(name: &str) -> bool {
    let stem_length = name.len().saturating_sub(3);
    stem_length > 0 && name.get(stem_length..).is_some_and(|ending| ending.eq_ignore_ascii_case(".md"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_the_original_does_in_its_first_digits() {
        assert!(hash_bytes(b"hello").starts_with("2cf24dba5fb0a30e"));
        assert!(hash_bytes("你好".as_bytes()).starts_with("670d9743542cae3e"));
        assert_eq!(hash_bytes(b"").len(), 64);
    }

    #[test]
    fn markdown_names() {
        for name in ["a.md", "A.MD", "a..b.md", "日记.md", "👍.Md"] {
            assert!(is_markdown_name(name), "{name}");
        }
        for name in [".md", "md", "a.txt", "a.md.bak", "", "日", "a.mdx"] {
            assert!(!is_markdown_name(name), "{name}");
        }
    }
}
