//! Reads one input on its own thread and hands it over in batches, a few at a time.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use memory_core::{Error, ErrorKind, Item, Result, Viewer, WriteItem};
use tokio::sync::mpsc;

use super::detect::{ImportFormat, LineFormat, detect};
use super::lines::{LONGEST_LINE, Line, Lines};
use super::record::{Record, RecordReader};
use super::report::Problem;
use super::sources::Source;
use crate::transfer::bundle::DocumentEntry;

/// So many items go into one write.
const BATCH_ITEMS: usize = 1_000;

/// A batch ends early when its lines are larger than this, in bytes.
const BATCH_BYTES: usize = 8 << 20;

/// So much of the start of an input is looked at to find out its format, in bytes.
const SNIFFED: usize = 1 << 20;

/// So many batches wait to be written while the next is read.
const WAITING: usize = 2;

/// What a run of lines holds, with the number of the line of each item.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) writes: Vec<(u64, WriteItem)>,
    pub(super) inserts: Vec<(u64, Item)>,
    pub(super) documents: Vec<(u64, DocumentEntry)>,
    pub(super) problems: Vec<Problem>,
    /// How many lines it covers.
    pub(super) lines: u64,
    bytes: usize,
}

impl Batch {
    fn is_full(&self) -> bool {
        let items = self.writes.len() + self.inserts.len() + self.documents.len() + self.problems.len();
        items >= BATCH_ITEMS || self.bytes >= BATCH_BYTES
    }
}

/// Starts to read. The channel ends after the last batch; an error in it is the last message.
pub(super) fn start(source: Source, format: ImportFormat, viewer: Viewer) -> mpsc::Receiver<Result<Batch>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = open_and_read(&source, format, &viewer, &sender) {
            // A receiver that is gone has its own error already.
            let _ = sender.blocking_send(Err(error));
        }
    });
    receiver
}

fn open_and_read(
    source: &Source,
    format: ImportFormat,
    viewer: &Viewer,
    sender: &mpsc::Sender<Result<Batch>>,
) -> Result<()> {
    let name = source.name();
    match source {
        Source::StandardInput => read(std::io::stdin().lock(), &name, format, viewer, sender),
        Source::Lines(path) | Source::Markdown(path, _) => {
            let file = File::open(path).map_err(|error| failed(&name, error))?;
            read(BufReader::with_capacity(SNIFFED, file), &name, format, viewer, sender)
        }
    }
}

fn read(
    mut reader: impl BufRead,
    name: &str,
    format: ImportFormat,
    viewer: &Viewer,
    sender: &mpsc::Sender<Result<Batch>>,
) -> Result<()> {
    let start = reader.fill_buf().map_err(|error| failed(name, error))?;
    if start.is_empty() {
        return Ok(());
    }
    let format = line_format(start, name, format)?;
    let mut records = RecordReader::new(format, viewer);
    let mut lines = Lines::new(reader, LONGEST_LINE);
    let (mut buffer, mut batch) = (Vec::new(), Batch::default());
    while let Some(line) = lines.next(&mut buffer).map_err(|error| failed(name, error))? {
        let record = match line {
            Line::TooLong => Err(format!("the line is longer than {LONGEST_LINE} bytes")),
            Line::Whole if buffer.trim_ascii().is_empty() => Ok(Record::Nothing),
            Line::Whole => records.read(&buffer),
        };
        let number = lines.number();
        batch.lines += 1;
        batch.bytes += buffer.len();
        match record {
            Ok(Record::Write(item)) => batch.writes.push((number, item)),
            Ok(Record::Insert(item)) => batch.inserts.push((number, item)),
            Ok(Record::Document(document)) => batch.documents.push((number, document)),
            Ok(Record::Nothing) => {}
            Err(reason) => batch.problems.push(Problem { source: name.to_owned(), line: Some(number), reason }),
        }
        if batch.is_full() && sender.blocking_send(Ok(std::mem::take(&mut batch))).is_err() {
            return Ok(());
        }
    }
    // The other side may have stopped; then it has no use for the rest.
    let _ = sender.blocking_send(Ok(batch));
    Ok(())
}

/// The format that was asked for, or the one the start of the input shows. A bundle passes for `memories`.
fn line_format(start: &[u8], name: &str, format: ImportFormat) -> Result<LineFormat> {
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    let lines = start.get(..SNIFFED.min(start.len())).unwrap_or(start).split(|byte| *byte == b'\n');
    let lines = lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    match format {
        ImportFormat::Messages => Ok(LineFormat::Messages),
        ImportFormat::Memories => match detect(name, lines.take(1)) {
            Ok(LineFormat::Bundle) => Ok(LineFormat::Bundle),
            _ => Ok(LineFormat::Memories),
        },
        ImportFormat::Auto | ImportFormat::Markdown => detect(name, lines),
    }
}

/// How many lines a source has, for a progress bar; `None` when that cannot be known ahead.
pub(super) fn count_lines(path: &Path) -> Option<u64> {
    File::open(path).and_then(|file| super::lines::count(BufReader::with_capacity(SNIFFED, file))).ok()
}

fn failed(name: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot read `{name}`")).with_source(error)
}
