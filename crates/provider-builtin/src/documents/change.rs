//! What changed in the workspace since the index last looked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::Duration;

use memory_core::Result;
use sha2::{Digest, Sha256};

use super::layout::{FoundFile, Scan, SkipReason, Skipped};
use super::safe_path::open_regular;
use super::{file_error, hex};

/// A file changed this shortly before it was last looked at may have changed again within the same tick of the clock
/// of the file system, so size and time do not prove that it is the same.
const TIME_RESOLUTION_NS: i64 = 2_000_000_000;

/// What is known of a file from the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Size in bytes.
    pub size: u64,
    /// Time of its last change, in nanoseconds since 1970 UTC.
    pub modified_ns: i64,
    /// When this state was recorded, in nanoseconds since 1970 UTC.
    pub checked_ns: i64,
    /// Hash of its bytes, as [`hash_bytes`](super::hash_bytes) gives.
    pub hash: String,
}

/// How much reading a comparison may do before it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Time.
    pub time: Duration,
    /// Bytes read.
    pub bytes: u64,
}

impl Budget {
    /// Reads whatever there is.
    pub const UNLIMITED: Self = Self { time: Duration::MAX, bytes: u64::MAX };
}

/// A file with the hash of what it holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedFile {
    /// The file.
    pub file: FoundFile,
    /// Hash of its bytes.
    pub hash: String,
}

/// The difference between the workspace and what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that are new.
    pub added: Vec<HashedFile>,
    /// Files that hold something else now.
    pub changed: Vec<HashedFile>,
    /// Files that hold the same, but whose size and time must be recorded anew.
    pub touched: Vec<HashedFile>,
    /// Paths of files that are gone.
    pub removed: Vec<String>,
    /// How many files are surely the same.
    pub unchanged: usize,
    /// Files that could not be read, with the reason. What is known of them stays.
    pub failed: Vec<Skipped>,
    /// True when the budget ran out and files are left to look at.
    pub more_remaining: bool,
}

impl Changes {
    /// True when the index is as it should be.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty() && !self.more_remaining
    }
}

/// Compares a scan with what is known, reading only files whose size or time differ. The newest files are read first
/// and at least one is read, so that repeated calls come to an end. `elapsed` tells the time since the call.
pub fn compare(
    scan: &Scan,
    known: &BTreeMap<String, Known>,
    budget: Budget,
    elapsed: &mut dyn FnMut() -> Duration,
) -> Changes {
    let mut changes = Changes { removed: removed(scan, known), ..Changes::default() };
    let mut to_read: Vec<(&FoundFile, Option<&Known>)> = Vec::new();
    for file in &scan.files {
        match known.get(&file.relative_path) {
            Some(known) if is_surely_same(file, known) => changes.unchanged += 1,
            other => to_read.push((file, other)),
        }
    }
    to_read.sort_by(|(a, _), (b, _)| (b.modified_ns, &a.relative_path).cmp(&(a.modified_ns, &b.relative_path)));

    let mut bytes_read = 0_u64;
    for (position, (file, known)) in to_read.into_iter().enumerate() {
        let would_read = bytes_read.saturating_add(file.size);
        if position > 0 && (would_read > budget.bytes || elapsed() > budget.time) {
            changes.more_remaining = true;
            break;
        }
        bytes_read = would_read;
        match hash_file(file) {
            Ok(hash) => {
                let list = match known {
                    None => &mut changes.added,
                    Some(known) if known.hash == hash => &mut changes.touched,
                    Some(_) => &mut changes.changed,
                };
                list.push(HashedFile { file: file.clone(), hash });
            }
            Err(error) => changes.failed.push(Skipped {
                relative_path: file.relative_path.clone(),
                reason: SkipReason::Unreadable(error.to_string()),
            }),
        }
    }
    changes
}

fn is_surely_same(file: &FoundFile, known: &Known) -> bool {
    let is_settled = known.modified_ns.saturating_add(TIME_RESOLUTION_NS) < known.checked_ns;
    is_settled && file.size == known.size && file.modified_ns == known.modified_ns
}

/// Known files that the scan did not find, except below a directory that could not be read.
fn removed(scan: &Scan, known: &BTreeMap<String, Known>) -> Vec<String> {
    let found: BTreeSet<&str> = scan.files.iter().map(|file| file.relative_path.as_str()).collect();
    let unreadable: Vec<&str> = scan
        .skipped
        .iter()
        .filter(|skipped| matches!(skipped.reason, SkipReason::Unreadable(_)))
        .map(|skipped| skipped.relative_path.as_str())
        .collect();
    let is_below = |path: &str, directory: &str| {
        directory.is_empty()
            || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    known
        .keys()
        .filter(|path| !found.contains(path.as_str()))
        .filter(|path| !unreadable.iter().any(|directory| is_below(path, directory)))
        .cloned()
        .collect()
}

fn hash_file(found: &FoundFile) -> Result<String> {
    let (mut file, _) = open_regular(&found.absolute)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer).map_err(|error| file_error("read", &found.absolute, error))?;
        if count == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::layout::scan;
    use crate::documents::{MAX_DOCUMENT_BYTES, hash_bytes};
    use std::fs;
    use std::path::Path;

    fn take_in(directory: &Path) -> (Scan, BTreeMap<String, Known>) {
        let scan = scan(directory, MAX_DOCUMENT_BYTES).unwrap();
        let known = scan.files.iter().map(|file| {
            let hash = hash_bytes(&fs::read(&file.absolute).unwrap());
            let checked_ns = file.modified_ns + 10 * TIME_RESOLUTION_NS;
            (file.relative_path.clone(), Known { size: file.size, modified_ns: file.modified_ns, checked_ns, hash })
        });
        let known = known.collect();
        (scan, known)
    }

    fn compare_now(directory: &Path, known: &BTreeMap<String, Known>, budget: Budget) -> Changes {
        let scan = scan(directory, MAX_DOCUMENT_BYTES).unwrap();
        compare(&scan, known, budget, &mut || Duration::ZERO)
    }

    fn paths(files: &[HashedFile]) -> Vec<&str> {
        files.iter().map(|file| file.file.relative_path.as_str()).collect()
    }

    #[test]
    fn every_kind_of_change_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in ["same.md", "changed.md", "touched.md", "removed.md"] {
            fs::write(path(name), format!("{name} 你好\n")).unwrap();
        }
        let (scanned, mut known) = take_in(directory.path());
        assert_eq!(compare(&scanned, &known, Budget::UNLIMITED, &mut || Duration::ZERO).unchanged, 4);

        fs::write(path("changed.md"), "something else\n").unwrap();
        known.get_mut("touched.md").unwrap().modified_ns -= 1;
        fs::remove_file(path("removed.md")).unwrap();
        fs::write(path("new.md"), "new\n").unwrap();
        let changes = compare_now(directory.path(), &known, Budget::UNLIMITED);
        assert_eq!(paths(&changes.added), ["new.md"]);
        assert_eq!(changes.added[0].hash, hash_bytes(b"new\n"));
        assert_eq!(paths(&changes.changed), ["changed.md"]);
        assert_eq!(paths(&changes.touched), ["touched.md"]);
        assert_eq!(changes.removed, ["removed.md"]);
        assert_eq!((changes.unchanged, changes.more_remaining, changes.is_empty()), (1, false, false));
    }

    #[test]
    fn a_change_within_one_tick_of_the_clock_is_not_missed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.md"), "one").unwrap();
        let (_, mut known) = take_in(directory.path());
        let state = known.get_mut("a.md").unwrap();
        state.checked_ns = state.modified_ns + 1;
        state.hash = hash_bytes(b"two");
        let changes = compare_now(directory.path(), &known, Budget::UNLIMITED);
        assert_eq!(paths(&changes.changed), ["a.md"]);
    }

    #[test]
    fn the_budget_stops_after_the_newest_and_calls_come_to_an_end() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..5 {
            let file = fs::File::create(directory.path().join(format!("{number}.md"))).unwrap();
            let age = Duration::from_secs(if number == 3 { 100 } else { 200 + number });
            fs::write(directory.path().join(format!("{number}.md")), "12345").unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
        }
        let scan = scan(directory.path(), MAX_DOCUMENT_BYTES).unwrap();
        let tiny = Budget { time: Duration::MAX, bytes: 1 };
        let mut known = BTreeMap::new();
        for round in 0..5 {
            let changes = compare(&scan, &known, tiny, &mut || Duration::ZERO);
            assert_eq!((changes.added.len(), changes.more_remaining), (1, round < 4));
            let added = &changes.added[0];
            if round == 0 {
                assert_eq!(added.file.relative_path, "3.md");
            }
            let (size, modified_ns) = (added.file.size, added.file.modified_ns);
            let state = Known { size, modified_ns, checked_ns: i64::MAX, hash: added.hash.clone() };
            known.insert(added.file.relative_path.clone(), state);
        }
        let mut clock = [1, 2, 3, 4, 5].into_iter().map(Duration::from_secs);
        let budget = Budget { time: Duration::from_secs(2), bytes: u64::MAX };
        let changes = compare(&scan, &BTreeMap::new(), budget, &mut || clock.next().unwrap());
        assert_eq!((changes.added.len(), changes.more_remaining), (3, true));
    }

    #[test]
    fn files_below_an_unreadable_directory_are_not_gone() {
        let state = Known { size: 1, modified_ns: 0, checked_ns: 0, hash: String::new() };
        let known: BTreeMap<_, _> =
            ["a/x.md", "ab/x.md", "b.md"].into_iter().map(|path| (path.to_owned(), state.clone())).collect();
        let skipped =
            vec![Skipped { relative_path: "a".into(), reason: SkipReason::Unreadable("permission denied".into()) }];
        let scan = Scan { files: Vec::new(), skipped };
        let changes = compare(&scan, &known, Budget::UNLIMITED, &mut || Duration::ZERO);
        assert_eq!(changes.removed, ["ab/x.md", "b.md"]);
    }

    #[test]
    fn a_file_that_vanishes_before_reading_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.md"), "x").unwrap();
        let scan = scan(directory.path(), MAX_DOCUMENT_BYTES).unwrap();
        fs::remove_file(directory.path().join("a.md")).unwrap();
        let changes = compare(&scan, &BTreeMap::new(), Budget::UNLIMITED, &mut || Duration::ZERO);
        assert_eq!((changes.added.len(), changes.failed.len()), (0, 1));
    }
}
