//! How fast one worker process drains a backlog of jobs that do nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use miette::{IntoDiagnostic, Result};
use tokio::sync::Notify;
use towpath::{Client, Failure, Worker};

use super::Figure;
use super::enqueue::preload;
use super::jobs::Noop;
use super::subject::{Place, Subject};

/// Runs a worker until it has performed so many jobs and told the store of all of them.
pub(crate) async fn perform(client: &Client, jobs: usize) -> Result<()> {
    let left = Arc::new(AtomicUsize::new(jobs));
    let done = Arc::new(Notify::new());
    let (count, tell) = (left.clone(), done.clone());
    let worker = Worker::builder(client)
        .handle(move |_: Noop, _cx| {
            if count.fetch_sub(1, Ordering::Relaxed) == 1 {
                tell.notify_one();
            }
            std::future::ready(Ok::<_, Failure>(()))
        })
        .start()
        .into_diagnostic()?;
    done.notified().await;
    worker.shutdown().await;
    Ok(())
}

pub(crate) async fn drain(place: &Place, jobs: usize) -> Result<Figure> {
    let subject = place.fresh().await?;
    let (rate, commits) = timed(&subject, jobs).await?;
    subject.remove().await?;
    Ok(Figure::new("drain", rate, "jobs/s", jobs).with("durable_commits", commits))
}

/// Preloads, then drains; answers the rate and the durable commits of the drain.
async fn timed(subject: &Subject, jobs: usize) -> Result<(f64, u64)> {
    preload(&subject.client, jobs).await?;
    let (before, _) = subject.commits();
    let started = Instant::now();
    perform(&subject.client, jobs).await?;
    let took = started.elapsed();
    Ok((jobs as f64 / took.as_secs_f64(), subject.commits().0 - before))
}

pub(crate) async fn with_history(place: &Place, jobs: usize, history: usize) -> Result<Figure> {
    let subject = place.fresh().await?;
    preload(&subject.client, history).await?;
    if history > 0 {
        perform(&subject.client, history).await?;
    }
    let (rate, _) = timed(&subject, jobs).await?;
    subject.remove().await?;
    Ok(Figure::new("drain_with_history", rate, "jobs/s", jobs).with("history", history))
}
