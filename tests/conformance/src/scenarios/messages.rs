//! Messages and turns: verbatim, in order, each once.

use memory_core::{
    DEFAULT_NAME, HitKind, ListRequest, NewMessage, Role, SearchRequest, Turn, Viewer, WriteOutcome, fence,
};

use crate::*;

/// A message is kept as it was said, with spaces, line ends and everything around it.
pub async fn messages_are_kept_verbatim(trial: &Trial) {
    let text = "  Two  spaces,\r\n\ttabs, “quotes” 和 emoji 👩‍🚀 \n\n";
    let new = NewMessage {
        speaker: Some("李雷 Li".into()),
        role: Role::Assistant,
        created_at: Some(time("2026-03-03T10:00:00+08:00")),
        attrs: serde_json::json!({"mood": "fine"}).as_object().cloned().unwrap(),
        ..message("周二", text)
    };
    let results = say(trial, vec![new.clone()]).await;
    assert_eq!(results[0].outcome, WriteOutcome::Stored);
    let kept = said(trial, "周二").await;
    let [kept] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!(
        (kept.content.as_str(), &kept.speaker, kept.role, &kept.attrs),
        (text, &new.speaker, new.role, &new.attrs)
    );
    assert_eq!(kept.created_at.to_string(), "2026-03-03T10:00:00+08:00", "the offset is kept");
}

/// The same foreign id in one session is the same message; the same text without one is said again.
pub async fn messages_are_once_by_id_and_never_by_content(trial: &Trial) {
    let with_id =
        |session: &str, id: &str, text: &str| NewMessage { external_id: Some(id.into()), ..message(session, text) };
    let results = say(
        trial,
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
    let positions: Vec<u64> = said(trial, "one").await.iter().map(|message| message.position).collect();
    assert_eq!(positions, [0, 1, 2, 3]);
    assert_eq!(said(trial, "two").await.len(), 1);
}

fn turn(session: &str, user: &str, assistant: &str) -> Turn {
    let viewer = Viewer { session: Some(session.into()), ..viewer() };
    Turn { viewer, user_text: user.into(), assistant_text: assistant.into(), ..Turn::default() }
}

/// What was said is recalled in other sessions once the session has ended; what was recalled into the prompt is not
/// learned again, and a turn in which nothing was said is nothing.
pub async fn what_was_said_is_recalled(trial: &Trial) {
    let recalled = fence("an old memory about the submarine");
    let said = format!("{recalled}\nMy parrot is called Hugo and speaks 普通话");
    trial.sync_turn(turn("monday", &said, "Noted: the parrot Hugo")).await.unwrap();
    trial.sync_turn(turn("monday", &recalled, " \n ")).await.unwrap();
    let session = Viewer { session: Some("monday".into()), ..viewer() };
    trial.end_session(&session).await.unwrap();
    must_find(trial, &viewer(), "parrot Hugo", "Hugo").await;
    let recall = ask(trial, question("submarine")).await;
    assert!(recall.hits.iter().all(|hit| !hit.text.contains("submarine")), "{recall:?}");
    let stranger = Viewer::user("stranger", DEFAULT_NAME);
    assert!(ask(trial, SearchRequest::new(stranger, "parrot Hugo")).await.hits.is_empty());
}

/// A turn that is sent again because its answer was lost is taken once.
pub async fn a_repeated_turn_is_taken_once(trial: &Trial) {
    let of = |repeated| Turn {
        external_id: Some("turn/一".into()),
        repeated,
        ..turn("tuesday", "The ferry leaves at noon", "From pier seven, then")
    };
    for repeated in [false, true, true] {
        trial.sync_turn(of(repeated)).await.unwrap();
    }
    let other =
        Turn { external_id: Some("turn/二".into()), repeated: true, ..turn("tuesday", "Thanks 谢谢", "Bye") };
    trial.sync_turn(other).await.unwrap();
    if trial.has(Need::Transcripts) {
        let contents: Vec<String> = said(trial, "tuesday").await.into_iter().map(|message| message.content).collect();
        assert_eq!(contents, ["The ferry leaves at noon", "From pier seven, then", "Thanks 谢谢", "Bye"]);
    }
    trial.end_session(&Viewer { session: Some("tuesday".into()), ..viewer() }).await.unwrap();
    if trial.has(Need::TurnRecall) {
        must_find(trial, &viewer(), "ferry leaves noon", "ferry").await;
    }
    let recall = ask(trial, question("ferry leaves noon")).await;
    assert!(recall.hits.iter().filter(|hit| hit.text.contains("The ferry leaves")).count() <= 1, "{recall:?}");
}

/// A turn is two messages of its session, without what was recalled into the prompt; nothing said is nothing kept.
pub async fn a_turn_is_kept_without_recalled_text(trial: &Trial) {
    let turn =
        |user: &str, assistant: &str| Turn { at: Some(time("2026-04-01T08:00:00Z")), ..turn("chat", user, assistant) };
    let recalled = fence("an old memory about the submarine");
    trial.sync_turn(turn(&format!("{recalled}\nWhere did I park?"), "In front of the bakery")).await.unwrap();
    trial.sync_turn(turn(&recalled, " \n ")).await.unwrap();
    let kept = said(trial, "chat").await;
    let contents: Vec<(Role, &str)> = kept.iter().map(|message| (message.role, message.content.trim())).collect();
    assert_eq!(contents, [(Role::User, "Where did I park?"), (Role::Assistant, "In front of the bakery")]);
    assert!(kept.iter().all(|message| message.created_at == time("2026-04-01T08:00:00Z")));
    for _ in 0..2 {
        let recall = ask(trial, question("submarine")).await;
        assert!(recall.hits.iter().all(|hit| !hit.text.contains("submarine")), "{recall:?}");
        settle(trial).await;
    }
}

/// A turn without a session is kept in the default one.
pub async fn a_turn_without_session_is_in_the_default_one(trial: &Trial) {
    let turn =
        Turn { viewer: viewer(), user_text: "hi 你好".into(), assistant_text: "hello".into(), ..Turn::default() };
    trial.sync_turn(turn).await.unwrap();
    assert_eq!(said(trial, DEFAULT_NAME).await.len(), 2);
}

/// A session narrows messages to itself, but not memories.
pub async fn a_session_narrows_messages(trial: &Trial) {
    say(trial, vec![message("red", "the parrot talks in red"), message("blue", "the parrot talks in blue")]).await;
    add(trial, "the parrot is called Hugo").await;
    for _ in 0..2 {
        let asked = SearchRequest::new(Viewer { session: Some("red".into()), ..viewer() }, "parrot");
        let mut found = texts(&ask(trial, asked).await.hits).iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        found.sort();
        assert_eq!(found, ["the parrot is called Hugo", "the parrot talks in red"]);
        assert_eq!(ask(trial, question("parrot")).await.hits.len(), 3);
        settle(trial).await;
    }
}

/// Messages around a hit come with it, in the session's order; grouped, a session answers once.
pub async fn neighbours_and_sessions(trial: &Trial) {
    let line = |number: usize| {
        let text =
            if number == 5 { "the tortoise won the race".to_owned() } else { format!("chatter number {number}") };
        NewMessage {
            created_at: Some(time("2026-05-01T09:00:00Z").plus_seconds(number as i64)),
            ..message("race", &text)
        }
    };
    say(trial, (0..10).map(line).collect()).await;
    say(trial, vec![message("zoo", "another tortoise eats lettuce"), message("zoo", "the tortoise sleeps")]).await;
    for _ in 0..2 {
        let recall = ask(trial, SearchRequest { neighbors: 2, ..question("tortoise race") }).await;
        let hit = &recall.hits[0];
        assert_eq!((hit.text.as_str(), hit.session_id.as_deref()), ("the tortoise won the race", Some("race")));
        let mut around: Vec<(i32, &str)> = hit.neighbors.iter().map(|near| (near.offset, near.text.as_str())).collect();
        around.sort();
        let expected =
            [(-2, "chatter number 3"), (-1, "chatter number 4"), (1, "chatter number 6"), (2, "chatter number 7")];
        assert_eq!(around, expected);
        let grouped =
            ask(trial, SearchRequest { group_by: Some(memory_core::GroupBy::Session), ..question("tortoise") }).await;
        let mut sessions: Vec<&str> = grouped.hits.iter().filter_map(|hit| hit.session_id.as_deref()).collect();
        sessions.sort_unstable();
        assert_eq!(sessions, ["race", "zoo"], "each session once");
        settle(trial).await;
    }
}

/// A conversation belongs to whom it was held with: another user, space or agent neither lists, finds nor reads it.
pub async fn messages_are_kept_apart(trial: &Trial) {
    let ann = Viewer { session: Some("talk".into()), ..Viewer::user("ann", "home") };
    let coder = Viewer { agent: Some("coder".into()), ..ann };
    let new = NewMessage::new(coder.conversation().unwrap(), "talk", Role::User, "The walrus whistles 口哨");
    let id = say(trial, vec![new]).await.remove(0).id.unwrap();
    let of =
        |viewer: &Viewer| ListRequest { viewer: viewer.clone(), kind: Some(HitKind::Message), ..Default::default() };
    assert_eq!(list_all(trial, of(&coder)).await.len(), 1);
    for stranger in [
        Viewer { agent: None, ..coder.clone() },
        Viewer { agent: Some("writer".into()), ..coder.clone() },
        Viewer { user: "bob".into(), ..coder.clone() },
        Viewer { space: "work".into(), ..coder.clone() },
    ] {
        assert!(list_all(trial, of(&stranger)).await.is_empty(), "{stranger:?}");
        assert!(
            ask(trial, SearchRequest::new(stranger.clone(), "walrus whistles")).await.hits.is_empty(),
            "{stranger:?}"
        );
        assert!(get_as(trial, &stranger, &id).await.is_none(), "{stranger:?}");
    }
}

/// A message can be forgotten like a memory, and the others of its session stay.
pub async fn a_message_can_be_forgotten(trial: &Trial) {
    let results =
        say(trial, vec![message("s", "the first line"), message("s", "第二行"), message("s", "the third")]).await;
    let id = results[1].id.clone().unwrap();
    assert_eq!(forget(trial, &viewer(), &[&id]).await.deleted, [id.as_str()]);
    let contents: Vec<String> = said(trial, "s").await.into_iter().map(|message| message.content).collect();
    assert_eq!(contents, ["the first line", "the third"]);
}

/// What is recalled for a prompt has what fits, and nothing when nothing is stored or asked.
pub async fn prefetch_recalls_for_a_prompt(trial: &Trial) {
    assert_eq!(trial.prefetch(&viewer(), "anything at all").await.unwrap(), None);
    add(trial, "The user is allergic to hazelnuts").await;
    add(trial, "用户对花粉过敏").await;
    assert_eq!(trial.prefetch(&viewer(), "  ").await.unwrap(), None);
    for _ in 0..2 {
        for (query, part) in [("What is the user allergic to?", "hazelnuts"), ("花粉", "用户对花粉过敏")] {
            must_find(trial, &viewer(), query, part).await;
            let text = trial.prefetch(&viewer(), query).await.unwrap().unwrap();
            assert!(text.contains(part) && !text.contains("<memory-context>"), "unfenced: {text}");
        }
        settle(trial).await;
    }
    let stranger = Viewer::user("stranger", DEFAULT_NAME);
    assert_eq!(trial.prefetch(&stranger, "What is the user allergic to?").await.unwrap(), None);
}
