//! A graph that was checked: a value to look at, and to enqueue.

use towpath_core::store::{Item, Placed};
use towpath_core::{GraphEnd, GraphId, GraphName, NewEdge, Payload, Picture, PreparedGraph, PreparedNode};

use super::{GraphAppend, GraphBuilder};
use crate::client::{Client, JobHandle};
use crate::error::{Error, OutputError};
use crate::job::Job;

/// A graph that [`GraphBuilder::build`] has checked. Nothing of it is written yet.
#[derive(Clone, Debug)]
pub struct Graph {
    prepared: PreparedGraph,
    edges: Vec<NewEdge>,
}

impl Graph {
    /// Begins a graph with this name: 1 to 128 bytes, for people, not unique.
    pub fn builder(name: &str) -> GraphBuilder {
        GraphBuilder::new(name)
    }

    /// Begins nodes for a graph that is stored, be it live or ended: [`GraphAppend`].
    pub fn append(graph: GraphId) -> GraphAppend {
        GraphAppend::new(graph)
    }

    pub(super) fn new(prepared: PreparedGraph, edges: Vec<NewEdge>) -> Self {
        Self { prepared, edges }
    }

    /// Its id.
    pub fn id(&self) -> GraphId {
        self.prepared.id()
    }

    /// Its name.
    pub fn name(&self) -> &GraphName {
        self.prepared.name()
    }

    /// What every node can read.
    pub fn input(&self) -> Option<&Payload> {
        self.prepared.input()
    }

    /// Its nodes, in the order in which they were added.
    pub fn nodes(&self) -> &[PreparedNode] {
        // The last one is the hidden `end`.
        self.prepared.nodes().split_last().map_or(&[], |(_, nodes)| nodes)
    }

    /// Its edges, in the order in which they were added.
    pub fn edges(&self) -> &[NewEdge] {
        &self.edges
    }

    /// A handle on the job of a node with this name and kind.
    pub fn job<J: Job>(&self, name: &str) -> Option<JobHandle<J>> {
        let named = |node: &&PreparedNode| node.name.as_str() == name && node.job.kind.as_str() == J::KIND;
        self.nodes().iter().find(named).map(|node| JobHandle::from_id(node.job.id))
    }

    /// What stands after what, to be drawn: for a terminal ([`Picture::text`]), as Mermaid, or as DOT.
    pub fn picture(&self) -> Picture {
        Picture::of_new(self.nodes(), &self.edges)
    }

    /// Writes it in one transaction: all of it, or nothing. When this returns, it is on disk.
    ///
    /// # Errors
    /// [`Error::Refused`] for what the store refuses, [`Error::Store`] when the store could not do it.
    ///
    /// # Cancel safety
    /// Dropped, the graph was enqueued or was not. Enqueue a clone again to be sure: it is written once.
    pub async fn enqueue(self, client: &Client) -> Result<GraphHandle, Error> {
        let id = self.id();
        let placed = client.enqueue_item(self.into_item()).await?;
        Ok(GraphHandle { id, placed })
    }

    /// The form in which it is one of many in an [`Enqueue`](towpath_core::store::Enqueue).
    pub fn into_item(self) -> Item {
        Item::Graph(Box::new(self.prepared))
    }
}

/// A graph that was enqueued, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphHandle {
    id: GraphId,
    placed: Placed,
}

impl GraphHandle {
    /// The graph.
    pub fn id(&self) -> GraphId {
        self.id
    }

    /// Whether it was written now, or was there already.
    pub fn placed(&self) -> Placed {
        self.placed
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// As [`Client::wait_graph`].
    pub async fn wait(&self, client: &Client) -> Result<GraphEnd, OutputError> {
        client.wait_graph(self.id).await
    }
}
