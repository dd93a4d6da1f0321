//! What an import did.

use memory_core::{WriteOutcome, WriteResult};
use serde::Serialize;

/// So many problems are listed; the rest is only counted.
const LISTED: usize = 100;

/// Something that was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, as it was named; `-` for standard input.
    pub source: String,
    /// The line, from 1, where there is one.
    pub line: Option<u64>,
    /// Why.
    pub reason: String,
}

/// The first 100 problems and the number of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    /// The first ones.
    pub listed: Vec<Problem>,
    /// How many there are.
    pub total: u64,
}

impl Problems {
    pub(super) fn add(&mut self, problem: Problem) {
        self.total += 1;
        if self.listed.len() < LISTED {
            self.listed.push(problem);
        }
    }
}

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// True when nothing was written.
    pub dry_run: bool,
    /// How many files were read.
    pub files: u64,
    /// How many messages were read.
    pub messages: u64,
    /// How many memories were read.
    pub memories: u64,
    /// How many documents were read.
    pub documents: u64,
    /// How many are new.
    pub stored: u64,
    /// How many were there already.
    pub deduped: u64,
    /// How many took the place of an older one.
    pub superseded: u64,
    /// How many were refused by the store; they are among the errors.
    pub rejected: u64,
    /// How many wait for a provider that is out of reach.
    pub queued: u64,
    /// What could not be read or was refused.
    pub errors: Problems,
    /// What was left alone on purpose, such as links and devices in a folder.
    pub skipped: Problems,
}

impl ImportReport {
    /// How many items were read, of all sorts.
    pub fn read(&self) -> u64 {
        self.messages + self.memories + self.documents
    }

    /// Counts what became of one item; a refusal is listed as an error.
    pub(super) fn count(&mut self, result: WriteResult, position: impl FnOnce() -> (String, Option<u64>)) {
        match result.outcome {
            WriteOutcome::Stored => self.stored += 1,
            WriteOutcome::Deduped => self.deduped += 1,
            WriteOutcome::Superseded => self.superseded += 1,
            WriteOutcome::Queued => self.queued += 1,
            WriteOutcome::Rejected => {
                self.rejected += 1;
                let (source, line) = position();
                let reason = result.reason.unwrap_or_else(|| "the store refused it".to_owned());
                self.errors.add(Problem { source, line, reason });
            }
        }
    }
}

impl Serialize for ImportReport {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Read {
            messages: u64,
            memories: u64,
            documents: u64,
        }
        #[derive(Serialize)]
        struct Wire<'a> {
            dry_run: bool,
            files: u64,
            read: Read,
            stored: u64,
            deduped: u64,
            superseded: u64,
            rejected: u64,
            queued: u64,
            errors: &'a [Problem],
            errors_total: u64,
            skipped: &'a [Problem],
            skipped_total: u64,
        }
        Wire {
            dry_run: self.dry_run,
            files: self.files,
            read: Read { messages: self.messages, memories: self.memories, documents: self.documents },
            stored: self.stored,
            deduped: self.deduped,
            superseded: self.superseded,
            rejected: self.rejected,
            queued: self.queued,
            errors: &self.errors.listed,
            errors_total: self.errors.total,
            skipped: &self.skipped.listed,
            skipped_total: self.skipped.total,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_listed_up_to_a_limit_and_all_counted() {
        let mut report = ImportReport::default();
        for line in 1..=250 {
            report.errors.add(Problem { source: "记录.ndjson".into(), line: Some(line), reason: "坏行".into() });
        }
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["errors"].as_array().unwrap().len(), LISTED);
        assert_eq!(json["errors"][0]["line"], 1);
        assert_eq!(json["errors_total"], 250);
    }

    #[test]
    fn a_refusal_is_counted_and_listed() {
        let mut report = ImportReport::default();
        report.count(WriteResult::rejected("forgotten before"), || ("x".into(), Some(7)));
        report.count(WriteResult::with_id(WriteOutcome::Stored, "1"), || ("x".into(), Some(8)));
        assert_eq!((report.rejected, report.stored, report.errors.total), (1, 1, 1));
        assert_eq!(report.errors.listed[0].line, Some(7));
        assert_eq!(report.errors.listed[0].reason, "forgotten before");
    }
}
