//! `check` passes good plugins and finds what is wrong with bad ones.

use std::time::Duration;

use plugin_sdk::host::{CheckOptions, Outcome, PluginDirectory, Verdict, check};
use serde_json::{Value, json};

use super::support::{Place, built, compile, hostile, repository};

async fn verdicts(place: &Place, name: &str, config: Value) -> Vec<Verdict> {
    let options = CheckOptions {
        config: config.as_object().cloned().unwrap(),
        scratch: place.path("scratch"),
        deadline: Duration::from_secs(10),
        watch_stdout: false,
    };
    let verdicts = check(&place.directory().find(name).unwrap(), options).await.unwrap();
    assert!(!place.path("scratch").exists(), "nothing is left behind");
    verdicts
}

fn failures(verdicts: &[Verdict]) -> Vec<(&str, &str)> {
    let failed = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Failed);
    failed.map(|verdict| (verdict.name, verdict.message.as_str())).collect()
}

#[tokio::test]
async fn both_examples_pass() {
    let place = Place::new();
    place.install("jsonl-store", &built("jsonl_store"));
    let library = place.path("c.so");
    compile(&repository().join("examples/plugins/c-store/c_store.c"), &library, &[]);
    place.install("c-store", &library);
    for name in ["jsonl-store", "c-store"] {
        let verdicts = verdicts(&place, name, json!({})).await;
        assert!(
            verdicts.len() == 13 && verdicts.iter().all(|verdict| verdict.outcome == Outcome::Passed),
            "{verdicts:#?}"
        );
        let scripts = verdicts.iter().find(|verdict| verdict.name == "text of every script").unwrap();
        assert_eq!(scripts.message, "written, read, listed, found, forgotten");
    }
}

#[tokio::test]
async fn faults_are_found() {
    for (fault, step, said) in [
        ("COMPLETES_TWICE", "each call completed once", "belonged to no call"),
        ("REPLY_NOT_JSON", "64 calls at once", "the reply is not JSON"),
        ("NO_TABLE", "loads and describes itself", "has no symbol"),
        ("PLAIN", "broken request", "it should refuse as invalid_request"),
        ("PLAIN", "unknown method", "it should refuse as unsupported"),
        ("PLAIN", "wrong configuration", "it opens with a configuration that is not JSON"),
    ] {
        let place = Place::new();
        place.install("hostile", &hostile(&place, fault));
        let verdicts = verdicts(&place, "hostile", json!({})).await;
        let failures = failures(&verdicts);
        assert!(
            failures.iter().any(|(name, message)| *name == step && message.contains(said)),
            "{fault}: {failures:?}"
        );
    }
}

#[tokio::test]
async fn panics_are_found() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let found = verdicts(&place, "faulty", json!({"fault": "panic"})).await;
    let failed = failures(&found);
    assert!(
        failed.iter().any(|(name, said)| *name == "64 calls at once" && said.contains("it panicked: 崩溃了")),
        "{failed:?}"
    );
    let found = verdicts(&place, "faulty", json!({"fault": "panic_in_close"})).await;
    assert!(failures(&found).iter().any(|(name, _)| *name == "shutdown"), "{found:?}");
    let skipped = found.iter().find(|verdict| verdict.name == "text of every script").unwrap();
    assert_eq!(skipped.outcome, Outcome::Skipped);
}

/// Where and with which fault `examines_in_a_process_of_its_own` examines.
const EXAMINE: &str = "PLUGIN_SDK_TEST_EXAMINE";

/// Output on standard output breaks programs that speak over it. Standard output belongs to a whole process, so this test
/// starts itself again for the examination.
#[test]
fn output_is_found() {
    let place = Place::new();
    place.install("faulty", &built("faulty_plugin"));
    let run = |fault: &str| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "checking::examines_in_a_process_of_its_own",
                "--exact",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(EXAMINE, json!({"root": place.root(), "scratch": place.path("scratch"), "fault": fault}).to_string())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let talkative = run("stdout");
    assert!(talkative.contains("Failed standard output: it wrote \"I talk too much"), "{talkative}");
    assert!(!talkative.contains("\nI talk"), "what it wrote does not get out: {talkative}");
    let quiet = run("");
    assert!(quiet.contains("Passed standard output: nothing was written"), "{quiet}");
}

#[tokio::test]
#[ignore = "started by output_is_found"]
async fn examines_in_a_process_of_its_own() {
    let what: Value = serde_json::from_str(&std::env::var(EXAMINE).unwrap()).unwrap();
    let options = CheckOptions {
        config: json!({"fault": what["fault"]}).as_object().cloned().unwrap(),
        scratch: what["scratch"].as_str().unwrap().into(),
        deadline: Duration::from_secs(10),
        watch_stdout: true,
    };
    let plugin = PluginDirectory::new(what["root"].as_str().unwrap()).find("faulty").unwrap();
    for Verdict { name, outcome, message } in check(&plugin, options).await.unwrap() {
        use std::io::Write;
        writeln!(std::io::stdout(), "{outcome:?} {name}: {message}").unwrap();
    }
}
