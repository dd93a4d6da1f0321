//! What stands in `config.yaml`.

use std::path::Path;

use super::super::{Config, EmbeddingKind, EngineMode, LifecyclePreset};
use super::{Folder, complaint, everything, load};
use crate::{ErrorKind, Relevance, SearchMode};

#[test]
fn the_shape_of_the_documents_is_read() {
    let memory = load(
        r#"
memory:
  engine: " Both "
  external:
    provider: mem0
    user_id: "0042"
    scope_id: 团队
    openjiuwen: { kv_type: shelve, vector_type: chroma, db_type: sqlite }
    mem0: { api_key: "k", user_id: "", agent_id: "a", rerank: false }
    openviking: { endpoint: http://127.0.0.1:1933, api_key: "", account: root, user: default }
  dreaming:
    agent: { enabled: yes, interval_seconds: 7200 }
    code:  { enabled: false, interval_seconds: 14400 }
  min_relevance: high
  search: { vector_weight: 1, text_weight: 0.3, mode: text }
  lifecycle: { preset: off, gc: null, links: true }
"#,
    )
    .unwrap()
    .config
    .memory;
    assert_eq!(memory.engine, EngineMode::Both);
    assert_eq!((memory.external.user_id.as_str(), memory.external.scope_id.as_str()), ("0042", "团队"));
    assert_eq!((memory.external.mem0.api_key.expose(), memory.external.mem0.rerank), ("k", false));
    assert!(memory.dreaming.agent.enabled && memory.dreaming.agent.interval_seconds == 7200);
    assert_eq!((memory.min_relevance, memory.search.mode), (Relevance::High, SearchMode::Text));
    assert_eq!((memory.search.vector_weight, memory.search.text_weight), (1.0, 0.3));
    assert_eq!(memory.lifecycle.preset, LifecyclePreset::Off);
    assert_eq!((memory.lifecycle.gc, memory.lifecycle.links), (None, Some(true)));
}

#[test]
fn nothing_gives_the_defaults() {
    for yaml in
        ["", "# 空\n", "memory:\n", "memory:\n  external:\n  # all out\n", "---\nmemory: {}\n", "\u{feff}memory:\r\n"]
    {
        assert_eq!(load(yaml).unwrap().config, Config::default(), "{yaml:?}");
    }
}

#[test]
fn empty_means_unset() {
    let yaml = "memory:\n  log: ''\n  workspace_dir: ''\n  external: { user_id: '', openviking: { account: '' } }\n";
    assert_eq!(load(yaml).unwrap().config, Config::default());
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    for (yaml, place, known) in [
        ("memory:\n  engin: both\n", "config.yaml:2: unknown key `memory.engin`", "`memory.engine`"),
        (
            "memory:\n  search:\n    limit: 3\n    vector_wieght: 1\n",
            "config.yaml:4: unknown",
            "`memory.search.vector_weight`",
        ),
        ("memory:\n  external: { mem0: { api_kye: x } }", "config.yaml:2: unknown", "`memory.external.mem0.api_key`"),
        ("engine: both\n", "config.yaml:1: unknown key `engine`", "`memory.engine`"),
        ("memory:\n  api_keys: [x]\n", "config.yaml:2: unknown", "`memory.server.api_keys`"),
        ("memory:\n  external:\n    provder: mem0\n", "config.yaml:3: unknown", "`memory.external.provider`"),
    ] {
        let complaint = complaint(yaml);
        assert!(complaint.contains(place) && complaint.contains(known), "{complaint}");
    }
}

#[test]
fn a_wrong_type_says_where_and_what_was_expected() {
    for (key, value, expected) in [
        ("engine", "canary", "one of builtin, external, both, none"),
        ("engine", "", "one of builtin"),
        ("engine", "null", "one of builtin"),
        ("inject", "canary", "true or false"),
        ("inject", "3", "true or false"),
        ("max_inject", "\"3\"", "a whole number"),
        ("max_inject", "-3", "a whole number"),
        ("max_inject", "3.5", "a whole number"),
        ("max_inject", "99999999999999999999999999", "a whole number"),
        ("search", "canary", "a section"),
        ("search", "[canary]", "a section"),
        ("log", "[canary]", "a text"),
        ("log", "{ canary: 1 }", "a text"),
        ("embedding", "{ api_base: canary }", "an address"),
        ("documents", "{ extra_paths: canary }", "a list of paths"),
        ("documents", "{ extra_paths: [[canary]] }", "a list of paths"),
        ("server", "{ listen: canary }", "an address"),
        ("search", "{ min_score: .nan }", "a number from 0 to 1"),
        ("search", "{ min_score: 2 }", "a number from 0 to 1"),
    ] {
        let complaint = complaint(&format!("# 一\nmemory:\n  {key}: {value}\n"));
        assert!(complaint.contains("config.yaml:3: `memory."), "{key} {value}: {complaint}");
        assert!(complaint.contains(expected), "{key} {value}: {complaint}");
        assert!(!complaint.contains("canary"), "{complaint}");
    }
}

#[test]
fn an_id_that_is_no_text_must_be_quoted() {
    for value in ["0042", "42", "4.2", "1e3", "true", "0x1F", "123456789012345678901234567890"] {
        let complaint = complaint(&format!("memory:\n  external:\n    user_id: {value}\n"));
        assert!(complaint.contains("config.yaml:3") && complaint.contains("quote this value"), "{value}: {complaint}");
    }
    let secret = complaint("memory:\n  external:\n    mem0: { api_key: 8675309 }\n");
    assert!(secret.contains("quote this value") && !secret.contains("8675309"), "{secret}");
    for value in ["'0042'", "\"42\"", "0042a", "abc"] {
        load(&format!("memory:\n  external:\n    user_id: {value}\n")).unwrap();
    }
}

#[test]
fn everything_wrong_is_reported_at_once() {
    let complaint = complaint("memory:\n  engine: x\n  inject: 5\n  nonsense: 1\n");
    for line in ["config.yaml:2", "config.yaml:3", "config.yaml:4"] {
        assert!(complaint.contains(line), "{complaint}");
    }
}

#[test]
fn syntax_errors_name_the_line_and_show_no_text() {
    for (yaml, line) in [
        ("memory:\n  engine: both\n  engine: canary\n", "config.yaml:3"),
        ("memory:\n\tengine: canary\n", "config.yaml:2"),
        ("memory:\n  log: [canary\n", "config.yaml:"),
        ("memory:\n  log: 'canary\n", "config.yaml:"),
        ("memory: {}\n---\nmemory: {}\n", "config.yaml"),
        ("- canary\n", "config.yaml:1"),
        ("canary\n", "config.yaml:1"),
        ("memory: !canary {}\n", "config.yaml:1"),
    ] {
        let complaint = complaint(yaml);
        assert!(complaint.contains(line) && !complaint.contains("canary"), "{yaml:?}: {complaint}");
    }
}

#[test]
fn texts_may_refer_to_variables() {
    let folder = Folder::new();
    let yaml = "memory:\n  engine: ${MODE:-none}\n  inject: ${UNSET:-false}\n  max_inject: ${COUNT}\n  log: a${LEVEL}b${EMPTY:-c}\n  \
        external:\n    user_id: ${UNSET}\n    mem0: { api_key: '${KEY}' }\n    acme: { token: '${KEY}' }\n  \
        documents: { extra_paths: ['${DIR}/笔记'] }\n";
    let loaded =
        folder.load(yaml, &[("COUNT", "7"), ("LEVEL", "级"), ("EMPTY", ""), ("KEY", "007"), ("DIR", "/d")]).unwrap();
    let memory = &loaded.config.memory;
    assert_eq!((memory.engine, memory.inject, memory.max_inject), (EngineMode::None, false, 7));
    assert_eq!((memory.log.as_str(), memory.external.user_id.as_str()), ("a级bc", "__default__"));
    assert_eq!(memory.external.mem0.api_key.expose(), "007");
    assert_eq!(memory.external.plugins["acme"].expose()["token"], "007");
    assert_eq!(memory.documents.extra_paths, [Path::new("/d/笔记")]);

    let error = folder.load("memory:\n  inject: ${FLAG}\n", &[("FLAG", "canary")]).unwrap_err();
    let complaint = everything(&error);
    assert!(complaint.contains("config.yaml:2") && !complaint.contains("canary"), "{complaint}");
}

#[test]
fn paths_start_at_the_file() {
    let folder = Folder::new();
    let file = folder.write(
        "etc/m.yaml",
        "memory:\n  workspace_dir: ./w\n  plugin_dir: ~/插件\n  embedding: { path: /abs, kind: static }\n",
    );
    let memory = folder.loader(&[]).with_config(&file).load().unwrap().config.memory;
    assert_eq!(memory.workspace_dir, folder.path().join("etc/w"));
    assert_eq!(memory.plugin_dir, folder.path().join("小明/插件"));
    assert_eq!((memory.embedding.path.as_path(), memory.embedding.kind), (Path::new("/abs"), EmbeddingKind::Static));
}

#[test]
fn plugin_sections_pass_through() {
    let loaded = load(
        "memory:\n  external:\n    provider: acme-store\n    acme-store:\n      url: http://h\n      deep: { list: [1, -2, 3.5, true, null, 文] }\n",
    )
    .unwrap();
    let section = loaded.config.memory.external.plugins["acme-store"].expose();
    assert_eq!(
        serde_json::json!(section),
        serde_json::json!({"url": "http://h", "deep": {"list": [1, -2, 3.5, true, null, "文"]}})
    );
    assert!(loaded.origin("memory.external.acme-store.deep.list").to_string().ends_with("config.yaml:6"));
    assert!(complaint("memory:\n  external:\n    Acme Store: { a: 1 }\n").contains("unknown key"));
}

#[test]
fn files_that_are_no_configuration_are_refused() {
    let folder = Folder::new();
    let load = |content: &[u8]| {
        let file = folder.write("c.yaml", content);
        folder.loader(&[]).with_config(file).load()
    };
    let error = load(b"memory:\n  log: \xff\xfe canary\n").unwrap_err();
    assert!(error.to_string().contains("c.yaml:2: this is not UTF-8"), "{error}");
    let error = load(&vec![b'#'; (1 << 20) + 1]).unwrap_err();
    assert!(error.to_string().contains("larger than 1 MiB"), "{error}");
    assert!(load(&vec![b'#'; 1 << 20]).is_ok());
    let error = folder.loader(&[]).with_config(folder.path()).load().unwrap_err();
    assert!(error.to_string().contains("not a file"), "{error}");
    let error = folder.loader(&[]).with_config("缺.yaml").load().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
    assert!(error.to_string().contains("cwd/缺.yaml") && !error.hints().is_empty(), "{error}");
}
