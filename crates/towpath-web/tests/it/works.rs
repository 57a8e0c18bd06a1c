//! Work of every kind to be shown: jobs that succeed, die and wait, a graph, a run that waits for a signal; with names
//! that a careless page or link would break on.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use towpath::core::replay::Entry;
use towpath::{
    Client, Cx, Durable, Failure, Graph, GraphId, Job, JobId, Schedule, Signal, Step, StepCx, Stream, Worker,
    WorkerHandle,
};

/// Succeeds with what it was given, or fails with it.
#[derive(Clone, Debug, Serialize, Deserialize, Job)]
#[job(kind = "say", output = String, attempts = 1)]
pub(crate) struct Say {
    pub(crate) text: String,
    pub(crate) fails: bool,
}

impl Say {
    pub(crate) fn ok(text: &str) -> Self {
        Self { text: text.into(), fails: false }
    }

    pub(crate) fn fails(text: &str) -> Self {
        Self { text: text.into(), fails: true }
    }
}

/// A kind that nobody serves.
#[derive(Clone, Debug, Serialize, Deserialize, Job)]
#[job(kind = "nobody", queue = "lonely")]
pub(crate) struct Nobody {
    pub(crate) big: u64,
}

const GREET: Step<String, String, Failure> = Step::new("greet", &greet);
async fn greet(_cx: StepCx, name: String) -> Result<String, Failure> {
    Ok(format!("hello {name}"))
}

pub(crate) const PAID: Signal<u32> = Signal::new("paid");

pub(crate) const ORDER: Durable<String, String, Failure> = Durable::new("order", 1, Duration::from_secs(3_600), &order);
async fn order(cx: Cx<'_>, who: String) -> Result<String, Failure> {
    cx.publish(&who);
    let greeting = cx.step(GREET, &who).await?;
    let cents = cx.signal(PAID).await;
    Ok(format!("{greeting}, {cents}"))
}

pub(crate) const MORE: Signal<u32> = Signal::new("more");
const LOG: Stream<String> = Stream::new("log");

const FAMILY: Durable<(), u32, Failure> = Durable::new("family", 2, Duration::from_secs(3_600), &family);
async fn family(cx: Cx<'_>, (): ()) -> Result<u32, Failure> {
    cx.emit(LOG, &NASTY.to_owned());
    let job = cx.job(&Say::ok("child")).await;
    let graph = Graph::builder("little");
    graph.node("only", &Say::fails("on purpose"));
    let graph = cx.graph(&graph.build().map_err(|e| Failure::new(e.to_string()))?).await;
    cx.emit(LOG, &format!("{} {}", job.is_ok(), graph.is_ok()));
    let more = cx.signal(MORE).await;
    cx.emit(LOG, &more.to_string());
    Ok(more)
}

/// Breaks what is put together by hand: a link, an attribute, a page, a script.
pub(crate) const NASTY: &str = "a/b c?d#e \"q\" 'é' 🚀 <script>alert(1)</script> %2F..";

/// All of it, and who works on it.
pub(crate) struct Works {
    pub(crate) worker: WorkerHandle,
    pub(crate) succeeded: JobId,
    pub(crate) dead: JobId,
    pub(crate) unserved: JobId,
    pub(crate) graph: GraphId,
    /// A run by the id `NASTY`, which waits for a signal.
    pub(crate) run: JobId,
}

impl Works {
    /// Enqueues it and waits until all of it stands as it will.
    pub(crate) async fn start(client: &Client) -> Self {
        let worker = Worker::builder(client)
            .name("a worker <b>")
            .handle(|job: Say, _cx| async move { if job.fails { Err(Failure::new(job.text)) } else { Ok(job.text) } })
            .durable(ORDER)
            .durable(FAMILY)
            .schedule(Schedule::new("yearly", "0 0 1 1 *", &Say::ok(NASTY)).zone("Asia/Kathmandu"))
            .start()
            .unwrap();
        let succeeded = client.job(&Say::ok(NASTY)).tag("<i>tag</i>").await.unwrap().id();
        let dead = client.enqueue(&Say::fails(NASTY)).await.unwrap().id();
        let unserved = client.enqueue(&Nobody { big: u64::MAX }).await.unwrap().id();
        let graph = Self::graph(client).await;
        let run = client.start(ORDER, NASTY, &NASTY.to_owned()).await.unwrap().job();
        client.wait(succeeded).await.unwrap();
        client.wait(dead).await.unwrap();
        client.wait_graph(graph).await.unwrap();
        wait_for(client, run, "paid").await;
        wait_for_schedule(client).await;
        Self { worker, succeeded, dead, unserved, graph, run }
    }

    /// A graph with nodes that hold more than one job: its id.
    pub(crate) async fn holding(client: &Client) -> GraphId {
        let inner = Graph::builder(NASTY);
        inner.node("only", &Say::ok("1"));
        let graph = Graph::builder("holding").input(&[Say::ok("1"), Say::fails("2")]);
        let inner = graph.inner("inner", &inner.build().unwrap());
        graph.each::<Say>("each", "input").collect().after(inner);
        let graph = graph.enqueue(client).await.unwrap().id();
        client.wait_graph(graph).await.unwrap();
        graph
    }

    /// A run with a child that is a job, one that is a graph, and a stream, which waits for a signal.
    pub(crate) async fn family(client: &Client) -> JobId {
        let run = client.start(FAMILY, "family/1", &()).await.unwrap().job();
        wait_for(client, run, "more").await;
        run
    }

    async fn graph(client: &Client) -> GraphId {
        let graph = Graph::builder(NASTY);
        let first = graph.node("first", &Say::ok("1"));
        let broken = first.then(NASTY, &Say::fails("on purpose <b>"));
        let spare = broken.failed().then("spare", &Say::ok("2"));
        graph.node("never", &Say::ok("3")).after(broken);
        graph.node("last", &Say::ok("4")).after((first, spare.finished()));
        graph.build().unwrap().enqueue(client).await.unwrap().id()
    }
}

/// Waits until the worker has declared its schedule.
async fn wait_for_schedule(client: &Client) {
    for _ in 0..6_000 {
        if client.schedules().get("yearly").await.unwrap().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the worker does not declare its schedule");
}

/// Waits until a run's journal says that it waits for a signal.
pub(crate) async fn wait_for(client: &Client, run: JobId, signal: &str) {
    for _ in 0..6_000 {
        let lines = client.store().entries(run, 1, 0, 100).await.unwrap();
        let waits = |line: &Entry| matches!(line, Entry::Opened { op, .. } if op.name == signal);
        if lines.iter().any(|line| waits(&Entry::decode(&line.payload).unwrap())) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the run does not come to its signal");
}
