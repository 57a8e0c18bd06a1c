//! What a node has started that stands for more than one job, and by whom a graph was started: for views, in both directions.

use std::collections::BTreeMap;

use towpath_core::builtin::{self, Inner, Progress};
use towpath_core::store::{GraphDetail, JobLine, NodeLine, Showing};
use towpath_core::{End, GraphId, JobId, State};

use crate::client::Client;
use crate::error::Error;

/// What a node stands for, beside itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holds {
    /// This graph, which it has started or is about to.
    Graph(GraphId),
    /// The elements of a list, which have come so far.
    Elements(Progress),
}

impl Client {
    /// What a node of a graph stands for. `None` if it is an ordinary one, or has not begun. Of one that was retried it is what
    /// the last try has started.
    ///
    /// ```
    /// # use towpath::{Client, GraphId, Holds};
    /// # async fn f(client: Client, graph: GraphId) -> Result<(), Box<dyn std::error::Error>> {
    /// let Some(graph) = client.inspect().graph(graph).await? else { return Ok(()) };
    /// for node in &graph.nodes {
    ///     match client.holds(node.job).await? {
    ///         Some(Holds::Graph(inner)) => println!("{} runs the graph {inner}", node.name),
    ///         Some(Holds::Elements(progress)) => println!("{}: {}", node.name, progress.words()),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn holds(&self, node: JobId) -> Result<Option<Holds>, Error> {
        let Some(detail) = self.inspect().job(node).await? else { return Ok(None) };
        let Some(run) = detail.run.filter(|run| run.entries > 0) else { return Ok(None) };
        let kind = detail.line.kind.as_str();
        if ![builtin::GRAPH, builtin::MAP].contains(&kind) {
            return Ok(None);
        }
        let Some(shown) = self.store().shown(run.id, Showing::PUBLISHED.into()).await? else { return Ok(None) };
        Ok(match kind {
            builtin::GRAPH => shown.payload.decode::<Inner>().ok().map(|inner| Holds::Graph(inner.graph)),
            _ => shown.payload.decode().ok().map(Holds::Elements),
        })
    }

    /// The same of all nodes of a graph that have begun, by their jobs; at most the first 100 that hold something.
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn held_in(&self, graph: &GraphDetail) -> Result<BTreeMap<JobId, Holds>, Error> {
        let holds = |node: &&NodeLine| {
            let has_not_begun = matches!(node.state, State::Waiting | State::Ended(End::Skipped(_)));
            [builtin::GRAPH, builtin::MAP].contains(&node.kind.as_str()) && !has_not_begun
        };
        let mut held = BTreeMap::new();
        for node in graph.nodes.iter().filter(holds).take(HELD_MAX) {
            held.extend(self.holds(node.job).await?.map(|holds| (node.job, holds)));
        }
        Ok(held)
    }

    /// The run that has started a graph, as the job that it is: a node of another graph, or a durable function. `None` if the
    /// graph was enqueued by itself, or its run is not stored any more.
    ///
    /// # Errors
    /// The store could not be asked.
    pub async fn holder(&self, graph: GraphId) -> Result<Option<JobLine>, Error> {
        let inspect = self.inspect();
        let Some(end) = inspect.job(JobId::end_of(graph)).await? else { return Ok(None) };
        let Some(parent) = end.rules.parent else { return Ok(None) };
        let Some(job) = inspect.run(parent.run).await? else { return Ok(None) };
        Ok(inspect.job(job).await?.map(|detail| detail.line))
    }
}

/// Nodes of which a view asks one by one.
const HELD_MAX: usize = 100;
