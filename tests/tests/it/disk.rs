//! A disk that is full or read-only: a clear error that says what to do, nothing half-written, and a store that opens
//! fine afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use tests::{Home, Run, run_to_end};

/// A file system of its own, where the system permits one.
struct Mount {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Mount {
    /// A small disk in memory, or `None`, with the reason printed.
    fn small_disk(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let size = format!("size={size}");
        let arguments = ["-t", "tmpfs", "-o", &size, "tmpfs", path.to_str().unwrap()];
        match Command::new("mount").args(arguments).output() {
            Ok(output) if output.status.success() => Some(Self { _folder: folder, path }),
            outcome => {
                println!("skipped: no file system can be mounted here: {outcome:?}");
                None
            }
        }
    }

    fn read_only(&self, read_only: bool) {
        let option = if read_only { "remount,ro" } else { "remount,rw" };
        let status = Command::new("mount").args(["-o", option, self.path.to_str().unwrap()]).status().unwrap();
        assert!(status.success(), "mount -o {option}");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

/// A failure of storage, told as the command tells it: what, and what to do; exit code 1.
fn told(run: &Run) {
    assert_eq!((run.code, run.signal), (Some(1), None), "{run:?}");
    let error = run.error();
    assert_eq!(error["kind"], "storage", "{run:?}");
    assert!(!error["hints"].as_array().unwrap().is_empty(), "it says what to do: {run:?}");
    assert!(run.out.is_empty(), "nothing is acknowledged: {run:?}");
}

/// How many memories and messages there are.
fn stored(home: &Home) -> (u64, u64) {
    let stats = home.json(&["stats"]);
    (stats["memories"].as_u64().unwrap(), stats["messages"].as_u64().unwrap())
}

fn sound(home: &Home) {
    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!(doctor.value()["ok"], true, "{}", doctor.out);
}

/// A conversation of so many messages, about 500 bytes each.
fn lines(count: usize) -> Vec<u8> {
    let line = |number: usize| {
        let text = format!("w{number}ord ").repeat(60);
        format!("{{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"第{number}章 {text}\"}}\n")
    };
    (0..count).map(line).collect::<String>().into_bytes()
}

#[test]
fn a_read_only_home_answers_and_refuses_writes() {
    let Some(mount) = Mount::small_disk("64m") else { return };
    let home = Home::at(mount.path.join("home"));
    assert_eq!(home.json(&["add", "The spare key hangs behind the door"])["outcome"], "stored");
    home.json(&["reindex"]);
    mount.read_only(true);
    told(&home.run(&["add", "this cannot be kept", "--json"]));
    let nowhere = Home::at(mount.path.join("another/home"));
    told(&nowhere.run(&["add", "nor this", "--json"]));
    let searched = home.run(&["search", "spare key", "--json"]);
    if searched.code == Some(0) {
        assert_eq!(searched.value()["hits"][0]["text"], "The spare key hangs behind the door");
    } else {
        told(&searched);
    }
    mount.read_only(false);
    assert_eq!(stored(&home), (1, 0));
    assert_eq!(home.json(&["add", "this can be kept now"])["outcome"], "stored");
    assert_eq!(stored(&home), (2, 0));
    sound(&home);
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let Some(mount) = Mount::small_disk("3m") else { return };
    let home = Home::at(mount.path.join("home"));
    let first = home.json(&["add", "The spare key hangs behind the door"]);
    assert_eq!(first["outcome"], "stored");
    let run = home.run_with_input(&["import", "-", "--json"], &lines(20_000));
    told(&run);
    // One transaction is 1,000 lines: each is whole or absent.
    let kept = stored(&home);
    assert_eq!((kept.0, kept.1 % 1_000), (1, 0), "{kept:?}");
    let fill = mount.path.join("fill");
    let _ = std::fs::write(&fill, vec![7_u8; 4 << 20]);
    // Some may still fit into room that the store has already; each is stored or refused, until none fits.
    let mut added = 0;
    loop {
        let text = format!("chapter {added}: {}", format!("f{added}g ").repeat(40_000));
        let run = home.run_with_input(&["add", "-", "--json"], text.as_bytes());
        if run.code != Some(0) {
            told(&run);
            break;
        }
        added += 1;
        assert!(added < 100, "the disk is never full");
    }
    let kept = (kept.0 + added, kept.1);
    std::fs::remove_file(&fill).unwrap();
    let id = first["id"].as_str().unwrap();
    assert_eq!(home.json(&["get", id])["items"][0]["body"], "The spare key hangs behind the door");
    assert_eq!(stored(&home), kept, "a refused write left nothing behind");
    let copied = Home::new();
    tests::copy_folder(home.path(), copied.path());
    assert_eq!(copied.json(&["add", "there is room here"])["outcome"], "stored");
    sound(&copied);
}

/// Needs no rights: the system limits how large a file may grow.
#[test]
fn a_file_that_may_not_grow_is_a_clear_error() {
    let home = Home::new();
    assert_eq!(home.json(&["add", "The spare key hangs behind the door"])["outcome"], "stored");
    let run = limited(&home, 300, &lines(3_000));
    told(&run);
    assert_eq!(stored(&home), (1, 0), "nothing half-written");
    sound(&home);
    let whole = home.run_with_input(&["import", "-", "--json"], &lines(3_000)).done().value();
    assert_eq!(whole["stored"], 3_000, "{whole}");
    assert_eq!(stored(&home), (1, 3_000));
}

/// An import by a process whose files may have `blocks` blocks of 1,024 bytes, and which is not killed for trying.
fn limited(home: &Home, blocks: usize, input: &[u8]) -> Run {
    let mut command = Command::new("bash");
    home.prepare(&mut command);
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" import - --json");
    command.arg("-c").arg(script).arg(tests::binary());
    run_to_end(command, input)
}

#[test]
fn a_home_that_is_a_file_is_a_clear_error() {
    let home = Home::new();
    let file = home.file("occupied", b"x");
    told(&Home::at(&file).run(&["add", "no room", "--json"]));
    assert_eq!(std::fs::read(Path::new(&file)).unwrap(), b"x");
}
