//! Figures of a whole process: its peak memory while it drains, its processor time while it idles.
//!
//! The process is this program again, with a hidden command.

use std::process::Stdio;
use std::time::Duration;

use miette::{IntoDiagnostic, Result, miette};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use towpath::{Failure, Worker};

use super::Figure;
use super::drain::perform;
use super::enqueue::preload;
use super::jobs::{Noop, Wake};
use super::measure::host_micros;
use super::subject::{self, Place};
use super::{pages, recover, sleepers};

/// What a child process of the bench is told.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChildArgs {
    address: String,
    task: String,
    jobs: usize,
}

/// A child process that works until its standard input is closed.
pub(crate) struct Working {
    child: Child,
}

/// Starts this program again for a task.
pub(crate) async fn spawn(address: &str, task: &str, jobs: usize) -> Result<Working> {
    let child = Command::new(std::env::current_exe().into_diagnostic()?)
        .args(["bench-child", address, task, &jobs.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .into_diagnostic()?;
    Ok(Working { child })
}

impl Working {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap_or(0)
    }

    /// Waits for the line that the child prints when its task is done.
    pub(crate) async fn line(&mut self) -> Result<String> {
        let out = self.child.stdout.take().ok_or_else(|| miette!("the child process has no output"))?;
        let line = BufReader::new(out).lines().next_line().await.into_diagnostic()?;
        line.ok_or_else(|| miette!("the child process ended without a word"))
    }

    /// Ends it at once, as a crash would.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.into_diagnostic()
    }

    /// Lets it stand still: its process is there, and does nothing any more.
    pub(crate) async fn halt(&self) -> Result<()> {
        let pid = self.pid().to_string();
        let halted = Command::new("kill").args(["-STOP", &pid]).status().await.into_diagnostic()?;
        if halted.success() { Ok(()) } else { Err(miette!("process {pid} cannot be stopped")) }
    }

    /// Lets it end in good order.
    pub(crate) async fn stop(mut self) -> Result<()> {
        if let Some(mut stdin) = self.child.stdin.take() {
            stdin.shutdown().await.into_diagnostic()?;
        }
        self.child.wait().await.into_diagnostic()?;
        Ok(())
    }
}

/// What the child process does.
pub(crate) async fn run_child(args: ChildArgs) -> Result<()> {
    let client = subject::open(&args.address).await?;
    match args.task.as_str() {
        "drain" => {
            perform(&client, args.jobs).await?;
            println!("{}", status_kib("VmHWM")?);
            return Ok(());
        }
        "serve" => {
            let until = async {
                // The parent closes the pipe when it has seen enough, or when it is gone.
                let _ = BufReader::new(tokio::io::stdin()).lines().next_line().await;
            };
            return pages::serve(client, until).await;
        }
        "sleep" => return sleepers::sleep(&client, args.jobs).await,
        "hang" => return recover::hang_all(&client, args.jobs).await,
        _ => {}
    }
    let worker = Worker::builder(&client)
        .handle(|_: Wake, _cx| std::future::ready(Ok::<_, Failure>(host_micros())))
        .handle(|_: Noop, _cx| std::future::ready(Ok::<_, Failure>(())))
        .start()
        .into_diagnostic()?;
    // The parent closes the pipe when it has seen enough, or when it is gone.
    let _ = BufReader::new(tokio::io::stdin()).lines().next_line().await;
    worker.shutdown().await;
    Ok(())
}

/// A line of what the system tells of this process, such as `VmRSS`.
pub(crate) fn status_kib(name: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").into_diagnostic()?;
    let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default();
    let kib = line.split_whitespace().find_map(|word| word.parse().ok());
    kib.ok_or_else(|| miette!("this system does not tell {name}"))
}

/// The peak memory of a process that drains.
pub(crate) async fn rss_peak(place: &Place, jobs: usize) -> Result<Figure> {
    let subject = place.fresh().await?;
    preload(&subject.client, jobs).await?;
    let mut child = spawn(&subject.address, "drain", jobs).await?;
    let kib: u64 = child.line().await?.parse().into_diagnostic()?;
    child.stop().await?;
    subject.remove().await?;
    Ok(Figure::new("rss_peak", kib as f64 / 1_024.0, "MiB", jobs))
}

/// The share of one core that an idle worker takes.
pub(crate) async fn idle_cpu(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let child = spawn(&subject.address, "idle", 0).await?;
    subject.wait_for_worker().await?;
    let time = Duration::from_secs(10);
    let percent = idle_share(&child, time).await?;
    child.stop().await?;
    subject.remove().await?;
    Ok(Figure::new("idle_cpu", percent, "%", 1).with("seconds", time.as_secs()))
}

/// The share of one core, in percent, that a child process takes from a second from now on.
pub(crate) async fn idle_share(child: &Working, time: Duration) -> Result<f64> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = cpu_ticks(child.pid())?;
    tokio::time::sleep(time).await;
    let ticks = cpu_ticks(child.pid())? - before;
    // A tick is 10 ms on every Linux (`USER_HZ`, time(7)).
    Ok(ticks as f64 * 0.01 / time.as_secs_f64() * 100.0)
}

/// User and system time of a process, in ticks (`proc(5)`, fields 14 and 15 of `stat`).
pub(crate) fn cpu_ticks(pid: u32) -> Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).into_diagnostic()?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let tick = |at: usize| fields.get(at).and_then(|f| f.parse::<u64>().ok());
    tick(11).zip(tick(12)).map(|(user, system)| user + system).ok_or_else(|| miette!("process {pid} is gone"))
}
