//! How fast graphs move: a chain, a fan, many diamonds. Wall time from the enqueue to the last graph's end.

use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result};
use towpath::{Failure, Graph, Worker, WorkerHandle};

use super::Figure;
use super::jobs::Noop;
use super::measure::millis;
use super::subject::{Place, Subject};

const HOPS: usize = 100;

/// A graph of so many jobs that do nothing, with edges from parent to child by their numbers.
pub(crate) fn graph(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Result<Graph> {
    let graph = Graph::builder("bench");
    let nodes: Vec<_> = (0..nodes).map(|n| graph.node(format!("n{n}"), &Noop::new(n))).collect();
    for (parent, child) in edges {
        nodes[child].after(nodes[parent]);
    }
    graph.build().into_diagnostic()
}

/// A worker that is registered and idle.
async fn worker(subject: &Subject) -> Result<WorkerHandle> {
    let worker = Worker::builder(&subject.client)
        .handle(|_: Noop, _cx| std::future::ready(Ok::<_, Failure>(())))
        .start()
        .into_diagnostic()?;
    subject.wait_for_worker().await?;
    for n in 0..20 {
        let job = subject.client.enqueue(&Noop::new(n)).await.into_diagnostic()?;
        subject.client.output(&job).await.into_diagnostic()?;
    }
    Ok(worker)
}

/// Enqueues graphs at once and waits for all; answers the wall time, the durable commits and the time in them.
async fn time(subject: &Subject, graphs: Vec<Graph>) -> Result<(Duration, (u64, Duration))> {
    let ids: Vec<_> = graphs.iter().map(|g| g.id()).collect();
    let (n_before, time_before) = subject.commits();
    let started = Instant::now();
    for graph in graphs {
        graph.enqueue(&subject.client).await.into_diagnostic()?;
    }
    for id in ids {
        subject.client.wait_graph(id).await.into_diagnostic()?;
    }
    let took = started.elapsed();
    let (n, time) = subject.commits();
    Ok((took, (n - n_before, time.saturating_sub(time_before))))
}

/// The wall time, with what of it was spent in commits, and what a node has cost besides.
fn figure(test: &'static str, took: Duration, (n, time): (u64, Duration), nodes: usize) -> Figure {
    let each = if test == "chain_100" { "ms_a_hop_beside" } else { "ms_a_node_beside" };
    let beside = took.saturating_sub(time);
    Figure::new(test, millis(took), "ms", nodes)
        .with("durable_commits", n)
        .with("ms_in_them", millis(time))
        .with(each, millis(beside) / nodes as f64)
}

/// 100 nodes, each after the one before.
pub(crate) async fn chain(place: &Place) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    let worker = worker(&subject).await?;
    let chain = graph(HOPS, (1..HOPS).map(|n| (n - 1, n)))?;
    let (took, commits) = time(&subject, vec![chain]).await?;
    worker.shutdown().await;
    subject.remove().await?;
    let count = Figure::new("chain_100_commits", commits.0 as f64, "commits", HOPS);
    Ok(vec![figure("chain_100", took, commits, HOPS), count])
}

/// One node, then 1,000, then one.
pub(crate) async fn fan(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let worker = worker(&subject).await?;
    let last = 1_001;
    let fan = graph(last + 1, (1..last).flat_map(|n| [(0, n), (n, last)]))?;
    let (took, commits) = time(&subject, vec![fan]).await?;
    worker.shutdown().await;
    subject.remove().await?;
    Ok(figure("fan_1000", took, commits, last + 1))
}

/// 100 diamonds of four nodes at once.
pub(crate) async fn diamonds(place: &Place) -> Result<Figure> {
    let subject = place.fresh().await?;
    let worker = worker(&subject).await?;
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3)];
    let graphs = (0..100).map(|_| graph(4, edges.into_iter())).collect::<Result<_>>()?;
    let (took, commits) = time(&subject, graphs).await?;
    worker.shutdown().await;
    subject.remove().await?;
    Ok(figure("diamonds_100", took, commits, 400))
}
