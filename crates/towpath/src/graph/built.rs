//! A graph that was checked: a value to look at, and to enqueue.

use towpath_core::store::{Item, Placed};
use towpath_core::{
    FailureMode, GraphEnd, GraphId, GraphLimits, GraphName, InvalidGraph, JobId, KeyHolder, Need, NewEdge, NewGraph,
    NewNode, Payload, Picture, PreparedGraph, PreparedNode, Role, Shape,
};

use super::{GraphAppend, GraphBuilder, conditions};
use crate::client::{Client, JobHandle};
use crate::error::{Error, OutputError};
use crate::job::Job;
use crate::random;

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

    /// Reads a graph that is written as JSON: the text that [`NewGraph::from_json`] reads, checked as a whole.
    ///
    /// ```
    /// # use towpath::Graph;
    /// let graph = Graph::from_json(r#"{ "name": "mails", "nodes": [{ "name": "send", "kind": "send-mail", "input": 7 }] }"#)?;
    /// assert_eq!(graph.nodes().len(), 1);
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes.
    pub fn from_json(text: &str) -> Result<Self, InvalidGraph> {
        Self::from_json_within(text, &GraphLimits::HIGHEST)
    }

    /// The same within these limits, as [`Client::enqueue_graph_json`] reads it: what is too much is said with what is wrong
    /// besides.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_json_within(text: &str, limits: &GraphLimits) -> Result<Self, InvalidGraph> {
        let (prepared, edges) = conditions::prepare_text(text, random::graph_id(), limits)?;
        Ok(Self::new(prepared, edges))
    }

    /// Checks a graph that was put together by hand.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes. How large it may be is judged by the client that
    /// enqueues it ([`Client::with_graph_limits`]).
    pub fn of_new(graph: NewGraph) -> Result<Self, InvalidGraph> {
        let edges = graph.edges.clone();
        Ok(Self::new(conditions::prepare(graph, &GraphLimits::HIGHEST)?, edges))
    }

    /// The graph as JSON, without ids: [`Graph::from_json`] makes another graph of it that is the same otherwise.
    ///
    /// # Errors
    /// What has no written form, each problem naming its node.
    pub fn to_json(&self) -> Result<String, InvalidGraph> {
        let nodes = self.nodes().iter().map(|node| NewNode {
            name: node.name.clone(),
            job: node.job.clone(),
            need: if node.role.has(Role::AT_LEAST) { Need::AtLeast(node.counters.need) } else { Need::All },
            failure: if node.role.has(Role::MAY_FAIL) { FailureMode::MayFail } else { FailureMode::Counts },
            guards: node.guards.map(|at| self.nodes()[at].name.clone()),
        });
        NewGraph {
            id: self.id(),
            name: self.name().clone(),
            rules: *self.prepared.rules(),
            input: self.input().cloned(),
            unique: self.prepared.unique().cloned().map(Box::new),
            nodes: nodes.collect(),
            edges: self.edges.clone(),
        }
        .to_json()
    }

    pub(super) fn new(prepared: PreparedGraph, edges: Vec<NewEdge>) -> Self {
        Self { prepared, edges }
    }

    /// The same graph as what a run starts.
    pub(crate) fn as_child(&self, of: JobId, chapter: u32, place: u32) -> PreparedGraph {
        self.prepared.clone().as_child(of, chapter, place)
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

    /// Its nodes and edges without ids and inputs, to be compared with those of another ([`Shape::differences`]).
    pub fn shape(&self) -> Shape {
        Shape::of_new(self.id(), self.nodes(), &self.edges)
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
        Ok(GraphHandle::of(id, placed))
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
    /// The handle of a graph that was to have this id; it stands for the one that has its key, if another has it.
    pub(crate) fn of(id: GraphId, placed: Placed) -> Self {
        match placed {
            Placed::Held(KeyHolder::Graph(holder)) => Self { id: holder, placed },
            _ => Self { id, placed },
        }
    }

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
