//! Pauses of runs on every store: what has begun is brought to an end, nothing else begins, nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use towpath::core::store::{Changed, JobDetail};
use towpath::{Client, Cx, Durable, End, Failure, JobState, RunError, Signal, Step, StepCx, Worker, WorkerHandle};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_at_work_stops_between_two_steps,
    a_run_that_waits_keeps_what_arrives,
    a_run_that_has_not_begun_is_not_entered,
    a_cancel_lifts_the_pause,
);

const MINUTE: Duration = Duration::from_secs(60);
const GO: Signal<u32> = Signal::new("go");

/// Lets a step go on.
#[derive(Clone)]
struct Gate {
    begun: Arc<AtomicU32>,
    open: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Self {
        Self { begun: Arc::default(), open: Arc::new(Semaphore::new(0)) }
    }

    fn begun(&self) -> u32 {
        self.begun.load(Ordering::SeqCst)
    }
}

/// Never begun twice: one that a pause had broken off would be lost.
const PASS: Step<u32, u32, Failure> = Step::new("pass", &pass).at_most_once();
async fn pass(cx: StepCx, n: u32) -> Result<u32, Failure> {
    let gate = cx.state::<Gate>();
    gate.begun.fetch_add(1, Ordering::SeqCst);
    gate.open.acquire().await.unwrap().forget();
    Ok(n)
}

const ADD: Step<u32, u32, Failure> = Step::new("add", &add);
async fn add(cx: StepCx, n: u32) -> Result<u32, Failure> {
    cx.state::<Gate>().begun.fetch_add(100, Ordering::SeqCst);
    Ok(n + 1)
}

/// Two gates at once, then as many steps as it is told.
const LINE: Durable<u32, u32, Failure> = Durable::new("line", 1, MINUTE, &line);
async fn line(cx: Cx<'_>, steps: u32) -> Result<u32, Failure> {
    let (a, b) = cx.join((cx.step(PASS, &1), cx.step(PASS, &2))).await;
    let mut n = a? + b?;
    for _ in 0..steps {
        n = cx.step(ADD, &n).await?;
    }
    Ok(n)
}

const SUM: Durable<u32, u32, Failure> = Durable::new("sum-up", 1, MINUTE, &sum);
async fn sum(cx: Cx<'_>, times: u32) -> Result<u32, Failure> {
    cx.undo(ADD, 1);
    let mut sum = 0;
    for _ in 0..times {
        sum += cx.signal(GO).await;
    }
    Ok(sum)
}

fn worker(client: &Client, gate: &Gate) -> WorkerHandle {
    Worker::builder(client).state(gate.clone()).durable(LINE).durable(SUM).start().unwrap()
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..6_000 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} does not come")
}

async fn detail(client: &Client, job: towpath::JobId) -> JobDetail {
    client.inspect().job(job).await.unwrap().unwrap()
}

/// Waits until a run stands where neither time nor a signal wakes it.
async fn until_held(client: &Client, job: towpath::JobId) {
    let is_held = async || {
        let line = detail(client, job).await.line;
        (line.state == JobState::Ready && line.due.is_none() && !line.parked).then_some(())
    };
    // A moment in which it is ready and not held looks the same: the worker that is there takes it at once.
    until("a hold", is_held).await;
}

async fn a_run_at_work_stops_between_two_steps(subject: Subject) {
    let (client, gate) = (&subject.client, Gate::new());
    let worker = worker(client, &gate);
    let run = client.start(LINE, "r", &3).await.unwrap();
    until("both steps", async || (gate.begun() == 2).then_some(())).await;
    assert_eq!(client.pause_run("r", "ann", "a look").await.unwrap(), Changed::Paused);
    let paused = detail(client, run.job()).await.run.unwrap().paused.unwrap();
    assert_eq!((paused.actor.as_str(), paused.why.as_str()), ("ann", "a look"));
    gate.open.add_permits(2);
    until_held(client, run.job()).await;
    assert_eq!(gate.begun(), 2, "what had begun is done, and nothing else");
    client.resume_run("r", "ann", "").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 6);
    assert_eq!(gate.begun(), 302, "and is not done again");
    let audit = client.inspect().audit(towpath::core::store::Page { after: None, limit: 10 }).await.unwrap();
    let actions: Vec<_> = audit.iter().map(|line| (line.action.as_str(), line.target.as_str())).collect();
    assert_eq!(actions, [("resume run", "r"), ("pause run", "r")]);
    worker.shutdown().await;
}

async fn a_run_that_waits_keeps_what_arrives(subject: Subject) {
    let (client, gate) = (&subject.client, Gate::new());
    let worker = worker(client, &gate);
    let run = client.start(SUM, "r", &3).await.unwrap();
    until("a park", async || detail(client, run.job()).await.line.parked.then_some(())).await;
    client.pause_run("r", "ann", "").await.unwrap();
    for n in 1..=3 {
        client.signal("r", GO, &n).await.unwrap();
    }
    until_held(client, run.job()).await;
    assert_eq!(detail(client, run.job()).await.run.map(|run| run.arrived), Some(3));
    client.resume_run("r", "ann", "").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 6);
    let ended = Changed::Left(JobState::Ended(End::Succeeded));
    assert_eq!(client.pause_run("r", "ann", "").await.unwrap(), ended);
    assert_eq!(client.resume_run("r", "ann", "").await.unwrap(), ended);
    assert_eq!(client.pause_run("nobody", "ann", "").await.unwrap(), Changed::Unknown);
    worker.shutdown().await;
}

async fn a_run_that_has_not_begun_is_not_entered(subject: Subject) {
    let (client, gate) = (&subject.client, Gate::new());
    let run = client.start(SUM, "r", &1).await.unwrap();
    client.signal("r", GO, &7).await.unwrap();
    client.pause_run("r", "ann", "").await.unwrap();
    let worker = worker(client, &gate);
    let other = client.start(SUM, "after", &0).await.unwrap();
    client.result(&other).await.unwrap();
    assert_eq!(detail(client, run.job()).await.run.map(|run| run.entries), Some(0), "it has no journal");
    client.resume_run("r", "ann", "").await.unwrap();
    assert_eq!(client.result(&run).await.unwrap(), 7);
    worker.shutdown().await;
}

async fn a_cancel_lifts_the_pause(subject: Subject) {
    let (client, gate) = (&subject.client, Gate::new());
    let worker = worker(client, &gate);
    let run = client.start(SUM, "r", &2).await.unwrap();
    until("a park", async || detail(client, run.job()).await.line.parked.then_some(())).await;
    client.pause_run("r", "ann", "").await.unwrap();
    client.signal("r", GO, &1).await.unwrap();
    until_held(client, run.job()).await;
    assert_eq!(client.cancel_run("r", "bob", "enough").await.unwrap(), Changed::Asked);
    assert!(matches!(client.result(&run).await, Err(RunError::Cancelled { .. })));
    assert_eq!(gate.begun(), 100, "its undo has run");
    worker.shutdown().await;
}
