//! Many callers at once, and callers who give up.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use futures::future::join_all;
use memory_core::{
    ErrorKind, MemoryProvider, NewMemory, Recall, Scope, SearchRequest, Viewer, WriteItem, WriteOutcome, WriteRequest,
};

use crate::*;

const CALLERS: usize = 32;

fn request(memory: NewMemory) -> WriteRequest {
    WriteRequest { items: vec![WriteItem::Memory(Box::new(memory))], force: false, repeated: false }
}

/// Runs one task for each caller and waits for all.
async fn all_at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(task: impl Fn(usize) -> F) -> Vec<T> {
    let tasks: Vec<_> = (0..CALLERS).map(|number| tokio::spawn(task(number))).collect();
    join_all(tasks).await.into_iter().map(|result| result.expect("no task panics")).collect()
}

/// Writes and searches at once all succeed, and everything is there afterwards, each once and in its own place.
pub async fn many_write_and_search_at_once(trial: &Trial) {
    let user = |number: usize| Viewer::user(format!("caller {}", number % 4), memory_core::DEFAULT_NAME);
    let ids = all_at_once(|number| {
        let (provider, viewer) = (trial.provider.clone(), user(number));
        async move {
            let scope = Scope { user: viewer.user.clone(), ..Scope::default() };
            let memory = NewMemory::new(scope, format!("Sailing boat number {number} is moored at pier {number} 码头"));
            let (written, found) = tokio::join!(
                provider.write(request(memory)),
                provider.search(SearchRequest::new(viewer.clone(), "sailing boat pier"))
            );
            let own = |recall: &Recall| recall.hits.iter().all(|hit| hit.scope.user == viewer.user);
            assert!(own(&found.unwrap()), "only one's own");
            let result = written.unwrap().items.remove(0);
            assert_eq!(result.outcome, WriteOutcome::Stored, "{result:?}");
            result.id.unwrap()
        }
    })
    .await;
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), CALLERS);
    for number in 0..4 {
        let expected: BTreeSet<String> = ids.iter().skip(number).step_by(4).cloned().collect();
        let found = |recall: &Recall| recall.hits.iter().map(|hit| hit.id.to_string()).collect::<BTreeSet<_>>();
        let asked = SearchRequest { limit: CALLERS, ..SearchRequest::new(user(number), "sailing boat pier") };
        assert_eq!(found(&ask_until(trial, asked, |recall| found(recall) == expected).await), expected);
    }
}

/// The same text by many at once is one memory.
pub async fn the_same_text_at_once_is_one_memory(trial: &Trial) {
    let results =
        all_at_once(|_| {
            let provider = trial.provider.clone();
            async move {
                provider.write(request(memory("Everybody says the same thing 一样"))).await.unwrap().items.remove(0)
            }
        })
        .await;
    assert_eq!(results.iter().filter(|result| result.outcome == WriteOutcome::Stored).count(), 1, "{results:?}");
    assert_eq!(results.iter().map(|result| result.id.clone().unwrap()).collect::<BTreeSet<_>>().len(), 1);
}

/// Changes of one memory at once leave one of them, whole, and searches meanwhile see a whole one.
pub async fn changes_at_once_leave_one_whole(trial: &Trial) {
    let id = add(trial, "The lamp is white, white, white").await;
    must_find(trial, &viewer(), "lamp", "white").await;
    let whole = |text: &str| {
        let colours: BTreeSet<&str> = text.trim_start_matches("The lamp is ").split(", ").collect();
        colours.len() == 1
    };
    all_at_once(|number| {
        let (provider, id) = (trial.provider.clone(), id.clone());
        async move {
            let text = format!("The lamp is shade{number}, shade{number}, shade{number}");
            let (changed, found) =
                tokio::join!(provider.update(update(&id, body(&text))), provider.search(question("lamp")));
            if let Err(error) = changed {
                assert!(matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Busy), "{error}");
            }
            assert!(found.unwrap().hits.iter().all(|hit| whole(&hit.text)));
        }
    })
    .await;
    let text = get_memory(trial, &id).await.body;
    assert!(whole(&text) && text != "The lamp is white, white, white", "{text}");
}

/// Gives a call so long, then drops it wherever it is.
async fn give_up<T>(call: impl Future<Output = T>, after: Option<Duration>) {
    match after {
        None => drop(futures::poll!(Box::pin(call))),
        Some(after) => drop(tokio::time::timeout(after, call).await),
    }
}

/// Calls that are dropped half-way leave the provider usable, and a write that was dropped is there whole or not at all.
pub async fn calls_that_are_dropped_do_no_harm(trial: &Trial) {
    add(trial, "The anchor is in the shed").await;
    let moments = [None, Some(0), Some(1), Some(3), Some(10), Some(30)].map(|ms| ms.map(Duration::from_millis));
    let session = Viewer { session: Some("dropped".into()), ..viewer() };
    for (number, after) in moments.into_iter().enumerate() {
        let provider: &dyn MemoryProvider = &**trial;
        give_up(provider.write(request(memory(&format!("dropped leaflet {number} 传单 end")))), after).await;
        give_up(provider.search(question("anchor shed")), after).await;
        give_up(provider.prefetch(&session, "anchor shed"), after).await;
        if trial.has(Need::List) {
            give_up(provider.list(memory_core::ListRequest::default()), after).await;
        }
        give_up(provider.end_session(&session), after).await;
        add(trial, &format!("A ladder of length {number} leans on the wall")).await;
        must_find(trial, &viewer(), "anchor shed", "anchor").await;
    }
    must_find(trial, &viewer(), "ladder wall", "ladder").await;
    let recall = ask(trial, SearchRequest { limit: 50, ..question("dropped leaflet") }).await;
    let leaflets: Vec<&str> = texts(&recall.hits).into_iter().filter(|text| text.contains("leaflet")).collect();
    assert!(leaflets.iter().all(|text| text.starts_with("dropped") && text.ends_with("传单 end")), "{leaflets:?}");
    assert_eq!(leaflets.iter().collect::<BTreeSet<_>>().len(), leaflets.len(), "each at most once");
}
