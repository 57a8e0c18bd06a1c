//! Nodes for a graph that is stored already, live or ended: new ones with edges from those that are there, by name.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::PoisonError;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::store::{Item, Placed};
use towpath_core::{
    Condition, GraphId, GraphLimits, GraphProblem, InvalidGraph, Label, NewAppend, NewJob, NodeName, PreparedAppend,
};

use super::builtin::name_runs;
use super::edge::{Parent, sealed};
use super::{Edge, Graph, GraphBuilder, Node, Parents, State, conditions};
use crate::builtin::Ran;
use crate::builtin::{Each, ElementGraph, InnerGraph, WaitFor};
use crate::client::Client;
use crate::durable::Durable;
use crate::durable::Signal;
use crate::error::Error;
use crate::job::Job;

/// Nodes in the making for a stored graph. See [`Graph::append`](super::Graph::append), and
/// [`Context::append`](crate::Context::append) for a handler that adds to its own graph.
///
/// Edges lead from nodes that the graph has, or to new ones: what is there gets no new parents. Undos are added beside the
/// nodes that they undo.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use towpath::{Client, Graph, GraphId, Job};
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "thank")] struct Thank;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "survey")] struct Survey;
/// # async fn later(client: &Client, order: GraphId) -> Result<(), towpath::Error> {
/// let more = Graph::append(order);
/// let thank = more.node("thank", &Thank).after(more.existing("ship"));
/// more.node("survey", &Survey).after((thank, more.existing("refund").finished()));
/// more.enqueue(client).await?;
/// # Ok(()) }
/// ```
#[must_use = "nodes are added when this is enqueued"]
pub struct GraphAppend {
    builder: GraphBuilder,
}

impl GraphAppend {
    pub(crate) fn new(graph: GraphId) -> Self {
        Self { builder: GraphBuilder::new("").with_id(graph) }
    }

    /// The graph that grows.
    pub fn graph(&self) -> GraphId {
        self.builder.id()
    }

    /// Adds a node, as [`GraphBuilder::node`] does.
    pub fn node<J: Job>(&self, name: impl AsRef<str>, job: &J) -> Node<'_, J> {
        self.builder.node(name, job)
    }

    /// Adds a node that is a run of a durable function, as [`GraphBuilder::durable`] does.
    pub fn durable<I, O, E>(&self, name: impl AsRef<str>, function: Durable<I, O, E>, input: &I) -> Node<'_, Ran<O>>
    where
        I: Serialize,
        O: Serialize + DeserializeOwned + Send + 'static,
    {
        self.builder.durable(name, function, input)
    }

    /// Adds a node whose job was put together by hand.
    pub fn node_new(&self, name: impl AsRef<str>, job: NewJob) -> Node<'_, ()> {
        self.builder.node_new(name, job)
    }

    /// Adds a node that waits for a signal, as [`GraphBuilder::wait_for`].
    pub fn wait_for<T>(&self, name: impl AsRef<str>, signal: Signal<T>) -> Node<'_, WaitFor<T>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        self.builder.wait_for(name, signal)
    }

    /// Adds a node that runs a graph, as [`GraphBuilder::inner`].
    pub fn inner(&self, name: impl AsRef<str>, graph: &Graph) -> Node<'_, InnerGraph> {
        self.builder.inner(name, graph)
    }

    /// Adds a node that does a job for each element of a list, as [`GraphBuilder::each`].
    pub fn each<R: Job>(&self, name: impl AsRef<str>, over: &str) -> Node<'_, Each<R>> {
        self.builder.each(name, over)
    }

    /// Adds a node that runs a graph for each element of a list, as [`GraphBuilder::each_graph`].
    pub fn each_graph(&self, name: impl AsRef<str>, over: &str, graph: &Graph) -> Node<'_, Each<ElementGraph>> {
        self.builder.each_graph(name, over, graph)
    }

    /// A node that the graph has already, as a parent of new ones. The store looks for it: one that is not there is refused.
    pub fn existing(&self, name: impl AsRef<str>) -> Existing<'_> {
        let name = name.as_ref();
        let name = NodeName::new(name).unwrap_or_else(|problem| {
            self.builder.problem(GraphProblem::Name(problem));
            NodeName::from_stored(name)
        });
        self.builder.state().existing.push(name.clone());
        Existing { graph: &self.builder, name }
    }

    /// Checks what can be checked without the store.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes.
    pub fn build(self) -> Result<PreparedAppend, InvalidGraph> {
        Self::check(self.into_new()?, &GraphLimits::HIGHEST)
    }

    /// Builds it and adds it to its graph, in one transaction: all of it, or nothing.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::Refused`] for what the store refuses: a graph that is not there, is stopped or is
    /// undone, names that are taken, parents that are not there, with all names; a graph that has ended, and whose unique key
    /// another one has since. [`Error::Store`] when it could not do it.
    ///
    /// # Cancel safety
    /// Dropped, the nodes were added or were not. Build once and enqueue a clone again to be sure: they are added once.
    pub async fn enqueue(self, client: &Client) -> Result<Placed, Error> {
        let prepared = Self::check(self.into_new()?, client.graph_limits())?;
        client.enqueue_item(Item::Append(Box::new(prepared))).await
    }

    /// What was added, unless a problem was found on the way.
    pub(crate) fn into_new(self) -> Result<NewAppend, InvalidGraph> {
        let graph = self.builder.id;
        let State { mut nodes, mut edges, mut problems, functions, existing, .. } =
            self.builder.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let existing: BTreeSet<NodeName> = existing.into_iter().collect();
        // An edge is by name: it would lead from the new one.
        for node in nodes.iter().filter(|node| existing.contains(&node.name)) {
            edges.retain(|edge| edge.parent != node.name);
            problems.push(GraphProblem::Namesake(node.name.clone()));
        }
        name_runs(graph, &mut nodes, &functions);
        let new = NewAppend { graph, nodes, edges };
        if problems.is_empty() {
            return Ok(new);
        }
        let besides = Self::check(new, &GraphLimits::HIGHEST).err();
        problems.extend(besides.into_iter().flat_map(|invalid| invalid.problems));
        Err(InvalidGraph { graph: graph.to_string(), problems })
    }

    pub(crate) fn check(new: NewAppend, limits: &GraphLimits) -> Result<PreparedAppend, InvalidGraph> {
        conditions::prepare_append(new, limits)
    }
}

impl fmt::Debug for GraphAppend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphAppend").field("graph", &self.graph()).finish_non_exhaustive()
    }
}

/// A node that a stored graph has, as a parent of new ones. As it stands it asks for success.
#[derive(Clone)]
#[must_use = "it is nothing without a child: give it to `after`, or use `then`"]
pub struct Existing<'g> {
    graph: &'g GraphBuilder,
    name: NodeName,
}

impl<'g> Existing<'g> {
    /// Its name.
    pub fn name(&self) -> &NodeName {
        &self.name
    }

    /// Adds a node that runs when this one has succeeded.
    pub fn then<C: Job>(&self, name: impl AsRef<str>, job: &C) -> Node<'g, C> {
        self.graph.node(name, job).after(self)
    }

    /// For a child that runs when this node has succeeded, as the node itself does.
    pub fn succeeded(&self) -> Edge<'g> {
        self.edge(Condition::Succeeded)
    }

    /// For a child that runs when this node has ended, however.
    pub fn finished(&self) -> Edge<'g> {
        self.edge(Condition::Finished)
    }

    /// For a child that runs when this node is dead or quarantined.
    pub fn failed(&self) -> Edge<'g> {
        self.edge(Condition::Failed)
    }

    /// For a child that runs when this node, a gate, has chosen this branch.
    pub fn branch_named(&self, label: &str) -> Edge<'g> {
        let label = Label::new(label).unwrap_or_else(|problem| {
            self.graph.problem(GraphProblem::Name(problem));
            Label::from_stored(label)
        });
        self.edge(Condition::Branch(label))
    }

    fn edge(&self, condition: Condition) -> Edge<'g> {
        Edge { graph: self.graph, parent: Parent::Named(self.name.clone()), condition }
    }
}

impl fmt::Debug for Existing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Existing").field(&self.name).finish()
    }
}

impl sealed::Sealed for Existing<'_> {}
impl<'g> Parents<'g> for Existing<'g> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        edges.push(self.succeeded());
    }
}

impl sealed::Sealed for &Existing<'_> {}
impl<'g> Parents<'g> for &Existing<'g> {
    fn edges(self, edges: &mut Vec<Edge<'g>>) {
        edges.push(self.succeeded());
    }
}
