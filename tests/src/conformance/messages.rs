//! Messages and turns: verbatim, in order, each once.

use memory_core::{
    DEFAULT_NAME, HitKind, Item, ListRequest, MemoryProvider, Message, NewMessage, Role, Scope, SearchRequest, Turn,
    Viewer, WriteItem, WriteOutcome, fence,
};

use super::{add, ask, question, settle, texts, time, viewer, write};

fn message(session: &str, text: &str) -> NewMessage {
    NewMessage::new(Scope::default(), session, Role::User, text)
}

async fn say(provider: &dyn MemoryProvider, messages: Vec<NewMessage>) -> Vec<memory_core::WriteResult> {
    let items = messages.into_iter().map(|message| WriteItem::Message(Box::new(message))).collect();
    write(provider, items, false).await.items
}

/// The messages of a session in the order they were said.
async fn said(provider: &dyn MemoryProvider, session: &str) -> Vec<Message> {
    let viewer = Viewer { session: Some(session.into()), ..viewer() };
    let request = ListRequest { viewer, kind: Some(HitKind::Message), limit: 1_000, ..ListRequest::default() };
    let page = provider.list(request).await.unwrap();
    let mut messages: Vec<Message> = page
        .items
        .into_iter()
        .map(|item| match item {
            Item::Message(message) => *message,
            item => panic!("{item:?}"),
        })
        .collect();
    messages.sort_by_key(|message| message.position);
    messages
}

/// A message is kept as it was said, with spaces, line ends and everything around it.
pub async fn messages_are_kept_verbatim(provider: &dyn MemoryProvider) {
    let text = "  Two  spaces,\r\n\ttabs, “quotes” 和 emoji 👩‍🚀 \n\n";
    let new = NewMessage {
        speaker: Some("李雷 Li".into()),
        role: Role::Assistant,
        created_at: Some(time("2026-03-03T10:00:00+08:00")),
        attrs: serde_json::json!({"mood": "fine"}).as_object().cloned().unwrap(),
        ..message("周二", text)
    };
    let results = say(provider, vec![new.clone()]).await;
    assert_eq!(results[0].outcome, WriteOutcome::Stored);
    let kept = said(provider, "周二").await;
    let [kept] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!(
        (kept.content.as_str(), &kept.speaker, kept.role, &kept.attrs),
        (text, &new.speaker, new.role, &new.attrs)
    );
    assert_eq!(kept.created_at.to_string(), "2026-03-03T10:00:00+08:00", "the offset is kept");
}

/// The same foreign id in one session is the same message; the same text without one is said again.
pub async fn messages_are_once_by_id_and_never_by_content(provider: &dyn MemoryProvider) {
    let with_id =
        |session: &str, id: &str, text: &str| NewMessage { external_id: Some(id.into()), ..message(session, text) };
    let results = say(
        provider,
        vec![
            with_id("one", "m1", "hello there"),
            with_id("one", "m1", "hello there"),
            with_id("one", "m2", "hello there"),
            with_id("two", "m1", "hello there"),
            message("one", "ok"),
            message("one", "ok"),
        ],
    )
    .await;
    let outcomes: Vec<bool> = results.iter().map(|result| result.outcome == WriteOutcome::Stored).collect();
    assert_eq!(outcomes, [true, false, true, true, true, true]);
    assert_eq!((results[1].outcome, &results[1].id), (WriteOutcome::Deduped, &results[0].id));
    let positions: Vec<u64> = said(provider, "one").await.iter().map(|message| message.position).collect();
    assert_eq!(positions, [0, 1, 2, 3]);
    assert_eq!(said(provider, "two").await.len(), 1);
}

/// A turn is two messages of its session, without what was recalled into the prompt; nothing said is nothing kept.
pub async fn a_turn_is_kept_without_recalled_text(provider: &dyn MemoryProvider) {
    let viewer = Viewer { session: Some("chat".into()), ..viewer() };
    let turn = |user: String, assistant: &str| Turn {
        viewer: viewer.clone(),
        user_text: user,
        assistant_text: assistant.into(),
        at: Some(time("2026-04-01T08:00:00Z")),
    };
    let recalled = fence("an old memory about the submarine");
    provider.sync_turn(turn(format!("{recalled}\nWhere did I park?"), "In front of the bakery")).await.unwrap();
    provider.sync_turn(turn(recalled, " \n ")).await.unwrap();
    let kept = said(provider, "chat").await;
    let contents: Vec<(Role, &str)> = kept.iter().map(|message| (message.role, message.content.trim())).collect();
    assert_eq!(contents, [(Role::User, "Where did I park?"), (Role::Assistant, "In front of the bakery")]);
    assert!(kept.iter().all(|message| message.created_at == time("2026-04-01T08:00:00Z")));
    for _ in 0..2 {
        let recall = ask(provider, SearchRequest::new(Viewer { session: None, ..viewer.clone() }, "submarine")).await;
        assert!(recall.hits.iter().all(|hit| !hit.text.contains("submarine")), "{recall:?}");
        settle(provider).await;
    }
}

/// A turn without a session is kept in the default one.
pub async fn a_turn_without_session_is_in_the_default_one(provider: &dyn MemoryProvider) {
    let turn = Turn { viewer: viewer(), user_text: "hi 你好".into(), assistant_text: "hello".into(), at: None };
    provider.sync_turn(turn).await.unwrap();
    assert_eq!(said(provider, DEFAULT_NAME).await.len(), 2);
}

/// A session narrows messages to itself, but not memories.
pub async fn a_session_narrows_messages(provider: &dyn MemoryProvider) {
    say(provider, vec![message("red", "the parrot talks in red"), message("blue", "the parrot talks in blue")]).await;
    add(provider, "the parrot is called Hugo").await;
    for _ in 0..2 {
        let asked = SearchRequest::new(Viewer { session: Some("red".into()), ..viewer() }, "parrot");
        let mut found =
            texts(&ask(provider, asked).await.hits).iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        found.sort();
        assert_eq!(found, ["the parrot is called Hugo", "the parrot talks in red"]);
        assert_eq!(ask(provider, question("parrot")).await.hits.len(), 3);
        settle(provider).await;
    }
}

/// Messages around a hit come with it, in the session's order; grouped, a session answers once.
pub async fn neighbours_and_sessions(provider: &dyn MemoryProvider) {
    let line = |number: usize| {
        let text =
            if number == 5 { "the tortoise won the race".to_owned() } else { format!("chatter number {number}") };
        NewMessage {
            created_at: Some(time("2026-05-01T09:00:00Z").plus_seconds(number as i64)),
            ..message("race", &text)
        }
    };
    say(provider, (0..10).map(line).collect()).await;
    say(provider, vec![message("zoo", "another tortoise eats lettuce"), message("zoo", "the tortoise sleeps")]).await;
    for _ in 0..2 {
        let recall = ask(provider, SearchRequest { neighbors: 2, ..question("tortoise race") }).await;
        let hit = &recall.hits[0];
        assert_eq!((hit.text.as_str(), hit.session_id.as_deref()), ("the tortoise won the race", Some("race")));
        let mut around: Vec<(i32, &str)> = hit.neighbors.iter().map(|near| (near.offset, near.text.as_str())).collect();
        around.sort();
        let expected =
            [(-2, "chatter number 3"), (-1, "chatter number 4"), (1, "chatter number 6"), (2, "chatter number 7")];
        assert_eq!(around, expected);
        let grouped =
            ask(provider, SearchRequest { group_by: Some(memory_core::GroupBy::Session), ..question("tortoise") })
                .await;
        let mut sessions: Vec<&str> = grouped.hits.iter().filter_map(|hit| hit.session_id.as_deref()).collect();
        sessions.sort_unstable();
        assert_eq!(sessions, ["race", "zoo"], "each session once");
        settle(provider).await;
    }
}

/// What is recalled for a prompt has what fits, and nothing when nothing is stored or asked.
pub async fn prefetch_recalls_for_a_prompt(provider: &dyn MemoryProvider) {
    assert_eq!(provider.prefetch(&viewer(), "anything at all").await.unwrap(), None);
    add(provider, "The user is allergic to hazelnuts").await;
    add(provider, "用户对花粉过敏").await;
    assert_eq!(provider.prefetch(&viewer(), "  ").await.unwrap(), None);
    for _ in 0..2 {
        let text = provider.prefetch(&viewer(), "What is the user allergic to?").await.unwrap().unwrap();
        assert!(text.contains("hazelnuts") && !text.contains("<memory-context>"), "unfenced: {text}");
        let text = provider.prefetch(&viewer(), "花粉").await.unwrap().unwrap();
        assert!(text.contains("用户对花粉过敏"), "{text}");
        settle(provider).await;
    }
}
