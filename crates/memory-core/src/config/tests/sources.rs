//! Which file is read, and which source wins.

use super::super::{Environment, Loader, SettingOrigin, check, show};
use super::{Folder, everything};
use crate::ErrorKind;

fn user(loader: Loader) -> (String, String) {
    let loaded = loader.load().unwrap();
    (loaded.config.memory.external.user_id.clone(), loaded.origin("memory.external.user_id").to_string())
}

#[test]
fn flag_then_environment_then_dotenv_then_file_then_default() {
    let folder = Folder::new();
    let home = folder.path().join("home");
    assert_eq!(user(folder.loader(&[])), ("__default__".into(), "default".into()));

    folder.write("home/config.yaml", "# 配置\nmemory:\n  external:\n    user_id: file\n");
    assert_eq!(user(folder.loader(&[])), ("file".into(), format!("{}:4", home.join("config.yaml").display())));

    folder.write("home/.env", "# x\nexport MEMORY_USER_ID=\"dotenv\"\n");
    assert_eq!(
        user(folder.loader(&[])),
        ("dotenv".into(), format!("{}:2 MEMORY_USER_ID", home.join(".env").display()))
    );

    let variables = [("MEMORY_USER_ID", "process")];
    assert_eq!(user(folder.loader(&variables)), ("process".into(), "environment MEMORY_USER_ID".into()));

    let loader = folder.loader(&variables).with_override("--user", "memory.external.user_id", "flag");
    assert_eq!(user(loader.clone()), ("flag".into(), "flag --user".into()));
    assert_eq!(user(loader.with_override("--user", "memory.external.user_id", "later")).0, "later");
}

#[test]
fn a_switch_puts_dotenv_above_the_environment() {
    let folder = Folder::new();
    folder.write("home/.env", "MEMORY_USER_ID=dotenv\n");
    let process = ("MEMORY_USER_ID", "process");
    assert_eq!(user(folder.loader(&[process]).with_dotenv_first()).0, "dotenv");
    assert_eq!(user(folder.loader(&[process, ("MEMORY_DOTENV_FIRST", "1")])).0, "dotenv");
    folder.write("home/.env", "MEMORY_USER_ID=dotenv\nMEMORY_DOTENV_FIRST=yes\n");
    assert_eq!(user(folder.loader(&[process])).0, "dotenv");
    assert_eq!(user(folder.loader(&[process, ("MEMORY_DOTENV_FIRST", "no")])).0, "process");
    let yaml = "memory: { log: '${MEMORY_USER_ID}' }";
    assert_eq!(folder.load(yaml, &[process]).unwrap().config.memory.log, "dotenv");
}

#[test]
fn the_home_is_found() {
    let folder = Folder::new();
    let cwd = folder.path().join("cwd");
    let home = |variables: &[(&str, &str)]| {
        Loader::new(Environment::new(variables.iter().copied(), &cwd)).load().map(|loaded| loaded.home)
    };
    let user_home = folder.path().to_str().unwrap();
    assert_eq!(home(&[("HOME", user_home)]).unwrap(), folder.path().join(".local/share/memory"));
    let xdg = folder.path().join("xdg");
    let xdg = xdg.to_str().unwrap();
    assert_eq!(home(&[("HOME", user_home), ("XDG_DATA_HOME", xdg)]).unwrap(), folder.path().join("xdg/memory"));
    assert_eq!(
        home(&[("HOME", user_home), ("XDG_DATA_HOME", "relative")]).unwrap(),
        folder.path().join(".local/share/memory")
    );
    assert_eq!(home(&[("HOME", user_home), ("MEMORY_HOME", "~/记忆")]).unwrap(), folder.path().join("记忆"));
    assert_eq!(home(&[("MEMORY_HOME", "here")]).unwrap(), cwd.join("here"));
    let error = home(&[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
    assert!(everything(&error).contains("MEMORY_HOME"));

    let loaded = folder.loader(&[]).with_home("by-flag").load().unwrap();
    assert_eq!(loaded.home, cwd.join("by-flag"));
    assert_eq!(loaded.home_origin, SettingOrigin::Flag { flag: "--home".into() });
    assert_eq!(loaded.workspace_dir(), cwd.join("by-flag/workspace"));
    assert_eq!(loaded.plugin_dir(), folder.path().join("小明/.plugins/memory"));
}

#[test]
fn the_file_is_searched_in_order() {
    let folder = Folder::new();
    let xdg = folder.path().join("xdg");
    let loader = folder.loader(&[("XDG_CONFIG_HOME", xdg.to_str().unwrap())]);
    let searched = [folder.path().join("home/config.yaml"), folder.path().join("xdg/memory/config.yaml")];
    let loaded = loader.load().unwrap();
    assert_eq!((loaded.config_path, loaded.searched.as_slice()), (None, searched.as_slice()));

    folder.write("xdg/memory/config.yaml", "memory: { log: xdg }");
    assert_eq!(loader.load().unwrap().config.memory.log, "xdg");
    folder.write("home/config.yaml", "memory: { log: home }");
    let loaded = loader.load().unwrap();
    assert_eq!((loaded.config.memory.log.as_str(), loaded.config_path.as_ref()), ("home", Some(&searched[0])));

    let named = folder.write("named.yaml", "memory: { log: named }");
    let by_variable = folder.loader(&[("MEMORY_CONFIG", named.to_str().unwrap())]);
    assert_eq!(by_variable.load().unwrap().config.memory.log, "named");
    folder.write("cwd/flag.yaml", "memory: { log: flag }");
    let loaded = by_variable.with_config("flag.yaml").load().unwrap();
    assert_eq!((loaded.config.memory.log.as_str(), loaded.searched.len()), ("flag", 1));
}

#[test]
fn an_explicit_file_must_exist() {
    let folder = Folder::new();
    let error = folder.loader(&[("MEMORY_CONFIG", "nowhere.yaml")]).load().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
    assert!(error.to_string().contains("MEMORY_CONFIG") && error.to_string().contains("cwd/nowhere.yaml"), "{error}");
    folder.write("home/.env", "\nMEMORY_CONFIG=nowhere.yaml\n");
    let error = folder.loader(&[]).load().unwrap_err();
    assert!(error.to_string().contains(".env:2") && error.to_string().contains("home/nowhere.yaml"), "{error}");
}

#[test]
fn bad_flags_name_the_flag() {
    let folder = Folder::new();
    let loader = folder.loader(&[]);
    let error = loader.clone().with_override("--limit", "memory.search.limit", "canary").load().unwrap_err();
    assert!(error.to_string().contains("--limit: expected a whole number") && !everything(&error).contains("canary"));
    let error = loader.with_override("--x", "memory.search.limt", "1").load().unwrap_err();
    assert!(everything(&error).contains("did you mean `memory.search.limit`?"), "{error}");
}

#[test]
fn a_bad_dotenv_names_the_line_only() {
    let folder = Folder::new();
    folder.write("home/.env", "A=1\ncanary\n");
    let complaint = everything(&folder.loader(&[]).load().unwrap_err());
    assert!(complaint.contains(".env:2") && !complaint.contains("canary"), "{complaint}");
    folder.write("home/.env", "MEMORY_HOME=/x\nOTHER=1\n");
    let loaded = folder.loader(&[]).load().unwrap();
    assert!(check(&loaded).iter().any(|finding| finding.message.contains(".env:1: MEMORY_HOME has no effect")));
    assert_eq!(loaded.dotenv_path, Some(folder.path().join("home/.env")));
}

#[test]
fn show_lists_every_key_with_its_origin_and_masks_credentials() {
    let folder = Folder::new();
    let yaml = "memory:\n  external:\n    provider: acme\n    acme:\n      token: canary\n      limit: 3\n  \
        server: { api_keys: [canary] }\n  llm: { api_base: 'http://u:canary@h/?k=canary' }\n";
    let loaded = folder.load(yaml, &[("MEM0_API_KEY", "canary")]).unwrap();
    let settings = show(&loaded);
    let printed = format!("{settings:?} {} {loaded:?}", serde_json::to_string(&settings).unwrap());
    assert!(!printed.contains("canary"), "{printed}");
    let find = |path: &str| settings.iter().find(|setting| setting.path == path).unwrap();
    assert_eq!(find("memory.external.mem0.api_key").value, "****");
    assert_eq!(find("memory.external.mem0.api_key").origin.to_string(), "environment MEM0_API_KEY");
    assert_eq!(find("memory.server.api_keys").value, serde_json::json!(["****"]));
    assert_eq!(
        (&find("memory.external.acme.limit").value, &find("memory.external.acme.token").value),
        (&3.into(), &"****".into())
    );
    assert!(find("memory.external.acme.token").origin.to_string().ends_with("config.yaml:5"));
    assert_eq!(find("memory.search.limit").origin, SettingOrigin::Default);
    assert_eq!(settings[0].path, "memory.engine");
    assert_eq!(
        settings.iter().filter(|setting| !setting.path.contains("acme")).count(),
        super::super::keys::settings().count()
    );
}
