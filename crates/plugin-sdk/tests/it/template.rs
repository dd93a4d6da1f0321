//! What `new` writes builds and passes.

use std::process::Command;
use std::time::Duration;

use memory_core::ErrorKind;
use plugin_sdk::host::{CheckOptions, Outcome, Sdk, check, in_development, write_template};

use super::support::{Place, repository};

/// Builds the template outside of the workspace, offline, with the versions that this workspace uses.
#[tokio::test]
async fn the_template_builds_and_passes() {
    let place = Place::new();
    let folder = place.path("my-first-plugin");
    let written = write_template(&folder, &Sdk::Path(repository())).unwrap();
    assert_eq!(written.len(), 5);
    std::fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    // The dependencies are kept between runs; the plugin itself is built anew.
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("template");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--offline", "--quiet", "--config", "profile.dev.debug=false"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-Dwarnings")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = format!("{}my_first_plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    std::fs::create_dir_all(folder.join("target/debug")).unwrap();
    std::fs::copy(target.join("debug").join(&file), folder.join("target/debug").join(&file)).unwrap();

    let plugin = in_development(&folder).unwrap();
    assert_eq!((plugin.name(), plugin.version()), ("my-first-plugin", "0.1.0"));
    let options = CheckOptions {
        config: serde_json::json!({"greeting": "你好"}).as_object().cloned().unwrap(),
        scratch: place.path("scratch"),
        deadline: Duration::from_secs(10),
        watch_stdout: false,
    };
    let verdicts = check(&plugin, options).await.unwrap();
    assert!(verdicts.iter().all(|verdict| verdict.outcome == Outcome::Passed), "{verdicts:#?}");
}

#[test]
fn a_new_plugin_needs_a_name_a_place_and_an_sdk() {
    let place = Place::new();
    let refused = |name: &str, sdk: &Sdk| write_template(&place.path(name), sdk).unwrap_err();
    assert!(refused("Plugin", &Sdk::Version).to_string().contains("cannot be the name"));
    assert!(refused("mem0", &Sdk::Version).to_string().contains("belongs to this program"));
    assert_eq!(refused("fine", &Sdk::Path(place.path(""))).kind(), ErrorKind::NotFound);
    let folder = place.path("taken");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    assert_eq!(refused("taken", &Sdk::Version).kind(), ErrorKind::Conflict);

    for (name, sdk, line) in [
        ("with-version", Sdk::Version, format!("plugin-sdk = \"{}\"", env!("CARGO_PKG_VERSION"))),
        (
            "with-git",
            Sdk::Git("https://example.org/m".into()),
            "plugin-sdk = { git = \"https://example.org/m\" }".into(),
        ),
    ] {
        write_template(&place.path(name), &sdk).unwrap();
        let cargo = std::fs::read_to_string(place.path(name).join("Cargo.toml")).unwrap();
        assert!(cargo.contains(&line), "{cargo}");
    }
    assert_eq!(in_development(&place.path("with-version")).unwrap_err().kind(), ErrorKind::NotFound, "not built yet");
}
