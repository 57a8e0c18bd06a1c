//! How fast durable functions move: steps of many runs, one run alone, a signal's way, and replay.

use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result, miette};
use towpath::testing::{History, RunHarness, assert_replays};
use towpath::{Cx, Durable, Failure, Signal, Step, StepCx, Worker, WorkerHandle};

use super::Figure;
use super::measure::{millis, percentile};
use super::subject::{Place, Subject};

const HOUR: Duration = Duration::from_secs(3_600);

const NOOP: Step<u64, u64, Failure> = Step::new("noop", &noop);
async fn noop(_cx: StepCx, n: u64) -> Result<u64, Failure> {
    Ok(n)
}

const STEPS: Durable<u64, u64, Failure> = Durable::new("steps", 1, HOUR, &steps);
async fn steps(cx: Cx<'_>, count: u64) -> Result<u64, Failure> {
    let mut sum = 0;
    for n in 0..count {
        sum += cx.step(NOOP, &n).await?;
    }
    Ok(sum)
}

const JOINED: Durable<u64, u64, Failure> = Durable::new("joined", 1, HOUR, &joined);
async fn joined(cx: Cx<'_>, count: u64) -> Result<u64, Failure> {
    let all = cx.join_all((0..count).map(|n| cx.step(NOOP, &n))).await;
    all.into_iter().sum::<Result<u64, _>>().map_err(Into::into)
}

const PING: Signal<u64> = Signal::new("ping");

const ECHO: Durable<u64, (), Failure> = Durable::new("echo", 1, HOUR, &echo);
async fn echo(cx: Cx<'_>, count: u64) -> Result<(), Failure> {
    for _ in 0..count {
        cx.signal(PING).await;
    }
    Ok(())
}

/// Waits for one signal, with a history of so many steps.
const ECHO_LATE: Durable<u64, (), Failure> = Durable::new("echo-late", 1, HOUR, &echo_late);
async fn echo_late(cx: Cx<'_>, steps: u64) -> Result<(), Failure> {
    for part in cx.join_all((0..steps).map(|n| cx.step(NOOP, &n))).await {
        part?;
    }
    cx.publish(&steps);
    cx.signal(PING).await;
    Ok(())
}

fn worker(subject: &Subject) -> Result<WorkerHandle> {
    Worker::builder(&subject.client).durable(STEPS).durable(ECHO_LATE).durable(ECHO).start().into_diagnostic()
}

async fn warm(subject: &Subject) -> Result<()> {
    subject.wait_for_worker().await?;
    let run = subject.client.start(STEPS, "warm", &10).await.into_diagnostic()?;
    subject.client.result(&run).await.into_diagnostic()?;
    Ok(())
}

/// 64 runs at once, each of ten steps that do nothing.
pub(crate) async fn steps_of_many(place: &Place) -> Result<Figure> {
    const AT_ONCE: usize = 64;
    const ROUNDS: usize = 20;
    let subject = place.fresh().await?;
    let worker = worker(&subject)?;
    warm(&subject).await?;
    let (commits_before, time_before) = subject.commits();
    let started = Instant::now();
    let clients = (0..AT_ONCE).map(|client| {
        let subject = &subject.client;
        async move {
            for round in 0..ROUNDS {
                let run = subject.start(STEPS, &format!("{client}-{round}"), &10).await.into_diagnostic()?;
                subject.result(&run).await.into_diagnostic()?;
            }
            Ok::<_, miette::Report>(())
        }
    });
    futures_util::future::try_join_all(clients).await?;
    let took = started.elapsed();
    let (commits_after, time_after) = subject.commits();
    worker.shutdown().await;
    subject.remove().await?;
    let n = AT_ONCE * ROUNDS * 10;
    Ok(Figure::new("run_steps", n as f64 / took.as_secs_f64(), "steps/s", n)
        .with("at_once", AT_ONCE)
        .with("ms", millis(took))
        .with("durable_commits", commits_after - commits_before)
        .with("ms_in_commits", millis(time_after.saturating_sub(time_before))))
}

/// One run of ten steps, alone.
pub(crate) async fn latency(place: &Place) -> Result<Figure> {
    const TIMES: usize = 30;
    let subject = place.fresh().await?;
    let worker = worker(&subject)?;
    warm(&subject).await?;
    let (mut times, mut beside, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..TIMES {
        let (commits_before, time_before) = subject.commits();
        let started = Instant::now();
        let run = subject.client.start(STEPS, &format!("run-{n}"), &10).await.into_diagnostic()?;
        subject.client.result(&run).await.into_diagnostic()?;
        let took = started.elapsed();
        times.push(millis(took));
        let (commits_after, time_after) = subject.commits();
        beside.push(millis(took.saturating_sub(time_after.saturating_sub(time_before))));
        commits.push((commits_after - commits_before) as f64);
    }
    worker.shutdown().await;
    subject.remove().await?;
    // One of the commits is the client's, which starts the run.
    Ok(Figure::new("run_latency", percentile(&mut times, 0.5), "ms", TIMES)
        .with("ms_beside_commits", percentile(&mut beside, 0.5))
        .with("durable_commits", percentile(&mut commits, 0.5)))
}

/// From sending a signal to a parked run until it is parked again.
pub(crate) async fn signal_roundtrip(place: &Place) -> Result<Figure> {
    const TIMES: u64 = 100;
    let subject = place.fresh().await?;
    let worker = worker(&subject)?;
    warm(&subject).await?;
    let (mut times, mut beside) = (Vec::new(), Vec::new());
    for n in 0..TIMES {
        let id = format!("echo-{n}");
        let run = subject.client.start(ECHO, &id, &1).await.into_diagnostic()?;
        tokio::time::sleep(Duration::from_millis(5)).await;
        let (_, time_before) = subject.commits();
        let started = Instant::now();
        subject.client.signal(&id, PING, &n).await.into_diagnostic()?;
        subject.client.result(&run).await.into_diagnostic()?;
        let took = started.elapsed();
        times.push(millis(took));
        let (_, time_after) = subject.commits();
        beside.push(millis(took.saturating_sub(time_after.saturating_sub(time_before))));
    }
    worker.shutdown().await;
    subject.remove().await?;
    Ok(Figure::new("signal_roundtrip_p50", percentile(&mut times, 0.5), "ms", TIMES as usize)
        .with("ms_beside_commits", percentile(&mut beside, 0.5)))
}

/// The same of runs that are rebuilt from a thousand entries for it.
pub(crate) async fn late_signal_roundtrip(place: &Place) -> Result<Figure> {
    const TIMES: u64 = 30;
    const STEPS: u64 = 1_000;
    let subject = place.fresh().await?;
    let worker = worker(&subject)?;
    warm(&subject).await?;
    let (mut times, mut beside) = (Vec::new(), Vec::new());
    for n in 0..TIMES {
        let id = format!("late-{n}");
        let run = subject.client.start(ECHO_LATE, &id, &STEPS).await.into_diagnostic()?;
        while subject.client.published::<u64>(&id).await.into_diagnostic()?.is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (_, time_before) = subject.commits();
        let started = Instant::now();
        subject.client.signal(&id, PING, &n).await.into_diagnostic()?;
        subject.client.result(&run).await.into_diagnostic()?;
        let took = started.elapsed();
        times.push(millis(took));
        let (_, time_after) = subject.commits();
        beside.push(millis(took.saturating_sub(time_after.saturating_sub(time_before))));
    }
    worker.shutdown().await;
    subject.remove().await?;
    Ok(Figure::new("signal_roundtrip_1k_p50", percentile(&mut times, 0.5), "ms", TIMES as usize)
        .with("ms_beside_commits", percentile(&mut beside, 0.5)))
}

/// Rebuilding a run from a journal of ten thousand entries, one after another and all at once; reading the text included.
pub(crate) async fn replay() -> Result<Vec<Figure>> {
    const ENTRIES: u64 = 10_000;
    let sequence = RunHarness::new(STEPS, ENTRIES).run().await.history.to_json_lines();
    let join = RunHarness::new(JOINED, ENTRIES).run().await.history.to_json_lines();
    let time = |function, text: &str| -> Result<f64> {
        let started = Instant::now();
        let history = History::from_json_lines(text).map_err(|e| miette!("{e}"))?;
        assert_replays(function, &history);
        Ok(millis(started.elapsed()))
    };
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..9 {
        times.0.push(time(STEPS, &sequence)?);
        times.1.push(time(JOINED, &join)?);
    }
    let (sequence, join) = (percentile(&mut times.0, 0.5), percentile(&mut times.1, 0.5));
    Ok(vec![
        Figure::new("replay_10k", ENTRIES as f64 / sequence * 1_000.0, "entries/s", ENTRIES as usize)
            .with("ms", sequence),
        Figure::new("replay_join_10k", join, "ms", ENTRIES as usize),
    ])
}
