//! What variables set.

use super::super::{EngineMode, LifecyclePreset, SettingOrigin, check};
use super::{Folder, everything};

#[test]
fn the_kind_decides_and_nothing_is_guessed() {
    let folder = Folder::new();
    let memory = folder
        .loader(&[
            ("MEM0_API_KEY", "0123456"),
            ("MEMORY_USER_ID", "true"),
            ("MEMORY_ENGINE", " BOTH "),
            ("DREAMING_AGENT_ENABLED", "Yes"),
            ("DREAMING_INTERVAL", "90"),
            ("MEMORY_API_KEYS", "甲, 乙 ,"),
            ("VT_MEMORY", "FULL"),
            ("VT_MEMORY_GC", "off"),
            ("ROLEBOX_MEMORY_MAX_ENTRIES", "7"),
            ("MEMORY_PLUGIN_DIR", "p"),
        ])
        .load()
        .unwrap()
        .config
        .memory;
    assert_eq!((memory.external.mem0.api_key.expose(), memory.external.user_id.as_str()), ("0123456", "true"));
    assert_eq!(memory.engine, EngineMode::Both);
    assert!(memory.dreaming.agent.enabled && !memory.dreaming.code.enabled);
    assert_eq!((memory.dreaming.agent.interval_seconds, memory.dreaming.code.interval_seconds), (90, 90));
    assert_eq!(memory.server.api_keys.iter().map(|key| key.expose()).collect::<Vec<_>>(), ["甲", "乙"]);
    assert_eq!((memory.lifecycle.preset, memory.lifecycle.gc), (LifecyclePreset::Full, Some(false)));
    assert_eq!(memory.max_entries, 7);
    assert_eq!(memory.plugin_dir, folder.path().join("cwd/p"));
}

#[test]
fn empty_means_unset() {
    let folder = Folder::new();
    let loaded = folder.load("memory: { engine: none }", &[("MEMORY_ENGINE", " "), ("MEMORY__INJECT", "")]).unwrap();
    assert_eq!(loaded.config.memory.engine, EngineMode::None);
    assert!(loaded.config.memory.inject);
}

#[test]
fn any_key_can_be_set() {
    let folder = Folder::new();
    let variables = [
        ("MEMORY__ENGINE", "none"),
        ("MEMORY_ENGINE", "both"),
        ("MEMORY__SEARCH__VECTOR_WEIGHT", "0.5"),
        ("MEMORY__EXTERNAL__MEM0__RERANK", "0"),
        ("MEMORY__DOCUMENTS__EXTRA_PATHS", "/a,b"),
        ("MEMORY__EXTERNAL__ACME_STORE__API_TOKEN", "0042"),
        ("MEMORY_EXTERNAL_PROVIDER", "acme-store"),
        ("MEMORY__EXTERNAL__OTHER__DEEP__X", "y"),
    ];
    let loaded = folder.loader(&variables).load().unwrap();
    let memory = &loaded.config.memory;
    assert_eq!(memory.engine, EngineMode::None);
    assert_eq!((memory.search.vector_weight, memory.external.mem0.rerank), (0.5, false));
    assert_eq!(memory.documents.extra_paths, [std::path::Path::new("/a"), &folder.path().join("cwd/b")]);
    assert_eq!(memory.external.plugins["acme-store"].expose()["api_token"], "0042");
    assert_eq!(memory.external.plugins["other"].expose()["deep"]["x"], "y");
    assert_eq!(loaded.origin("memory.engine"), SettingOrigin::Environment { variable: "MEMORY__ENGINE".into() });
}

#[test]
fn wrong_values_name_the_variable_only() {
    let folder = Folder::new();
    for (variable, expected) in [
        ("MEMORY_ENGINE", "one of builtin"),
        ("DREAMING_INTERVAL", "a whole number"),
        ("VT_MEMORY_GC", "true or false"),
        ("EMBED_API_BASE", "an address"),
        ("OPENAI_BASE_URL", "an address"),
        ("MEMORY_LISTEN", "an address"),
        ("MEMORY__SEARCH__MIN_SCORE", "a number"),
        ("MEMORY_DOTENV_FIRST", "true or false"),
    ] {
        let complaint = everything(&folder.loader(&[(variable, "canary")]).load().unwrap_err());
        assert!(complaint.contains(variable) && complaint.contains(expected), "{complaint}");
        assert!(!complaint.contains("canary"), "{complaint}");
    }
}

#[test]
fn an_unknown_generic_variable_names_the_nearest() {
    let folder = Folder::new();
    let complaint = everything(&folder.loader(&[("MEMORY__SERCH__LIMIT", "canary")]).load().unwrap_err());
    assert!(complaint.contains("MEMORY__SERCH__LIMIT") && complaint.contains("MEMORY__SEARCH__LIMIT"), "{complaint}");
    assert!(!complaint.contains("canary"), "{complaint}");
    for name in ["MEMORY__", "MEMORY__EXTERNAL__MEM0__API_KYE", "MEMORY__EXTERNAL__ACME", "MEMORY__EXTERNAL____X"] {
        assert!(folder.loader(&[(name, "x")]).load().is_err(), "{name}");
    }
}

#[test]
fn a_slip_in_a_named_variable_is_pointed_out() {
    let folder = Folder::new();
    let loaded = folder.loader(&[("MEMORY_ENGIN", "both"), ("MEMORY_PRESSURE_WATCH", "/x")]).load().unwrap();
    let findings = check(&loaded);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].message.contains("MEMORY_ENGIN") && findings[0].hint.contains("MEMORY_ENGINE"));
}

#[test]
fn an_unknown_preset_counts_as_off_and_is_pointed_out() {
    let folder = Folder::new();
    let loaded = folder.load("memory: { lifecycle: { preset: full } }", &[("VT_MEMORY", "canary")]).unwrap();
    assert_eq!(loaded.config.memory.lifecycle.preset, LifecyclePreset::Off);
    let findings = check(&loaded);
    assert!(findings.iter().any(|finding| finding.message.contains("VT_MEMORY")), "{findings:?}");
    assert!(!format!("{findings:?}").contains("canary"));
    let complaint = everything(&folder.loader(&[("MEMORY__LIFECYCLE__PRESET", "canary")]).load().unwrap_err());
    assert!(complaint.contains("one of off, on, full"), "{complaint}");
}

#[test]
fn fallbacks_are_weaker_than_the_file() {
    let folder = Folder::new();
    let openai = [("OPENAI_API_KEY", "sk"), ("OPENAI_BASE_URL", "http://openai")];
    let llm = folder.loader(&openai).load().unwrap().config.memory.llm;
    assert_eq!((llm.api_key.expose(), llm.api_base.expose()), ("sk", "http://openai"));
    assert!(!llm.is_configured(), "no model is named");

    let own = folder.load("memory: { llm: { api_base: 'http://own' } }", &[("OPENAI_BASE_URL", "no address")]);
    assert_eq!(own.unwrap().config.memory.llm.api_base.expose(), "http://own");

    let llm =
        folder.load("memory: { llm: { api_base: 'http://own', api_key: '' } }", &openai).unwrap().config.memory.llm;
    assert_eq!((llm.api_key.expose(), llm.api_base.expose()), ("sk", "http://own"));

    let loaded = folder.load("", &[openai[0], openai[1], ("LLM_API_KEY", "own"), ("LLM_MODEL", "m")]).unwrap();
    assert_eq!(loaded.config.memory.llm.api_key.expose(), "own");
    assert!(loaded.config.memory.llm.is_configured());
    let fallback = SettingOrigin::Environment { variable: "OPENAI_BASE_URL".into() };
    assert_eq!(loaded.origin("memory.llm.api_base"), fallback);
}

#[test]
#[cfg(unix)]
fn the_environment_of_the_process_is_read() {
    let environment = super::super::Environment::of_process();
    assert!(environment.get("PATH").is_some() && environment.current_directory().is_absolute());
    assert!(!format!("{environment:?}").contains(environment.get("PATH").unwrap()));
}
