//! Nobody sees, changes or counts what belongs to another: a property over all read paths, before and after indexing.
//!
//! Who may see what is said here a second time, in other words than the program's.

use std::collections::{BTreeMap, BTreeSet};

use memory_core::{
    DeleteRequest, Error, ErrorKind, GroupBy, HitKind, Item, ListRequest, MemoryChanges, MemoryProvider, NewMemory,
    NewMessage, NoProgress, Owner, Role, Scope, SearchMode, SearchRequest, Team, TeamRole, UpdateRequest, Viewer,
    WriteItem, WriteOutcome, WriteRequest,
};
use proptest::prelude::*;
use provider_builtin::BuiltinProvider;
use serde_json::json;
use tests::{Home, number_of};

/// Names made to be mistaken for one another.
const NAMES: [&str; 12] = ["a", "ab", "a%", "a_", "A", "a'b", "a\"b", "a b", "张", "张三", "e\u{301}", "é"];

/// What every text says, so that every search could find everything.
const COMMON: &str = "quokka";

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn team() -> impl Strategy<Value = Team> {
    let role = prop_oneof![Just(TeamRole::Leader), name().prop_map(TeamRole::Member), Just(TeamRole::Temporary)];
    (name(), role).prop_map(|(name, role)| Team { name, role })
}

prop_compose! {
    fn viewer()(
        // Few users and spaces, so that much is nearly shared.
        user in prop::sample::select(&["a", "a%", "张三"][..]),
        space in prop::sample::select(&["a", "ab"][..]),
        agent in prop::option::of(name()),
        workspace in prop::option::of(name()),
        team in prop::option::of(team()),
        session in prop::option::of(name()),
    ) -> Viewer {
        Viewer { user: user.to_owned(), space: space.to_owned(), agent, workspace, team, session }
    }
}

/// The rule, in this test's own words.
fn sees(viewer: &Viewer, scope: &Scope) -> bool {
    let owned = match &scope.owner {
        Owner::User => true,
        Owner::Agent(name) => viewer.agent.as_ref() == Some(name),
        Owner::Workspace(name) => viewer.workspace.as_ref() == Some(name),
        Owner::Session(name) => viewer.session.as_ref() == Some(name),
        Owner::Team(name) => viewer.team.as_ref().is_some_and(|team| team.name == *name),
        Owner::Member { team, member } => {
            viewer.team == Some(Team { name: team.clone(), role: TeamRole::Member(member.clone()) })
        }
    };
    owned && viewer.user == scope.user && viewer.space == scope.space
}

fn changes(viewer: &Viewer, scope: &Scope) -> bool {
    let role = viewer.team.as_ref().map(|team| &team.role);
    let refused = role == Some(&TeamRole::Temporary)
        || (matches!(scope.owner, Owner::Team(_)) && role != Some(&TeamRole::Leader));
    sees(viewer, scope) && !refused
}

/// What was written, by id.
#[derive(Debug, Default)]
struct Written {
    memories: BTreeMap<String, Scope>,
    messages: BTreeMap<String, (Scope, String)>,
    /// A word of each text that no other text has.
    words: BTreeMap<String, String>,
}

impl Written {
    fn memories_of(&self, viewer: &Viewer) -> BTreeSet<String> {
        self.memories.iter().filter(|(_, scope)| sees(viewer, scope)).map(|(id, _)| id.clone()).collect()
    }

    /// Messages of the viewer, narrowed to its session, as search and list do.
    fn messages_of(&self, viewer: &Viewer) -> BTreeSet<String> {
        let narrowed = |session: &str| viewer.session.as_ref().is_none_or(|wanted| wanted == session);
        self.messages
            .iter()
            .filter(|(_, (scope, session))| sees(viewer, scope) && narrowed(session))
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Everything of the viewer, in whatever session it was said.
    fn all_of(&self, viewer: &Viewer) -> BTreeSet<String> {
        let messages = self.messages.iter().filter(|(_, (scope, _))| sees(viewer, scope)).map(|(id, _)| id.clone());
        self.memories_of(viewer).into_iter().chain(messages).collect()
    }
}

async fn write(provider: &BuiltinProvider, viewer: &Viewer, number: usize, written: &mut Written) {
    let (Ok(scope), Ok(conversation)) = (viewer.writable(), viewer.conversation()) else { return };
    let session = viewer.session.clone().unwrap_or_else(|| format!("talk {}", number % 2));
    let memory = NewMemory::new(scope.clone(), format!("{COMMON} number {number} 记忆 word{number}y"));
    let message = NewMessage::new(
        conversation.clone(),
        session.clone(),
        Role::User,
        format!("{COMMON} said {number} 消息 word{number}z"),
    );
    let items = vec![WriteItem::Memory(Box::new(memory)), WriteItem::Message(Box::new(message))];
    let report = provider.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
    assert!(report.items.iter().all(|item| item.outcome == WriteOutcome::Stored), "{:?}", report.items);
    let ids: Vec<String> = report.items.into_iter().map(|item| item.id.unwrap()).collect();
    written.words.insert(ids[0].clone(), format!("word{number}y"));
    written.words.insert(ids[1].clone(), format!("word{number}z"));
    written.memories.insert(ids[0].clone(), scope);
    written.messages.insert(ids[1].clone(), (conversation, session));
}

fn id_of(item: &Item) -> String {
    match item {
        Item::Memory(memory) => memory.id.to_string(),
        Item::Message(message) => message.id.to_string(),
        Item::Chunk(chunk) => chunk.chunk.id.to_string(),
    }
}

/// What a whole, unlimited search finds.
async fn found(provider: &BuiltinProvider, request: SearchRequest) -> BTreeSet<String> {
    let request = SearchRequest { limit: 1_000, neighbors: 3, ..request };
    let recall = provider.search(request).await.unwrap();
    let neighbors = recall.hits.iter().flat_map(|hit| hit.neighbors.iter().map(|near| near.id.to_string()));
    let hits = recall.hits.iter().map(|hit| hit.id.to_string());
    neighbors.chain(hits).collect()
}

/// Every read path of one viewer against the rule.
async fn check_reads(provider: &BuiltinProvider, viewer: &Viewer, written: &Written, indexed: bool) {
    let (memories, messages) = (written.memories_of(viewer), written.messages_of(viewer));
    let visible: BTreeSet<String> = memories.union(&messages).cloned().collect();
    let ask = |query: &str| SearchRequest::new(viewer.clone(), query);

    assert_eq!(found(provider, ask(COMMON)).await, visible, "search of {viewer:?}");
    assert_eq!(
        found(provider, SearchRequest { mode: SearchMode::Text, ..ask(COMMON) }).await,
        visible,
        "text search of {viewer:?}"
    );
    let raw = found(provider, SearchRequest { raw: true, ..ask(COMMON) }).await;
    assert!(raw.is_subset(&visible) && (!indexed || raw == visible), "raw search of {viewer:?}: {raw:?}");
    assert_eq!(
        found(provider, SearchRequest { kinds: vec![HitKind::Memory], ..ask("记忆") }).await,
        memories,
        "记忆 of {viewer:?}"
    );
    for request in [
        SearchRequest { mode: SearchMode::Vector, ..ask(COMMON) },
        SearchRequest { group_by: Some(GroupBy::Session), ..ask(COMMON) },
        SearchRequest { group_by: Some(GroupBy::Document), ..ask(COMMON) },
        SearchRequest { raw: true, ..ask("quok* OR word*") },
        ask("消息"),
    ] {
        let asked = format!("{request:?}");
        assert!(found(provider, request).await.is_subset(&visible), "{asked}");
    }
    for (kind, expected) in [(HitKind::Memory, &memories), (HitKind::Message, &messages)] {
        let request = ListRequest { viewer: viewer.clone(), kind: Some(kind), limit: 1_000, ..ListRequest::default() };
        let page = provider.list(request).await.unwrap();
        assert_eq!(page.items.iter().map(id_of).collect::<BTreeSet<_>>(), *expected, "list {kind:?} of {viewer:?}");
    }
    for id in written.memories.keys().chain(written.messages.keys()) {
        let report = provider.get(viewer, std::slice::from_ref(id)).await.unwrap();
        let got: Vec<String> = report.items.iter().map(id_of).collect();
        assert_eq!(got, if visible.contains(id) { vec![id.clone()] } else { vec![] }, "get by {viewer:?}");
    }
    check_prefixes(provider, viewer, written, &visible).await;
    for (id, scope) in &written.memories {
        let outcome = provider.history(viewer, id).await;
        assert_eq!(outcome.is_ok(), sees(viewer, scope), "history of {id} by {viewer:?}: {outcome:?}");
    }
    let mut exported = BTreeSet::new();
    let mut keep = |item: Item| {
        exported.insert(id_of(&item));
        Ok(())
    };
    provider.export(Some(viewer), &mut keep).await.unwrap();
    assert_eq!(exported, visible, "export of {viewer:?}");
    let statistics = provider.statistics(Some(viewer)).await.unwrap();
    assert_eq!((statistics.memories + statistics.messages) as usize, visible.len(), "statistics of {viewer:?}");
    let by_state: u64 = statistics.by["state"].values().sum();
    assert_eq!(by_state as usize, memories.len(), "statistics of {viewer:?}");

    let answer =
        provider.call_tool(viewer, "memory_search", json!({"query": COMMON, "max_results": 50})).await.unwrap();
    let results = answer["data"]["results"].as_array().unwrap();
    let ids: BTreeSet<String> = results.iter().map(|result| result["id"].as_str().unwrap().to_owned()).collect();
    assert!(ids.is_subset(&visible) && ids.len() == visible.len().min(50), "memory_search of {viewer:?}: {answer}");
    let recalled = provider.prefetch(viewer, COMMON).await.unwrap().unwrap_or_default();
    // Recalling for a prompt looks into all sessions.
    let all = written.all_of(viewer);
    for (id, word) in &written.words {
        assert!(all.contains(id) || !recalled.contains(word), "prefetch of {viewer:?}: {recalled}");
    }
}

/// A prefix names what is unique among what the viewer sees, whatever else there is.
async fn check_prefixes(provider: &BuiltinProvider, viewer: &Viewer, written: &Written, all: &BTreeSet<String>) {
    for id in written.memories.keys() {
        for length in [6, 10, 20] {
            let prefix = id[..length].to_owned();
            let named: Vec<&String> = all.iter().filter(|id| id.starts_with(&prefix)).collect();
            match (&named[..], provider.get(viewer, std::slice::from_ref(&prefix)).await) {
                ([], Ok(report)) => assert!(report.items.is_empty(), "{prefix} names something for {viewer:?}"),
                ([only], Ok(report)) => {
                    assert_eq!(
                        report.items.iter().map(id_of).collect::<Vec<_>>(),
                        [(*only).clone()],
                        "{prefix} by {viewer:?}"
                    );
                }
                ([_, _, ..], Err(error)) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict);
                    let told = format!("{error} {}", error.to_json());
                    let foreign = written
                        .memories
                        .keys()
                        .chain(written.messages.keys())
                        .find(|id| !all.contains(*id) && told.contains(*id));
                    assert_eq!(foreign, None, "an ambiguous prefix names foreign ids");
                }
                (named, outcome) => panic!("{prefix} by {viewer:?}: {named:?} {outcome:?}"),
            }
        }
    }
}

fn refused(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Forbidden)
}

/// Every way to change something of another fails and changes nothing.
async fn check_changes(provider: &BuiltinProvider, viewer: &Viewer, written: &Written) {
    let before = everything(provider).await;
    for (id, scope) in &written.memories {
        if changes(viewer, scope) {
            continue;
        }
        let request = UpdateRequest {
            viewer: viewer.clone(),
            id: id.clone(),
            changes: MemoryChanges { body: Some("taken over".into()), ..MemoryChanges::default() },
            expected_revision: None,
        };
        assert!(refused(&provider.update(request).await.unwrap_err()), "update by {viewer:?}");
    }
    let visible: BTreeSet<String> = written.memories_of(viewer).union(&written.messages_of(viewer)).cloned().collect();
    for id in written.memories.keys().chain(written.messages.keys()) {
        let scope = written.memories.get(id).or_else(|| written.messages.get(id).map(|(scope, _)| scope)).unwrap();
        if changes(viewer, scope) {
            continue;
        }
        for erase in [false, true] {
            let request = DeleteRequest { viewer: viewer.clone(), ids: vec![id.clone()], erase, dry_run: false };
            match provider.delete(request).await {
                Ok(report) => assert!(report.deleted.is_empty() && !visible.contains(id), "forgotten by {viewer:?}"),
                Err(error) => assert!(refused(&error), "{error}"),
            }
        }
        match provider.restore(viewer, std::slice::from_ref(id), false).await {
            Ok(report) => assert!(report.restored.is_empty(), "restored by {viewer:?}"),
            Err(error) => assert!(refused(&error), "{error}"),
        }
    }
    assert_eq!(everything(provider).await, before, "nothing changed by {viewer:?}");
}

async fn everything(provider: &BuiltinProvider) -> Vec<Item> {
    let mut items = Vec::new();
    let mut keep = |item| {
        items.push(item);
        Ok(())
    };
    provider.export(None, &mut keep).await.unwrap();
    items
}

async fn nobody_sees_anothers(writers: &[Viewer], readers: &[Viewer]) {
    let home = Home::new();
    let memory = home.open().await;
    let provider = memory.builtin.clone().unwrap();
    let mut written = Written::default();
    for (number, viewer) in writers.iter().enumerate() {
        write(&provider, viewer, number, &mut written).await;
    }
    for indexed in [false, true] {
        for viewer in readers {
            check_reads(&provider, viewer, &written, indexed).await;
        }
        if !indexed {
            provider.index_pending(&NoProgress).await.unwrap();
        }
    }
    for viewer in readers {
        check_changes(&provider, viewer, &written).await;
    }
    memory.engine.shutdown().await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: u32::try_from(number_of("MEMORY_TEST_CASES", 6)).unwrap(),
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_viewer_sees_only_its_own(writers in prop::collection::vec(viewer(), 4..14), strangers in prop::collection::vec(viewer(), 1..3)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        // Writers read too: they must find what is theirs.
        let readers: Vec<Viewer> = writers.iter().take(5).cloned().chain(strangers).collect();
        runtime.block_on(nobody_sees_anothers(&writers, &readers));
    }
}

/// Sixty memories of another user share the beginning of their ids with the only one of this user.
#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_is_looked_up_among_what_the_viewer_sees() {
    let home = Home::new();
    let memory = home.open().await;
    let write = async |user: &str, text: String| {
        let scope = Scope { user: user.into(), ..Scope::default() };
        let item = WriteItem::Memory(Box::new(NewMemory::new(scope, text)));
        let report =
            memory.engine.write(WriteRequest { items: vec![item], force: true, repeated: false }).await.unwrap();
        report.items[0].id.clone().unwrap()
    };
    for number in 0..60 {
        write("crowd", format!("crowd memory number {number}")).await;
    }
    let id = write("hermit", "the hermit keeps bees".into()).await;
    let viewer = Viewer::user("hermit", memory_core::DEFAULT_NAME);
    let report = memory.engine.get(&viewer, &[id[..6].to_owned()]).await.unwrap();
    assert_eq!(report.items.iter().map(id_of).collect::<Vec<_>>(), [id], "{report:?}");
    memory.engine.shutdown().await.unwrap();
}

/// A workspace of documents belongs to one scope, whatever the name.
#[tokio::test(flavor = "multi_thread")]
async fn documents_of_hostile_names_stay_apart() {
    let home = Home::new();
    let memory = home.open().await;
    let provider = memory.builtin.clone().unwrap();
    let long = "长".repeat(128);
    let names = ["a", "a/b", "..", "../a", "a%2f.b", ".", "张三", "A", "a\\b", long.as_str()];
    for (number, name) in names.iter().enumerate() {
        let viewer = Viewer::user(*name, "s");
        let arguments = json!({"path": "MEMORY.md", "content": format!("# Diary\n\nquokka page{number}x\n")});
        let answer = provider.call_tool(&viewer, "write_memory", arguments).await.unwrap();
        assert_eq!(answer["success"], true, "{name}: {answer}");
    }
    for indexed in [false, true] {
        for (number, name) in names.iter().enumerate() {
            let viewer = Viewer::user(*name, "s");
            let recall = provider.search(SearchRequest::new(viewer.clone(), "quokka")).await.unwrap();
            let texts: Vec<&str> = recall.hits.iter().map(|hit| hit.text.as_str()).collect();
            assert!(texts.len() == 1 && texts[0].contains(&format!("page{number}x")), "{name}: {texts:?}");
            for tool in ["memory_get", "read_memory"] {
                let answer = provider.call_tool(&viewer, tool, json!({"path": "MEMORY.md"})).await.unwrap();
                assert!(
                    answer["data"]["text"].as_str().unwrap().contains(&format!("page{number}x")),
                    "{name}: {answer}"
                );
                let away =
                    provider.call_tool(&viewer, tool, json!({"path": "../../a/memory/MEMORY.md"})).await.unwrap();
                assert_eq!(away["success"], false, "{name}: {away}");
            }
        }
        if !indexed {
            provider.index_pending(&NoProgress).await.unwrap();
        }
    }
    memory.engine.shutdown().await.unwrap();
}
