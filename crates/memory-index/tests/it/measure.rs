use std::time::Instant;

use memory_index::*;
use tempfile::TempDir;

use crate::support::*;
use crate::vector::runtime;

fn bytes(path: &std::path::Path) -> u64 {
    std::fs::read_dir(path).unwrap().map(|entry| { let path = entry.unwrap().path(); if path.is_dir() { bytes(&path) } else { path.metadata().unwrap().len() } }).sum()
}

fn time<T>(name: &str, times: u32, mut action: impl FnMut() -> T) -> T {
    let mut all: Vec<f64> = Vec::new();
    let mut last = None;
    for _ in 0..times { let start = Instant::now(); last = Some(action()); all.push(start.elapsed().as_secs_f64() * 1e3); }
    all.sort_by(f64::total_cmp);
    eprintln!("{name}: p50 {:.2} ms, max {:.2} ms", all[all.len() / 2], all[all.len() - 1]);
    last.unwrap()
}

#[test]
#[ignore]
fn text() {
    let mut numbers = Numbers(1);
    let words: Vec<String> = (0..8000).map(|n| format!("{}{}", ["lake","run","pot","sun","tea","win","mor","gar"][n % 8], n)).collect();
    let make = |rowid: i64, numbers: &mut Numbers| {
        let text: Vec<&str> = (0..75).map(|_| { let a = numbers.below(8000); let b = numbers.below(8000).min(a); words[b.min(numbers.below(8000))].as_str() }).collect();
        let text = text.join(" ");
        IndexEntry { window: Some(text.clone()), session: Some(format!("s{}", rowid / 40)), ..entry(rowid, &text) }
    };
    let all: Vec<IndexEntry> = (1..=10_000).map(|rowid| make(rowid, &mut numbers)).collect();
    let source: usize = all.iter().map(|entry| entry.text.len()).sum();
    let directory = TempDir::new().unwrap();
    let index = open(&directory);
    let start = Instant::now();
    for some in all.chunks(1000) { index.apply(some, &[], &mark(1)).unwrap(); }
    eprintln!("apply 10000 in {:?}, source bytes/row {}", start.elapsed(), source / 10_000);
    time("tokenise 1000", 3, || all.iter().take(1000).map(|entry| analyze(&entry.text, Side::Index).len()).sum::<usize>());
    index.release_writer().unwrap();
    eprintln!("text bytes/row {}", bytes(directory.path()) / 10_000);
    let asked = "What lake0 did run1 go pot2 with sun3 in win5 tea4 gar7?";
    time("open", 5, || open(&directory));
    time("search", 20, || index.search(&TextQuery { limit: 100, ..question(asked) }).unwrap().len());
    let keys: Vec<EntryKey> = all.iter().step_by(20).map(|entry| entry.key).collect();
    time("score 500", 20, || index.score(asked, TextField::Text, &keys).unwrap().len());
    time("one commit", 10, || index.apply(&all[..1], &[], &mark(2)).unwrap());
    time("search narrow", 20, || index.search(&TextQuery { filter: IndexFilter { sessions: vec!["s7".into()], ..filter() }, ..question(asked) }).unwrap().len());
    index.purge().unwrap();
    eprintln!("purged text bytes/row {}", bytes(directory.path()) / 10_000);
}

#[test]
#[ignore]
fn vectors() {
    let runtime = runtime();
    for (count, width) in [(10_000, 256), (25_000, 256)] {
        let directory = TempDir::new().unwrap();
        let mut numbers = Numbers(1);
        let index = runtime.block_on(LanceIndex::open_or_create(directory.path(), width)).unwrap();
        let all: Vec<IndexEntry> = (1..=count).map(|rowid| IndexEntry { vector: Some(numbers.unit(width)), session: Some(format!("s{}", rowid / 40)), ..entry(rowid, "") }).collect();
        let start = Instant::now();
        for some in all.chunks(1000) { runtime.block_on(index.apply(some, &[])).unwrap(); }
        eprintln!("{count}: apply in {:?}, bytes/row {}", start.elapsed(), bytes(directory.path()) / count as u64);
        time("optimize", 1, || runtime.block_on(index.optimize()).unwrap());
        eprintln!("bytes/row {}", bytes(directory.path()) / count as u64);
        time("purge", 1, || runtime.block_on(index.purge()).unwrap());
        eprintln!("bytes/row {}", bytes(directory.path()) / count as u64);
        let asked = numbers.unit(width);
        let fresh = time("open", 5, || runtime.block_on(LanceIndex::open(directory.path(), width)).unwrap());
        time("first search", 1, || runtime.block_on(fresh.search(&asked, &filter(), 100)).unwrap());
        time("search", 20, || runtime.block_on(fresh.search(&asked, &filter(), 100)).unwrap());
        let keys: Vec<EntryKey> = all.iter().step_by(count as usize / 500).map(|entry| entry.key).collect();
        time("score 500", 20, || runtime.block_on(fresh.score(&asked, &keys)).unwrap());
        time("count (freshness)", 20, || runtime.block_on(fresh.count()).unwrap());
        time("one commit", 10, || { let mut entry = all[3].clone(); entry.revision = numbers.next() >> 1; runtime.block_on(index.apply(&[entry], &[])).unwrap() });
    }
}
