use std::collections::{BTreeMap, BTreeSet};

use super::super::keys::{SECTIONS, find, is_section};
use super::super::origin::collect;
use super::super::{Config, KEYS, Kind};

fn leaves() -> BTreeMap<String, serde_json::Value> {
    let tree = serde_json::to_value(Config::default()).unwrap();
    let mut leaves = Vec::new();
    collect(&tree, "", &mut leaves);
    leaves.into_iter().map(|(path, value)| (path, value.clone())).collect()
}

#[test]
fn the_table_and_the_types_hold_the_same_keys() {
    let typed: BTreeSet<String> = leaves().into_keys().collect();
    let listed: BTreeSet<String> = KEYS.iter().filter(|key| key.is_setting()).map(|key| key.path.to_owned()).collect();
    assert_eq!(typed, listed);
}

#[test]
fn paths_are_unique_and_documented() {
    let mut seen = BTreeSet::new();
    for key in KEYS {
        assert!(seen.insert(key.path), "{} stands twice", key.path);
        assert!(key.doc.ends_with('.') && key.doc.len() > 5, "{}: {:?}", key.path, key.doc);
        assert!(!key.is_setting() || find(key.path).is_some());
    }
}

#[test]
fn every_section_is_documented() {
    let mut sections = BTreeSet::new();
    for path in leaves().keys() {
        let mut parent = path.as_str();
        while let Some((above, _)) = parent.rsplit_once('.') {
            sections.insert(above.to_owned());
            parent = above;
        }
    }
    assert_eq!(sections, SECTIONS.iter().map(|(path, _)| (*path).to_owned()).collect());
    assert!(is_section("memory.search") && !is_section("memory.search.limit"));
}

#[test]
fn a_variable_belongs_to_one_key_unless_it_is_meant_for_two() {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for key in KEYS.iter().filter(|key| key.is_setting()) {
        for variable in key.variables.iter().chain(key.fallbacks) {
            owners.entry(variable).or_default().push(key.path);
        }
    }
    owners.retain(|_, paths| paths.len() > 1);
    let expected = ["memory.dreaming.agent.interval_seconds", "memory.dreaming.code.interval_seconds"];
    assert_eq!(owners, BTreeMap::from([("DREAMING_INTERVAL", expected.to_vec())]));
}

#[test]
fn every_promised_variable_is_there() {
    let promised = "MEMORY_HOME MEMORY_CONFIG MEMORY_ENGINE MEMORY_EXTERNAL_PROVIDER MEMORY_USER_ID MEMORY_SCOPE_ID \
        MEMORY_PLUGIN_DIR MEMORY_LISTEN MEMORY_API_KEYS MEMORY_LOG MEM0_API_KEY MEM0_USER_ID MEM0_AGENT_ID MEM0_BASE_URL \
        OPENVIKING_ENDPOINT OPENVIKING_API_KEY OPENVIKING_ACCOUNT OPENVIKING_USER EMBED_API_KEY EMBED_API_BASE EMBED_MODEL \
        LLM_API_KEY LLM_API_BASE LLM_MODEL OPENAI_API_KEY OPENAI_BASE_URL DREAMING_AGENT_ENABLED DREAMING_CODE_ENABLED \
        DREAMING_INTERVAL VT_MEMORY VT_MEMORY_QUALITY VT_MEMORY_GC VT_MEMORY_DECAY VT_MEMORY_HIERARCHY VT_MEMORY_LINKS \
        VT_MEMORY_COMPRESSION VT_MEMORY_FTS_INDEX ROLEBOX_MEMORY_MAX_ENTRIES";
    let known: BTreeSet<&str> =
        KEYS.iter().flat_map(|key| key.variables.iter().chain(key.fallbacks)).copied().collect();
    let missing: Vec<&str> = promised.split_whitespace().filter(|name| !known.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn every_credential_is_marked_as_one() {
    for key in KEYS.iter().filter(|key| key.path.contains("api_key")) {
        assert!(key.kind.is_secret(), "{}", key.path);
    }
}

#[test]
fn choices_that_belong_to_other_types_are_complete() {
    let accepted = |path: &str| match find(path).unwrap().kind {
        Kind::Choice(names) => names.iter().map(|name| serde_json::json!(name)).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    for name in accepted("memory.min_relevance") {
        serde_json::from_value::<crate::Relevance>(name).unwrap();
    }
    for name in accepted("memory.search.mode") {
        serde_json::from_value::<crate::SearchMode>(name).unwrap();
    }
}
