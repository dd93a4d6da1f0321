//! Speed and size: writes, import, indexing, search, memory and disk, on text made here.

use std::time::Instant;

use memory_core::{
    Error, ErrorKind, NewMemory, NewMessage, Progress, Result, Role, Scope, SearchRequest, Viewer, WriteItem,
    WriteRequest,
};
use serde::Serialize;

use crate::Memory;

/// Single writes that are timed.
const SINGLE_WRITES: usize = 200;

/// Searches that are timed.
const SEARCHES: usize = 300;

/// Items of one batch.
const BATCH: usize = 1_000;

/// What was measured. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpeedReport {
    /// What was written: `memories` or `messages`.
    pub kind: String,
    /// How many.
    pub items: usize,
    /// Bytes of text in all.
    pub text_bytes: usize,
    /// Seconds to write them in batches, acknowledged and durable.
    pub write_seconds: f64,
    /// Seconds to index them.
    pub index_seconds: f64,
    /// Items written and indexed for each second.
    pub items_per_second: f64,
    /// One durable write on its own, half of them.
    pub single_write_p50_ms: f64,
    /// One durable write on its own, 99 of 100.
    pub single_write_p99_ms: f64,
    /// One search, half of them.
    pub search_p50_ms: f64,
    /// One search, 99 of 100.
    pub search_p99_ms: f64,
    /// Resident memory of this process after the searches, in bytes; 0 where it cannot be read.
    pub resident_bytes: u64,
    /// Bytes on disk, truth and indexes.
    pub disk_bytes: u64,
    /// Bytes of truth.
    pub store_bytes: u64,
    /// Bytes of the indexes.
    pub index_bytes: u64,
    /// Bytes on disk for each item.
    pub disk_bytes_per_item: f64,
}

/// Writes `items` memories (or messages) into `memory`, which should be empty, indexes and searches them.
pub async fn speed(memory: &Memory, items: usize, messages: bool, progress: &dyn Progress) -> Result<SpeedReport> {
    let builtin = memory.builtin.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "the bench measures the builtin provider")
            .with_hint("set MEMORY_ENGINE=builtin")
    })?;
    let mut text = TextMaker::default();
    let mut text_bytes = 0;
    progress.start("write", Some(items as u64));
    let begin = Instant::now();
    let mut written = 0;
    while written < items {
        let count = BATCH.min(items - written);
        let items: Vec<WriteItem> = (0..count)
            .map(|number| {
                let body = text.next();
                text_bytes += body.len();
                item(written + number, body, messages)
            })
            .collect();
        memory.engine.write(WriteRequest { items, force: true, repeated: false }).await?;
        written += count;
        progress.advance(count as u64);
    }
    progress.finish();
    let write_seconds = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    builtin.index_pending(progress).await?;
    let index_seconds = begin.elapsed().as_secs_f64();

    let mut writes = Vec::with_capacity(SINGLE_WRITES);
    for number in 0..SINGLE_WRITES.min(items) {
        let item = item(items + number, text.next(), messages);
        let begin = Instant::now();
        memory.engine.write(WriteRequest { items: vec![item], force: true, repeated: false }).await?;
        writes.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    builtin.index_pending(progress).await?;

    progress.start("search", Some(SEARCHES as u64));
    let mut searches = Vec::with_capacity(SEARCHES);
    // The first search opens the indexes: that is a start, not a search.
    memory.engine.search(SearchRequest::new(Viewer::default(), "warm up")).await?;
    for _ in 0..SEARCHES {
        let question = text.question();
        let begin = Instant::now();
        memory.engine.search(SearchRequest::new(Viewer::default(), question)).await?;
        searches.push(begin.elapsed().as_secs_f64() * 1000.0);
        progress.advance(1);
    }
    progress.finish();
    writes.sort_by(f64::total_cmp);
    searches.sort_by(f64::total_cmp);
    let bytes = builtin.statistics(None).await?.bytes;
    let of = |name: &str| bytes.get(name).copied().unwrap_or(0);
    let disk_bytes = of("store") + of("index");
    Ok(SpeedReport {
        kind: if messages { "messages" } else { "memories" }.to_owned(),
        items,
        text_bytes,
        write_seconds,
        index_seconds,
        items_per_second: items as f64 / (write_seconds + index_seconds).max(1e-9),
        single_write_p50_ms: percentile(&writes, 0.5),
        single_write_p99_ms: percentile(&writes, 0.99),
        search_p50_ms: percentile(&searches, 0.5),
        search_p99_ms: percentile(&searches, 0.99),
        resident_bytes: resident_bytes(),
        disk_bytes,
        store_bytes: of("store"),
        index_bytes: of("index"),
        disk_bytes_per_item: disk_bytes as f64 / items.max(1) as f64,
    })
}

fn item(number: usize, body: String, messages: bool) -> WriteItem {
    if messages {
        // Fifty messages a session, speakers taking turns.
        let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let message = NewMessage::new(Scope::default(), format!("session {}", number / 50), role, body);
        WriteItem::Message(Box::new(message))
    } else {
        WriteItem::Memory(Box::new(NewMemory::new(Scope::default(), body)))
    }
}

/// The value below which a share of sorted values lies; 0 when there are none.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
    sorted.get(place).map_or(0.0, |value| (value * 100.0).round() / 100.0)
}

fn resident_bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes * 1024)
}

/// Makes texts of about 450 characters whose words are as unevenly common as those of a language (Zipf): short common
/// words, long rare ones. The same texts on every machine.
struct TextMaker {
    state: u64,
}

impl Default for TextMaker {
    fn default() -> Self {
        Self { state: 0x9e37_79b9_7f4a_7c15 }
    }
}

const SYLLABLES: [&str; 32] = [
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta", "ve", "wi", "xo",
    "yu", "za", "bra", "cle", "dri", "flo", "gru", "pla", "sten", "tri", "mor", "nel", "sha",
];

const VOCABULARY: f64 = 30_000.0;

impl TextMaker {
    /// Xorshift (Marsaglia, 2003).
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn unit(&mut self) -> f64 {
        (self.random() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn word(&mut self) -> String {
        // A rank drawn log-uniformly is distributed as Zipf's law has it.
        let rank = VOCABULARY.powf(self.unit()) as usize;
        let mut number = rank;
        let mut word = String::new();
        loop {
            word.push_str(SYLLABLES.get(number % SYLLABLES.len()).copied().unwrap_or_default());
            number /= SYLLABLES.len();
            if number == 0 {
                return word;
            }
        }
    }

    fn next(&mut self) -> String {
        let length = 300 + (self.random() % 300) as usize;
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            text.push_str(&self.word());
            text.push(if self.random().is_multiple_of(12) { '.' } else { ' ' });
        }
        text
    }

    fn question(&mut self) -> String {
        (0..6).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}
