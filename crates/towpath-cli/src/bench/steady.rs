//! Long figures: whether a store is as fast after minutes as it was at first, whatever lies in it and whoever looks on; and what
//! ten thousand schedules cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result, miette};
use towpath::core::store::{Enqueue, Item};
use towpath::{Client, Context, Due, Failure, Job, Kind, NewJob, Payload, Schedule, Worker};

use super::Figure;
use super::drain::perform;
use super::enqueue::preload;
use super::jobs::Noop;
use super::process::{idle_share, spawn};
use super::subject::{Place, Subject};

/// Jobs in one call.
const BATCH: usize = 1_000;
/// How far the enqueues may be ahead of the worker.
const AHEAD: usize = 20_000;

/// Enqueues and drains at once, on a store with so many ended jobs and as many that are not due yet.
pub(crate) async fn steady(place: &Place, history: usize, time: Duration) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    preload(&subject.client, history).await?;
    if history > 0 {
        perform(&subject.client, history).await?;
    }
    preload_later(&subject.client, history).await?;
    let before = subject.written().await?;
    let seconds = run(&subject.client, time, None).await?.0;
    let after = subject.written().await?;
    subject.remove().await?;
    let total: usize = seconds.iter().sum();
    let edge = (seconds.len() / 6).clamp(1, 30);
    let (first, last) = (median(&seconds[..edge]), median(&seconds[seconds.len() - edge..]));
    let bytes = after.bytes.saturating_sub(before.bytes) as f64 / total.max(1) as f64;
    let of = |figure: Figure| figure.with("history", history).with("seconds", seconds.len());
    Ok(vec![
        of(Figure::new("steady", median(&seconds), "jobs/s", total)).with("first", first).with("last", last),
        of(Figure::new("steady_last_to_first", last / first.max(1.0), "x", total)),
        of(Figure::new("steady_wal_bytes_a_job", bytes, "bytes", total))
            .with("checkpoints", after.checkpoints.saturating_sub(before.checkpoints)),
    ])
}

/// At this pace, how long a job waits for its handler while a transaction stays open that sees all that was before it; and
/// how that compares with a time without. PostgreSQL only: SQLite has one writer, and readers of its own.
pub(crate) async fn pinned_horizon(place: &Place, pace: usize, time: Duration) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    let Some(pin) = subject.pin().await? else {
        subject.remove().await?;
        return Ok(Vec::new());
    };
    drop(pin);
    let (_, free) = run(&subject.client, time / 6, Some(pace)).await?;
    let pin = subject.pin().await?;
    let (_, pinned) = run(&subject.client, time, Some(pace)).await?;
    drop(pin);
    subject.remove().await?;
    // A worker that starts is not yet at its pace.
    let (free, late) = (&free[free.len() / 2..], &pinned[pinned.len() * 5 / 6..]);
    let (free, late, n) = (p99_ms(free), p99_ms(late), pinned.len());
    Ok(vec![
        Figure::new("pinned_horizon_p99", late, "ms", n).with("pace", pace).with("before", free),
        Figure::new("pinned_horizon_to_before", late / free.max(0.001), "x", n).with("seconds", time.as_secs()),
    ])
}

/// The share of one core that a worker takes which has nothing to do but to keep so many schedules, none of them due.
pub(crate) async fn schedules(place: &Place, count: usize) -> Result<Figure> {
    let subject = place.fresh().await?;
    for n in 0..count {
        let job = NewJob::new(Client::new_job_id(), Kind::new(Noop::KIND).into_diagnostic()?);
        // The first hour of a year: none of them is due for a while, unless the bench runs in that hour.
        let schedule = Schedule::of(&format!("schedule-{n}"), &format!("{} 0 1 1 *", n % 60), Ok(job));
        subject.client.schedules().put(schedule, "bench", "").await.into_diagnostic()?;
    }
    let child = spawn(&subject.address, "idle", 0).await?;
    subject.wait_for_worker().await?;
    let share = idle_share(&child, Duration::from_secs(10)).await?;
    child.stop().await?;
    subject.remove().await?;
    Ok(Figure::new("schedules_10k", share, "%", count).with("seconds", 10))
}

/// Enqueues and performs for so long; answers how many jobs each second saw done, and how long jobs waited, in their order.
async fn run(client: &Client, time: Duration, pace: Option<usize>) -> Result<(Vec<usize>, Vec<Duration>)> {
    let (done, waits) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::Mutex::new(Vec::new())));
    let (count, kept) = (Arc::clone(&done), Arc::clone(&waits));
    let keeps = pace.is_some();
    let handler = move |_: Noop, cx: Context| {
        // One of a hundred is enough to tell, and keeping all of them would be felt.
        if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(100) && keeps {
            let waited = now_micros().saturating_sub(cx.enqueued_at().as_micros().unsigned_abs());
            if let Ok(mut kept) = kept.lock() {
                kept.push(Duration::from_micros(waited));
            }
        }
        std::future::ready(Ok::<_, Failure>(()))
    };
    let worker = Worker::builder(client).handle(handler).start().into_diagnostic()?;
    let over = Arc::new(AtomicBool::new(false));
    let feed = tokio::spawn(feed(client.clone(), Arc::clone(&done), Arc::clone(&over), pace));
    let (mut seconds, mut before) = (Vec::new(), 0);
    let mut beat = tokio::time::interval(Duration::from_secs(1));
    beat.tick().await;
    while (seconds.len() as u64) < time.as_secs().max(1) {
        beat.tick().await;
        let now = done.load(Ordering::Relaxed);
        seconds.push(now - before);
        before = now;
    }
    over.store(true, Ordering::Relaxed);
    feed.await.into_diagnostic()??;
    worker.shutdown().await;
    let waits = std::mem::take(&mut *waits.lock().map_err(|_| miette!("a handler panicked"))?);
    Ok((seconds, waits))
}

/// Enqueues at a pace, or as fast as the worker follows.
async fn feed(client: Client, done: Arc<AtomicUsize>, over: Arc<AtomicBool>, pace: Option<usize>) -> Result<()> {
    let (started, mut n) = (Instant::now(), 0);
    let size = pace.map_or(BATCH, |pace| (pace / 50).clamp(1, BATCH));
    while !over.load(Ordering::Relaxed) {
        let due = pace.map_or(usize::MAX, |pace| (started.elapsed().as_secs_f64() * pace as f64) as usize);
        if n >= due || n.saturating_sub(done.load(Ordering::Relaxed)) >= AHEAD {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        let batch: Vec<Noop> = (n..n + size).map(Noop::new).collect();
        client.enqueue_all(&batch).await.into_diagnostic()?;
        n += size;
    }
    Ok(())
}

/// Jobs that are due tomorrow.
async fn preload_later(client: &Client, jobs: usize) -> Result<()> {
    let (kind, mut n) = (Kind::new(Noop::KIND).into_diagnostic()?, 0);
    while n < jobs {
        let size = BATCH.min(jobs - n);
        let later = |at| {
            let job =
                NewJob::new(Client::new_job_id(), kind.clone()).input(Payload::json(&Noop::new(at)).into_diagnostic()?);
            Ok(Item::job(job.due(Due::After(Duration::from_secs(86_400)))))
        };
        let items = (n..n + size).map(later).collect::<Result<Vec<_>>>()?;
        client.store().enqueue(Enqueue { items }).await.into_diagnostic()?;
        n += size;
    }
    Ok(())
}

fn median(seconds: &[usize]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0) as f64
}

fn p99_ms(waits: &[Duration]) -> f64 {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    sorted
        .get((sorted.len() * 99 / 100).min(sorted.len().saturating_sub(1)))
        .map_or(0.0, |wait| wait.as_secs_f64() * 1_000.0)
}

fn now_micros() -> u64 {
    super::measure::host_micros()
}

/// What a store has written so far.
pub(crate) struct Written {
    /// Of its log; of SQLite, what this process has written to disks.
    pub(crate) bytes: u64,
    pub(crate) checkpoints: u64,
}

impl Subject {
    /// What the store has written so far.
    pub(crate) async fn written(&self) -> Result<Written> {
        let Some(store) = self.postgres() else {
            let io = std::fs::read_to_string("/proc/self/io").into_diagnostic()?;
            let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).and_then(|n| n.parse().ok());
            return Ok(Written { bytes: bytes.unwrap_or(0), checkpoints: 0 });
        };
        let ask = async |text: &str| {
            let answer = store.ask(text).await.into_diagnostic()?;
            Ok::<u64, miette::Report>(answer.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) as u64)
        };
        let bytes = ask("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')").await?;
        // The view was split in PostgreSQL 17.
        let of = if ask("select current_setting('server_version_num')").await? >= 170_000 {
            "select num_timed + num_requested from pg_stat_checkpointer"
        } else {
            "select checkpoints_timed + checkpoints_req from pg_stat_bgwriter"
        };
        Ok(Written { bytes, checkpoints: ask(of).await? })
    }
}
