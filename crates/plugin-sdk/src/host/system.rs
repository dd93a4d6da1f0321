//! The three calls of the system that the standard library lacks.
#![expect(unsafe_code, reason = "calls into the C library, which the standard library links already")]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

unsafe extern "C" {
    fn getuid() -> u32;
    fn geteuid() -> u32;
    fn dup2(from: i32, to: i32) -> i32;
}

/// The user whose rights this process has.
pub(super) fn effective_user() -> u32 {
    // SAFETY: takes nothing, cannot fail.
    unsafe { geteuid() }
}

/// True when the process has rights of somebody else than the user who started it.
pub(super) fn is_set_user_id() -> bool {
    // SAFETY: takes nothing, cannot fail.
    unsafe { getuid() != geteuid() }
}

/// Catches what this process writes to standard output, whoever writes it.
pub(super) struct StdoutWatch {
    file: File,
    original: OwnedFd,
}

impl StdoutWatch {
    /// Sends standard output to `file` until [`StdoutWatch::finish`].
    pub(super) fn start(file: File) -> std::io::Result<Self> {
        std::io::stdout().flush()?;
        let original = std::io::stdout().as_fd().try_clone_to_owned()?;
        redirect(file.as_raw_fd())?;
        Ok(Self { file, original })
    }

    /// Restores standard output. What was written meanwhile, as text.
    pub(super) fn finish(mut self) -> std::io::Result<String> {
        std::io::stdout().flush()?;
        redirect(self.original.as_raw_fd())?;
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn redirect(from: i32) -> std::io::Result<()> {
    // SAFETY: both descriptors are open; standard output stays open throughout.
    if unsafe { dup2(from, 1) } < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
