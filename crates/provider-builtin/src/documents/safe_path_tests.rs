use super::*;

fn workspace(files: &[&str], layout: Layout) -> (tempfile::TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    for file in files {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("text of {file}\n")).unwrap();
    }
    let workspace = Workspace::open(directory.path(), Some(layout)).unwrap();
    (directory, workspace)
}

#[test]
fn short_names_go_to_their_place() {
    for (layout, name, place) in [
        (Layout::Legacy, "MEMORY.md", "memory/MEMORY.md"),
        (Layout::Legacy, "USER.md", "memory/USER.md"),
        (Layout::Legacy, "2026-01-02.md", "memory/2026-01-02.md"),
        (Layout::Legacy, "memory/daily_memory/2026-01-02.md", "memory/2026-01-02.md"),
        (Layout::Later, "MEMORY.md", "memory/MEMORY.md"),
        (Layout::Later, "memory/MEMORY.md", "memory/MEMORY.md"),
        (Layout::Later, "USER.md", "USER.md"),
        (Layout::Later, "memory/USER.md", "USER.md"),
        (Layout::Later, "2026-01-02.md", "memory/daily_memory/2026-01-02.md"),
        (Layout::Later, "daily_memory/2026-01-02.md", "memory/daily_memory/2026-01-02.md"),
        (Layout::Later, "memory/2026-01-02.md", "memory/daily_memory/2026-01-02.md"),
        (Layout::Later, "DREAMING.md", "memory/DREAMING.md"),
        (Layout::Later, "想法.md", "memory/想法.md"),
        (Layout::Later, "./想法.md", "想法.md"),
        (Layout::Later, "notes/a..b.md", "notes/a..b.md"),
        (Layout::Later, "notes//./x.md", "notes/x.md"),
        (Layout::Later, "daily_memory/notes.md", "memory/daily_memory/notes.md"),
    ] {
        let (_directory, workspace) = workspace(&[], layout);
        let path = workspace.resolve(name).unwrap();
        assert_eq!(path.relative, place, "{layout:?} {name}");
        assert!(!path.exists);
    }
}

#[test]
fn a_file_that_exists_is_found_where_it_is() {
    let files = ["IDENTITY.md", "memory/2026-01-02.md", "memory/sub/x.md", "memory/USER.md", "USER.md"];
    let (_directory, workspace) = workspace(&files, Layout::Later);
    for (name, place) in [
        ("IDENTITY.md", "IDENTITY.md"),
        ("2026-01-02.md", "memory/2026-01-02.md"),
        ("sub/x.md", "memory/sub/x.md"),
        ("USER.md", "USER.md"),
        ("memory/USER.md", "memory/USER.md"),
    ] {
        let path = workspace.resolve(name).unwrap();
        assert_eq!((path.relative.as_str(), path.exists), (place, true), "{name}");
    }
}

#[test]
fn bad_paths_are_refused() {
    let (_directory, workspace) = workspace(&["memory/MEMORY.md"], Layout::Later);
    for (path, kind) in [
        ("../x.md", ErrorKind::Forbidden),
        ("memory/../../x.md", ErrorKind::Forbidden),
        ("memory/..", ErrorKind::Forbidden),
        ("..\\x.md", ErrorKind::Forbidden),
        ("/etc/x.md", ErrorKind::Forbidden),
        ("\\\\server\\x.md", ErrorKind::Forbidden),
        ("C:\\x.md", ErrorKind::Forbidden),
        ("c:/x.md", ErrorKind::Forbidden),
        ("~/x.md", ErrorKind::Forbidden),
        (".git/x.md", ErrorKind::Forbidden),
        ("memory/.dreams/x.md", ErrorKind::Forbidden),
        ("", ErrorKind::InvalidRequest),
        ("  ", ErrorKind::InvalidRequest),
        ("memory", ErrorKind::InvalidRequest),
        ("memory/", ErrorKind::InvalidRequest),
        ("x.md/", ErrorKind::InvalidRequest),
        ("foo.txt", ErrorKind::InvalidRequest),
        ("a\\b.md", ErrorKind::InvalidRequest),
        ("a\0.md", ErrorKind::InvalidRequest),
        ("memory/MEMORY.md/x.md", ErrorKind::InvalidRequest),
    ] {
        let error = workspace.resolve(path).unwrap_err();
        assert_eq!(error.kind(), kind, "{path:?}: {error}");
        assert!(!error.to_string().contains('\0'));
    }
    assert!(workspace.resolve(&format!("{}.md", "长".repeat(100))).is_err());
    assert!(workspace.resolve(&format!("{}x.md", "d/".repeat(600))).is_err());
}

#[test]
fn a_file_above_the_limit_is_refused() {
    let (_directory, workspace) = workspace(&["memory/MEMORY.md"], Layout::Later);
    let path = workspace.resolve("MEMORY.md").unwrap();
    assert!(workspace.read_bytes(&path).is_ok());
    let error = workspace.with_max_bytes(5).read_bytes(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_refused() {
    use std::os::unix::fs::symlink;
    let (outside, _) = workspace(&["secret.md"], Layout::Later);
    let (directory, workspace) = workspace(&["memory/MEMORY.md"], Layout::Later);
    symlink(outside.path(), directory.path().join("out")).unwrap();
    symlink(outside.path().join("secret.md"), directory.path().join("memory/link.md")).unwrap();
    symlink(outside.path().join("new.md"), directory.path().join("memory/dangling.md")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(directory.path().join("memory/pipe.md")).status().unwrap();
    assert!(made.success());
    for (path, kind) in [
        ("out/secret.md", ErrorKind::Forbidden),
        ("memory/link.md", ErrorKind::Forbidden),
        ("link.md", ErrorKind::Forbidden),
        ("memory/dangling.md", ErrorKind::Forbidden),
        ("memory/pipe.md", ErrorKind::InvalidRequest),
    ] {
        assert_eq!(workspace.resolve(path).unwrap_err().kind(), kind, "{path}");
    }
    assert!(open_regular(&directory.path().join("memory/pipe.md")).is_err());

    // A directory that becomes a link after the check is noticed before reading.
    let path = workspace.resolve("memory/MEMORY.md").unwrap();
    fs::rename(directory.path().join("memory"), outside.path().join("memory")).unwrap();
    symlink(outside.path().join("memory"), directory.path().join("memory")).unwrap();
    assert_eq!(workspace.read_bytes(&path).unwrap_err().kind(), ErrorKind::Forbidden);
}

#[cfg(unix)]
#[test]
fn the_workspace_itself_may_be_a_link() {
    let (directory, _) = workspace(&["memory/MEMORY.md"], Layout::Later);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("workspace");
    std::os::unix::fs::symlink(directory.path(), &link).unwrap();
    let workspace = Workspace::open(&link, None).unwrap();
    assert!(workspace.resolve("MEMORY.md").unwrap().exists);
}
