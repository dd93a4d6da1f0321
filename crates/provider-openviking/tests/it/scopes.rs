//! Users, spaces and owners never see each other's things: neither asked for nor let through.

use memory_core::{
    DeleteRequest, HitKind, ListRequest, MemoryChanges, MemoryProvider, NewMemory, Owner, Scope, SearchRequest, Team,
    TeamRole, Turn, UpdateRequest, Viewer,
};
use serde_json::json;

use super::support::*;

fn scopes() -> Vec<Scope> {
    let scope = |user: &str, space: &str, owner: Owner| Scope { user: user.into(), space: space.into(), owner };
    let default = memory_core::DEFAULT_NAME;
    vec![
        scope(default, default, Owner::User),
        scope("bob", default, Owner::User),
        scope("李雷", default, Owner::User),
        scope(default, "work", Owner::User),
        scope(default, default, Owner::Agent("coder".into())),
        scope(default, default, Owner::Agent("Coder".into())),
        scope(default, default, Owner::Workspace("coder".into())),
        scope(default, default, Owner::Team("t".into())),
        scope(default, default, Owner::Member { team: "t".into(), member: "m".into() }),
        scope(default, default, Owner::Session("s".into())),
    ]
}

fn viewer_of(scope: &Scope) -> Viewer {
    let mut viewer = Viewer::user(&scope.user, &scope.space);
    match &scope.owner {
        Owner::User => {}
        Owner::Agent(name) => viewer.agent = Some(name.clone()),
        Owner::Workspace(name) => viewer.workspace = Some(name.clone()),
        Owner::Team(name) => viewer.team = Some(Team { name: name.clone(), role: TeamRole::Leader }),
        Owner::Member { team, member } => {
            viewer.team = Some(Team { name: team.clone(), role: TeamRole::Member(member.clone()) });
        }
        Owner::Session(id) => viewer.session = Some(id.clone()),
    }
    viewer
}

#[tokio::test]
async fn each_viewer_finds_lists_and_gets_what_it_may_read_and_no_more() {
    for minor in ["0.5.2", "0.4.9", "0.3.24"] {
        let setup = version(minor).await;
        for scope in scopes() {
            let external_id = Some("the same everywhere".to_owned());
            let text = format!("a secret of {} in {} for {}", scope.user, scope.space, scope.owner);
            setup.write(NewMemory { external_id, ..NewMemory::new(scope, text) }).await.unwrap();
        }
        assert_eq!(setup.viking.files().len(), scopes().len(), "no two scopes share a file");
        for scope in scopes() {
            let viewer = viewer_of(&scope);
            let mut readable: Vec<String> = scopes()
                .iter()
                .filter(|other| viewer.may_read(other))
                .map(|scope| format!("a secret of {} in {} for {}", scope.user, scope.space, scope.owner))
                .collect();
            readable.sort();
            setup.server.take_recorded();
            let request = SearchRequest { limit: 50, ..SearchRequest::new(viewer.clone(), "secret") };
            let mut found = setup.found(request).await;
            found.sort();
            assert_eq!(found, readable, "{minor} {viewer:?}");
            let asked = setup.requests("POST", "/api/v1/search/find").remove(0).json();
            let targets = asked["target_uri"].as_array().unwrap();
            assert_eq!(targets.len(), viewer.readable().len() + 1, "its own folders and the resources: {targets:?}");
            let (mut listed, _) = setup.list(ListRequest { viewer: viewer.clone(), ..Default::default() }).await;
            listed.sort();
            assert_eq!(listed, readable, "{minor} {viewer:?}");
            for uri in setup.viking.files().keys() {
                let report = setup.provider.get(&viewer, std::slice::from_ref(uri)).await.unwrap();
                let own = readable.iter().any(|text| setup.viking.files()[uri].starts_with(text.as_str()));
                assert_eq!(report.items.len(), usize::from(own), "{minor} {viewer:?} {uri}");
                let read =
                    setup.provider.call_tool(&viewer, "viking_read", json!({"uri": uri, "detail": "full"})).await;
                assert_eq!(read.is_ok(), own, "{minor} {viewer:?} {uri}: {read:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_stranger_changes_and_forgets_nothing() {
    let setup = setup().await;
    let id = setup.add("the safe is behind the painting").await;
    for stranger in [Viewer::user("bob", memory_core::DEFAULT_NAME), Viewer::user(memory_core::DEFAULT_NAME, "work")] {
        let uri = setup.viking.files().into_keys().next().unwrap();
        for name in [id.clone(), id[..8].to_owned(), uri] {
            let changes = MemoryChanges { body: Some("x".into()), ..Default::default() };
            let update = UpdateRequest { viewer: stranger.clone(), id: name.clone(), changes, expected_revision: None };
            assert!(setup.provider.update(update).await.is_err());
            let delete =
                DeleteRequest { viewer: stranger.clone(), ids: vec![name.clone()], erase: true, dry_run: false };
            assert_eq!(setup.provider.delete(delete).await.unwrap().missing, [name]);
        }
    }
    assert_eq!(setup.get(&id).await.unwrap().body, "the safe is behind the painting");
}

#[tokio::test]
async fn a_member_reads_the_teams_memories_and_changes_none() {
    let setup = setup().await;
    let result = setup.write(owned(Owner::Team("t".into()), "the team meets at nine")).await.unwrap();
    let member =
        viewer_of(&Scope { owner: Owner::Member { team: "t".into(), member: "m".into() }, ..Scope::default() });
    let delete = DeleteRequest { viewer: member.clone(), ids: vec![result.id.unwrap()], erase: false, dry_run: false };
    assert_eq!(setup.provider.delete(delete).await.unwrap_err().kind(), memory_core::ErrorKind::Forbidden);
    assert_eq!(setup.found(SearchRequest::new(member, "team nine")).await.len(), 1);
}

#[tokio::test]
async fn what_is_extracted_from_a_session_stays_in_its_scope() {
    let setup = setup().await;
    let conversations: Vec<Scope> =
        scopes().into_iter().filter(|scope| !matches!(scope.owner, Owner::Session(_))).collect();
    for (number, scope) in conversations.iter().enumerate() {
        let viewer = Viewer { session: Some("the same session".into()), ..viewer_of(scope) };
        let said = Turn { viewer: viewer.clone(), ..turn("", "t", &format!("secret number {number}")) };
        setup.provider.sync_turn(said).await.unwrap();
        setup.provider.end_session(&viewer).await.unwrap();
    }
    assert_eq!(setup.viking.sessions().len(), conversations.len(), "no two scopes share a session");
    for (number, scope) in conversations.iter().enumerate() {
        let request = SearchRequest { limit: 50, ..SearchRequest::new(viewer_of(scope), "secret number") };
        let found = setup.found(request).await;
        let may = |other: &&Scope| viewer_of(scope).may_read(other);
        assert_eq!(found.len(), conversations.iter().filter(may).count(), "{scope:?}: {found:?}");
        assert!(found.iter().any(|text| text.ends_with(&number.to_string())), "{scope:?}: {found:?}");
        let own = Viewer { session: Some("the same session".into()), ..viewer_of(scope) };
        let (said, _) =
            setup.list(ListRequest { viewer: own, kind: Some(HitKind::Message), ..Default::default() }).await;
        assert_eq!(said, [format!("secret number {number}"), format!("about secret number {number}")]);
    }
    let created: Vec<serde_json::Value> =
        setup.requests("POST", "/api/v1/sessions").iter().map(|request| request.json()).collect();
    assert_eq!(created.len(), conversations.len() - 1, "the user's own needs no policy");
    for body in created {
        assert_eq!(body["memory_policy"], json!({"self": {"enabled": false}, "peer": {"enabled": true}}));
        assert!(body["session_id"].as_str().unwrap().starts_with("scoped-the-same-session-"));
    }
}

#[tokio::test]
async fn a_policy_is_set_again_after_a_server_lost_everything() {
    let setup = setup().await;
    let agent = Viewer { agent: Some("coder".into()), ..in_session("s") };
    setup.provider.sync_turn(Turn { viewer: agent.clone(), ..turn("s", "t1", "one") }).await.unwrap();
    let address = setup.server.url().strip_prefix("http://").unwrap().to_owned();
    drop(setup.server);
    assert!(setup.provider.sync_turn(Turn { viewer: agent.clone(), ..turn("s", "t2", "two") }).await.is_err());
    let other = memory_conformance::fake::OpenViking::default();
    let server = other.serve_at(&address).await;
    setup.provider.sync_turn(Turn { viewer: agent, repeated: true, ..turn("s", "t2", "two") }).await.unwrap();
    assert!(server.recorded().iter().any(|request| request.line() == "POST /api/v1/sessions"));
}
