//! Child processes that always end: a guard kills the one that hangs.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Longer than any run takes on a loaded machine; a process that lives longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// What a run gave.
#[derive(Debug)]
pub struct Run {
    /// The exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Run {
    /// The one JSON object on standard output, whatever the exit code.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error object on standard error.
    pub fn error(&self) -> Value {
        let line = self.err.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no error: {self:?}"));
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {self:?}"))["error"].clone()
    }

    /// Expects success.
    pub fn done(self) -> Self {
        assert_eq!((self.code, self.signal), (Some(0), None), "{self:?}");
        self
    }

    /// True when an abort ended it, as a failpoint does.
    pub fn aborted(&self) -> bool {
        self.signal == Some(6)
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command to its end, with `input` on its standard input.
pub fn run_to_end(mut command: Command, input: &[u8]) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    // A program that does not read all of its input closes the pipe, which is no failure of the test.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let run = finish(child);
    writer.join().unwrap();
    run
}

/// Waits for a child with piped output. One that hangs is killed, and the test fails.
pub fn finish(child: Child) -> Run {
    let id = child.id();
    let (sender, receiver) = channel();
    let waiter = thread::spawn(move || sender.send(child.wait_with_output()));
    let output = match receiver.recv_timeout(PATIENCE) {
        Ok(output) => output.unwrap(),
        Err(RecvTimeoutError::Timeout) => {
            Command::new("kill").args(["-9", &id.to_string()]).status().unwrap();
            panic!("process {id} hangs: {:?}", receiver.recv());
        }
        Err(error) => panic!("{error}"),
    };
    waiter.join().unwrap().unwrap();
    output.into()
}
