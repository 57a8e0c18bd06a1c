//! The cancel of a run, and its end by force, on every store: whoever asks, and whatever the run does, undos run once in
//! the first case and never in the second.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use towpath::core::store::Changed;
use towpath::core::{RunId, State};
use towpath::{
    Client, Condition, Cx, Durable, End, Failure, GraphName, GraphRules, Kind, NewEdge, NewGraph, NewJob, NewNode,
    NodeName, Payload, RunError, RunHandle, Signal, Step, StepCx, Worker, WorkerHandle,
};

use crate::stores::{Subject, on_every_store};

on_every_store!(
    a_run_that_is_parked_is_undone,
    a_run_at_work_is_undone_soon,
    a_run_that_has_not_begun_ends_at_once,
    a_run_whose_worker_is_gone_is_undone_by_the_next,
    a_run_is_told_before_it_exists,
    a_terminated_run_is_not_undone,
    a_cancelled_graph_lets_its_runs_undo,
);

const MINUTE: Duration = Duration::from_secs(60);
const GO: Signal<()> = Signal::new("go");

#[derive(Clone, Default)]
struct Book(Arc<Mutex<Vec<String>>>);

impl Book {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn has(&self, line: &str) {
        until(line, async || self.lines().iter().any(|l| l == line)).await;
    }
}

const NOTE: Step<String, (), Failure> = Step::new("note", &note);
async fn note(cx: StepCx, line: String) -> Result<(), Failure> {
    cx.state::<Book>().0.lock().unwrap().push(line);
    Ok(())
}

const WORK: Step<(), (), Failure> = Step::new("work", &work);
async fn work(cx: StepCx, (): ()) -> Result<(), Failure> {
    note(cx, "works".into()).await?;
    tokio::time::sleep(MINUTE).await;
    Ok(())
}

const TRIP: Durable<bool, (), Failure> = Durable::new("trip", 1, MINUTE, &trip);
async fn trip(cx: Cx<'_>, works: bool) -> Result<(), Failure> {
    cx.step(NOTE, &"book".to_owned()).await?;
    cx.undo(NOTE, "undo".into());
    if works {
        return Ok(cx.step(WORK, &()).await?);
    }
    cx.signal(GO).await;
    Ok(())
}

fn worker(client: &Client, book: &Book) -> WorkerHandle {
    Worker::builder(client).state(book.clone()).lease(Duration::from_millis(600)).durable(TRIP).start().unwrap()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The run is parked, with its undo in its journal.
async fn parked(client: &Client, job: towpath::JobId) {
    until("it parks", async || {
        let detail = client.inspect().job(job).await.unwrap().unwrap();
        detail.line.state == State::Ready && detail.run.is_some_and(|run| run.entries > 0)
    })
    .await;
}

async fn is_cancelled(client: &Client, run: &RunHandle<(), Failure>, by: &str) {
    match client.result(run).await {
        Err(RunError::Cancelled { cause: Some(cause) }) => assert!(cause.to_string().contains(by), "{cause}"),
        other => panic!("{other:?}"),
    }
}

async fn a_run_that_is_parked_is_undone(Subject { client, .. }: Subject) {
    let book = Book::default();
    let worker = worker(&client, &book);
    let run = client.start(TRIP, "t", &false).await.unwrap();
    parked(&client, run.job()).await;
    assert_eq!(client.cancel(run.job(), "ann", "no money").await.unwrap(), Changed::Asked);
    is_cancelled(&client, &run, "ann asked: no money").await;
    assert_eq!(book.lines(), ["book", "undo"]);
    assert_eq!(
        client.cancel_run("t", "eve", "").await.unwrap(),
        Changed::Left(State::Ended(End::Cancelled)),
        "it is over"
    );
    worker.shutdown().await;
}

async fn a_run_at_work_is_undone_soon(Subject { client, .. }: Subject) {
    let book = Book::default();
    let worker = worker(&client, &book);
    let run = client.start(TRIP, "t", &true).await.unwrap();
    book.has("works").await;
    let asked_at = Instant::now();
    assert_eq!(client.cancel_run("t", "ann", "").await.unwrap(), Changed::Asked);
    is_cancelled(&client, &run, "ann").await;
    assert!(asked_at.elapsed() < Duration::from_secs(8), "{:?}", asked_at.elapsed());
    assert_eq!(book.lines(), ["book", "works", "undo"]);
    worker.shutdown().await;
}

async fn a_run_that_has_not_begun_ends_at_once(Subject { client, .. }: Subject) {
    let run = client.start(TRIP, "t", &false).await.unwrap();
    assert_eq!(client.cancel_run("t", "ann", "").await.unwrap(), Changed::Ended);
    is_cancelled(&client, &run, "ann").await;
}

async fn a_run_whose_worker_is_gone_is_undone_by_the_next(Subject { client, .. }: Subject) {
    let book = Book::default();
    let first = worker(&client, &book);
    let run = client.start(TRIP, "t", &true).await.unwrap();
    book.has("works").await;
    // Shut down at once, it hands the run back.
    let hand_back = tokio::spawn(first.shutdown());
    client.cancel_run("t", "ann", "").await.unwrap();
    hand_back.abort();
    let second = worker(&client, &book);
    is_cancelled(&client, &run, "ann").await;
    assert_eq!(book.lines().iter().filter(|line| *line == "undo").count(), 1, "{:?}", book.lines());
    second.shutdown().await;
}

async fn a_run_is_told_before_it_exists(Subject { client, .. }: Subject) {
    let book = Book::default();
    assert_eq!(client.cancel_run("t", "ann", "too late").await.unwrap(), Changed::Asked);
    let worker = worker(&client, &book);
    let run = client.start(TRIP, "t", &false).await.unwrap();
    is_cancelled(&client, &run, "too late").await;
    worker.shutdown().await;
}

async fn a_terminated_run_is_not_undone(Subject { client, .. }: Subject) {
    let book = Book::default();
    let worker = worker(&client, &book);
    let busy = client.start(TRIP, "busy", &true).await.unwrap();
    book.has("works").await;
    let asleep = client.start(TRIP, "asleep", &false).await.unwrap();
    parked(&client, asleep.job()).await;
    for run in [&busy, &asleep] {
        assert_eq!(client.terminate_run(run.id().as_str(), "ann", "stuck").await.unwrap(), Changed::Ended);
        is_cancelled(&client, run, "ann asked: stuck").await;
    }
    assert_eq!(client.terminate_run("nobody", "ann", "").await.unwrap(), Changed::Unknown);
    worker.shutdown().await;
    assert!(!book.lines().contains(&"undo".to_owned()), "{:?}", book.lines());
}

async fn a_cancelled_graph_lets_its_runs_undo(Subject { client, .. }: Subject) {
    let book = Book::default();
    let worker = worker(&client, &book);
    let job = |run: &str, works: bool| {
        let job = NewJob::new(Client::new_job_id(), Kind::new("trip").unwrap()).run(RunId::new(run).unwrap());
        job.input(Payload::json(&works).unwrap())
    };
    let name = |text: &str| NodeName::new(text).unwrap();
    let (parks, works) = (job("parks", false), job("works", true));
    let (parks_id, works_id) = (parks.id, works.id);
    let id = Client::new_graph_id();
    let node = |text: &str, job: NewJob| NewNode::new(name(text), job);
    let graph = NewGraph {
        id,
        name: GraphName::new("trips").unwrap(),
        rules: GraphRules::default(),
        input: None,
        unique: None,
        nodes: vec![node("parks", parks), node("works", works), node("after", job("after", false))],
        edges: vec![NewEdge { parent: name("works"), child: name("after"), condition: Condition::Succeeded }],
    };
    client.enqueue_graph(graph).await.unwrap();
    parked(&client, parks_id).await;
    book.has("works").await;
    client.cancel_graph(id, "ann", "rain").await.unwrap().unwrap();
    client.wait_graph(id).await.unwrap();
    for job in [parks_id, works_id] {
        let detail = client.inspect().job(job).await.unwrap().unwrap();
        assert_eq!(detail.line.state, State::Ended(End::Cancelled));
        assert!(detail.cause.is_some_and(|cause| cause.to_string() == "ann asked: rain"));
    }
    assert_eq!(book.lines().iter().filter(|line| *line == "undo").count(), 2, "{:?}", book.lines());
    worker.shutdown().await;
}
