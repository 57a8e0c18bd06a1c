//! Handlers of many jobs at once: jobs of a kind are gathered until there are enough, or one has waited long enough.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use towpath_core::{Payload, Report};

use crate::context::Context;
use crate::failure::Failure;
use crate::handler::{Erased, decode, report};
use crate::job::Job;
use crate::worker::panic_text;

/// When a batch is full, and how long its first job waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Most jobs in one call; at least 1. The queue needs as many slots: a job holds one while it waits.
    pub max: usize,
    /// How long the first job waits for others.
    pub wait: Duration,
}

type Perform<J> = dyn Fn(Vec<(J, Context)>) -> Performing<J> + Send + Sync;
type Performing<J> = Pin<Box<dyn Future<Output = Vec<Result<<J as Job>::Output, Failure>>> + Send>>;

/// Jobs of one kind that wait for their batch.
struct Collector<J: Job> {
    size: BatchSize,
    build: u64,
    perform: Box<Perform<J>>,
    gathered: Mutex<Gathered<J>>,
}

/// The batch in the making. Each has a number, so that a timer does not cut the next one short.
struct Gathered<J> {
    number: u64,
    waiting: Vec<Waiting<J>>,
}

struct Waiting<J> {
    job: J,
    cx: Context,
    report: oneshot::Sender<Report>,
}

pub(crate) fn erase_batch<J, F, Fut, E>(build: u64, size: BatchSize, handler: F) -> Erased
where
    J: Job,
    F: Fn(Vec<(J, Context)>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Vec<Result<J::Output, E>>> + Send + 'static,
    E: Into<Failure> + 'static,
{
    let perform = move |jobs| -> Performing<J> {
        let work = handler(jobs);
        Box::pin(async move { work.await.into_iter().map(|result| result.map_err(Into::into)).collect() })
    };
    let gathered = Mutex::new(Gathered { number: 0, waiting: Vec::new() });
    let collector = Arc::new(Collector { size, build, perform: Box::new(perform), gathered });
    Erased::Async(Arc::new(move |input: Payload, cx: Context| {
        let job = match decode::<J>(&input, cx.version()) {
            Ok(job) => job,
            Err(problem) => return Box::pin(std::future::ready(Report::Undecodable { problem, build })),
        };
        let collector = Arc::clone(&collector);
        Box::pin(async move {
            let (report, reported) = oneshot::channel();
            collector.gather(Waiting { job, cx, report });
            // Its batch was given up with the runtime.
            reported.await.unwrap_or(Report::Stopped)
        })
    }))
}

impl<J: Job> Collector<J> {
    fn gather(self: Arc<Self>, one: Waiting<J>) {
        let mut gathered = self.lock();
        gathered.waiting.push(one);
        if gathered.waiting.len() >= self.size.max {
            let batch = gathered.take();
            drop(gathered);
            tokio::spawn(self.perform(batch));
        } else if gathered.waiting.len() == 1 {
            let number = gathered.number;
            drop(gathered);
            tokio::spawn(async move {
                tokio::time::sleep(self.size.wait).await;
                let batch = {
                    let mut gathered = self.lock();
                    if gathered.number == number { gathered.take() } else { Vec::new() }
                };
                self.perform(batch).await;
            });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Gathered<J>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn perform(self: Arc<Self>, mut batch: Vec<Waiting<J>>) {
        // Who was dropped meanwhile is another worker's, or nobody's.
        batch.retain(|one| !one.report.is_closed());
        if batch.is_empty() {
            return;
        }
        let (jobs, reports): (Vec<_>, Vec<_>) = batch.into_iter().map(|one| ((one.job, one.cx), one.report)).unzip();
        let count = jobs.len();
        let work = AssertUnwindSafe(async { (self.perform)(jobs).await }).catch_unwind().await;
        let results = match work {
            Ok(results) if results.len() == count => results,
            Ok(results) => {
                let problem = format!(
                    "the batch handler answered {} results for {count} jobs: answer one for each",
                    results.len()
                );
                reports.into_iter().for_each(|to| tell(to, Failure::new(&problem).into_report(self.build)));
                return;
            }
            Err(panic) => {
                let error = format!("the batch handler panicked: {}", panic_text(&*panic));
                reports.into_iter().for_each(|to| tell(to, Report::Panicked { error: error.clone() }));
                return;
            }
        };
        for (to, result) in reports.into_iter().zip(results) {
            tell(to, report::<J>(result, self.build));
        }
    }
}

fn tell(to: oneshot::Sender<Report>, report: Report) {
    // Who no longer listens has lost its claim.
    let _ = to.send(report);
}

impl<J> Gathered<J> {
    fn take(&mut self) -> Vec<Waiting<J>> {
        self.number += 1;
        std::mem::take(&mut self.waiting)
    }
}
