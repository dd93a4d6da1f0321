use super::*;
use crate::documents::MAX_DOCUMENT_BYTES;

fn workspace(files: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in files {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("text of {file}\n")).unwrap();
    }
    directory
}

fn found(directory: &Path) -> Vec<(String, DocumentClass)> {
    let scan = scan(directory, MAX_DOCUMENT_BYTES).unwrap();
    scan.files.into_iter().map(|file| (file.relative_path, file.class)).collect()
}

fn day(text: &str) -> DocumentClass {
    DocumentClass::Daily(text.parse().unwrap())
}

#[test]
fn both_layouts_are_found_side_by_side() {
    let directory = workspace(&[
        "USER.md",
        "memory/USER.md",
        "memory/MEMORY.md",
        "memory/DREAMING.md",
        "memory/2026-01-02.md",
        "memory/daily_memory/2026-01-02.md",
        "memory/2026-13-02.md",
        "notes/日记/想法 👍.md",
        "memory/.dreams/state.md",
        ".git/README.md",
        "memory/picture.png",
    ]);
    let expected = [
        ("USER.md", DocumentClass::Profile),
        ("memory/2026-01-02.md", day("2026-01-02")),
        ("memory/2026-13-02.md", DocumentClass::Other),
        ("memory/DREAMING.md", DocumentClass::Dreaming),
        ("memory/MEMORY.md", DocumentClass::LongTerm),
        ("memory/USER.md", DocumentClass::Profile),
        ("memory/daily_memory/2026-01-02.md", day("2026-01-02")),
        ("notes/日记/想法 👍.md", DocumentClass::Other),
    ];
    let expected: Vec<_> = expected.map(|(path, class)| (path.to_owned(), class)).into();
    assert_eq!(found(directory.path()), expected);
}

#[test]
fn the_layout_follows_the_files_and_the_configuration_wins() {
    let cases: [(&[&str], Option<Layout>); 6] = [
        (&[], None),
        (&["memory/MEMORY.md"], None),
        (&["memory/USER.md"], Some(Layout::Legacy)),
        (&["memory/2026-01-02.md"], Some(Layout::Legacy)),
        (&["USER.md", "memory/2026-01-02.md"], Some(Layout::Later)),
        (&["memory/daily_memory/2026-01-02.md"], Some(Layout::Later)),
    ];
    for (files, layout) in cases {
        let directory = workspace(files);
        assert_eq!(Layout::detect(directory.path()), layout, "{files:?}");
        assert_eq!(Layout::choose(Some(Layout::Later), directory.path()), Layout::Later);
    }
    assert_eq!(Layout::Legacy.place("2026-01-02.md").unwrap(), "memory/2026-01-02.md");
    assert_eq!(Layout::Later.place("2026-01-02.md").unwrap(), "memory/daily_memory/2026-01-02.md");
    assert_eq!(Layout::Later.place("USER.md").unwrap(), "USER.md");
    assert_eq!(Layout::Later.place("other.md"), None);
}

#[test]
fn size_and_time_are_reported() {
    let directory = workspace(&["memory/MEMORY.md"]);
    let file = scan(directory.path(), MAX_DOCUMENT_BYTES).unwrap().files.remove(0);
    assert_eq!(file.size, fs::metadata(&file.absolute).unwrap().len());
    assert!(file.modified_ns > 1_600_000_000_000_000_000);
}

#[test]
fn a_large_file_is_skipped_with_a_reason() {
    let directory = workspace(&["a.md", "b.md"]);
    fs::write(directory.path().join("a.md"), "x".repeat(100)).unwrap();
    let scan = scan(directory.path(), 50).unwrap();
    assert_eq!(scan.files.len(), 1);
    assert_eq!(scan.skipped, [Skipped { relative_path: "a.md".into(), reason: SkipReason::TooLarge(50) }]);
}

#[test]
fn a_missing_workspace_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let error = scan(&directory.path().join("none"), 1).unwrap_err();
    assert_eq!(error.kind(), memory_core::ErrorKind::NotFound);
}

#[cfg(unix)]
#[test]
fn links_pipes_and_strange_names_are_skipped_with_reasons() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    let directory = workspace(&["memory/MEMORY.md", "plain.txt"]);
    let outside = workspace(&["secret.md"]);
    let root = directory.path();
    symlink(root, root.join("memory/up")).unwrap();
    symlink("self.md", root.join("self.md")).unwrap();
    symlink(outside.path(), root.join("outside")).unwrap();
    symlink(outside.path().join("secret.md"), root.join("secret.md")).unwrap();
    symlink("memory/MEMORY.md", root.join("alias.md")).unwrap();
    symlink("nothing.md", root.join("broken.md")).unwrap();
    symlink("plain.txt", root.join("link.txt")).unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"bad\xff.md")), "x").unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket.md")).unwrap();

    let scan = scan(root, MAX_DOCUMENT_BYTES).unwrap();
    assert_eq!(scan.files.len(), 1);
    let skipped: Vec<_> = scan.skipped.iter().map(|s| (s.relative_path.as_str(), s.reason.clone())).collect();
    assert_eq!(
        skipped,
        [
            ("alias.md", SkipReason::SymbolicLinkInside),
            ("bad\u{fffd}.md", SkipReason::NameNotUtf8),
            ("broken.md", SkipReason::SymbolicLinkBroken),
            ("memory/up", SkipReason::SymbolicLinkLoop),
            ("outside", SkipReason::SymbolicLinkOutside),
            ("pipe.md", SkipReason::NotRegular("a named pipe")),
            ("secret.md", SkipReason::SymbolicLinkOutside),
            ("self.md", SkipReason::SymbolicLinkLoop),
            ("socket.md", SkipReason::NotRegular("a socket")),
        ]
    );
    assert!(scan.skipped.iter().all(|skipped| !skipped.reason.to_string().is_empty()));
}
