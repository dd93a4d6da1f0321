//! The order in which a host calls: sessions, shutdown, health, and what is not offered.

use memory_core::{
    ErrorKind, HitKind, ListRequest, SessionContext, Turn, Viewer, WriteItem, WriteOutcome, WriteRequest,
};

use crate::*;

/// A host may initialise again, for other sessions and languages, and nothing is lost.
pub async fn it_may_be_initialised_again(trial: &Trial) {
    add(trial, "The kettle is in the cellar").await;
    for (session, language) in [(None, None), (Some("one"), Some("en")), (Some("二"), Some("zh")), (None, Some("xx"))]
    {
        let viewer = Viewer { session: session.map(str::to_owned), ..viewer() };
        trial.initialize(&SessionContext { viewer, language: language.map(str::to_owned) }).await.unwrap();
    }
    must_find(trial, &viewer(), "kettle cellar", "kettle").await;
}

/// A session may end without a turn, twice, and for someone who was never there.
pub async fn a_session_may_end_without_turns(trial: &Trial) {
    for _ in 0..2 {
        for viewer in
            [viewer(), Viewer { session: Some("empty".into()), ..viewer() }, Viewer::user("nobody", "nowhere")]
        {
            trial.end_session(&viewer).await.unwrap();
        }
    }
    assert!(ask(trial, question("anything")).await.hits.is_empty());
}

/// A whole conversation, which goes on after its session has ended once.
pub async fn a_conversation_goes_through(trial: &Trial) {
    let session = Viewer { session: Some("evening".into()), ..viewer() };
    for (user, assistant) in [("Good evening", "Hello"), ("It rains in 杭州", "Take an umbrella"), ("Bye", "")] {
        trial.initialize(&SessionContext { viewer: session.clone(), language: Some("en".into()) }).await.unwrap();
        trial.prefetch(&session, user).await.unwrap();
        let turn = Turn {
            viewer: session.clone(),
            user_text: user.into(),
            assistant_text: assistant.into(),
            ..Turn::default()
        };
        trial.sync_turn(turn).await.unwrap();
        trial.end_session(&session).await.unwrap();
    }
    if trial.has(Need::Transcripts) {
        assert_eq!(said(trial, "evening").await.len(), 5);
    }
}

/// It is well, says so in one line, and asking does not change that.
pub async fn health_is_well(trial: &Trial) {
    for _ in 0..3 {
        let health = trial.health().await;
        assert!(health.ok, "{health:?}");
        assert!(!health.message.trim().is_empty() && !health.message.contains('\n'), "{health:?}");
    }
}

/// After shutdown, which may come twice, a call is answered or is an error, and what it acknowledges is true.
pub async fn calls_after_shutdown_do_no_harm(trial: &Trial) {
    add(trial, "The last entry before the lights go out").await;
    trial.shutdown().await.unwrap();
    trial.shutdown().await.unwrap();
    let items = vec![WriteItem::Memory(Box::new(memory("An entry in the dark 黑")))];
    if let Ok(report) = trial.write(WriteRequest { items, force: false, repeated: false }).await
        && report.items[0].outcome == WriteOutcome::Stored
        && trial.has(Need::Get)
    {
        assert!(get(trial, report.items[0].id.as_deref().unwrap()).await.is_some(), "{report:?}");
    }
    drop(trial.search(question("entry")).await);
    drop(trial.get(&viewer(), &words(&[UNKNOWN])).await);
    drop(trial.list(ListRequest::default()).await);
    drop(trial.update(update(UNKNOWN, body("x"))).await);
    drop(trial.delete(deletion(&viewer(), &[UNKNOWN])).await);
    drop(trial.history(&viewer(), UNKNOWN).await);
    drop(trial.prefetch(&viewer(), "entry").await);
    drop(trial.sync_turn(Turn { viewer: viewer(), user_text: "hello".into(), ..Turn::default() }).await);
    drop(trial.end_session(&viewer()).await);
    drop(trial.call_tool(&viewer(), "no_such_tool", serde_json::Value::Null).await);
    drop((trial.health().await, trial.tools(), trial.guidance("en"), trial.descriptor()));
}

/// What a capability denies is refused as such, and never pretended.
pub async fn what_is_not_offered_is_refused(trial: &Trial) {
    let refused = |need: Need, error: Option<memory_core::Error>| {
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Unsupported), "{need:?} is not offered");
    };
    let items = |item| WriteRequest { items: vec![item], force: false, repeated: false };
    for need in Need::ALL.iter().copied().filter(|need| !trial.has(*need)) {
        match need {
            Need::Messages => {
                // One item of a kind that is not kept does not make the others fail.
                match trial.write(items(WriteItem::Message(Box::new(message("s", "hi"))))).await {
                    Ok(report) => assert_eq!(report.items[0].outcome, WriteOutcome::Rejected, "{report:?}"),
                    Err(error) => refused(need, Some(error)),
                }
                if trial.has(Need::List) {
                    let request = ListRequest { kind: Some(HitKind::Message), ..ListRequest::default() };
                    match trial.list(request).await {
                        Ok(page) => assert!(page.items.is_empty(), "{page:?}"),
                        Err(error) => refused(need, Some(error)),
                    }
                }
            }
            Need::Get => refused(need, trial.get(&viewer(), &words(&[UNKNOWN])).await.err()),
            Need::List => refused(need, trial.list(ListRequest::default()).await.err()),
            Need::Update => refused(need, trial.update(update(UNKNOWN, body("x"))).await.err()),
            Need::Delete => refused(need, trial.delete(deletion(&viewer(), &[UNKNOWN])).await.err()),
            Need::Erase if trial.has(Need::Delete) => {
                let id = add(trial, "what is to be gone for good").await;
                let request = memory_core::DeleteRequest { erase: true, ..deletion(&viewer(), &[&id]) };
                match trial.delete(request).await {
                    Ok(report) => assert!(!report.notes.is_empty(), "it says that text remains: {report:?}"),
                    Err(error) => refused(need, Some(error)),
                }
            }
            Need::History => refused(need, trial.history(&viewer(), UNKNOWN).await.err()),
            Need::Turns => {
                refused(need, trial.sync_turn(Turn { user_text: "hi".into(), ..Turn::default() }).await.err())
            }
            _ => {}
        }
    }
}
