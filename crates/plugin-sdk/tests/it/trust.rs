//! Trust is kept by this program, by the hash of the library.

use std::os::unix::fs::PermissionsExt;

use memory_core::config::{Environment, Loaded, Loader};
use memory_core::{ErrorKind, MemoryProvider, Timestamp};
use plugin_sdk::host::{PluginHost, TrustStore};

use super::support::{Place, built, hostile, set_mode};

fn loaded(place: &Place, external: &str) -> Loaded {
    let config = place.path("config.yaml");
    let text = format!("memory:\n  plugin_dir: {}\n  external: {external}\n", place.root().display());
    std::fs::write(&config, text).unwrap();
    Loader::new(Environment::default()).with_home(place.path("home")).with_config(config).load().unwrap()
}

#[test]
fn only_the_very_file_that_was_trusted_is_permitted() {
    let place = Place::new();
    place.install("acme", &hostile(&place, "PLAIN"));
    let plugins = PluginHost::of(&loaded(&place, "{}"));
    let error = plugins.permitted("acme").unwrap_err();
    assert!(error.kind() == ErrorKind::Forbidden && error.to_string().contains("`acme` is not trusted"), "{error}");
    assert!(error.hints()[0].contains("memory plugin trust acme"), "{error:?}");

    let plugin = plugins.directory.find("acme").unwrap();
    plugins.trust.trust(&plugin, Timestamp::from_nanoseconds(0)).unwrap();
    assert_eq!(plugins.permitted("acme").unwrap(), plugin);
    let mode = plugins.trust.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Tampered with after it was trusted.
    place.install("acme", &hostile(&place, "NEVER_COMPLETES"));
    let error = plugins.permitted("acme").unwrap_err();
    assert!(
        error.kind() == ErrorKind::Forbidden && error.to_string().contains("has changed since it was trusted"),
        "{error}"
    );
    assert!(!place.path("marker").exists(), "nothing of it ran");

    let plugin = plugins.directory.find("acme").unwrap();
    plugins.trust.trust(&plugin, Timestamp::from_nanoseconds(0)).unwrap();
    plugins.permitted("acme").unwrap();
    assert_eq!(plugins.trust.list().unwrap().len(), 1, "trust replaces trust");
    assert!(plugins.trust.untrust("acme").unwrap());
    assert!(!plugins.trust.untrust("acme").unwrap());
    assert_eq!(plugins.permitted("acme").unwrap_err().kind(), ErrorKind::Forbidden);
}

#[test]
fn the_configuration_decides_what_is_allowed() {
    let place = Place::new();
    place.install("acme", &hostile(&place, "PLAIN"));
    let error = PluginHost::of(&loaded(&place, "{ allowed_plugins: [other, another], require_trust: false }"))
        .permitted("acme")
        .unwrap_err();
    assert!(error.kind() == ErrorKind::Forbidden && error.to_string().contains("(allowed: other, another)"), "{error}");
    PluginHost::of(&loaded(&place, "{ allowed_plugins: [acme], require_trust: false }")).permitted("acme").unwrap();
}

#[test]
fn a_trust_file_that_others_could_write_is_not_believed() {
    let place = Place::new();
    let trust = TrustStore::new(&place.path(""));
    assert!(trust.list().unwrap().is_empty());
    std::fs::write(trust.path(), "[[plugin]]\nname = \"a\"\nversion = \"1\"\nsha256 = \"x\"\nadded = \"2026-01-01\"\n")
        .unwrap();
    set_mode(trust.path(), 0o666);
    let error = trust.list().unwrap_err();
    assert!(error.kind() == ErrorKind::Forbidden && error.to_string().contains("can be changed by others"), "{error}");
    set_mode(trust.path(), 0o600);
    assert_eq!(trust.list().unwrap()[0].name, "a");
    std::fs::write(trust.path(), "[[plugin]]\nname = 1\n").unwrap();
    assert_eq!(trust.list().unwrap_err().kind(), ErrorKind::Corrupt);
}

#[tokio::test]
async fn a_configured_plugin_gets_its_section_and_its_folder() {
    let place = Place::new();
    place.install("jsonl-store", &built("jsonl_store"));
    let file = place.path("我的记忆.jsonl");
    let external = format!("{{ require_trust: false, jsonl-store: {{ file: {} }} }}", file.display());
    let plugins = PluginHost::of(&loaded(&place, &external));
    let provider = plugins.load("jsonl-store", None).await.unwrap();
    assert!(provider.health().await.ok && file.exists());
    let plugins = PluginHost::of(&loaded(&place, "{ require_trust: false }"));
    let provider = plugins.load("jsonl-store", None).await.unwrap();
    assert!(provider.health().await.ok);
    let data = place.path("home/plugins/jsonl-store/data");
    assert!(data.join("memories.jsonl").exists());
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}
