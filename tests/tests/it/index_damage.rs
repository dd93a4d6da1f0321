//! The indexes are only a projection: deleted, truncated or with a bit flipped, truth still answers, the answer says
//! that it is degraded, and the next index pass or the doctor repairs.

use std::fs;
use std::path::{Path, PathBuf};

use memory_core::{NoProgress, Recall, RecallOutcome, SearchRequest, Viewer};
use memory_engine::Memory;
use tests::{Home, Numbers, files_below, number_of};

/// A question, and the text that answers it.
const KNOWN: [(&str, &str); 5] = [
    ("Where is the marmalade?", "The marmalade is on the second shelf"),
    ("harmonium", "Grandfather's harmonium needs tuning"),
    ("西湖边散步", "我们下周三去西湖边散步"),
    ("What did the plumber say about the boiler?", "The plumber said the boiler needs a new valve"),
    ("glacier hike boots", "Pack the glacier boots for the hike"),
];

async fn search(memory: &Memory, question: &str) -> Recall {
    memory.engine.search(SearchRequest::new(Viewer::default(), question)).await.unwrap()
}

/// A home with memories, messages and a note, indexed.
async fn indexed() -> Home {
    let home = Home::new();
    for (_, text) in &KNOWN[..3] {
        assert_eq!(home.json(&["add", text])["outcome"], "stored");
    }
    let line = |number: usize, text: &str| {
        format!("{{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"{text}\",\"external_id\":\"m{number}\"}}\n")
    };
    let file = home.file("talk.ndjson", line(1, KNOWN[3].1) + &line(2, "thank you, see you tomorrow"));
    home.json(&["import", file.to_str().unwrap()]);
    home.document("memory/trip.md", format!("# Trip\n\n{}\n", KNOWN[4].1));
    home.json(&["reindex"]);
    let memory = home.open().await;
    let found = answers(&memory, "before").await;
    memory.engine.shutdown().await.unwrap();
    assert_eq!(found, [RecallOutcome::Complete; KNOWN.len()]);
    home
}

/// Asks everything; the right text must be the first hit whatever is broken.
async fn answers(memory: &Memory, what: &str) -> Vec<RecallOutcome> {
    let mut outcomes = Vec::new();
    for (question, text) in KNOWN {
        let recall = search(memory, question).await;
        let first = recall.hits.first().unwrap_or_else(|| panic!("{what}: nothing answers {question}: {recall:?}"));
        assert!(first.text.contains(text), "{what}: {question} is answered by {} ({:?})", first.text, recall.reason);
        outcomes.push(recall.outcome);
    }
    outcomes
}

/// Damage is met, told and repaired. Answers whether it was noticed by a search.
async fn lives_through(home: &Home, what: &str) -> bool {
    let run = home.run(&["search", "harmonium", "--json"]);
    assert_eq!(run.code, Some(0), "{what}: the command answers: {run:?}");
    let answer = run.value();
    assert_eq!(answer["hits"][0]["text"], KNOWN[1].1, "{what}: {run:?}");
    let memory = home.open().await;
    let provider = memory.builtin.clone().unwrap();
    let outcomes = answers(&memory, what).await;
    let noticed = answer["outcome"] == "degraded" || outcomes.contains(&RecallOutcome::Degraded);
    provider.index_pending(&NoProgress).await.unwrap_or_else(|error| panic!("{what}: {error} {error:?}"));
    let after = answers(&memory, what).await;
    memory.engine.shutdown().await.unwrap();
    if after.contains(&RecallOutcome::Degraded) {
        // A pass that has nothing to do does not look at every byte: the doctor does.
        let memory = home.open().await;
        let report = memory.builtin.clone().unwrap().doctor(true).await.unwrap();
        assert!(report.ok, "{what}: {report:?}");
        let after = answers(&memory, what).await;
        memory.engine.shutdown().await.unwrap();
        assert_eq!(after, [RecallOutcome::Complete; KNOWN.len()], "{what}: repaired");
    }
    let memory = home.open().await;
    let fresh = answers(&memory, what).await;
    memory.engine.shutdown().await.unwrap();
    assert_eq!(fresh, [RecallOutcome::Complete; KNOWN.len()], "{what}: repaired for the next process");
    noticed
}

fn index_files(home: &Home, kind: &str) -> Vec<PathBuf> {
    files_below(&home.path().join("index").join(kind))
}

fn same_file(of: &Home, file: &Path, copy: &Home) -> PathBuf {
    copy.path().join(file.strip_prefix(of.path()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_index_is_missed_and_made_again() {
    let home = indexed().await;
    for part in ["index", "index/text", "index/vector"] {
        let copy = home.copy();
        fs::remove_dir_all(copy.path().join(part)).unwrap();
        assert!(lives_through(&copy, &format!("{part} deleted")).await, "{part}: a search says that it is gone");

        let copy = home.copy();
        fs::remove_dir_all(copy.path().join(part)).unwrap();
        let recall = copy.json(&["search", "Where is the marmalade?"]);
        assert_eq!(recall["outcome"], "degraded", "{part}: {recall}");
        assert_eq!(recall["hits"][0]["text"], KNOWN[0].1, "{part}: {recall}");
        copy.run(&["doctor", "--fix", "--json"]).done();
        let recall = copy.json(&["search", "Where is the marmalade?"]);
        assert_eq!(recall["outcome"], "complete", "{part}: {recall}");
        let memory = copy.open().await;
        memory.builtin.as_ref().unwrap().warm_up().await.unwrap();
        let report = memory.builtin.as_ref().unwrap().doctor(false).await.unwrap();
        let vectors = report.checks.iter().find(|check| check.name == "vector index").unwrap();
        assert!(vectors.ok && !vectors.message.starts_with('0'), "{part}: vectors are back: {vectors:?}");
        memory.engine.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_deleted_under_a_running_process_is_made_again() {
    let home = indexed().await;
    let memory = home.open().await;
    answers(&memory, "before").await;
    fs::remove_dir_all(home.path().join("index")).unwrap();
    let outcomes = answers(&memory, "deleted while open").await;
    assert!(outcomes.contains(&RecallOutcome::Degraded), "{outcomes:?}");
    memory.builtin.as_ref().unwrap().index_pending(&NoProgress).await.unwrap();
    assert_eq!(answers(&memory, "after a pass").await, [RecallOutcome::Complete; KNOWN.len()]);
    memory.engine.shutdown().await.unwrap();
}

/// Does `damage` to each file of both indexes in turn. Answers how often a search noticed.
async fn with_each_file(what: &str, damage: impl Fn(&Path)) -> usize {
    let home = indexed().await;
    let mut noticed = 0;
    for kind in ["text", "vector"] {
        for file in index_files(&home, kind) {
            let copy = home.copy();
            let target = same_file(&home, &file, &copy);
            damage(&target);
            noticed += usize::from(lives_through(&copy, &format!("{} {what}", target.display())).await);
        }
    }
    noticed
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_files_are_noticed_and_repaired() {
    let noticed = with_each_file("truncated", |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    });
    assert!(noticed.await > 0, "no search noticed any truncated file");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_files_are_noticed_and_repaired() {
    let noticed = with_each_file("removed", |file| fs::remove_file(file).unwrap());
    assert!(noticed.await > 0, "no search noticed any missing file");
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bits_do_no_harm() {
    let home = indexed().await;
    let mut numbers = Numbers::seeded(77);
    let rounds = number_of("MEMORY_TEST_FLIPS", 1);
    for kind in ["text", "vector"] {
        for file in index_files(&home, kind) {
            for _ in 0..rounds {
                let copy = home.copy();
                let target = same_file(&home, &file, &copy);
                let mut bytes = fs::read(&target).unwrap();
                if bytes.is_empty() {
                    continue;
                }
                let place = numbers.below(bytes.len());
                bytes[place] ^= 1 << numbers.below(8);
                fs::write(&target, bytes).unwrap();
                lives_through(&copy, &format!("{} with byte {place} changed", target.display())).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_newest_state_of_the_vectors_is_noticed_and_made_again() {
    let home = indexed().await;
    let folder = files_below(&home.path().join("index/vector"));
    let versions =
        |files: &[PathBuf]| files.iter().filter(|file| file.extension().is_some_and(|e| e == "manifest")).count();
    assert!(versions(&folder) > 0);
    // An older state alone opens as if nothing were missing: one memory would have no vector, and nobody would know.
    let before: Vec<PathBuf> = folder;
    home.json(&["add", "The saxophone is at the repair shop"]);
    let memory = home.open().await;
    memory.builtin.as_ref().unwrap().index_pending(&NoProgress).await.unwrap();
    memory.engine.shutdown().await.unwrap();
    let added: Vec<PathBuf> = files_below(&home.path().join("index/vector"))
        .into_iter()
        .filter(|file| file.extension().is_some_and(|e| e == "manifest") && !before.contains(file))
        .collect();
    assert!(!added.is_empty(), "a change makes a new state");
    for file in added {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(home.json(&["search", "saxophone"])["outcome"], "degraded");
    let memory = home.open().await;
    memory.builtin.as_ref().unwrap().index_pending(&NoProgress).await.unwrap();
    let recall = search(&memory, "saxophone").await;
    assert_eq!(recall.outcome, RecallOutcome::Complete, "{recall:?}");
    assert!(recall.hits[0].scores.contains_key("vector"), "{recall:?}");
    memory.engine.shutdown().await.unwrap();
}
