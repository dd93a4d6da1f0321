use super::super::{Finding, Severity, check};
use super::{Folder, load};

fn findings(yaml: &str) -> Vec<Finding> {
    check(&load(yaml).unwrap())
}

#[test]
fn the_defaults_make_sense() {
    assert_eq!(findings(""), []);
}

#[test]
fn what_cannot_work_is_an_error() {
    for (yaml, path) in [
        ("engine: external", "memory.external.provider"),
        ("engine: both", "memory.external.provider"),
        ("engine: both\n  external: { provider: mem0 }", "memory.external.mem0.api_key"),
        ("embedding: { kind: transformer }", "memory.embedding.path"),
        ("embedding: { kind: transformer, path: ./缺 }", "memory.embedding.path"),
        ("embedding: { kind: openai, model: m }", "memory.embedding.api_base"),
        ("embedding: { kind: openai, api_key: k }", "memory.embedding.model"),
        ("server: { listen: '0.0.0.0:1' }", "memory.server.api_keys"),
        ("server: { listen: '[::]:1' }", "memory.server.api_keys"),
        ("search: { rerank: contextual }", "memory.search.rerank"),
        ("search: { vector_weight: 0, text_weight: 0, late_interaction_weight: 0 }", "memory.search.text_weight"),
    ] {
        let findings = findings(&format!("memory:\n  {yaml}\n"));
        assert_eq!(findings.len(), 1, "{yaml}: {findings:?}");
        assert_eq!((findings[0].severity, findings[0].path.as_str()), (Severity::Error, path), "{yaml}");
        assert!(findings[0].hint.len() > 10, "{yaml}");
    }
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    for (yaml, path) in [
        ("external: { provider: mem0 }", "memory.external.provider"),
        ("engine: both\n  external: { provider: mem1 }", "memory.external.provider"),
        ("external: { openvikng: { account: a } }", "memory.external.openvikng"),
        ("embedding: { api_base: 'http://h' }", "memory.embedding.api_base"),
        ("llm: { api_base: 'http://h' }", "memory.llm.model"),
        ("dreaming: { code: { enabled: true } }", "memory.dreaming.code.enabled"),
        ("dreaming: { agent: { interval_seconds: 5 } }", "memory.dreaming.agent.interval_seconds"),
        ("lifecycle: { compression: true }", "memory.lifecycle.compression"),
        ("search: { candidates: 5 }", "memory.search.candidates"),
    ] {
        let findings = findings(&format!("memory:\n  {yaml}\n"));
        assert_eq!(findings.len(), 1, "{yaml}: {findings:?}");
        assert_eq!((findings[0].severity, findings[0].path.as_str()), (Severity::Warning, path), "{yaml}");
    }
}

#[test]
fn what_makes_sense_is_not_mentioned() {
    let yaml = "memory:\n  engine: both\n  external: { provider: openviking }\n  server: { listen: 'localhost:1' }\n  \
        llm: { api_base: 'http://h', model: m }\n  dreaming: { agent: { enabled: true } }\n";
    assert_eq!(findings(yaml), []);
    assert_eq!(findings("memory:\n  server: { listen: '[::1]:1' }\n"), []);
}

#[test]
#[cfg(unix)]
fn a_key_in_a_file_for_everyone_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let file = folder.write("home/.env", "MEMORY_API_KEYS=canary\n");
    let count = |mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        check(&folder.loader(&[]).load().unwrap()).len()
    };
    assert_eq!((count(0o600), count(0o644)), (0, 1));
}
