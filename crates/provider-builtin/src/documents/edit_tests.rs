use super::*;
use crate::documents::layout::Layout;
use crate::documents::read::get_lines;

fn workspace() -> (tempfile::TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path(), Some(Layout::Later)).unwrap();
    (directory, workspace)
}

fn text(workspace: &Workspace, path: &str) -> String {
    fs::read_to_string(workspace.root().join(path)).unwrap()
}

#[test]
fn overwrite_really_overwrites() {
    let (_directory, workspace) = workspace();
    let first = write(&workspace, "MEMORY.md", "one", WriteMode::Overwrite, None).unwrap();
    assert_eq!((first.path.as_str(), first.file_existed, first.appended), ("memory/MEMORY.md", false, false));
    let second = write(&workspace, "MEMORY.md", "two", WriteMode::Overwrite, None).unwrap();
    assert_eq!((second.file_existed, second.bytes), (true, 3));
    assert_eq!(second.content_hash, hash_bytes(b"two"));
    assert_eq!(text(&workspace, "memory/MEMORY.md"), "two");
}

#[test]
fn append_puts_the_text_on_its_own_line() {
    let (_directory, workspace) = workspace();
    for (content, expected, appended) in
        [("一", "一", false), ("two\n", "一\ntwo\n", true), ("three 👍", "一\ntwo\nthree 👍", true)]
    {
        let written = write(&workspace, "2026-01-02.md", content, WriteMode::Append, None).unwrap();
        assert_eq!(text(&workspace, "memory/daily_memory/2026-01-02.md"), expected);
        assert_eq!(written.appended, appended);
    }
    fs::write(workspace.root().join("win.md"), "a\r\nb").unwrap();
    write(&workspace, "./win.md", "c", WriteMode::Append, None).unwrap();
    assert_eq!(text(&workspace, "win.md"), "a\r\nb\r\nc");
}

#[test]
fn edit_replaces_exactly_one_place() {
    let (_directory, workspace) = workspace();
    write(&workspace, "MEMORY.md", "茶 tea\n咖啡 coffee\ntea again\n", WriteMode::Overwrite, None).unwrap();
    let edited = edit(&workspace, "MEMORY.md", "咖啡 coffee", "抹茶 matcha 👍", None).unwrap();
    assert_eq!(edited.line, 2);
    assert_eq!(text(&workspace, "memory/MEMORY.md"), "茶 tea\n抹茶 matcha 👍\ntea again\n");
    assert_eq!(get_lines(&workspace, "MEMORY.md", None, None).unwrap().content_hash, edited.content_hash);

    let none = edit(&workspace, "MEMORY.md", "milk", "x", None).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
    let many = edit(&workspace, "MEMORY.md", "tea", "x", None).unwrap_err();
    assert_eq!(many.kind(), ErrorKind::Conflict);
    assert!(many.to_string().contains("2 times") && many.to_string().contains("lines: 1, 3"), "{many}");
    assert!(many.hints()[0].contains("more specific"));
    let spaces = edit(&workspace, "MEMORY.md", "茶  tea\n抹茶", "x", None).unwrap_err();
    assert!(spaces.hints()[0].contains("spaces"), "{:?}", spaces.hints());
    for (old, new) in [("", "x"), ("same", "same")] {
        assert_eq!(edit(&workspace, "MEMORY.md", old, new, None).unwrap_err().kind(), ErrorKind::InvalidRequest);
    }
    assert_eq!(edit(&workspace, "USER.md", "a", "b", None).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(text(&workspace, "memory/MEMORY.md"), "茶 tea\n抹茶 matcha 👍\ntea again\n");
}

#[test]
fn overlapping_places_are_several() {
    let (_directory, workspace) = workspace();
    write(&workspace, "MEMORY.md", "呵呵呵", WriteMode::Overwrite, None).unwrap();
    assert_eq!(edit(&workspace, "MEMORY.md", "呵呵", "x", None).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn windows_line_ends_are_kept() {
    let (_directory, workspace) = workspace();
    write(&workspace, "MEMORY.md", "a\r\nb\r\nc\r\n", WriteMode::Overwrite, None).unwrap();
    edit(&workspace, "MEMORY.md", "a\nb", "x\ny", None).unwrap();
    assert_eq!(text(&workspace, "memory/MEMORY.md"), "x\r\ny\r\nc\r\n");
}

#[test]
fn a_stale_hash_is_a_conflict() {
    let (_directory, workspace) = workspace();
    let written = write(&workspace, "MEMORY.md", "one", WriteMode::Overwrite, None).unwrap();
    let hash = Some(written.content_hash.as_str());
    write(&workspace, "MEMORY.md", "two", WriteMode::Append, hash).unwrap();
    for error in [
        write(&workspace, "MEMORY.md", "x", WriteMode::Overwrite, hash).unwrap_err(),
        write(&workspace, "MEMORY.md", "x", WriteMode::Append, hash).unwrap_err(),
        edit(&workspace, "MEMORY.md", "one", "x", hash).map(|_| ()).unwrap_err(),
        write(&workspace, "USER.md", "x", WriteMode::Overwrite, hash).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(text(&workspace, "memory/MEMORY.md"), "one\ntwo");
    assert!(!workspace.root().join("USER.md").exists());
}

#[test]
fn too_large_and_invalid_files_are_refused_and_untouched() {
    let (_directory, workspace) = workspace();
    let workspace = workspace.with_max_bytes(8);
    write(&workspace, "MEMORY.md", "12345678", WriteMode::Overwrite, None).unwrap();
    assert!(write(&workspace, "MEMORY.md", "9", WriteMode::Append, None).is_err());
    assert!(edit(&workspace, "MEMORY.md", "1", "11", None).is_err());
    assert_eq!(text(&workspace, "memory/MEMORY.md"), "12345678");

    fs::write(workspace.root().join("memory/bad.md"), b"\xff\xff").unwrap();
    let error = edit(&workspace, "bad.md", "a", "b", None).unwrap_err();
    assert!(error.to_string().contains("UTF-8"), "{error}");
}

#[test]
fn a_leftover_of_a_dead_process_does_not_matter() {
    let (_directory, workspace) = workspace();
    fs::create_dir(workspace.root().join("memory")).unwrap();
    fs::write(workspace.root().join("memory/.MEMORY.md.tmp"), "half").unwrap();
    write(&workspace, "MEMORY.md", "whole", WriteMode::Overwrite, None).unwrap();
    let names: Vec<_> =
        fs::read_dir(workspace.root().join("memory")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["MEMORY.md"]);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let (_directory, workspace) = workspace();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let workspace = &workspace;
            scope.spawn(move || {
                for number in 0..10 {
                    write(workspace, "MEMORY.md", &format!("- {writer}/{number}\n"), WriteMode::Append, None).unwrap();
                }
            });
        }
    });
    let content = text(&workspace, "memory/MEMORY.md");
    let lines: std::collections::BTreeSet<&str> = content.lines().collect();
    assert_eq!((content.lines().count(), lines.len()), (80, 80));
}

#[cfg(unix)]
#[test]
fn permissions_are_kept_and_a_link_is_never_written_through() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (_directory, workspace) = workspace();
    write(&workspace, "MEMORY.md", "one", WriteMode::Overwrite, None).unwrap();
    let path = workspace.root().join("memory/MEMORY.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    write(&workspace, "MEMORY.md", "two", WriteMode::Overwrite, None).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path().join("target"), workspace.root().join("memory/.MEMORY.md.tmp")).unwrap();
    write(&workspace, "MEMORY.md", "three", WriteMode::Overwrite, None).unwrap();
    symlink(outside.path(), workspace.root().join("out")).unwrap();
    assert_eq!(
        write(&workspace, "out/x.md", "x", WriteMode::Overwrite, None).unwrap_err().kind(),
        ErrorKind::Forbidden
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}
