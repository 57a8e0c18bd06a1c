//! How soon runs go on whose worker has died at work: one that is known to be gone, and one of which only the lease tells.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result, miette};
use towpath::{Client, Cx, Durable, Failure, Step, StepCx, Worker, WorkerHandle};

use super::Figure;
use super::process::spawn;
use super::sleepers::start_many;
use super::subject::Place;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Steps that have begun in this process.
static BEGUN: AtomicU64 = AtomicU64::new(0);

const HANG: Step<u64, u64, Failure> = Step::new("hang", &hang);
async fn hang(_cx: StepCx, n: u64) -> Result<u64, Failure> {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(DAY).await;
    Ok(n)
}

const HANGER: Durable<u64, u64, Failure> = Durable::new("hanger", 1, DAY, &hanger);
async fn hanger(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    Ok(cx.step(HANG, &n).await?)
}

fn worker(client: &Client, runs: usize) -> Result<WorkerHandle> {
    let slots = u16::try_from(runs).map_err(|_| miette!("{runs} runs do not fit into one worker"))?;
    Worker::builder(client)
        .queue("default", slots)
        .drain_limit(Duration::ZERO)
        .abort_grace(Duration::ZERO)
        .durable(HANGER)
        .start()
        .into_diagnostic()
}

/// The child process: works at so many runs, says so, and never ends by itself.
pub(crate) async fn hang_all(client: &Client, runs: usize) -> Result<()> {
    let _worker = worker(client, runs)?;
    until_begun(runs as u64).await;
    println!("at work");
    std::future::pending().await
}

async fn until_begun(runs: u64) {
    while BEGUN.load(Ordering::Relaxed) < runs {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How a worker leaves its work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It is killed, and the next one sees that its process is no more.
    Killed,
    /// It stands still, as on a host that is cut off: the next one has to wait until its lease is over.
    Silent,
}

/// From the moment in which a worker is gone until all its runs are at work at another one.
pub(crate) async fn recover(place: &Place, runs: usize, gone: Gone) -> Result<Figure> {
    let subject = place.fresh().await?;
    start_many(&subject.client, HANGER.name(), 0, runs).await?;
    let mut child = spawn(&subject.address, "hang", runs).await?;
    child.line().await?;
    // In this process nothing has begun for this store yet, whatever was measured before.
    BEGUN.store(0, Ordering::Relaxed);
    let next = worker(&subject.client, runs)?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    match gone {
        Gone::Killed => child.kill().await?,
        Gone::Silent => child.halt().await?,
    }
    let started = Instant::now();
    until_begun(runs as u64).await;
    let took = started.elapsed();
    child.kill().await?;
    next.shutdown().await;
    subject.remove().await?;
    let test = if gone == Gone::Killed { "recover_10k_known_gone" } else { "recover_10k_lease" };
    Ok(Figure::new(test, took.as_secs_f64(), "s", runs).with("lease_s", LEASE.as_secs()))
}

/// The library's own.
const LEASE: Duration = towpath::core::defaults::LEASE;
