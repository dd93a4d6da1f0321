//! How a server knows who calls, and what is sent to it for that.

use memory_conformance::fake::{OPENVIKING_KEY, OPENVIKING_ROOT_KEY, OpenVikingAuth, OpenVikingSettings, Recorded};
use memory_core::{ErrorKind, MemoryProvider, NewMemory, Scope, SearchRequest, SessionContext, Viewer};

use super::support::*;

fn auth(auth: OpenVikingAuth) -> OpenVikingSettings {
    OpenVikingSettings { auth, ..OpenVikingSettings::default() }
}

fn identity(request: &Recorded) -> [Option<&str>; 4] {
    ["x-api-key", "x-openviking-account", "x-openviking-user", "x-openviking-actor-peer"]
        .map(|name| request.header(name))
}

#[tokio::test]
async fn without_a_key_nobody_is_named_and_the_server_says_who_we_are() {
    let setup = setup().await;
    setup.add("a fact").await;
    let requests = setup.server.take_recorded();
    let lines: Vec<String> = requests.iter().map(Recorded::line).collect();
    assert_eq!(lines[..2], ["GET /health", "GET /api/v1/system/status"]);
    assert!(requests.iter().all(|request| identity(request) == [None; 4]), "{requests:?}");
    assert!(setup.viking.files().keys().all(|uri| uri.starts_with("viking://user/default/memories/notes/")));
    assert!(setup.provider.health().await.message.contains("0.5.2"));
}

#[tokio::test]
async fn a_key_says_who_we_are() {
    let setup = setup_with(auth(OpenVikingAuth::ApiKey), key(OPENVIKING_KEY)).await;
    setup.add("a fact").await;
    let requests = setup.server.take_recorded();
    assert_eq!(requests[0].line(), "GET /health");
    assert!(requests[1].line().starts_with("GET /api/v1/content/read"), "{}", requests[1].line());
    assert!(requests.iter().all(|request| identity(request) == [Some(OPENVIKING_KEY), None, None, None]));
    assert!(setup.viking.files().keys().all(|uri| uri.starts_with("viking://user/alice/memories/notes/")));
    let health = setup.provider.health().await;
    assert_eq!(
        (health.ok, &health.details["user"], &health.details["account"]),
        (true, &"alice".into(), &"acme".into())
    );
}

#[tokio::test]
async fn a_missing_wrong_or_root_key_is_told_and_not_remembered() {
    for (given, hint) in
        [("", "OPENVIKING_API_KEY"), ("wrong", "OPENVIKING_API_KEY"), (OPENVIKING_ROOT_KEY, "user_key")]
    {
        let setup = setup_with(auth(OpenVikingAuth::ApiKey), key(given)).await;
        for _ in 0..2 {
            let error = setup.provider.initialize(&SessionContext::default()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
            assert!(error.hints().iter().any(|hint_of| hint_of.contains(hint)), "{:?}", error.hints());
            assert!(
                given.is_empty() || !format!("{error} {error:?} {:?}", setup.provider.health().await).contains(given)
            );
        }
        let health = setup.provider.health().await;
        assert!(!health.ok && health.message.contains(hint), "{health:?}");
        // The server is put right, and nothing need be restarted here.
        setup.viking.set(|settings| settings.auth = OpenVikingAuth::Dev);
        setup.provider.initialize(&SessionContext::default()).await.unwrap();
        assert!(setup.provider.health().await.ok);
    }
}

#[tokio::test]
async fn a_trusting_server_is_told_account_and_user() {
    let setup = setup_with(auth(OpenVikingAuth::Trusted), |config| {
        key(OPENVIKING_ROOT_KEY)(config);
        config.memory.external.openviking.account = "acme".into();
        config.memory.external.openviking.user = "bob".into();
    })
    .await;
    setup.add("a fact").await;
    assert_eq!(setup.ask("fact").await, ["a fact"]);
    for request in setup.server.take_recorded() {
        let expected = if request.path == "/health" { [None; 2] } else { [Some("acme"), Some("bob")] };
        assert_eq!([identity(&request)[1], identity(&request)[2]], expected, "{}", request.line());
    }
    assert!(setup.viking.files().keys().all(|uri| uri.starts_with("viking://user/bob/memories/notes/")));
}

#[tokio::test]
async fn a_trusting_server_gets_each_user_when_none_is_configured() {
    let setup = setup_with(auth(OpenVikingAuth::Trusted), |config| {
        key(OPENVIKING_ROOT_KEY)(config);
        config.memory.external.openviking.user = String::new();
        config.memory.external.user_id = "carol".into();
    })
    .await;
    setup.add("said by nobody in particular").await;
    for user in ["dave", "李雷"] {
        let scope = Scope { user: user.into(), ..Scope::default() };
        setup.write(NewMemory::new(scope.clone(), format!("a fact of {user}"))).await.unwrap();
        let request = SearchRequest::new(Viewer::user(user, scope.space), "fact particular");
        assert_eq!(setup.found(request).await, [format!("a fact of {user}")]);
    }
    let users: Vec<String> = setup.viking.files().keys().map(|uri| uri.split('/').nth(3).unwrap().to_owned()).collect();
    assert_eq!(users.len(), 3);
    assert!(users.contains(&"carol".to_owned()) && users.contains(&"dave".to_owned()), "{users:?}");
    assert!(users.iter().all(|user| user.is_ascii()), "{users:?}");
}

#[tokio::test]
async fn before_0_4_the_root_key_acts_for_a_user() {
    let settings = OpenVikingSettings { version: "0.3.24".into(), ..auth(OpenVikingAuth::ApiKey) };
    let setup = setup_with(settings, key(OPENVIKING_ROOT_KEY)).await;
    setup.add("a fact").await;
    let last = setup.server.take_recorded().pop().unwrap();
    assert_eq!(identity(&last), [Some(OPENVIKING_ROOT_KEY), Some("root"), Some("default"), None]);
}

#[tokio::test]
async fn a_configured_peer_is_named_with_every_call_and_keeps_everything() {
    let setup =
        setup_with(OpenVikingSettings::default(), |config| config.memory.external.openviking.peer = "desk".into())
            .await;
    setup.add("a fact").await;
    setup.write(owned(memory_core::Owner::Agent("coder".into()), "a fact of the coder")).await.unwrap();
    let viewer = Viewer { agent: Some("coder".into()), ..viewer() };
    let mut found = setup.found(SearchRequest::new(viewer, "fact")).await;
    found.sort();
    assert_eq!(found, ["a fact", "a fact of the coder"]);
    setup.provider.sync_turn(turn("s", "t1", "hello")).await.unwrap();
    for request in setup.server.take_recorded() {
        let body = request.json();
        let named = identity(&request)[3];
        assert_eq!(
            named.is_none(),
            request.path == "/health" || request.path.ends_with("/status"),
            "{}",
            request.line()
        );
        if request.path.ends_with("/batch") {
            assert_eq!((named, &body["messages"][0]["peer_id"]), (Some("desk"), &"desk".into()));
        }
    }
    assert!(setup.viking.files().keys().any(|uri| uri.starts_with("viking://user/default/peers/desk/memories/notes/")));
    assert!(setup.viking.files().keys().all(|uri| uri.starts_with("viking://user/default/peers/")));
}

#[tokio::test]
async fn settings_that_make_no_sense_are_told() {
    let mut config = memory_core::config::Config::default();
    config.memory.external.openviking.peer = "a/b".into();
    assert_eq!(provider_openviking::OpenVikingConfig::of(&config).unwrap_err().kind(), ErrorKind::ConfigInvalid);
    config.memory.external.openviking.peer = String::new();
    config.memory.external.openviking.endpoint = memory_core::SafeUrl::new(" ");
    assert_eq!(provider_openviking::OpenVikingConfig::of(&config).unwrap_err().kind(), ErrorKind::ConfigInvalid);
    config.memory.external.openviking.endpoint = memory_core::SafeUrl::new("ftp://host");
    let config = provider_openviking::OpenVikingConfig::of(&config).unwrap();
    assert_eq!(provider_openviking::OpenVikingProvider::new(config).err().unwrap().kind(), ErrorKind::ConfigInvalid);
}
