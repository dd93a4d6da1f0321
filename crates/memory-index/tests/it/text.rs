use std::process::Command;

use memory_core::ErrorKind;
use memory_index::*;
use tempfile::TempDir;

use crate::support::*;

#[test]
fn finds_words_in_any_form_and_order() {
    let (_directory, index) = index_of(&[
        "[8 May 2023] Caroline: I painted a sunrise over the lake",
        "[9 May 2023] Melanie: my kids love pottery classes",
        "[9 May 2023] Caroline: the support group met again",
    ]);
    assert_eq!(found(&index, "What did Caroline paint?"), [1, 3]);
    assert_eq!(rows(&index.search(&question("painting of lakes")).unwrap()), [1]);
    assert_eq!(found(&index, "what was it on 9 May?"), [2, 3]);
    assert!(found(&index, "volcano").is_empty());
}

#[test]
fn finds_chinese_japanese_and_korean() {
    let (_directory, index) = index_of(&[
        "我昨天在北京买了一只猫",
        "昨日は東京でコーヒーを飲みました",
        "저는 한국어 책을 읽었습니다",
        "上海的天气很好",
    ]);
    assert_eq!(found(&index, "我的猫是在哪里买的？"), [1]);
    assert_eq!(found(&index, "コーヒー"), [2]);
    assert_eq!(found(&index, "한국어"), [3]);
    assert_eq!(rows(&index.search(&question("天气")).unwrap()), [4, 1], "a shared character is weak evidence");
}

#[test]
fn finds_identifiers() {
    let (_directory, index) = index_of(&[
        "we moved the service to node.js",
        "the bug is in HTTPServer::handle",
        "she writes C++ all day",
        "rotate the auth-token in src/auth/token.rs",
        "Python 3.12 is out",
    ]);
    for (text, row) in [
        ("node.js", 1),
        ("httpserver", 2),
        ("C++", 3),
        ("auth token", 4),
        ("token.rs", 4),
        ("3.12", 5),
        ("ｎｏｄｅ", 1),
    ] {
        assert_eq!(rows(&index.search(&question(text)).unwrap())[0], row, "{text}");
    }
}

#[test]
fn nothing_a_person_types_is_an_error() {
    let (_directory, index) = index_of(&["AND OR NOT are words", "scope:bob key:1 (((", "plain"]);
    for text in [
        "",
        " ",
        "\"",
        "((((",
        "a AND",
        "NOT",
        "*",
        "key:1 OR scope:\"ann\"",
        "[1 TO",
        "foo^",
        "\\",
        "'; DROP TABLE x; --",
        "\0",
        "🍕",
        "~~~",
        "+-",
        "text:plain",
        "/.*/",
        "\u{202E}plain",
        "a\u{FFFF}b",
    ] {
        index.search(&question(text)).unwrap();
        index.score(text, TextField::Text, &[EntryKey::new(EntryKind::Message, 1)]).unwrap();
    }
    assert!(found(&index, "scope").contains(&2));
    index.search(&question(&"ab (\" ".repeat(100_000))).unwrap();
}

#[test]
fn expressions_have_operators_and_clear_errors() {
    let (_directory, index) = index_of(&["red apple pie", "green apple", "apple red", "red car"]);
    let raw = |text: &str| {
        let mut rows = rows(&index.search(&expression(text)).unwrap());
        rows.sort_unstable();
        rows
    };
    assert_eq!(raw("red AND apple"), [1, 3]);
    assert_eq!(raw("\"red apple\""), [1]);
    assert_eq!(raw("apple -red"), [2]);
    assert_eq!(raw("\"red appl\"*"), [1]);
    assert_eq!(raw("*"), [1, 2, 3, 4]);
    for wrong in ["(red", "red AND", "nosuchfield:x", &"(".repeat(10_000), &"a ".repeat(10_000)] {
        let error = index.search(&expression(wrong)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
        assert!(!error.hints().is_empty());
    }
}

#[test]
fn an_expression_cannot_leave_the_filter() {
    let (_directory, index) = index_of(&["secret of ann"]);
    let mut other = entry(2, "secret of bob");
    other.scope = "bob".into();
    index.apply(&[other], &[], &mark(2)).unwrap();
    for text in ["*", "secret", "scope:bob", "secret OR scope:bob", "key:[0 TO *]"] {
        let hits = index.search(&expression(text));
        assert!(hits.is_err() || !rows(&hits.unwrap()).contains(&2), "{text}");
    }
}

#[test]
fn changes_replace_and_repeat_without_trace() {
    let (_directory, index) = index_of(&["first version"]);
    let mut second = entry(1, "second version");
    second.revision = 2;
    for sequence in [2, 2, 3] {
        index.apply(std::slice::from_ref(&second), &[], &mark(sequence)).unwrap();
        assert_eq!(index.count().unwrap(), 1);
        assert_eq!((found(&index, "first"), found(&index, "second")), (vec![], vec![1]));
    }
    index.apply(&[entry(1, "first version")], &[], &mark(4)).unwrap();
    assert_eq!(found(&index, "second"), [1], "an older revision never replaces a newer one");
    index
        .apply(
            &[
                entry(7, "old"),
                {
                    let mut new = entry(7, "new");
                    new.revision = 3;
                    new
                },
                entry(7, "middle"),
            ],
            &[],
            &mark(5),
        )
        .unwrap();
    assert_eq!((found(&index, "new"), index.count().unwrap()), (vec![7], 2), "the newest of one batch wins");
    index.apply(&[], &[second.key, EntryKey::new(EntryKind::Fact, 99)], &mark(6)).unwrap();
    index.apply(&[], &[second.key], &mark(6)).unwrap();
    assert_eq!((found(&index, "version"), index.count().unwrap()), (vec![], 1));
}

#[test]
fn the_watermark_is_kept_with_the_data() {
    let directory = TempDir::new().unwrap();
    assert_eq!(open(&directory).watermark().unwrap(), None);
    let index = open(&directory);
    index.apply(&[entry(1, "words")], &[], &mark(41)).unwrap();
    index.apply(&[], &[], &mark(42)).unwrap();
    assert_eq!(index.watermark().unwrap(), Some(mark(42)));
    index.purge().unwrap();
    drop(index);
    assert_eq!(open(&directory).watermark().unwrap(), Some(mark(42)));
    let error = TantivyIndex::open_or_create(directory.path(), "other").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[test]
fn one_writes_at_a_time_and_all_read_at_once() {
    let directory = TempDir::new().unwrap();
    let (writer, second, reader) = (open(&directory), open(&directory), open(&directory));
    writer.apply(&[entry(1, "apple")], &[], &mark(1)).unwrap();
    assert_eq!((found(&reader, "apple"), found(&second, "apple")), (vec![1], vec![1]));
    let error = second.apply(&[entry(2, "apple")], &[], &mark(2)).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Busy, true));
    writer.release_writer().unwrap();
    second.apply(&[entry(2, "apple")], &[], &mark(2)).unwrap();
    assert_eq!((found(&reader, "apple"), found(&writer, "apple")), (vec![1, 2], vec![1, 2]));
    assert_eq!(reader.watermark().unwrap(), Some(mark(2)));
}

#[test]
fn many_commits_stay_searchable_while_they_are_merged() {
    let directory = TempDir::new().unwrap();
    let (writer, reader) = (open(&directory), open(&directory));
    for rowid in 1..=60 {
        writer.apply(&[entry(rowid, "common word")], &[], &mark(rowid as u64)).unwrap();
        let mut query = question("common");
        query.limit = usize::MAX;
        assert_eq!(reader.search(&query).unwrap().len(), rowid as usize);
    }
    writer.release_writer().unwrap();
    assert_eq!(reader.count().unwrap(), 60);
}

#[test]
fn limits_are_clamped() {
    let (_directory, index) = index_of(&["word one", "word two", "word three"]);
    for (limit, expected) in [(0, 0), (1, 1), (2, 2), (usize::MAX, 3)] {
        let hits = index.search(&TextQuery { limit, ..question("word") }).unwrap();
        assert_eq!(hits.len(), expected);
    }
}

#[test]
fn equal_scores_come_in_the_order_of_their_keys_however_they_were_written() {
    let mut numbers = Numbers(7);
    let mut orders = Vec::new();
    for _ in 0..3 {
        let directory = TempDir::new().unwrap();
        let index = open(&directory);
        let mut rowids: Vec<i64> = (1..=40).collect();
        while !rowids.is_empty() {
            let batch: Vec<IndexEntry> = (0..1 + numbers.below(6))
                .map_while(
                    |_| if rowids.is_empty() { None } else { Some(rowids.swap_remove(numbers.below(rowids.len()))) },
                )
                .map(|rowid| entry(rowid, "the same few words again"))
                .collect();
            index.apply(&batch, &[], &mark(1)).unwrap();
        }
        orders.push(rows(&index.search(&TextQuery { limit: 15, ..question("few same words") }).unwrap()));
    }
    assert_eq!(orders, vec![(1..=15).collect::<Vec<i64>>(); 3]);
}

#[test]
fn windows_and_segments_are_fields_of_their_own() {
    let directory = TempDir::new().unwrap();
    let index = open(&directory);
    let mut message = entry(1, "yes I did");
    message.window = Some("did you visit Lisbon? yes I did".into());
    let mut segment = entry(1, "did you visit Lisbon? yes I did. and Porto too");
    segment.key = EntryKey::new(EntryKind::Segment, 1);
    index.apply(&[message.clone(), segment.clone()], &[], &mark(1)).unwrap();
    let in_field = |field| {
        let hits = index.search(&TextQuery { field, ..question("Lisbon") }).unwrap();
        hits.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert!(in_field(TextField::Text).is_empty());
    assert_eq!(in_field(TextField::Window), [message.key]);
    assert_eq!(in_field(TextField::Segment), [segment.key]);
    assert_eq!(index.statistics(TextField::Text, &[]).unwrap().documents, 1);
}

#[test]
fn purged_text_is_gone_from_the_files() {
    let directory = TempDir::new().unwrap();
    let index = open(&directory);
    let texts = ["zanzibarquux is secret", "harmless", "harmless too"];
    for (text, rowid) in texts.iter().zip(1..) {
        let mut entry = entry(rowid, text);
        if rowid == 1 {
            entry.tags = vec!["zanzibarquux".into()];
            entry.scope = "zanzibarquux".into();
        }
        index.apply(&[entry], &[], &mark(rowid as u64)).unwrap();
    }
    assert!(contains(&directory, "zanzibarquux"), "otherwise this test proves nothing");
    index.apply(&[], &[EntryKey::new(EntryKind::Message, 1)], &mark(4)).unwrap();
    index.purge().unwrap();
    assert!(!contains(&directory, "zanzibarquux"));
    assert_eq!((index.count().unwrap(), found(&index, "harmless")), (2, vec![2, 3]));
    index.purge().unwrap();
    index.apply(&[entry(9, "harmless nine")], &[], &mark(9)).unwrap();
    assert_eq!(found(&index, "harmless"), [2, 3, 9]);
}

fn contains(directory: &TempDir, text: &str) -> bool {
    let output = Command::new("grep").args(["-r", "-a", "-q", text]).arg(directory.path()).status().unwrap();
    output.success()
}

#[test]
fn ten_megabytes_in_one_entry_are_indexed() {
    let text = format!("needle {} 末尾的针", "x".repeat(1_000) + &"hay stack ".repeat(1_000_000));
    let (_directory, index) = index_of(&[&text, "other"]);
    assert_eq!((found(&index, "needle"), found(&index, "末尾")), (vec![1], vec![1]));
}
