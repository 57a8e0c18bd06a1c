//! Large graphs: how fast they are stored, run, cancelled and looked at, and what many of them cost while nothing happens.

use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result};
use towpath::core::{Queue, cancel_graph};
use towpath::{Client, Failure, Graph, GraphHandle, Signal, Worker, WorkerHandle};

use super::Figure;
use super::enqueue::preload;
use super::graphs::graph;
use super::jobs::Noop;
use super::measure::millis;
use super::subject::{Place, Subject};

/// Nodes of the graphs that are stored, cancelled and looked at.
const NODES: usize = 10_000;
/// Nodes of a layer.
const WIDE: usize = 100;
/// Parents of each node, in the layer before.
const PARENTS: usize = 5;
/// Edges between 100 layers.
const EDGES: usize = (NODES - WIDE) * PARENTS;

/// 10,000 nodes in 100 layers, and about 50,000 edges.
fn dense() -> Result<Graph> {
    let parent = |node: usize, nth: usize| (node / WIDE - 1) * WIDE + (node + nth) % WIDE;
    graph(NODES, (WIDE..NODES).flat_map(|node| (0..PARENTS).map(move |nth| (parent(node, nth), node))))
}

/// One transaction with 10,000 nodes and 50,000 edges, and how much more a node takes there than a job of a bulk enqueue
/// in the same store.
pub(crate) async fn enqueue(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let started = Instant::now();
    preload(&subject.client, NODES).await?;
    let bulk = started.elapsed();
    let graph = dense()?;
    let started = Instant::now();
    graph.enqueue(&subject.client).await.into_diagnostic()?;
    let took = started.elapsed();
    subject.remove().await?;
    Ok(Figure::new("graph_enqueue_10k", millis(took), "ms", NODES)
        .with("edges", EDGES)
        .with("bulk_ms", millis(bulk))
        .with("times_bulk", took.as_secs_f64() / bulk.as_secs_f64()))
}

/// 100 chains of 100 at once: how fast a worker runs them that waits for them, from the moment at which their queue is resumed
/// until all have ended, as `drain` says it of jobs.
pub(crate) async fn chains(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let queue = Queue::default();
    subject.client.pause_queue(&queue, "bench", "").await.into_diagnostic()?;
    let worker = workers(&subject, 1).await?;
    let chains = (0..100).map(|_| graph(100, (1..100).map(|n| (n - 1, n)))).collect::<Result<Vec<_>>>()?;
    let started = Instant::now();
    let chains = subject.client.enqueue_graphs(chains).await.into_diagnostic()?;
    let enqueued = started.elapsed();
    let started = Instant::now();
    subject.client.resume_queue(&queue, "bench", "").await.into_diagnostic()?;
    wait(&subject.client, chains).await?;
    let took = started.elapsed();
    stop(worker).await;
    subject.remove().await?;
    Ok(Figure::new("chains_100x100", 10_000.0 / took.as_secs_f64(), "nodes/s", 10_000)
        .with("enqueue_ms", millis(enqueued))
        .with("ms", millis(took)))
}

/// Ten layers of 100, each node after all of the layer before, and four workers.
pub(crate) async fn layers(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let worker = workers(&subject, 4).await?;
    let all = graph(
        10 * WIDE,
        (WIDE..10 * WIDE).flat_map(|n| ((n / WIDE - 1) * WIDE..n / WIDE * WIDE).map(move |p| (p, n))),
    )?;
    let (enqueued, took) = run(&subject.client, vec![all]).await?;
    stop(worker).await;
    subject.remove().await?;
    Ok(Figure::new("layers_10x100", millis(took), "ms", 10 * WIDE)
        .with("edges", 9 * WIDE * WIDE)
        .with("workers", 4)
        .with("enqueue_ms", millis(enqueued)))
}

/// One node, then 10,000, then one.
pub(crate) async fn fan(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let worker = workers(&subject, 1).await?;
    let last = NODES + 1;
    let fan = graph(last + 1, (1..last).flat_map(|n| [(0, n), (n, last)]))?;
    let (enqueued, took) = run(&subject.client, vec![fan]).await?;
    stop(worker).await;
    subject.remove().await?;
    Ok(Figure::new("fan_10k", millis(took), "ms", last + 1).with("enqueue_ms", millis(enqueued)))
}

/// How long the cancel of a graph of 10,000 nodes takes until nothing of it starts any more, with the time until all its nodes
/// have ended, and how long the view of it takes.
pub(crate) async fn cancel_and_view(place: &Place) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    let (mut cancels, mut settled, mut views) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        let graph = dense()?;
        let id = graph.id();
        graph.enqueue(&subject.client).await.into_diagnostic()?;
        let started = Instant::now();
        let detail = subject.client.inspect().graph(id).await.into_diagnostic()?;
        views.push(started.elapsed());
        debug_assert!(detail.is_some_and(|detail| detail.nodes.len() == NODES));
        let started = Instant::now();
        let stop = cancel_graph(id, "bench", "");
        subject.client.store().apply(stop).await.into_diagnostic()?;
        cancels.push(started.elapsed());
        subject.client.cancel_graph(id, "bench", "").await.into_diagnostic()?;
        settled.push(started.elapsed());
    }
    subject.remove().await?;
    for times in [&mut cancels, &mut settled, &mut views] {
        times.sort_unstable();
    }
    Ok(vec![
        Figure::new("cancel_10k", millis(cancels[2]), "ms", NODES)
            .with("max_ms", millis(cancels[4]))
            .with("settled_ms", millis(settled[2])),
        Figure::new("view_10k", millis(views[2]), "ms", NODES).with("max_ms", millis(views[4])),
    ])
}

/// How many commits a second a worker makes beside 1,000 graphs that wait, more than it makes beside none.
pub(crate) async fn idle(place: &Place) -> Result<Figure> {
    const GRAPHS: usize = 1_000;
    const NEVER: Signal<u32> = Signal::new("never");
    let time = Duration::from_secs(10);
    let mut rates = Vec::new();
    for graphs in [0, GRAPHS] {
        let subject = place.fresh().await?;
        let worker = workers(&subject, 1).await?;
        for _ in 0..graphs {
            let builder = Graph::builder("idle");
            let first = builder.node("first", &Noop::new(0));
            builder.wait_for("wait", NEVER).after(first);
            builder.build().into_diagnostic()?.enqueue(&subject.client).await.into_diagnostic()?;
        }
        // Until every first node has run and every wait is parked.
        while subject.client.inspect().counts(u32::MAX).await.into_diagnostic()?.later < graphs as u64 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = subject.all_commits();
        tokio::time::sleep(time).await;
        rates.push((subject.all_commits() - before) as f64 / time.as_secs_f64());
        stop(worker).await;
        subject.remove().await?;
    }
    Ok(Figure::new("idle_graphs_1k", rates[1] - rates[0], "commits/s", GRAPHS).with("beside_none", rates[0]))
}

async fn workers(subject: &Subject, count: usize) -> Result<Vec<WorkerHandle>> {
    let nothing = |_: Noop, _cx| std::future::ready(Ok::<_, Failure>(()));
    let start = |_| Worker::builder(&subject.client).handle(nothing).start().into_diagnostic();
    let workers = (0..count).map(start).collect::<Result<Vec<_>>>()?;
    while subject.client.inspect().workers().await.into_diagnostic()?.len() < count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(workers)
}

async fn stop(workers: Vec<WorkerHandle>) {
    for worker in workers {
        worker.shutdown().await;
    }
}

/// Enqueues graphs in one transaction and waits for all; answers how long the enqueue took, and all of it.
async fn run(client: &Client, graphs: Vec<Graph>) -> Result<(Duration, Duration)> {
    let started = Instant::now();
    let graphs = client.enqueue_graphs(graphs).await.into_diagnostic()?;
    let enqueued = started.elapsed();
    wait(client, graphs).await?;
    Ok((enqueued, started.elapsed()))
}

async fn wait(client: &Client, graphs: Vec<GraphHandle>) -> Result<()> {
    let ends = graphs.iter().map(|graph| client.wait_graph(graph.id()));
    futures_util::future::try_join_all(ends).await.into_diagnostic()?;
    Ok(())
}
