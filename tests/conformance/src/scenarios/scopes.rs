//! Who sees what: users, spaces, owners and roles are kept apart in every read and every change.

use memory_core::{
    DEFAULT_NAME, ErrorKind, ListRequest, NewMemory, Owner, Scope, SearchRequest, SessionContext, Team, TeamRole,
    Viewer, WriteItem, WriteOutcome, WriteRequest,
};

use crate::*;

fn scope_of(viewer: &Viewer) -> Scope {
    viewer.writable().unwrap()
}

async fn add_as(trial: &Trial, viewer: &Viewer, text: &str) -> String {
    add_memory(trial, NewMemory::new(scope_of(viewer), text)).await
}

/// Whether someone reaches a memory by search, by look-up, in a list and in a prompt: all of them, or none.
async fn reaches(trial: &Trial, viewer: &Viewer, id: &str, query: &str, part: &str) -> bool {
    let asked = SearchRequest::new(viewer.clone(), query);
    let recall = ask(trial, asked.clone()).await;
    assert!(recall.hits.iter().all(|hit| viewer.may_read(&hit.scope)), "{viewer:?}: {recall:?}");
    let by_search = recall.hits.iter().any(|hit| hit.text.contains(part));
    let mut ways = vec![("search", by_search)];
    let prompt = trial.prefetch(viewer, query).await.unwrap();
    let by_prompt = prompt.is_some_and(|text| text.contains(part));
    // What is of the present session stands in the prompt already, so it may be left out there.
    if by_prompt || viewer.session.is_none() {
        ways.push(("prefetch", by_prompt));
    }
    if trial.has(Need::Get) {
        ways.push(("get", get_as(trial, viewer, id).await.is_some()));
    }
    if trial.has(Need::List) {
        let memories = memories_of(trial, viewer).await;
        assert!(memories.iter().all(|memory| viewer.may_read(&memory.scope)), "{viewer:?}: {memories:?}");
        ways.push(("list", memories.iter().any(|memory| memory.id.as_str() == id)));
    }
    assert!(ways.iter().all(|(_, reached)| *reached == by_search), "{viewer:?} by some ways only: {ways:?}");
    by_search
}

/// A stranger neither reaches a memory nor changes, forgets or learns the past of it.
async fn keeps_out(trial: &Trial, stranger: &Viewer, owner: &Viewer, id: &str, query: &str, part: &str) {
    assert!(!reaches(trial, stranger, id, query, part).await, "{stranger:?} reaches what is of {owner:?}");
    if trial.has(Need::Update) {
        let request = memory_core::UpdateRequest { viewer: stranger.clone(), ..update(id, body("taken over")) };
        assert_eq!(trial.update(request).await.unwrap_err().kind(), ErrorKind::NotFound, "{stranger:?}");
    }
    if trial.has(Need::Delete) {
        let report = forget(trial, stranger, &[id]).await;
        assert_eq!((report.deleted, report.missing), (vec![], words(&[id])), "{stranger:?}");
    }
    if trial.has(Need::History) {
        assert_eq!(trial.history(stranger, id).await.unwrap_err().kind(), ErrorKind::NotFound, "{stranger:?}");
    }
    must_find(trial, owner, query, part).await;
}

/// The viewer decides what can be found; nothing of another user or space is even counted.
pub async fn strangers_find_nothing(trial: &Trial) {
    let id = add(trial, "The safe is behind the painting 画").await;
    must_find(trial, &viewer(), "safe behind painting", "safe").await;
    for stranger in [Viewer::user("other", DEFAULT_NAME), Viewer::user(DEFAULT_NAME, "other")] {
        for _ in 0..2 {
            keeps_out(trial, &stranger, &viewer(), &id, "safe behind painting", "safe").await;
            settle(trial).await;
        }
    }
    assert_eq!(ask(trial, question("safe behind painting")).await.hits.len(), 1);
}

/// Names that look alike, or that an address or a path could take for one another, are different people.
pub async fn similar_names_are_different_users(trial: &Trial) {
    let names = [
        "ann", "Ann", "ann ", "ann/x", "ann%2Fx", "an_", "a%", "..", "*", "张", "张三", "e\u{301}", "é", "a:b", "a?b#c",
    ];
    let mut written = Vec::new();
    for (number, name) in names.iter().enumerate() {
        for space in [DEFAULT_NAME, "work"] {
            let viewer = Viewer::user(*name, space);
            let word = format!("word{number}{}", if space == "work" { "w" } else { "d" });
            let id = add_as(trial, &viewer, &format!("The secret word of this drawer is {word}")).await;
            written.push((viewer, id, word));
        }
    }
    for (viewer, id, word) in &written {
        let hit = must_find(trial, viewer, "secret word drawer", word).await;
        assert_eq!((&hit.id.to_string(), &hit.scope), (id, &scope_of(viewer)));
        let recall = ask(trial, SearchRequest::new(viewer.clone(), "secret word drawer")).await;
        assert_eq!(recall.hits.len(), 1, "{viewer:?} sees another's: {recall:?}");
        if trial.has(Need::List) {
            let listed: Vec<String> = memories_of(trial, viewer).await.iter().map(|m| m.id.to_string()).collect();
            assert_eq!(listed, [id.as_str()], "{viewer:?}");
        }
    }
}

/// Every owner has its own: an agent, a workspace, a team, a member, a session. The user's own is for all of them.
pub async fn owners_are_kept_apart(trial: &Trial) {
    let ann = Viewer::user("ann", "home");
    let team = |name: &str, role| Some(Team { name: name.into(), role });
    let owners = [
        ann.clone(),
        Viewer { agent: Some("coder".into()), ..ann.clone() },
        Viewer { agent: Some("writer 作家".into()), ..ann.clone() },
        Viewer { workspace: Some("/srv/app".into()), ..ann.clone() },
        Viewer { team: team("red", TeamRole::Leader), ..ann.clone() },
        Viewer { team: team("red", TeamRole::Member("bo".into())), ..ann.clone() },
        Viewer { team: team("blue", TeamRole::Member("bo".into())), ..ann.clone() },
        Viewer { session: Some("s-1".into()), ..ann.clone() },
        Viewer { session: Some("s-2".into()), ..ann.clone() },
    ];
    let mut written = Vec::new();
    for (number, owner) in owners.iter().enumerate() {
        let word = format!("token{number}");
        let id = add_as(trial, owner, &format!("The drawer holds the paper with {word}")).await;
        written.push((owner, id, word));
    }
    for (owner, id, word) in &written {
        assert_eq!(must_find(trial, owner, "drawer paper", word).await.scope, scope_of(owner));
        for viewer in owners.iter().chain([&Viewer::user("ann", "work"), &Viewer::user("bob", "home")]) {
            let expected = viewer.may_read(&scope_of(owner));
            assert_eq!(reaches(trial, viewer, id, "drawer paper", word).await, expected, "{viewer:?} {owner:?}");
        }
    }
    for stranger in [&owners[2], &owners[0], &Viewer { agent: Some("coder".into()), ..Viewer::user("ann", "work") }] {
        keeps_out(trial, stranger, &owners[1], &written[1].1, "drawer paper", "token1").await;
    }
}

/// What belongs to a team is changed by its leader alone, and a temporary team changes nothing.
pub async fn only_leaders_change_a_team(trial: &Trial) {
    let with = |role| Viewer { team: Some(Team { name: "red".into(), role }), ..Viewer::user("ann", "home") };
    let leader = with(TeamRole::Leader);
    let id = add_as(trial, &leader, "The team meets in the blue room").await;
    let change =
        |viewer: &Viewer, text: &str| memory_core::UpdateRequest { viewer: viewer.clone(), ..update(&id, body(text)) };
    for reader in [with(TeamRole::Member("bo".into())), with(TeamRole::Temporary)] {
        must_find(trial, &reader, "team meets", "blue room").await;
        if trial.has(Need::Update) {
            let error = trial.update(change(&reader, "The team meets nowhere")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
        }
        if trial.has(Need::Delete) {
            match trial.delete(deletion(&reader, &[&id])).await {
                Ok(report) => assert_eq!(report.deleted, words(&[]), "{report:?}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}"),
            }
        }
    }
    must_find(trial, &leader, "team meets", "blue room").await;
    if trial.has(Need::Update) {
        trial.update(change(&leader, "The team meets in the green room")).await.unwrap();
        must_find(trial, &leader, "team meets", "green room").await;
    }
    if trial.has(Need::Delete) {
        assert_eq!(forget(trial, &leader, &[&id]).await.deleted, words(&[&id]));
    }
}

/// A name that is none is refused before anything is read or written.
pub async fn impossible_names_are_refused(trial: &Trial) {
    for name in ["", "  ", "a\u{1f}b", "line\nbreak", &"x".repeat(129)] {
        let viewers = [
            Viewer::user(name, DEFAULT_NAME),
            Viewer::user(DEFAULT_NAME, name),
            Viewer { agent: Some(name.into()), ..viewer() },
        ];
        for viewer in viewers {
            let kinds = [
                trial.initialize(&SessionContext { viewer: viewer.clone(), language: None }).await.err(),
                trial.search(SearchRequest::new(viewer.clone(), "anything")).await.err(),
                trial.prefetch(&viewer, "anything").await.err(),
                if trial.has(Need::List) {
                    trial.list(ListRequest { viewer: viewer.clone(), ..ListRequest::default() }).await.err()
                } else {
                    None
                },
            ];
            for error in kinds.iter().take(if trial.has(Need::List) { 4 } else { 3 }) {
                let kind = error.as_ref().map(memory_core::Error::kind);
                assert_eq!(kind, Some(ErrorKind::InvalidRequest), "{viewer:?}: {kinds:?}");
            }
        }
        let scope = Scope { user: name.into(), space: DEFAULT_NAME.into(), owner: Owner::User };
        let items = vec![WriteItem::Memory(Box::new(NewMemory::new(scope, "nobody's")))];
        match trial.write(WriteRequest { items, ..WriteRequest::default() }).await {
            Ok(report) => assert_eq!(report.items[0].outcome, WriteOutcome::Rejected, "{report:?}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}"),
        }
    }
}
