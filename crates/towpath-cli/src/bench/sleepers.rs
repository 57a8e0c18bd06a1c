//! What runs that sleep cost a worker: they are parked in the store, and none of its memory is theirs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result, miette};
use towpath::core::store::{Enqueue, Item};
use towpath::core::{Kind, NewJob, RunId};
use towpath::{Client, Cx, Durable, Failure, Payload, Worker};

use super::Figure;
use super::process::{spawn, status_kib};
use super::subject::Place;

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Runs of one batch.
const BATCH: usize = 500;
/// Runs that sleep before the first look: what a worker needs by itself is there by then.
const WARM: usize = 2_000;

/// How often a sleeper was entered.
static ENTERED: AtomicU64 = AtomicU64::new(0);

const SLEEPER: Durable<u64, u64, Failure> = Durable::new("sleeper", 1, DAY, &sleeper);
async fn sleeper(cx: Cx<'_>, n: u64) -> Result<u64, Failure> {
    ENTERED.fetch_add(1, Ordering::Relaxed);
    cx.sleep(DAY / 2).await;
    Ok(n)
}

/// Starts so many runs of a function, a batch at a time.
pub(crate) async fn start_many(client: &Client, function: &str, from: usize, count: usize) -> Result<()> {
    let kind = Kind::new(function).into_diagnostic()?;
    let all: Vec<usize> = (from..from + count).collect();
    for batch in all.chunks(BATCH) {
        let mut items = Vec::with_capacity(batch.len());
        for n in batch {
            let id = RunId::new(&format!("{function}-{n}")).into_diagnostic()?;
            let input = Payload::json(n).map_err(|e| miette!("{e}"))?;
            items.push(Item::job(NewJob::new(Client::new_job_id(), kind.clone()).run(id).input(input)));
        }
        for answer in client.store().enqueue(Enqueue { items }).await.into_diagnostic()?.items {
            answer.into_diagnostic()?;
        }
    }
    Ok(())
}

/// The child process: puts runs to sleep, and prints what each of them has added to its memory, in bytes, and how long it took.
pub(crate) async fn sleep(client: &Client, runs: usize) -> Result<()> {
    let worker = Worker::builder(client).durable(SLEEPER).start().into_diagnostic()?;
    put_to_sleep(client, 0, WARM).await?;
    let (before, started) = (status_kib("VmRSS")?, Instant::now());
    put_to_sleep(client, WARM, runs).await?;
    let (after, took) = (status_kib("VmRSS")?, started.elapsed());
    let bytes = (after.saturating_sub(before) * 1_024) as f64 / runs as f64;
    println!("{bytes} {} {after}", took.as_secs_f64());
    worker.shutdown().await;
    Ok(())
}

async fn put_to_sleep(client: &Client, from: usize, runs: usize) -> Result<()> {
    start_many(client, SLEEPER.name(), from, runs).await?;
    let asleep = (from + runs) as u64;
    while ENTERED.load(Ordering::Relaxed) < asleep {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The last of them park with the next turns.
    loop {
        let queues = client.inspect().queues(u32::MAX).await.into_diagnostic()?;
        if queues.iter().all(|queue| queue.running == 0) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The memory of a worker with so many runs asleep, per run.
pub(crate) async fn sleepers(place: &Place, runs: usize) -> Result<Figure> {
    let subject = place.fresh().await?;
    let mut child = spawn(&subject.address, "sleep", runs).await?;
    let line = child.line().await?;
    child.stop().await?;
    subject.remove().await?;
    let mut words = line.split(' ').map(|word| word.parse::<f64>().unwrap_or_default());
    let (bytes, seconds, kib) = (words.next(), words.next(), words.next());
    let bytes = bytes.ok_or_else(|| miette!("the child process said {line:?}"))?;
    Ok(Figure::new("sleepers_100k", bytes, "bytes", runs)
        .with("seconds", seconds.unwrap_or_default())
        .with("rss_mib", kib.unwrap_or_default() / 1_024.0))
}
