//! Loads a model directory and prints what a check finds, the similarities of a few sentences and the speed, or the
//! speed of the bundled table when no directory is given:
//! `cargo run --release -p memory-models --example embed_directory -- DIRECTORY`
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use memory_core::Result;
use memory_models::{
    LateInteraction, Purpose, StaticEmbedder, StaticTable, TransformerEmbedder, TransformerOptions, check_directory,
};

const WORDS: &str = "we met the neighbours at the harbour on a windy saturday and talked about their plans to repair \
    the old boat before the summer because the children want to learn sailing and the engine makes strange noises \
    whenever it rains while my brother kept asking whether the insurance covers a broken mast or only the hull and \
    nobody knew the answer so he promised to call the office on monday morning and write down what they say";

fn main() -> Result<()> {
    match std::env::args().nth(1) {
        Some(directory) => transformer(Path::new(&directory)),
        None => static_table(),
    }
}

/// Texts of `words` words, each beginning elsewhere.
fn texts(count: usize, words: usize) -> Vec<String> {
    let all: Vec<&str> = WORDS.split_whitespace().collect();
    (0..count)
        .map(|start| all.iter().cycle().skip(start * 7).take(words).copied().collect::<Vec<_>>().join(" "))
        .collect()
}

fn static_table() -> Result<()> {
    let bytes: &[u8] = include_bytes!("../assets/static-en.bin");
    let (table, ms) = timed(|| StaticTable::parse(bytes));
    println!("parse: {ms:.2} ms, {:?}", table?);
    let embedder = StaticEmbedder::english()?;
    let short = texts(20_000, 15);
    let (_, ms) = timed(|| short.iter().filter_map(|text| embedder.embed_text(text)).count());
    println!("embed, 15 words: {:.0} texts/s", short.len() as f64 / ms * 1000.0);
    let candidates = texts(500, 100);
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let query =
        embedder.prepare_query("Which friend asked whether the insurance pays for the damaged sailing boat?")?;
    for _ in 0..3 {
        let (_, ms) = timed(|| embedder.score(&query, &candidates));
        println!("late interaction, {} query tokens, 500 texts of 100 words: {ms:.2} ms", query.pieces().count());
    }
    Ok(())
}

fn transformer(directory: &Path) -> Result<()> {
    println!("{:#?}", check_directory(directory)?);
    let options = TransformerOptions { path: directory.to_owned(), ..TransformerOptions::default() };
    let embedder = TransformerEmbedder::open(&options)?;
    let embed = |texts: &[String]| embedder.embed_blocking(texts, Purpose::Passage);
    embed(&texts(1, 5))?;
    for (count, words) in [(20, 10), (64, 25), (32, 100), (16, 200)] {
        let many = texts(count, words);
        let (_, alone) =
            timed(|| many.iter().take(8).map(|text| embed(std::slice::from_ref(text))).collect::<Vec<_>>());
        let (result, ms) = timed(|| embed(&many));
        result?;
        println!(
            "{words} words: {:.1} ms alone, {:.0} texts/s in batches of {count}",
            alone / 8.0,
            count as f64 / ms * 1000.0
        );
    }
    let query = embedder.prepare_query("Who asked about the insurance of the boat?")?;
    println!("query tokens: {:?}", query.pieces().collect::<Vec<_>>());
    let candidates = texts(30, 25);
    let candidates: Vec<&str> = candidates.iter().map(String::as_str).collect();
    let (scores, ms) = timed(|| embedder.score(&query, &candidates));
    println!("late interaction, 30 texts of 25 words: {ms:.0} ms, first scores {:?}", scores?.get(..4));
    let zh = embedder.prepare_query("谁家的小猫是领养的？")?;
    println!("Chinese query tokens: {:?}", zh.pieces().collect::<Vec<_>>());
    let samples = ["她上周领养了一只小猫", "这张发票须在一个月内付款", "我们周末去爬山"];
    println!("scores of {samples:?}: {:?}", embedder.score(&zh, &samples)?);
    let english = embedder.prepare_query("Who adopted a kitten?")?;
    let samples = ["She took a cat home from the shelter", "The invoice is payable within a month", "We went hiking"];
    println!("scores of {samples:?}: {:?}", embedder.score(&english, &samples)?);
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64() * 1000.0)
}
