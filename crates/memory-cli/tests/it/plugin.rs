//! `memory plugin …`: from nothing to a trusted, configured plugin.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Home;

/// Compiles the example in C into the folder of the plugins.
fn install(home: &Home, extra: &str) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = repository.join("examples/plugins/c-store");
    let folder = home.path().parent().unwrap().join(".plugins/memory/c-store");
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libc_store.so");
    let output = Command::new("cc")
        .args(["-std=c11", "-fPIC", "-fvisibility=hidden", "-shared"])
        .arg(format!("-I{}", repository.join("crates/plugin-sdk/include").display()))
        .arg(extra)
        .arg("-o")
        .args([&library, &source.join("c_store.c")])
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::copy(source.join("plugin.toml"), folder.join("plugin.toml")).unwrap();
    for path in [folder.parent().unwrap().parent().unwrap(), folder.parent().unwrap(), &folder, &library] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    folder
}

#[test]
fn a_plugin_is_listed_trusted_examined_used_and_untrusted() {
    let home = Home::new();
    let run = home.run(&["plugin", "list"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("no plugin is installed in") && run.err.contains("plugin new"), "{}", run.err);

    install(&home, "-DFIRST");
    let list = home.json(&["plugin", "list"]);
    assert_eq!(list["plugins"][0]["name"], "c-store");
    assert_eq!(list["plugins"][0]["trusted"], false);
    let refused = home.run(&["plugin", "check", "c-store"]);
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("is not trusted"), "{}", refused.err);

    let preview = home.run(&["plugin", "trust", "c-store"]);
    assert_eq!(preview.code, 4);
    assert!(preview.err.contains("sha256: ") && preview.err.contains("with all your rights"), "{}", preview.err);
    assert!(!home.path().join("plugins.trust.toml").exists(), "nothing was changed");
    let trusted = home.json(&["plugin", "trust", "c-store", "--yes"]);
    assert_eq!((&trusted["trusted"], trusted["sha256"].as_str().unwrap().len()), (&true.into(), 64));

    let check = home.run(&["plugin", "check", "c-store"]);
    assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    assert_eq!(check.out.matches('✓').count(), 14, "{}", check.out);
    assert!(check.out.contains("standard output: nothing was written"), "{}", check.out);
    let verdicts = home.json(&["plugin", "check", "c-store"]);
    assert_eq!((&verdicts["ok"], verdicts["verdicts"].as_array().unwrap().len()), (&true.into(), 14));

    home.file("home/config.yaml", "memory:\n  engine: external\n  external: { provider: c-store }\n");
    let added = home.json(&["add", "从插件来的记忆"]);
    assert_eq!(added["outcome"], "stored", "{added}");

    // Another file under the name that was trusted.
    install(&home, "-g");
    let changed = home.run(&["plugin", "list"]);
    assert!(changed.out.contains("has changed since it was trusted"), "{}", changed.out);
    let refused = home.run(&["add", "never stored"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("has changed since it was trusted"), "{}", refused.err);

    assert_eq!(home.run(&["plugin", "untrust", "c-store"]).code, 0);
    assert_eq!(home.run(&["plugin", "untrust", "c-store"]).code, 3);
    assert_eq!(home.run(&["plugin", "trust", "absent", "--yes"]).code, 3);
}

#[test]
fn a_new_plugin_is_written_and_needs_to_be_built() {
    let home = Home::new();
    let run = home.run(&["plugin", "new", "my-store", "--sdk", env!("CARGO_MANIFEST_DIR")]);
    assert_eq!(run.code, 3, "no plugin-sdk there: {}", run.err);
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let files = home.json(&["plugin", "new", "my-store", "--sdk", repository]);
    assert_eq!(files["files"].as_array().unwrap().len(), 5);
    let check = home.run(&["plugin", "check", "./my-store"]);
    assert_eq!(check.code, 3, "{}", check.err);
    assert!(check.err.contains("cargo build --release"), "{}", check.err);
    let again = home.run(&["plugin", "new", "my-store"]);
    assert!(again.code != 0 && again.err.contains("exists already"), "{}", again.err);
    assert!(home.run(&["plugin", "new", "Böse"]).err.contains("cannot be the name"));
}
