//! How fast a node goes through a list: a job that does nothing for each of ten thousand elements.

use std::time::Instant;

use miette::{IntoDiagnostic, Result, miette};
use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Failure, Graph, GraphEnd, GraphId, Job, Worker};

use super::Figure;
use super::measure::millis;
use super::subject::Place;

/// Leaves its input.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bench-element", output = u32)]
#[serde(transparent)]
struct Element(u32);

const ELEMENTS: u32 = 10_000;

/// With so many elements at work at once as there are unless said otherwise, and with as many as there may be.
pub(crate) async fn map(place: &Place) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for at_once in [100, 1_000] {
        let subject = place.fresh().await?;
        let worker = Worker::builder(&subject.client)
            .slots(1_000)
            .handle(|job: Element, _: Context| async move { Ok::<_, Failure>(job.0) })
            .start()
            .into_diagnostic()?;
        subject.wait_for_worker().await?;
        through(&subject.client, 10, at_once).await?;
        let (commits_before, _) = subject.commits();
        let started = Instant::now();
        let graph = through(&subject.client, ELEMENTS, at_once).await?;
        let took = started.elapsed();
        let (commits_after, _) = subject.commits();
        let run = subject.client.inspect().graph(graph).await.into_diagnostic()?;
        let node = run.and_then(|graph| graph.nodes.first().map(|node| node.job)).ok_or_else(|| miette!("no node"))?;
        let run = subject.client.inspect().job(node).await.into_diagnostic()?.and_then(|job| job.run);
        worker.shutdown().await;
        subject.remove().await?;
        figures.push(
            Figure::new("map_10k", f64::from(ELEMENTS) / took.as_secs_f64(), "elements/s", ELEMENTS as usize)
                .with("at_once", at_once)
                .with("ms", millis(took))
                .with("durable_commits", commits_after - commits_before)
                .with("chapters", run.map_or(0, |run| run.chapter)),
        );
    }
    Ok(figures)
}

async fn through(client: &Client, elements: u32, at_once: u32) -> Result<GraphId> {
    let graph = Graph::builder("map").input(&(0..elements).collect::<Vec<_>>());
    let each = graph.each::<Element>("each", "input").concurrency(at_once).job();
    let graph = graph.enqueue(client).await.into_diagnostic()?;
    let end = graph.wait(client).await.into_diagnostic()?;
    let left = client.output(&each).await.into_diagnostic()?;
    if end != GraphEnd::Succeeded || left.iter().zip(0..).any(|(left, element)| *left != element) {
        return Err(miette!("the map did not leave its elements in their order"));
    }
    Ok(graph.id())
}
