//! A process dies at every step of a write, an index pass, a rebuild and a migration. Nothing acknowledged is lost,
//! nothing appears twice, and the doctor finds the home sound.

use std::collections::BTreeMap;

use memory_core::{Item, RecallOutcome, SearchRequest, Viewer};
use tests::Home;

/// Acknowledged memories: a word that only this text has, and the text.
const KNOWN: [(&str, &str); 3] = [
    ("marmalade", "The marmalade is on the second shelf"),
    ("harmonium", "Grandfather's harmonium needs tuning"),
    ("西湖", "我们下周三去西湖边散步"),
];
const MESSAGES: usize = 12;

fn conversation() -> String {
    (0..MESSAGES)
        .map(|number| {
            format!(
                r#"{{"session_id":"trip","role":"user","content":"stop number {number} was called stop{number}x","created_at":"2026-03-02T09:{number:02}:00Z","external_id":"m{number}"}}"#
            ) + "\n"
        })
        .collect()
}

/// A home with acknowledged and indexed memories; their ids, by text.
fn written() -> (Home, BTreeMap<String, String>) {
    let home = Home::new();
    let mut ids = BTreeMap::new();
    for (_, text) in KNOWN {
        let answer = home.json(&["add", text]);
        assert_eq!(answer["outcome"], "stored", "{answer}");
        ids.insert(text.to_owned(), answer["id"].as_str().unwrap().to_owned());
    }
    home.json(&["reindex"]);
    (home, ids)
}

/// Dies at every occasion of a failpoint, from the first to the last, each time in a copy of `prepared`. `check` sees
/// what is left. Answers how often it died.
fn die_at_each(failpoint: &str, prepared: &Home, arguments: &[&str], check: impl Fn(&Home, usize)) -> usize {
    for count in 1..100 {
        let home = prepared.copy();
        let run = home.run_until(failpoint, count, arguments);
        if !run.aborted() {
            run.done();
            assert!(count > 1, "{failpoint} is never reached by {arguments:?}");
            return count - 1;
        }
        check(&home, count);
    }
    panic!("{failpoint} is reached without end by {arguments:?}");
}

/// The doctor is content, at once or after it has mended.
fn sound(home: &Home, what: &str) {
    let run = home.run(&["doctor", "--json"]);
    assert_eq!(run.value()["ok"], true, "{what}: {}", run.out);
    assert_eq!(run.code, Some(0));
}

fn texts(items: &[Item]) -> BTreeMap<String, usize> {
    let mut texts = BTreeMap::new();
    for item in items {
        let text = match item {
            Item::Memory(memory) => memory.body.clone(),
            Item::Message(message) => message.content.clone(),
            Item::Chunk(_) => continue,
        };
        *texts.entry(text).or_insert(0) += 1;
    }
    texts
}

/// Every text is there once, and the acknowledged ids name what they named.
async fn check_truth(home: &Home, ids: &BTreeMap<String, String>, what: &str) -> BTreeMap<String, usize> {
    let texts = texts(&home.items().await);
    assert!(texts.values().all(|count| *count == 1), "{what}: {texts:?}");
    let memory = home.open().await;
    for (text, id) in ids {
        let found = memory.engine.get(&Viewer::default(), std::slice::from_ref(id)).await.unwrap();
        let [Item::Memory(memory)] = &found.items[..] else { panic!("{what}: {text} is gone") };
        assert_eq!(&memory.body, text, "{what}");
    }
    memory.engine.shutdown().await.unwrap();
    texts
}

/// Each word finds its text, once, from a whole store.
async fn check_search(home: &Home, words: &[(String, String)], what: &str) {
    let memory = home.open().await;
    for (word, text) in words {
        let request = SearchRequest { limit: 50, ..SearchRequest::new(Viewer::default(), word.clone()) };
        let recall = memory.engine.search(request).await.unwrap();
        assert_eq!(recall.outcome, RecallOutcome::Complete, "{what} {word}: {recall:?}");
        let times = recall.hits.iter().filter(|hit| hit.text == *text).count();
        assert_eq!(times, 1, "{what} {word}: {:?}", recall.hits.iter().map(|hit| &hit.text).collect::<Vec<_>>());
        assert_eq!(recall.hits[0].text, *text, "{what} {word}");
    }
    memory.engine.shutdown().await.unwrap();
}

fn known_words() -> Vec<(String, String)> {
    KNOWN.iter().map(|(word, text)| ((*word).to_owned(), (*text).to_owned())).collect()
}

fn all_words() -> Vec<(String, String)> {
    let messages = (0..MESSAGES)
        .map(|number| (format!("stop{number}x"), format!("stop number {number} was called stop{number}x")));
    known_words().into_iter().chain(messages).collect()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

#[test]
fn a_write_is_there_whole_or_not_at_all() {
    const NEW: &str = "The ferry to Sylt leaves at noon";
    let (prepared, ids) = written();
    for (failpoint, durable) in [("before_commit", false), ("after_commit", true)] {
        let times = die_at_each(failpoint, &prepared, &["add", NEW, "--json"], |home, count| {
            let what = format!("{failpoint}:{count}");
            block_on(async {
                let texts = check_truth(home, &ids, &what).await;
                assert_eq!(texts.contains_key(NEW), durable, "{what}");
                sound(home, &what);
                let again = home.json(&["add", NEW]);
                assert_eq!(again["outcome"], if durable { "deduped" } else { "stored" }, "{what}");
                let texts = check_truth(home, &ids, &what).await;
                assert_eq!(texts.len(), KNOWN.len() + 1, "{what}");
                check_search(home, &[("ferry".into(), NEW.into())], &what).await;
            });
        });
        assert_eq!(times, 1, "one write is one transaction");
    }
}

#[test]
fn an_import_goes_on_where_it_died() {
    let (prepared, ids) = written();
    // Each note is a transaction more, once a search or the doctor looks at the folder.
    for number in 0..3 {
        prepared.document(
            &format!("memory/note{number}.md"),
            format!("# Note {number}\n\nThe kiosk sells newspaper{number}q\n"),
        );
    }
    for failpoint in ["before_commit", "after_commit", "after_text_commit", "after_vector_commit"] {
        let mut count = 1;
        loop {
            let home = prepared.copy();
            let file = home.file("trip.ndjson", conversation());
            let path = file.to_str().unwrap();
            let run = home.run_until(failpoint, count, &["import", path, "--json"]);
            if !run.aborted() {
                run.done();
                break;
            }
            let what = format!("import, {failpoint}:{count}");
            block_on(async {
                check_truth(&home, &ids, &what).await;
                check_search(&home, &known_words(), &what).await;
                sound(&home, &what);
                let report = home.json(&["import", path]);
                let sum = report["stored"].as_u64().unwrap() + report["deduped"].as_u64().unwrap();
                assert_eq!(sum, MESSAGES as u64, "{what}: {report}");
                let texts = check_truth(&home, &ids, &what).await;
                assert_eq!(texts.len(), KNOWN.len() + MESSAGES, "{what}");
                check_search(&home, &all_words(), &what).await;
                let recall = home.json(&["search", "newspaper1q"]);
                assert_eq!(recall["hits"][0]["source"]["path"], "memory/note1.md", "{what}: {recall}");
            });
            count += 1;
            assert!(count < 100, "{failpoint} is reached without end");
        }
        assert!(count > 1, "{failpoint} is never reached");
    }
}

#[test]
fn a_rebuild_that_died_leaves_the_old_index_in_use() {
    let (prepared, ids) = written();
    let file = prepared.file("trip.ndjson", conversation());
    prepared.json(&["import", file.to_str().unwrap()]);
    for failpoint in ["reindex_text_batch", "reindex_vector_batch", "after_switch", "before_commit", "after_commit"] {
        die_at_each(failpoint, &prepared, &["reindex", "--json"], |home, count| {
            let what = format!("reindex, {failpoint}:{count}");
            block_on(async {
                check_truth(home, &ids, &what).await;
                check_search(home, &all_words(), &what).await;
                // Written while a generation is unfinished: it must not be lost by the rebuild that goes on.
                let text = "The lighthouse keeper whistles in between";
                assert_eq!(home.json(&["add", text])["outcome"], "stored");
                home.json(&["reindex"]);
                let index = &home.json(&["status"])["index"];
                assert!(index["text_building"].is_null() && index["vector_building"].is_null(), "{what}: {index}");
                assert_eq!(index["lag"], 0, "{what}: {index}");
                sound(home, &what);
                let mut words = all_words();
                words.push(("lighthouse".into(), text.into()));
                check_search(home, &words, &what).await;
                let texts = check_truth(home, &ids, &what).await;
                assert_eq!(texts.len(), KNOWN.len() + MESSAGES + 1, "{what}");
                for kind in ["text", "vector"] {
                    let generations = std::fs::read_dir(home.path().join("index").join(kind)).unwrap().count();
                    assert_eq!(generations, 1, "{what}: old generations of {kind} are gone");
                }
            });
        });
    }
}

#[test]
fn an_unfinished_rebuild_is_mended_by_the_doctor() {
    let (prepared, ids) = written();
    for failpoint in ["reindex_text_batch", "reindex_vector_batch"] {
        die_at_each(failpoint, &prepared, &["reindex", "--json"], |home, count| {
            let what = format!("{failpoint}:{count}");
            home.run(&["doctor", "--fix", "--json"]).done();
            let index = &home.json(&["status"])["index"];
            assert!(index["text_building"].is_null() && index["vector_building"].is_null(), "{what}: {index}");
            block_on(async {
                check_truth(home, &ids, &what).await;
                check_search(home, &known_words(), &what).await;
            });
        });
    }
}

#[test]
fn a_migration_that_died_is_begun_again() {
    let text = "The first memory of a new home";
    for count in 1..100 {
        let home = Home::new();
        let run = home.run_until("migration_step", count, &["add", text, "--json"]);
        if !run.aborted() {
            run.done();
            assert!(count > 1, "no migration ran");
            return;
        }
        assert_eq!(home.json(&["list"])["items"].as_array().map(Vec::len), Some(0), "migration_step:{count}");
        assert_eq!(home.json(&["add", text])["outcome"], "stored");
        sound(&home, &format!("migration_step:{count}"));
        block_on(check_search(&home, &[("first".into(), text.into())], "migration"));
    }
}
