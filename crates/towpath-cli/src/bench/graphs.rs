//! How fast graphs move: a chain, a fan, many diamonds. Wall time from the enqueue to the last graph's end.

use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result};
use towpath::{Failure, Graph, Worker, WorkerHandle};

use super::Figure;
use super::jobs::Noop;
use super::measure::millis;
use super::subject::{Place, Subject};

const HOPS: usize = 100;

fn graph(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Result<Graph> {
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
async fn time(subject: &Subject, graphs: Vec<Graph>) -> Result<(Duration, Option<(u64, Duration)>)> {
    let ids: Vec<_> = graphs.iter().map(|g| g.id()).collect();
    let before = subject.commits();
    let started = Instant::now();
    for graph in graphs {
        graph.enqueue(&subject.client).await.into_diagnostic()?;
    }
    for id in ids {
        subject.client.wait_graph(id).await.into_diagnostic()?;
    }
    let took = started.elapsed();
    let commits = subject.commits().zip(before).map(|((n, time), (n0, time0))| (n - n0, time - time0));
    Ok((took, commits))
}

fn figure(test: &'static str, took: Duration, commits: Option<(u64, Duration)>, nodes: usize) -> Figure {
    let figure = Figure::new(test, millis(took), "ms", nodes);
    match commits {
        Some((n, time)) => figure.with("durable_commits", n).with("ms_in_them", millis(time)),
        None => figure,
    }
}

/// 100 nodes, each after the one before.
pub(crate) async fn chain(place: &Place) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    let worker = worker(&subject).await?;
    let chain = graph(HOPS, (1..HOPS).map(|n| (n - 1, n)))?;
    let (took, commits) = time(&subject, vec![chain]).await?;
    worker.shutdown().await;
    subject.remove().await?;
    let mut figures = vec![figure("chain_100", took, commits, HOPS)];
    if let Some((n, time)) = commits {
        let beside = millis(took.saturating_sub(time)) / HOPS as f64;
        figures[0] = figure("chain_100", took, commits, HOPS).with("ms_a_hop_beside", beside);
        figures.push(Figure::new("chain_100_commits", n as f64, "commits", HOPS));
    }
    Ok(figures)
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
