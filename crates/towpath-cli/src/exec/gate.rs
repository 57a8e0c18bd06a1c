//! The gate: this binary as the first program of a command's process group.
//!
//! The group must be on record before the command runs, and its number is known only once it has a process. So
//! the process starts as the gate, waits for one byte on its stdin, and becomes the command. If whoever
//! started it dies before the record is written, stdin ends without that byte, and the command never runs. The
//! rest of stdin is the command's.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

use super::capture::Capture;

/// The hidden command of this binary. No option of it begins with a dash, and users have no use for it.
pub(super) const COMMAND: &str = "exec-gate";
/// The byte that opens the gate.
pub(super) const GO: u8 = b'\n';
/// As shells have it: the command cannot be started.
const CANNOT_START: u8 = 127;
const PREFIX: &str = "towpath: cannot start ";

/// Whether this process was started as a gate; then it becomes the command, or ends with the code that is answered.
pub(crate) fn pass() -> Option<u8> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != COMMAND {
        return None;
    }
    Some(become_command(args.collect()))
}

fn become_command(argv: Vec<OsString>) -> u8 {
    let Some((program, arguments)) = argv.split_first() else { return 2 };
    match wait_for_go() {
        Ok(true) => {}
        // Whoever started this is gone.
        Ok(false) | Err(_) => return 0,
    }
    let error = Command::new(program).args(arguments).exec();
    eprintln!("{PREFIX}{}: {error}", program.to_string_lossy());
    CANNOT_START
}

/// Reads exactly one byte: a buffered reader would take what belongs to the command.
fn wait_for_go() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(stdin.as_fd(), &mut byte) {
            Ok(count) => return Ok(count == 1 && byte[0] == GO),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the gate said, if it could not become the command.
pub(super) fn problem(status: ExitStatus, stderr: &Capture) -> Option<String> {
    if status.code() != Some(i32::from(CANNOT_START)) {
        return None;
    }
    let text = stderr.text(usize::MAX);
    let problem = text.strip_prefix("towpath: ")?;
    text.starts_with(PREFIX).then(|| problem.trim_end().to_owned())
}
