//! Many processes write and read one home at once.
//!
//! The number is `MEMORY_TEST_WRITES=1000`: eight writers with 1,000 writes each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use memory_core::{
    Item, NewMemory, NewMessage, NoProgress, Role, SearchRequest, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use tests::{Home, finish, number_of};

const WRITERS: usize = 8;
const READERS: usize = 2;

/// What a process of this test is told by its environment.
const PART: &str = "MEMORY_TEST_PART";
const STOP: &str = "MEMORY_TEST_STOP";
const WRITES: &str = "MEMORY_TEST_WRITES";

fn text_of(writer: usize, number: usize) -> String {
    // Words, not digits alone, make two texts differ.
    format!("writer {writer} noted entry w{writer}n{number} in the shared book")
}

fn start(home: &Home, part: &str, writes: usize, stop: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    home.prepare(&mut command);
    command.args(["--exact", "processes::part_of_another_test", "--ignored", "--nocapture"]);
    command.env(PART, part).env(WRITES, writes.to_string()).env(STOP, stop);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_writers_and_two_readers_share_a_home() {
    let writes = number_of(WRITES, 125);
    let home = Home::new();
    let stop = home.path().with_extension("stop");
    let readers: Vec<Child> =
        (0..READERS).map(|number| start(&home, &format!("reader {number}"), writes, &stop)).collect();
    let writers: Vec<Child> =
        (0..WRITERS).map(|number| start(&home, &format!("writer {number}"), writes, &stop)).collect();
    // The command takes part too.
    let by_command = home.json(&["add", "the command writes while others do"]);
    assert_eq!(by_command["outcome"], "stored");
    let runs: Vec<_> = writers.into_iter().map(finish).collect();
    std::fs::write(&stop, b"").unwrap();
    let runs: Vec<_> = runs.into_iter().chain(readers.into_iter().map(finish)).collect();
    for run in &runs {
        let said = run.err.to_lowercase();
        assert!(!said.contains("locked") && !said.contains("busy"), "{run:?}");
        assert!(run.code == Some(0) && run.out.contains("1 passed"), "{run:?}");
    }

    let items = home.items().await;
    let bodies: BTreeSet<&str> = items.iter().filter_map(body).collect();
    let messages = items.iter().filter(|item| matches!(item, Item::Message(_))).count();
    let expected: Vec<String> =
        (0..WRITERS).flat_map(|writer| (0..writes).map(move |number| text_of(writer, number))).collect();
    assert!(expected.iter().all(|text| bodies.contains(text.as_str())), "every acknowledged memory is there");
    assert_eq!(items.len() - messages, expected.len() + 1, "and each is there once");
    assert_eq!(messages, WRITERS, "one message of each writer");

    let memory = home.open().await;
    let provider = memory.builtin.clone().unwrap();
    let report = provider.index_pending(&NoProgress).await.unwrap();
    assert_eq!((report.lag, report.skipped), (0, None));
    let statistics = provider.statistics(None).await.unwrap();
    assert_eq!(statistics.memories as usize, expected.len() + 1);
    assert_eq!((statistics.messages as usize, statistics.sessions), (WRITERS, 1));
    let positions: BTreeSet<u64> = items
        .iter()
        .filter_map(|item| match item {
            Item::Message(message) => Some(message.position),
            _ => None,
        })
        .collect();
    assert_eq!(positions, (0..WRITERS as u64).collect(), "places in the shared session are distinct");
    for writer in 0..WRITERS {
        let wanted = text_of(writer, writes - 1);
        let recall = memory.engine.search(SearchRequest::new(Viewer::default(), wanted.clone())).await.unwrap();
        assert_eq!(recall.hits[0].text, wanted);
    }
    memory.engine.shutdown().await.unwrap();
    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!(doctor.value()["ok"], true, "{}", doctor.out);
}

fn body(item: &Item) -> Option<&str> {
    match item {
        Item::Memory(memory) => Some(&memory.body),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a process that another test starts"]
async fn part_of_another_test() {
    let part = std::env::var(PART).unwrap();
    let home = Home::at(std::env::var("MEMORY_HOME").unwrap());
    let (role, number) = part.split_once(' ').unwrap();
    let number: usize = number.parse().unwrap();
    let writes = number_of(WRITES, 0);
    match role {
        "writer" => write(&home, number, writes).await,
        _ => read(&home, writes, &PathBuf::from(std::env::var(STOP).unwrap())).await,
    }
}

async fn write(home: &Home, writer: usize, writes: usize) {
    let memory = home.open().await;
    let message =
        NewMessage::new(memory_core::Scope::default(), "shared", Role::User, format!("hello from writer {writer}"));
    let request = WriteRequest { items: vec![WriteItem::Message(Box::new(message))], force: false, repeated: false };
    assert_eq!(memory.engine.write(request).await.unwrap().items[0].outcome, WriteOutcome::Stored);
    for number in 0..writes {
        let text = text_of(writer, number);
        // Texts that differ by a number are no duplicates of one another, so nothing is forced.
        let item = WriteItem::Memory(Box::new(NewMemory::new(memory_core::Scope::default(), text.clone())));
        let report =
            memory.engine.write(WriteRequest { items: vec![item], force: false, repeated: false }).await.unwrap();
        assert_eq!(report.items[0].outcome, WriteOutcome::Stored, "{:?}", report.items[0]);
        if number % 50 == 0 {
            let recall = memory.engine.search(SearchRequest::new(Viewer::default(), text.clone())).await.unwrap();
            assert!(recall.hits.iter().any(|hit| hit.text == text), "a writer sees what it wrote: {recall:?}");
            memory.builtin.as_ref().unwrap().index_pending(&NoProgress).await.unwrap();
        }
    }
    memory.engine.shutdown().await.unwrap();
}

async fn read(home: &Home, writes: usize, stop: &Path) {
    let memory = home.open().await;
    let (mut searches, mut seen) = (0, 0);
    while !stop.exists() {
        let question = text_of(searches % WRITERS, searches % writes);
        let recall = memory.engine.search(SearchRequest::new(Viewer::default(), question)).await.unwrap();
        seen = seen.max(recall.hits.len());
        searches += 1;
    }
    memory.engine.shutdown().await.unwrap();
    assert!(searches > 0 && seen > 0, "{searches} searches saw {seen} hits at most");
}
