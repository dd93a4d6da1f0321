//! The durable queue, on a real file.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use memory_core::{
    Delivery, DeliveryQueue, DeliveryState, DeliveryWork, Id, Link, ManualClock, NewDelivery, Scope, Timestamp, Turn,
    Viewer,
};
use memory_engine::{Chosen, SqliteQueue};

const START: Timestamp = Timestamp::from_nanoseconds(1_800_000_000_000_000_000);

struct Place {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Arc::new(ManualClock::new(START)) }
    }

    fn path(&self) -> PathBuf {
        SqliteQueue::path_in(&self.folder.path().join("家"))
    }

    /// A connection of its own, as another process has.
    async fn open(&self) -> SqliteQueue {
        SqliteQueue::open(self.path(), "mem0", self.clock.clone()).await.unwrap()
    }
}

fn scope(user: &str) -> Scope {
    Scope { user: user.to_owned(), ..Scope::default() }
}

fn turn(user: &str, text: &str) -> NewDelivery {
    let turn = Turn {
        viewer: Viewer::user(user, "__default__"),
        user_text: text.to_owned(),
        external_id: Some(text.to_owned()),
        ..Turn::default()
    };
    NewDelivery {
        scope: scope(user),
        key: format!("turn/{user}/{text}"),
        local_id: None,
        work: DeliveryWork::Turn { turn },
    }
}

fn text(delivery: &Delivery) -> &str {
    match &delivery.work {
        DeliveryWork::Turn { turn } => &turn.user_text,
        other => panic!("{other:?}"),
    }
}

async fn take(queue: &SqliteQueue, seconds: i64) -> Option<Delivery> {
    queue.take(None, START.plus_seconds(seconds), START.plus_seconds(seconds + 30)).await.unwrap()
}

fn id(name: &str) -> Id {
    Id::of_foreign(name)
}

fn link(local: &str, remote: &str) -> Link {
    Link { local: id(local), remote: id(remote), forgotten: false }
}

#[tokio::test]
async fn what_is_put_in_is_there_after_reopening() {
    let place = Place::new();
    let put = turn("小明", "我喜欢喝茶 🍵");
    let number = place.open().await.put(DeliveryState::Waiting, vec![put.clone()]).await.unwrap()[0];
    let queue = place.open().await;
    let delivery = take(&queue, 0).await.unwrap();
    assert_eq!((delivery.number, &delivery.scope, &delivery.key), (number, &put.scope, &put.key));
    assert_eq!((delivery.work, delivery.attempts, delivery.created_at), (put.work, 1, START));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(place.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_key_is_kept_once() {
    let place = Place::new();
    let (one, two) = (place.open().await, place.open().await);
    let first = one.put(DeliveryState::Waiting, vec![turn("a", "x"), turn("a", "y"), turn("a", "x")]).await.unwrap();
    assert_eq!(first[0], first[2]);
    assert_eq!(two.put(DeliveryState::Waiting, vec![turn("a", "y")]).await.unwrap(), [first[1]]);
    assert_eq!(one.count().await.unwrap(), (2, 0));
    one.refuse(first[0], "bad text").await.unwrap();
    assert_eq!(one.count().await.unwrap(), (1, 1));
    assert_eq!(one.put(DeliveryState::Waiting, vec![turn("a", "x")]).await.unwrap(), [first[0]]);
    assert_eq!(two.count().await.unwrap(), (1, 1), "it stays as it is");
}

#[tokio::test]
async fn another_provider_has_another_queue() {
    let place = Place::new();
    let mem0 = place.open().await;
    let other = SqliteQueue::open(place.path(), "openviking", place.clock.clone()).await.unwrap();
    mem0.put(DeliveryState::Waiting, vec![turn("a", "x")]).await.unwrap();
    mem0.delivered(0, vec![link("here", "there")]).await.unwrap();
    assert_eq!(other.count().await.unwrap(), (0, 0));
    assert_eq!(take(&other, 0).await, None);
    assert_eq!(other.remote_of(&id("here")).await.unwrap(), None);
    assert_eq!(other.drop_deliveries(Chosen::All).await.unwrap(), 0);
    assert_eq!(mem0.count().await.unwrap(), (1, 0));
}

#[tokio::test]
async fn the_order_of_a_scope_is_kept_and_scopes_do_not_wait_for_one_another() {
    let place = Place::new();
    let (one, two) = (place.open().await, place.open().await);
    one.put(DeliveryState::Waiting, vec![turn("a", "1"), turn("a", "2"), turn("b", "3"), turn("b", "4")])
        .await
        .unwrap();
    let a = take(&one, 0).await.unwrap();
    let b = take(&two, 0).await.unwrap();
    assert_eq!((text(&a), text(&b)), ("1", "3"));
    assert_eq!(take(&one, 0).await, None, "both scopes are taken");
    // The one that failed stays first of its scope and holds up only that scope.
    one.postpone(a.number, START.plus_seconds(60), "out of reach").await.unwrap();
    two.delivered(b.number, Vec::new()).await.unwrap();
    assert_eq!(text(&take(&one, 1).await.unwrap()), "4");
    assert_eq!(take(&one, 1).await, None);
    assert_eq!(one.take(Some(&scope("a")), START.plus_seconds(59), START.plus_seconds(99)).await.unwrap(), None);
    let again = one.take(Some(&scope("a")), START.plus_seconds(60), START.plus_seconds(99)).await.unwrap().unwrap();
    assert_eq!((text(&again), again.attempts, again.last_error.as_deref()), ("1", 2, Some("out of reach")));
    // What is refused stands aside.
    one.refuse(again.number, "no").await.unwrap();
    assert_eq!(text(&take(&two, 61).await.unwrap()), "2");
}

#[tokio::test]
async fn a_lease_runs_out() {
    let place = Place::new();
    let (dead, living) = (place.open().await, place.open().await);
    dead.put(DeliveryState::Waiting, vec![turn("a", "1"), turn("a", "2")]).await.unwrap();
    take(&dead, 0).await.unwrap();
    drop(dead);
    assert_eq!(take(&living, 29).await, None);
    assert_eq!(living.next_due().await.unwrap(), Some(START.plus_seconds(30)));
    let again = take(&living, 30).await.unwrap();
    assert_eq!((text(&again), again.attempts), ("1", 2), "its effect may be there already");
}

#[tokio::test]
async fn a_retried_delivery_does_not_overtake_the_one_that_is_under_way() {
    let place = Place::new();
    let queue = place.open().await;
    let numbers = queue.put(DeliveryState::Waiting, vec![turn("a", "1"), turn("a", "2")]).await.unwrap();
    queue.refuse(numbers[0], "no").await.unwrap();
    assert_eq!(text(&take(&queue, 0).await.unwrap()), "2");
    assert_eq!(queue.retry(Chosen::Number(numbers[0])).await.unwrap(), 1);
    assert_eq!(take(&queue, 1).await, None);
    assert_eq!(queue.take(Some(&scope("a")), START, START.plus_seconds(1)).await.unwrap(), None);
    queue.delivered(numbers[1], Vec::new()).await.unwrap();
    assert_eq!(text(&take(&queue, 1).await.unwrap()), "1");
}

#[tokio::test]
async fn prepared_ones_wait_for_their_release_or_are_found_abandoned() {
    let place = Place::new();
    let queue = place.open().await;
    let numbers =
        queue.put(DeliveryState::Prepared, vec![turn("a", "1"), turn("a", "2"), turn("a", "3")]).await.unwrap();
    assert_eq!((take(&queue, 0).await, queue.next_due().await.unwrap()), (None, None));
    assert_eq!(queue.count().await.unwrap(), (3, 0), "prepared ones are counted");
    queue.release(numbers[1], Some(id("local"))).await.unwrap();
    queue.cancel(numbers[0]).await.unwrap();
    let taken = take(&queue, 0).await.unwrap();
    assert_eq!((taken.number, taken.local_id), (numbers[1], Some(id("local"))));
    assert_eq!(queue.pending(&id("local")).await.unwrap().unwrap().number, numbers[1]);
    assert_eq!(queue.pending(&id("other")).await.unwrap(), None);
    assert!(queue.abandoned(START).await.unwrap().is_empty());
    let abandoned = queue.abandoned(START.plus_seconds(1)).await.unwrap();
    assert_eq!(abandoned.iter().map(|delivery| delivery.number).collect::<Vec<_>>(), [numbers[2]]);
    assert_eq!(abandoned[0].state, DeliveryState::Prepared);
}

#[tokio::test]
async fn retry_and_drop_name_one_or_all() {
    let place = Place::new();
    let queue = place.open().await;
    let numbers =
        queue.put(DeliveryState::Waiting, vec![turn("a", "1"), turn("b", "2"), turn("c", "3")]).await.unwrap();
    for number in &numbers {
        queue.postpone(*number, START.plus_seconds(3_600), "later").await.unwrap();
    }
    assert_eq!(take(&queue, 0).await, None);
    assert_eq!(queue.retry(Chosen::Number(999)).await.unwrap(), 0);
    assert_eq!(queue.retry(Chosen::All).await.unwrap(), 3);
    assert_eq!(take(&queue, 0).await.unwrap().number, numbers[0]);
    assert_eq!(queue.drop_deliveries(Chosen::Number(numbers[1])).await.unwrap(), 1);
    let left = queue.list(0, 10).await.unwrap();
    assert_eq!(left.iter().map(|delivery| delivery.number).collect::<Vec<_>>(), [numbers[0], numbers[2]]);
    assert_eq!(queue.list(numbers[0], 10).await.unwrap().len(), 1);
    assert_eq!(queue.drop_deliveries(Chosen::All).await.unwrap(), 2);
}

#[tokio::test]
async fn links_are_found_from_both_sides_and_what_is_forgotten_stays_forgotten() {
    let place = Place::new();
    let queue = place.open().await;
    queue.delivered(0, vec![link("a", "x"), link("b", "y")]).await.unwrap();
    assert_eq!(queue.remote_of(&id("a")).await.unwrap(), Some(link("a", "x")));
    assert_eq!(queue.local_of(&id("y")).await.unwrap(), Some(link("b", "y")));
    assert_eq!(queue.links_with_prefix(&id("a").as_str()[..8]).await.unwrap(), [link("a", "x")]);
    assert_eq!(queue.links_with_prefix(&id("y").as_str()[..8]).await.unwrap(), [link("b", "y")]);
    assert_eq!(queue.links_with_prefix(id("nothing").as_str()).await.unwrap(), []);
    // A link takes the place of an older one.
    queue.delivered(0, vec![link("a", "z")]).await.unwrap();
    assert_eq!(queue.local_of(&id("x")).await.unwrap(), None);
    assert_eq!(queue.remote_of(&id("a")).await.unwrap(), Some(link("a", "z")));
    // Forgotten before its write was delivered: the link that comes later does not bring it back.
    queue.forget(&id("c")).await.unwrap();
    queue.delivered(0, vec![link("c", "w")]).await.unwrap();
    assert!(queue.remote_of(&id("c")).await.unwrap().unwrap().forgotten);
    assert!(place.open().await.local_of(&id("w")).await.unwrap().unwrap().forgotten);
    queue.delivered(0, vec![Link { forgotten: true, ..link("b", "y") }]).await.unwrap();
    assert!(queue.remote_of(&id("b")).await.unwrap().unwrap().forgotten);
    queue.remember(&id("b")).await.unwrap();
    assert!(!queue.remote_of(&id("b")).await.unwrap().unwrap().forgotten);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_are_taken_by_four_at_once_each_once_and_in_order() {
    let place = Place::new();
    let users = ["a", "乙", "c", "d", "e", "f", "g", "h", "i", "j"];
    let deliveries: Vec<NewDelivery> =
        (0..10_000).map(|number| turn(users[number % users.len()], &format!("{number:05}"))).collect();
    place.open().await.put(DeliveryState::Waiting, deliveries).await.unwrap();
    let begin = Instant::now();
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let (path, clock) = (place.path(), place.clock.clone());
            tokio::spawn(async move {
                let queue = SqliteQueue::open(path, "mem0", clock).await.unwrap();
                let mut taken = Vec::new();
                // What is left in the end shows that taking stays cheap while thousands wait.
                while taken.len() < 100 {
                    let Some(delivery) = take(&queue, 0).await else { continue };
                    // Noted before it is completed: the next one of the scope cannot be taken before that.
                    taken.push((Instant::now(), delivery.scope.user.clone(), text(&delivery).to_owned()));
                    queue.delivered(delivery.number, Vec::new()).await.unwrap();
                }
                taken
            })
        })
        .collect();
    let mut all = Vec::new();
    for taker in takers {
        all.extend(taker.await.unwrap());
    }
    all.sort();
    for user in users {
        let texts: Vec<&str> = all.iter().filter(|(_, of, _)| of == user).map(|(.., text)| text.as_str()).collect();
        assert!(texts.windows(2).all(|pair| pair[0] < pair[1]), "{user}: {texts:?}");
    }
    assert_eq!(all.len(), 400);
    assert_eq!(place.open().await.count().await.unwrap(), (9_600, 0));
    println!("400 deliveries of 10,000 taken and completed in {:?}", begin.elapsed());
}

/// The part of a process that is killed: it takes one delivery, says so and waits.
#[tokio::test]
#[ignore = "run by killed_while_it_delivers as a process of its own"]
async fn take_one_and_wait() {
    let path = std::env::var("QUEUE_TEST_PATH").unwrap();
    let queue = SqliteQueue::open(path.into(), "mem0", Arc::new(ManualClock::new(START))).await.unwrap();
    queue.put(DeliveryState::Waiting, vec![turn("a", "1"), turn("a", "2")]).await.unwrap();
    println!("\ntook {}", text(&take(&queue, 0).await.unwrap()));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn killed_while_it_delivers() {
    use std::io::{BufRead, BufReader};
    let place = Place::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["queue::take_one_and_wait", "--exact", "--ignored", "--nocapture"])
        .env("QUEUE_TEST_PATH", place.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "took 1"));
    child.kill().unwrap();
    child.wait().unwrap();
    let queue = place.open().await;
    assert_eq!(take(&queue, 10).await, None, "the dead process holds the scope until its lease ends");
    let again = take(&queue, 30).await.unwrap();
    assert_eq!((text(&again), again.attempts), ("1", 2));
    queue.delivered(again.number, Vec::new()).await.unwrap();
    assert_eq!(text(&take(&queue, 30).await.unwrap()), "2");
}

#[tokio::test]
async fn a_damaged_file_is_told_apart_from_the_store() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    std::fs::write(place.path(), "garbage ".repeat(1_000)).unwrap();
    let error = SqliteQueue::open(place.path(), "mem0", place.clock.clone()).await.unwrap_err();
    assert_eq!(error.kind(), memory_core::ErrorKind::Corrupt);
    assert!(error.to_string().starts_with("the queue to the external provider is damaged"), "{error}");
    assert!(error.hints()[0].contains("move that file away"), "{error:?}");
}
