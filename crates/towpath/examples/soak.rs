//! Work of every sort for as long as is asked, counted exactly: what is enqueued, what handlers did, what is left. Started by
//! `cargo xtask soak`, once for each store.
//!
//! Nothing is killed here, so a handler runs exactly as often as its job says: every count must agree to the last job, every
//! job must be pruned in the end, and the process must not grow.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use towpath::inspect::Census;
use towpath::{
    Cancellation, Changed, Client, Context, Failure, Job, JobId, RetryPolicy, Schedule, Worker, WorkerBuilder,
};

type Problem = Box<dyn Error + Send + Sync>;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "sum", output = u64, tag = "soak", keep = "1s")]
struct Sum(Vec<u64>);

/// Fails twice, then succeeds.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "flaky", keep = "1s")]
struct Flaky;

/// Has no chance.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "hopeless", keep_failed = "1s")]
struct Hopeless;

/// Works until it is told to stop.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "endless", keep_failed = "1s")]
struct Endless;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "tick", keep = "1s")]
struct Tick;

/// What handlers have done.
#[derive(Default)]
struct Done {
    sums: AtomicU64,
    flaky_failed: AtomicU64,
    flaky: AtomicU64,
    hopeless: AtomicU64,
    stopped: AtomicU64,
    ticks: AtomicU64,
}

/// What was asked for.
#[derive(Default)]
struct Asked {
    sums: u64,
    flaky: u64,
    hopeless: u64,
    endless: u64,
    /// Endless jobs that were cancelled before they began.
    cancelled_early: u64,
}

#[tokio::main]
async fn main() -> Result<(), Problem> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, seconds] = args.as_slice() else { return Err("usage: soak URL SECONDS".into()) };
    let length = Duration::from_secs(seconds.parse()?);
    let client = Client::open(url).await?;
    let done = Arc::new(Done::default());
    let worker = worker(&client, &done).start()?;
    let started = Instant::now();
    let asked = work(&client, length).await?;
    let spent = started.elapsed();
    settle(&client).await?;
    client.schedules().forget("every-second", "soak", "").await?;
    worker.shutdown().await;
    check(&asked, &done, spent)?;
    println!(
        "{url}: {} jobs in {spent:.0?}, {} attempts that failed, {} cancelled, {} ticks: all counted, nothing left",
        asked.sums + asked.flaky + asked.hopeless + asked.endless,
        done.flaky_failed.load(Ordering::SeqCst) + asked.hopeless,
        asked.endless,
        done.ticks.load(Ordering::SeqCst),
    );
    Ok(())
}

fn worker(client: &Client, done: &Arc<Done>) -> WorkerBuilder {
    let count = |of: fn(&Done) -> &AtomicU64| {
        let done = Arc::clone(done);
        move || of(&done).fetch_add(1, Ordering::SeqCst)
    };
    let (sums, flaky, flaky_failed) = (count(|d| &d.sums), count(|d| &d.flaky), count(|d| &d.flaky_failed));
    let (hopeless, stopped, ticks) = (count(|d| &d.hopeless), count(|d| &d.stopped), count(|d| &d.ticks));
    let (sums, flaky, flaky_failed) = (Arc::new(sums), Arc::new(flaky), Arc::new(flaky_failed));
    let (hopeless, stopped, ticks) = (Arc::new(hopeless), Arc::new(stopped), Arc::new(ticks));
    Worker::builder(client)
        .handle(move |job: Sum, _| {
            sums();
            async move { Ok::<_, Failure>(job.0.iter().sum()) }
        })
        .handle(move |_: Flaky, cx: Context| {
            let fails = cx.failures() < 2;
            if fails {
                flaky_failed()
            } else {
                flaky()
            };
            async move { if fails { Err(Failure::new("not yet")) } else { Ok(()) } }
        })
        .handle(move |_: Hopeless, _| {
            hopeless();
            async { Err::<(), _>(Failure::permanent("hopeless")) }
        })
        .handle(move |_: Endless, cx: Context| {
            let stopped = Arc::clone(&stopped);
            async move {
                if cx.cancelled().await == Cancellation::Asked {
                    stopped();
                }
                Err::<(), _>(Failure::stopped())
            }
        })
        .handle(move |_: Tick, _| {
            ticks();
            async { Ok::<_, Failure>(()) }
        })
        .schedule(Schedule::new("every-second", "@every 1s", &Tick))
}

/// Enqueues a part every tenth of a second, cancels what was enqueued a moment ago, and watches the process's size.
async fn work(client: &Client, length: Duration) -> Result<Asked, Problem> {
    let (mut asked, mut endless) = (Asked::default(), Vec::<JobId>::new());
    let retry = RetryPolicy { base_us: 20_000, ..RetryPolicy::attempts(5) };
    let started = Instant::now();
    let mut early = None;
    let mut beat = tokio::time::interval(Duration::from_millis(100));
    while started.elapsed() < length {
        beat.tick().await;
        let sums: Vec<Sum> = (0..30).map(|n| Sum(vec![n, asked.sums])).collect();
        asked.sums += client.enqueue_all(&sums).await?.len() as u64;
        for _ in 0..2 {
            client.job(&Flaky).retry(retry).await?;
            client.enqueue(&Hopeless).await?;
        }
        asked.flaky += 2;
        asked.hopeless += 2;
        for job in endless.drain(..) {
            match client.cancel(job, "soak", "").await? {
                Changed::Ended => asked.cancelled_early += 1,
                Changed::Asked => {}
                other => return Err(format!("the cancel of an endless job says {other}").into()),
            }
        }
        endless.push(client.enqueue(&Endless).await?.id());
        asked.endless += 1;
        // The first part of the time, caches fill.
        if early.is_none() && started.elapsed() > length / 3 {
            early = Some(resident_bytes()?);
        }
    }
    for job in endless {
        if client.cancel(job, "soak", "").await? == Changed::Ended {
            asked.cancelled_early += 1;
        }
    }
    let (early, late) = (early.unwrap_or_default(), resident_bytes()?);
    println!("memory: {} MiB after a third of the time, {} MiB at the end", early >> 20, late >> 20);
    if late > early + early / 4 + (8 << 20) {
        return Err(format!("the process has grown from {early} to {late} bytes").into());
    }
    Ok(asked)
}

/// Waits until everything has ended and is pruned, but for what the schedule mints meanwhile.
async fn settle(client: &Client) -> Result<(), Problem> {
    let since = Instant::now();
    loop {
        let Census { jobs, ready, later, running, ended, attempts, outputs, notes, .. } =
            client.inspect().census().await?;
        // A tick a second, each kept for a second and pruned within five.
        if jobs <= 12 && ready + later + running <= 2 {
            return Ok(());
        }
        if since.elapsed() > Duration::from_secs(120) {
            let left = format!("{jobs} jobs, {ready} ready, {later} later, {running} running, {ended} ended");
            return Err(format!(
                "left after two minutes: {left}, {attempts} attempts, {outputs} outputs, {notes} notes"
            )
            .into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn check(asked: &Asked, done: &Done, spent: Duration) -> Result<(), Problem> {
    let of = |count: &AtomicU64| count.load(Ordering::SeqCst);
    let agree = [
        ("sums", asked.sums, of(&done.sums)),
        ("jobs that fail at first", asked.flaky, of(&done.flaky)),
        ("their failures", 2 * asked.flaky, of(&done.flaky_failed)),
        ("hopeless jobs", asked.hopeless, of(&done.hopeless)),
        ("endless jobs", asked.endless, of(&done.stopped) + asked.cancelled_early),
    ];
    for (what, asked, done) in agree {
        if asked != done {
            return Err(format!("{what}: {asked} were asked for, {done} were done").into());
        }
    }
    let (ticks, seconds) = (of(&done.ticks), spent.as_secs());
    if ticks < seconds.saturating_sub(2) || ticks > seconds + 125 {
        return Err(format!("{ticks} ticks in {seconds} seconds").into());
    }
    Ok(())
}

/// What of this process lies in memory.
fn resident_bytes() -> Result<u64, Problem> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).ok_or("no second number in /proc/self/statm")?.parse()?;
    Ok(pages * 4096)
}
