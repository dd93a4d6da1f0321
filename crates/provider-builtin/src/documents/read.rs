//! Reading documents: lines for agents, whole texts for the index.

use std::path::{Path, PathBuf};

use memory_core::{Error, Result};

use super::hash_bytes;
use super::safe_path::{SafePath, Workspace, read_regular};

/// Some lines of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// Path relative to the workspace.
    pub path: String,
    /// Path from the root of the file system.
    pub absolute: PathBuf,
    /// The lines as they stand in the file, without the line break after the last one.
    pub text: String,
    /// How many lines the document has.
    pub total_lines: usize,
    /// Number of the first line returned, from 1.
    pub from: usize,
    /// Number of the last line returned; smaller than `from` when there is none.
    pub to: usize,
    /// True when lines follow after `to`.
    pub truncated: bool,
    /// Hash of the whole document, to hand in with an edit.
    pub content_hash: String,
}

/// Returns `count` lines from line `from`, counted from 1. Without `from` it starts at the first line, without `count`
/// it goes on to the end; past the end it returns no line and still says how many there are.
///
/// Fails when the path is not safe, the document does not exist, or it is not valid UTF-8.
pub fn get_lines(workspace: &Workspace, path: &str, from: Option<usize>, count: Option<usize>) -> Result<Lines> {
    let from = from.unwrap_or(1);
    if from == 0 || count == Some(0) {
        return Err(Error::invalid("lines are counted from 1, and at least one must be asked for"));
    }
    let path = workspace.resolve(path)?;
    let bytes = workspace.read_bytes(&path)?;
    let content_hash = hash_bytes(&bytes);
    let content = decode_strict(&path, bytes)?;
    let text = content.strip_prefix('\u{feff}').unwrap_or(&content);
    let total_lines = text.split_inclusive('\n').count();
    let wanted = text.split_inclusive('\n').skip(from - 1).take(count.unwrap_or(usize::MAX));
    let selected: String = wanted.collect();
    let to = from - 1 + selected.split_inclusive('\n').count();
    Ok(Lines {
        text: without_line_break(&selected).to_owned(),
        path: path.relative,
        absolute: path.absolute,
        total_lines,
        from,
        to,
        truncated: to < total_lines,
        content_hash,
    })
}

/// A document as the index takes it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText {
    /// The text, without a byte order mark.
    pub text: String,
    /// What had to be guessed or replaced while decoding, for the report to the user.
    pub problem: Option<String>,
    /// Hash of the bytes of the file.
    pub content_hash: String,
}

/// Reads a file found by [`scan`](super::layout::scan) for the index. UTF-16 with a byte order mark is understood;
/// bytes that are no text are replaced and reported.
pub fn read_for_index(absolute: &Path, max_bytes: u64) -> Result<DocumentText> {
    let bytes = read_regular(absolute, max_bytes)?;
    let content_hash = hash_bytes(&bytes);
    let (text, problem) = decode_lossy(&bytes);
    Ok(DocumentText { text, problem, content_hash })
}

fn decode_lossy(bytes: &[u8]) -> (String, Option<String>) {
    match bytes {
        [0xff, 0xfe, rest @ ..] => return decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return decode_utf16(rest, u16::from_be_bytes),
        _ => {}
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(error) => {
            let problem =
                format!("the file is not valid UTF-8 from byte {}; bad bytes are replaced", error.valid_up_to());
            (String::from_utf8_lossy(bytes).into_owned(), Some(problem))
        }
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, Option<String>) {
    let units: Vec<u16> = bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(unit).collect();
    (String::from_utf16_lossy(&units), Some("the file is UTF-16, not UTF-8".to_owned()))
}

/// The text of a document that will be shown or edited, which must be valid UTF-8.
pub(super) fn decode_strict(path: &SafePath, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        Error::invalid(format!("`{}` is not valid UTF-8 (byte {position})", path.relative))
            .with_hint("convert the file to UTF-8, or overwrite it")
    })
}

fn without_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_core::ErrorKind;
    use std::fs;

    fn workspace(content: &[u8]) -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("memory")).unwrap();
        fs::write(directory.path().join("memory/MEMORY.md"), content).unwrap();
        let workspace = Workspace::open(directory.path(), None).unwrap();
        (directory, workspace)
    }

    #[test]
    fn slices_are_right() {
        let (_directory, workspace) = workspace(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
        for (from, count, text, to, truncated) in [
            (None, None, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10", 10, false),
            (Some(2), Some(3), "2\n3\n4", 4, true),
            (Some(5), Some(3), "5\n6\n7", 7, true),
            (Some(10), Some(3), "10", 10, false),
            (Some(10), None, "10", 10, false),
            (Some(11), Some(1), "", 10, false),
            (None, Some(1), "1", 1, true),
        ] {
            let lines = get_lines(&workspace, "MEMORY.md", from, count).unwrap();
            let got = (lines.text.as_str(), lines.to, lines.truncated, lines.total_lines);
            assert_eq!(got, (text, to, truncated, 10), "{from:?} {count:?}");
        }
        let far = get_lines(&workspace, "MEMORY.md", Some(1000), Some(usize::MAX)).unwrap();
        assert_eq!((far.text.as_str(), far.total_lines, far.from), ("", 10, 1000));
        assert!(far.to < far.from);
        for (from, count) in [(Some(0), None), (None, Some(0))] {
            let error = get_lines(&workspace, "MEMORY.md", from, count).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        }
    }

    #[test]
    fn endings_of_files_and_lines() {
        for (content, total, text) in [
            ("", 0, ""),
            ("\n", 1, ""),
            ("a", 1, "a"),
            ("a\r\nb\r\n", 2, "a\r\nb"),
            ("\u{feff}你好\n👍", 2, "你好\n👍"),
        ] {
            let (_directory, workspace) = workspace(content.as_bytes());
            let lines = get_lines(&workspace, "MEMORY.md", None, None).unwrap();
            assert_eq!((lines.total_lines, lines.text.as_str()), (total, text), "{content:?}");
            assert_eq!(lines.content_hash, hash_bytes(content.as_bytes()));
        }
    }

    #[test]
    fn missing_and_invalid_files() {
        let (directory, workspace) = workspace(b"ok \xff\xfe no");
        assert_eq!(get_lines(&workspace, "USER.md", None, None).unwrap_err().kind(), ErrorKind::NotFound);
        let error = get_lines(&workspace, "MEMORY.md", None, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().contains("byte 3"), "{error}");

        let text = read_for_index(&directory.path().join("memory/MEMORY.md"), 100).unwrap();
        assert_eq!(text.text, "ok \u{fffd}\u{fffd} no");
        assert!(text.problem.unwrap().contains("byte 3"));
    }

    #[test]
    fn utf16_is_understood_for_the_index() {
        let mut little = vec![0xff, 0xfe];
        little.extend("你好👍\n".encode_utf16().flat_map(u16::to_le_bytes));
        let mut big = vec![0xfe, 0xff];
        big.extend("你好👍\n".encode_utf16().flat_map(u16::to_be_bytes));
        for bytes in [little, big] {
            let (text, problem) = decode_lossy(&bytes);
            assert_eq!(text, "你好👍\n");
            assert!(problem.unwrap().contains("UTF-16"));
        }
        assert_eq!(decode_lossy("\u{feff}日本".as_bytes()), ("日本".to_owned(), None));
    }
}
