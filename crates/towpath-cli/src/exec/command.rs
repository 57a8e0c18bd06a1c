//! A command as a process group: started through the gate, fed, read, stopped, and never left behind.

use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal};
use std::os::unix::process::ExitStatusExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use towpath::core::limits;
use towpath::{Cancellation, Context, Failure};

use super::capture::Capture;
use super::redact::Redactor;
use super::{Ready, STOP_GRACE, gate, storable};
use crate::group::{Groups, Recorded};

/// A command behind its gate, on record.
pub(super) struct Running {
    child: Child,
    group: Group,
    record: Recorded,
    redactor: Redactor,
}

/// A command that is over.
pub(super) struct Finished {
    pub(super) how: How,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
}

/// How it came to be over.
pub(super) enum How {
    /// By itself.
    Ended(ExitStatus),
    /// It was told to stop.
    Stopped(Cancellation),
}

/// The process group of a command. Dropped while the command runs, it kills it.
struct Group {
    id: Pid,
    is_over: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            self.signal(Signal::KILL);
        }
    }
}

impl Group {
    /// To be called only while the leader was not waited for: until then its number is nobody else's.
    fn signal(&self, signal: Signal) {
        // A group that is gone needs no signal.
        let _ = rustix::process::kill_process_group(self.id, signal);
    }
}

impl Running {
    /// Starts the gate of the command and records its group.
    pub(super) async fn start(exec: &Ready, cx: &Context, groups: &Groups) -> std::io::Result<Self> {
        let mut command = Command::new(this_program()?);
        command.arg0("towpath").arg(gate::COMMAND).args(&exec.argv).current_dir(&exec.dir).envs(&exec.env);
        command.env("TOWPATH_JOB", cx.job().to_string()).env("TOWPATH_ATTEMPT", cx.attempt().to_string());
        if let Some(node) = cx.node() {
            command.env("TOWPATH_GRAPH", node.graph.to_string()).env("TOWPATH_NODE", node.name.as_str());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| std::io::Error::other("the process has no number"))?;
        let group = Group { id, is_over: false };
        let record = groups.record(id, cx.job())?;
        Ok(Self { child, group, record, redactor: exec.redactor.clone() })
    }

    /// Opens the gate and stays with the command until all of it is over.
    pub(super) async fn finish(
        mut self,
        input: Vec<u8>,
        cx: &Context,
        hurry: watch::Receiver<bool>,
    ) -> Result<Finished, Failure> {
        let (stdin, stdout, stderr) = (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let (mut out, mut err) = (Capture::default(), Capture::default());
        let how = {
            let streams = async {
                let secrets = &self.redactor;
                tokio::join!(feed(stdin, input), read(stdout, &mut out, secrets), read(stderr, &mut err, secrets));
            };
            tokio::pin!(streams);
            let mut is_read = false;
            let supervised = supervise(&mut self.child, &mut self.group, cx, hurry);
            tokio::pin!(supervised);
            let how = loop {
                tokio::select! {
                    biased;
                    how = &mut supervised => break how?,
                    () = &mut streams, if !is_read => is_read = true,
                }
            };
            // What the command has left in its group would go on without anybody knowing.
            self.record
                .clear()
                .await
                .map_err(|e| Failure::new(format!("what it left running cannot be stopped: {e}")))?;
            if !is_read {
                // Somebody outside the group may hold the pipes open; what comes after a moment is not read.
                let _ = tokio::time::timeout(STREAMS_GRACE, &mut streams).await;
            }
            how
        };
        Ok(Finished { how, stdout: out, stderr: err })
    }
}

/// Waits for the leader; told to stop, asks the group and then insists.
async fn supervise(
    child: &mut Child,
    group: &mut Group,
    cx: &Context,
    mut hurry: watch::Receiver<bool>,
) -> std::io::Result<How> {
    let why = tokio::select! {
        biased;
        status = child.wait() => {
            group.is_over = true;
            return Ok(How::Ended(status?));
        }
        why = cx.cancelled() => why,
    };
    group.signal(Signal::TERM);
    tokio::select! {
        biased;
        status = child.wait() => {
            group.is_over = true;
            status?;
            return Ok(How::Stopped(why));
        }
        () = tokio::time::sleep(STOP_GRACE) => {}
        _ = hurry.wait_for(|hurry| *hurry) => {}
    }
    group.signal(Signal::KILL);
    let status = child.wait().await;
    group.is_over = true;
    status?;
    Ok(How::Stopped(why))
}

/// Opens the gate and hands over the input. A command need not read it.
async fn feed(stdin: Option<ChildStdin>, mut input: Vec<u8>) {
    let Some(mut stdin) = stdin else { return };
    input.insert(0, gate::GO);
    let _ = stdin.write_all(&input).await;
}

/// Reads a stream to its end. Secrets never come as far as the capture.
async fn read(stream: Option<impl AsyncRead + Unpin>, capture: &mut Capture, redactor: &Redactor) {
    let Some(mut stream) = stream else { return };
    let mut chunk = vec![0_u8; 16 << 10];
    let mut secrets = redactor.stream();
    // A pipe that cannot be read has nothing more to say.
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        capture.take(&secrets.take(&chunk[..count]));
    }
    capture.take(&secrets.finish());
}

impl Finished {
    /// What failed, its first line by itself telling.
    pub(super) fn error(&self, status: ExitStatus) -> String {
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "it did not succeed".to_owned(),
        };
        let Some(last) = self.stderr.last_words() else { return how };
        let mut error = storable(&format!("{how}: {last}"), 1_000);
        let text = self.stderr.text(STDERR_BYTES_IN_ERROR);
        if text.trim() != last {
            error.push_str("\nstderr:\n");
            error.push_str(text.trim_end());
        }
        storable(&error, limits::ERROR_BYTES_MAX)
    }

    /// What both streams said, head and tail.
    pub(super) fn log(&self) -> String {
        let part = |name: &str, capture: &Capture| match capture.is_empty() {
            true => String::new(),
            false => format!("--- {name} ---\n{}\n", capture.text(LOG_BYTES_OF_STREAM).trim_end()),
        };
        storable(&(part("stdout", &self.stdout) + &part("stderr", &self.stderr)), LOG_BYTES_MAX)
    }
}

/// This binary, also if the file was replaced since it was started.
fn this_program() -> std::io::Result<std::path::PathBuf> {
    let link = std::path::Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// How long pipes are read that others than the command's group hold open.
const STREAMS_GRACE: std::time::Duration = std::time::Duration::from_secs(1);
const STDERR_BYTES_IN_ERROR: usize = 4 << 10;
const LOG_BYTES_MAX: usize = 64 << 10;
const LOG_BYTES_OF_STREAM: usize = 31 << 10;
