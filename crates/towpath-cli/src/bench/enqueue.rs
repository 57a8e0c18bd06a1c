//! How fast jobs are accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result};

use super::Figure;
use super::jobs::Noop;
use super::subject::Place;

/// Jobs in one call of the bulk figure.
const BATCH: usize = 1_000;

/// One client, each enqueue awaited.
pub(crate) async fn one(place: &Place, time: Duration) -> Result<Figure> {
    let subject = place.fresh().await?;
    let started = Instant::now();
    let mut n = 0;
    while started.elapsed() < time {
        subject.client.enqueue(&Noop::new(n)).await.into_diagnostic()?;
        n += 1;
    }
    let rate = n as f64 / started.elapsed().as_secs_f64();
    subject.remove().await?;
    Ok(Figure::new("enqueue_one", rate, "jobs/s", n))
}

/// Many clients at once, each awaiting each of its enqueues.
pub(crate) async fn many_clients(place: &Place, clients: usize, time: Duration) -> Result<Figure> {
    let subject = place.fresh().await?;
    let count = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (client, count) = (subject.client.clone(), count.clone());
            tokio::spawn(async move {
                while started.elapsed() < time {
                    let n = count.fetch_add(1, Ordering::Relaxed);
                    client.enqueue(&Noop::new(n)).await?;
                }
                Ok::<_, towpath::Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.into_diagnostic()?.into_diagnostic()?;
    }
    let took = started.elapsed();
    let n = count.load(Ordering::Relaxed);
    subject.remove().await?;
    Ok(Figure::new("enqueue_32", n as f64 / took.as_secs_f64(), "jobs/s", n).with("clients", clients))
}

/// One client, batches of 1,000.
pub(crate) async fn bulk(place: &Place, jobs: usize) -> Result<Figure> {
    let subject = place.fresh().await?;
    let started = Instant::now();
    preload(&subject.client, jobs).await?;
    let took = started.elapsed();
    subject.remove().await?;
    Ok(Figure::new("enqueue_bulk", jobs as f64 / took.as_secs_f64(), "jobs/s", jobs).with("batch", BATCH))
}

/// Enqueues so many jobs in batches.
pub(crate) async fn preload(client: &towpath::Client, jobs: usize) -> Result<()> {
    let mut n = 0;
    while n < jobs {
        let batch: Vec<Noop> = (n..jobs.min(n + BATCH)).map(Noop::new).collect();
        n += batch.len();
        client.enqueue_all(&batch).await.into_diagnostic()?;
    }
    Ok(())
}
