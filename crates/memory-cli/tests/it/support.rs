//! A home of its own for each test, and the binary that works in it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A home that is gone after the test.
pub(crate) struct Home {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// What a run gave.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A file beside the home.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The binary with nothing of the surrounding environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memory"));
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", "/usr/bin:/bin")
            .env("MEMORY_HOME", self.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> Run {
        self.command().args(arguments).output().unwrap().into()
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.as_ref().to_vec());
        // A program that does not read all of its input closes the pipe, which is no failure of the test.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output.into()
    }

    /// Runs with `--json`, expects success, reads the answer.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[&["--json"], arguments].concat());
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        run.value()
    }

    /// Adds a memory and gives its id.
    pub(crate) fn add(&self, arguments: &[&str]) -> String {
        let answer = self.json(&[&["add"], arguments].concat());
        assert_eq!(answer["outcome"], "stored", "{answer}");
        answer["id"].as_str().unwrap().to_owned()
    }
}

impl Run {
    /// The one line of JSON on standard output.
    pub(crate) fn value(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "one line: {}", self.out);
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The error on standard error.
    pub(crate) fn error(&self) -> Value {
        let value: Value = serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("{error}: {}", self.err));
        value["error"].clone()
    }

    /// Expects success and gives the output.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The names of an object's fields, sorted.
pub(crate) fn fields(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A conversation in the format `messages`: two sessions, English and Chinese.
pub(crate) const CONVERSATION: &str = concat!(
    r#"{"session_id":"monday","role":"user","speaker":"Nora","content":"I adopted a kitten yesterday, her name is Pepper","created_at":"2026-03-02T09:00:00Z","external_id":"m1"}"#,
    "\n",
    r#"{"session_id":"monday","role":"assistant","speaker":"Ada","content":"Lovely! What does Pepper look like?","created_at":"2026-03-02T09:00:20Z","external_id":"m2"}"#,
    "\n",
    r#"{"session_id":"monday","role":"user","speaker":"Nora","content":"Grey with white paws","created_at":"2026-03-02T09:00:40Z","external_id":"m3"}"#,
    "\n",
    r#"{"session_id":"周二","role":"user","speaker":"李雷","content":"我下周三要去杭州出差，住在西湖边的酒店","created_at":"2026-03-03T10:00:00+08:00","external_id":"m4"}"#,
    "\n",
    r#"{"session_id":"周二","role":"assistant","speaker":"Ada","content":"需要我提醒你带雨伞吗？","created_at":"2026-03-03T10:00:20+08:00","external_id":"m5"}"#,
    "\n",
    r#"{"session_id":"周二","role":"user","speaker":"李雷","content":"好的，谢谢 👍","created_at":"2026-03-03T10:00:40+08:00","external_id":"m6"}"#,
    "\n",
);

/// Whether any file below a folder holds the bytes.
pub(crate) fn any_file_holds(folder: &Path, needle: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            any_file_holds(&path, needle)
        } else {
            std::fs::read(&path).is_ok_and(|bytes| bytes.windows(needle.len()).any(|window| window == needle))
        }
    })
}
