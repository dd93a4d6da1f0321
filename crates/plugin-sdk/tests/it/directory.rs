//! What is found and what is refused before anything runs.

use memory_core::ErrorKind;
use plugin_sdk::host::PluginDirectory;
use serde_json::json;

use super::support::{Place, hostile, refused, set_mode};

/// Refuses a plugin after `spoil`, and shows that no code of it ran.
fn is_refused(spoil: impl Fn(&Place), kind: ErrorKind, said: &str) {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "PLAIN"));
    place.directory().find("hostile").unwrap();
    spoil(&place);
    let error = refused(place.directory().find("hostile"));
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(said), "expected {said:?} in: {error}");
    assert!(!place.path("marker").exists(), "it ran: {said}");
}

#[test]
fn what_others_can_change_is_refused() {
    let folder = |place: &Place| place.root().join("hostile");
    is_refused(
        |place| set_mode(&folder(place), 0o777),
        ErrorKind::Forbidden,
        "hostile can be changed by others (mode 0777)",
    );
    is_refused(
        |place| set_mode(&place.root(), 0o775),
        ErrorKind::Forbidden,
        "plugins can be changed by others (mode 0775)",
    );
    is_refused(|place| set_mode(&place.root(), 0o1777), ErrorKind::Forbidden, "plugins can be changed by others");
    is_refused(
        |place| set_mode(&place.library("hostile"), 0o666),
        ErrorKind::Forbidden,
        "library.so can be changed by others",
    );
    is_refused(
        |place| set_mode(&folder(place).join("plugin.toml"), 0o622),
        ErrorKind::Forbidden,
        "plugin.toml can be changed",
    );
    is_refused(|place| set_mode(&place.path(""), 0o777), ErrorKind::Forbidden, "can be changed by others (mode 0777)");
}

#[test]
fn symbolic_links_are_refused() {
    use std::os::unix::fs::symlink;
    let moved = |place: &Place, path: std::path::PathBuf| {
        let real = place.path("real");
        std::fs::rename(&path, &real).unwrap();
        symlink(&real, &path).unwrap();
    };
    is_refused(|place| moved(place, place.library("hostile")), ErrorKind::Forbidden, "library.so is a symbolic link");
    is_refused(|place| moved(place, place.root().join("hostile")), ErrorKind::Forbidden, "hostile is a symbolic link");
    is_refused(
        |place| moved(place, place.root().join("hostile/plugin.toml")),
        ErrorKind::Forbidden,
        "plugin.toml is a symbolic link",
    );
    is_refused(|place| moved(place, place.root()), ErrorKind::Forbidden, "plugins is a symbolic link");
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "PLAIN"));
    // Only root can give files away; others cannot make this case.
    if std::os::unix::fs::chown(place.library("hostile"), Some(12345), None).is_ok() {
        let error = refused(place.directory().find("hostile"));
        assert!(
            error.kind() == ErrorKind::Forbidden && error.to_string().contains("belongs to another user (id 12345)"),
            "{error}"
        );
    }
}

#[test]
fn files_that_are_none_are_refused() {
    let replace = |place: &Place, with: &dyn Fn(&std::path::Path)| {
        std::fs::remove_file(place.library("hostile")).unwrap();
        with(&place.library("hostile"));
    };
    is_refused(|place| replace(place, &|_| ()), ErrorKind::NotFound, "cannot open");
    is_refused(
        |place| replace(place, &|path| std::fs::create_dir(path).unwrap()),
        ErrorKind::ConfigInvalid,
        "is not a regular file",
    );
    let pipe =
        |path: &std::path::Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    is_refused(|place| replace(place, &pipe), ErrorKind::ConfigInvalid, "is not a regular file");
}

#[test]
fn hostile_manifests_are_refused() {
    let write = |place: &Place, bytes: &[u8]| std::fs::write(place.root().join("hostile/plugin.toml"), bytes).unwrap();
    is_refused(|place| write(place, "# 记忆\n".repeat(8000).as_bytes()), ErrorKind::ConfigInvalid, "65536 is the most");
    is_refused(|place| write(place, b"\xff\xfe"), ErrorKind::ConfigInvalid, "is not UTF-8");
    is_refused(|place| write(place, b"[plugin"), ErrorKind::ConfigInvalid, "plugin.toml, line 1");
    is_refused(|place| write(place, b""), ErrorKind::ConfigInvalid, "missing field `plugin`");
    is_refused(|place| write(place, "a = [".repeat(5000).as_bytes()), ErrorKind::ConfigInvalid, "plugin.toml, line 1");
    is_refused(
        |place| std::fs::remove_file(place.root().join("hostile/plugin.toml")).unwrap(),
        ErrorKind::NotFound,
        "cannot open",
    );
}

#[test]
fn a_damaged_file_is_told_by_its_hash() {
    let place = Place::new();
    let library = hostile(&place, "PLAIN");
    place.install("hostile", &library);
    let sum = place.directory().find("hostile").unwrap().sha256;
    let with_sum = |manifest: String| {
        manifest.replace("\"library.so\"", &format!("\"library.so\", sha256 = \"{}\"", sum.to_uppercase()))
    };
    place.install_with("hostile", &library, with_sum);
    place.directory().find("hostile").unwrap();
    std::fs::write(place.library("hostile"), "something else").unwrap();
    let error = refused(place.directory().find("hostile"));
    assert!(
        error.kind() == ErrorKind::Corrupt && error.to_string().contains("is not the file that the manifest names"),
        "{error}"
    );
}

#[test]
fn names_of_this_program_and_outlandish_ones_are_refused() {
    let place = Place::new();
    let library = hostile(&place, "PLAIN");
    for name in ["mem0", "builtin", "openviking", "openjiuwen"] {
        place.install(name, &library);
        let error = refused(place.directory().find(name));
        assert!(error.to_string().contains("that name belongs to this program"), "{error}");
    }
    for name in ["", "..", "a/b", "A", "-a", "记忆", "a_b", &"a".repeat(64)] {
        let error = refused(place.directory().find(name));
        assert!(error.to_string().contains("cannot be the name of a plugin"), "{error}");
    }
}

#[test]
fn a_list_shows_everything_with_its_fault() {
    let place = Place::new();
    assert!(PluginDirectory::new(place.path("nowhere")).list().unwrap().is_empty());
    let library = hostile(&place, "PLAIN");
    place.install("good", &library);
    place.install("mem0", &library);
    place.install(".hidden", &library);
    place.install("_draft", &library);
    std::fs::write(place.root().join("file"), "").unwrap();
    let list = place.directory().list().unwrap();
    let seen: Vec<(&str, bool)> = list.iter().map(|(name, found)| (name.as_str(), found.is_ok())).collect();
    assert_eq!(seen, [("good", true), ("mem0", false)]);
    assert!(!place.path("marker").exists(), "listing runs nothing");
    assert_eq!(refused(place.directory().find("absent")).kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_library_replaced_while_in_use_asks_for_a_restart() {
    let place = Place::new();
    place.install("hostile", &hostile(&place, "PLAIN"));
    let provider = place.load("hostile", json!({})).await.unwrap();
    std::fs::remove_file(place.library("hostile")).unwrap();
    place.install("hostile", &hostile(&place, "REPLY_FOREIGN"));
    let error = place.load("hostile", json!({})).await.err().unwrap();
    assert!(error.to_string().contains("was replaced while this program used it"), "{error}");
    assert_eq!(error.hints(), ["restart the program"]);
    drop(provider);
}
