//! How soon an idle worker starts a job: from the moment at which the enqueue is acknowledged.

use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result};
use tokio::sync::mpsc;
use towpath::{Context, Failure, Worker};

use super::Figure;
use super::jobs::Wake;
use super::measure::{host_micros, millis, percentile};
use super::process;
use super::subject::Place;

const ROUNDS: u32 = 500;

/// Lets the worker fall idle; the pause differs from round to round, so that no timer is in step with it.
async fn pause(round: u32) {
    tokio::time::sleep(Duration::from_micros(3_000 + u64::from(round * 7_919 % 5_003))).await;
}

pub(crate) async fn same_process(place: &Place) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    let (tell, mut started) = mpsc::unbounded_channel();
    let worker = Worker::builder(&subject.client)
        .handle(move |_: Wake, _cx: Context| {
            let _ = tell.send(Instant::now());
            std::future::ready(Ok::<_, Failure>(0))
        })
        .start()
        .into_diagnostic()?;
    let mut waits = Vec::new();
    for round in 0..ROUNDS + 20 {
        pause(round).await;
        subject.client.enqueue(&Wake(round)).await.into_diagnostic()?;
        let acknowledged = Instant::now();
        let Some(at) = started.recv().await else { break };
        // The first rounds warm up connections and statements.
        if round >= 20 {
            waits.push(millis(at.saturating_duration_since(acknowledged)));
        }
    }
    worker.shutdown().await;
    subject.remove().await?;
    let n = waits.len();
    let figure = |test, share, waits: &mut Vec<f64>| Figure::new(test, percentile(waits, share), "ms", n);
    Ok(vec![figure("wake_p50", 0.5, &mut waits), figure("wake_p99", 0.99, &mut waits)])
}

/// The worker is in another process.
pub(crate) async fn other_process(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let child = process::spawn(&subject.address, "wake", 0).await?;
    subject.wait_for_worker().await?;
    let mut waits = Vec::new();
    for round in 0..ROUNDS / 5 {
        pause(round).await;
        let job = subject.client.enqueue(&Wake(round)).await.into_diagnostic()?;
        let acknowledged = host_micros();
        let started = subject.client.output(&job).await.into_diagnostic()?;
        waits.push(started.saturating_sub(acknowledged) as f64 / 1_000.0);
    }
    child.stop().await?;
    subject.remove().await?;
    let n = waits.len();
    let p99 = percentile(&mut waits, 0.99);
    Ok(Figure::new("wake_other_process_p50", percentile(&mut waits, 0.5), "ms", n).with("p99_ms", p99))
}
