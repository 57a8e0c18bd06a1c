//! Graphs in Rust: a builder whose handles know what each node leaves, and the graph that it builds.
//!
//! The builder refuses nothing while it is used: [`GraphBuilder::build`] says everything that is wrong at once.

mod append;
mod built;
mod builtin;
pub(crate) mod conditions;
mod edge;
mod held;
mod node;
mod parallel;

pub use append::{Existing, GraphAppend};
pub use built::{Graph, GraphHandle};
pub use edge::{Edge, Parents};
pub use node::Node;
pub use parallel::Parallel;

pub(crate) use conditions::prepare;

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use towpath_core::{
    Conflict, GraphId, GraphLimits, GraphName, GraphProblem, GraphRetry, GraphRules, Hold, InvalidGraph, JobId, Kind,
    NewEdge, NewGraph, NewJob, NewNode, NodeName, Payload, Unique, UniqueKey,
};

use crate::builtin::Ran;
use crate::client::{self, Client};
use crate::durable::Durable;
use crate::error::Error;
use crate::job::Job;
use crate::random;

/// A graph in the making.
///
/// Nodes are added by name and come back as handles, which name the parents of later ones. A handle borrows the
/// builder, so that none is used after the graph is built.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use towpath::{Branch, Graph, Job};
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "price", output = u64)] struct Price;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "reserve")] struct Reserve;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "notify")] struct Notify;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "charge")] struct Charge;
/// # #[derive(Serialize, Deserialize, Branch)] enum Shipping { Express, Standard }
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "route", gate = Shipping)] struct Route;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "ship")] struct Ship;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "refund")] struct Refund;
/// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "hand-over")] struct HandOver;
/// let graph = Graph::builder("checkout");
/// let price = graph.node("price", &Price);
/// let reserve = price.then("reserve", &Reserve).queue("stock");
/// let notify = price.then("notify", &Notify).may_fail();
/// let charge = graph.node("charge", &Charge).after((reserve, notify.finished()));
/// charge.failed().then("refund", &Refund);
///
/// let route = charge.then("route", &Route);
/// let fly = route.branch(Shipping::Express).then("fly", &Ship);
/// let drive = route.branch(Shipping::Standard).then("load", &Ship).then("drive", &Ship);
/// graph.node("hand-over", &HandOver).joins(route, (fly, drive));
///
/// let graph = graph.build()?;
/// assert_eq!(graph.nodes().len(), 10);
/// # Ok::<_, towpath::InvalidGraph>(())
/// ```
pub struct GraphBuilder {
    id: GraphId,
    name: String,
    rules: GraphRules,
    state: Mutex<State>,
}

/// What has been added so far.
#[derive(Default)]
struct State {
    input: Option<Payload>,
    unique: Option<Box<Unique>>,
    nodes: Vec<NewNode>,
    edges: Vec<NewEdge>,
    problems: Vec<GraphProblem>,
    /// The places of nodes that are durable functions.
    functions: Vec<usize>,
    /// Of an append, the stored nodes that it names.
    existing: Vec<NodeName>,
}

impl GraphBuilder {
    /// A graph with this name, which is for people and need not be unique. See [`Graph::builder`].
    pub(crate) fn new(name: &str) -> Self {
        let rules = GraphRules::default();
        Self { id: random::graph_id(), name: name.to_owned(), rules, state: Mutex::default() }
    }

    /// Its id, known before it is written.
    pub fn id(&self) -> GraphId {
        self.id
    }

    /// Uses an id drawn before ([`Client::new_graph_id`]): enqueued twice with the same content, it is one graph.
    ///
    /// The ids of its nodes are then to be drawn before too ([`Node::id`]).
    pub fn with_id(mut self, id: GraphId) -> Self {
        self.id = id;
        self
    }

    /// What every node can read, appended ones too.
    pub fn input<T: Serialize>(self, input: &T) -> Self {
        match Payload::json(input) {
            Ok(payload) => self.state().input = Some(payload),
            Err(e) => self.state().problems.push(GraphProblem::Input(e.to_string())),
        }
        self
    }

    /// A key that one live graph of this name may have: "one import a day". Held until the graph has ended and answered
    /// with the graph that has it, unless [`unique_hold`](Self::unique_hold) and
    /// [`unique_conflict`](Self::unique_conflict) say otherwise.
    pub fn unique(self, key: &str) -> Self {
        match UniqueKey::new(key) {
            Ok(key) => self.state().unique = Some(Box::new(Unique::new(key))),
            Err(problem) => self.problem(GraphProblem::Name(problem)),
        }
        self
    }

    /// For how long it holds its key: until it has ended, or for a window from its enqueue. After
    /// [`unique`](Self::unique).
    pub fn unique_hold(self, hold: Hold) -> Self {
        if let Some(unique) = &mut self.state().unique {
            unique.hold = hold;
        }
        self
    }

    /// What becomes of it if another graph has its key: rejected, or answered with that one. After
    /// [`unique`](Self::unique).
    pub fn unique_conflict(self, conflict: Conflict) -> Self {
        if let Some(unique) = &mut self.state().unique {
            unique.conflict = conflict;
        }
        self
    }

    /// How long it stays stored after it succeeded; 7 days unless said otherwise.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.rules.keep_us = u64::try_from(keep.as_micros()).ok();
        self
    }

    /// How long it stays stored after it failed or was cancelled; 30 days unless said otherwise.
    pub fn keep_failed(mut self, keep: Duration) -> Self {
        self.rules.keep_failed_us = u64::try_from(keep.as_micros()).ok();
        self
    }

    /// Stops at the first failure that counts: what has not started ends cancelled, what runs is asked to stop. What an
    /// edge of a failure leads to by any path (`failed()`, `finished()`) still runs. Nodes appended later are stopped with
    /// the rest; their own failure stops nothing.
    pub fn fail_fast(mut self) -> Self {
        self.rules.fail_fast = true;
        self
    }

    /// Tries the graph so often when it fails, the first time included, with this wait between two tries. In each further one,
    /// its next generation, what failed runs again in place with what was skipped because of it, as by
    /// [`Client::retry_graph`]; what succeeded stays. It is retried before its undos: they run once the last try has failed.
    ///
    /// A graph that was cancelled is not retried. A durable function that failed begins again from its input, with the signals
    /// that it was sent.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use std::time::Duration;
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "fetch", attempts = 5)] struct Fetch;
    /// let graph = Graph::builder("nightly").retry(3, Duration::from_secs(600));
    /// graph.node("fetch", &Fetch);
    /// assert!(graph.build().is_ok());
    /// ```
    pub fn retry(mut self, attempts: u32, delay: Duration) -> Self {
        self.rules.retry = Some(GraphRetry::new(attempts, delay));
        self
    }

    /// Adds a node. Its kind, version, queue, retry and whatever else [`Job::defaults`] says come from the type.
    ///
    /// The name is unique in the graph, 1 to 128 bytes; `end` is kept for the product.
    pub fn node<J: Job>(&self, name: impl AsRef<str>, job: &J) -> Node<'_, J> {
        let name = name.as_ref();
        let job = self.job(name, job);
        self.add(name, job, None)
    }

    /// The job of a node of this name.
    fn job<J: Job>(&self, name: &str, job: &J) -> NewJob {
        client::new_job(job).unwrap_or_else(|e| {
            let node = NodeName::from_stored(name);
            self.state().problems.push(GraphProblem::Job(node, e.to_string()));
            client::unknown_job(J::KIND)
        })
    }

    /// Adds an undo of a node.
    fn undo<J: Job>(&self, name: &str, job: &J, guards: usize) -> Node<'_, J> {
        let (job, guards) = (self.job(name, job), self.name_of(guards));
        self.add(name, job, Some(guards))
    }

    /// Adds a node that is a run of a durable function, named `GRAPH-ID/NODE`: that is who signals it
    /// ([`Client::signal_node`]). The function's error fails the node; a retry of the graph begins it anew from its input.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Context, Cx, Durable, Failure, Graph, Job, Ran};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "ship", output = u64)] struct Ship;
    /// const SELL: Durable<u64, u64, Failure> = Durable::new("sell", 1, Duration::from_secs(3_600), &sell);
    /// async fn sell(cx: Cx<'_>, price: u64) -> Result<u64, Failure> {
    ///     cx.sleep(Duration::from_secs(1)).await;
    ///     Ok(price)
    /// }
    ///
    /// let graph = Graph::builder("order");
    /// graph.durable("sell", SELL, &7).then("ship", &Ship);
    /// graph.build()?;
    ///
    /// async fn ship(_: Ship, cx: Context) -> Result<u64, Failure> {
    ///     Ok(cx.ancestor_named::<Ran<u64>>("sell").await?.into_output()?)
    /// }
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn durable<I, O, E>(&self, name: impl AsRef<str>, function: Durable<I, O, E>, input: &I) -> Node<'_, Ran<O>>
    where
        I: Serialize,
        O: Serialize + DeserializeOwned + Send + 'static,
    {
        let name = name.as_ref();
        let input = Payload::json(input).unwrap_or_else(|e| {
            self.problem(GraphProblem::Job(NodeName::from_stored(name), e.to_string()));
            Payload::default()
        });
        // The name of a durable function is one of a kind.
        let job = NewJob::new(random::job_id(), Kind::from_stored(function.name())).input(input);
        let node = self.add(name, NewJob { version: function.version(), ..job }, None);
        self.state().functions.push(node.place);
        node
    }

    /// Adds a node whose job was put together by hand. Its handle knows no output.
    pub fn node_new(&self, name: impl AsRef<str>, job: NewJob) -> Node<'_, ()> {
        self.add(name.as_ref(), job, None)
    }

    fn add<J>(&self, name: &str, job: NewJob, guards: Option<NodeName>) -> Node<'_, J> {
        let mut state = self.state();
        let name = NodeName::new(name).unwrap_or_else(|problem| {
            state.problems.push(GraphProblem::Name(problem));
            NodeName::from_stored(name)
        });
        state.nodes.push(NewNode { guards, ..NewNode::new(name, job) });
        Node { graph: self, place: state.nodes.len() - 1, job: PhantomData }
    }

    /// Checks the graph. Nothing is written: it can be looked at, kept, and enqueued.
    ///
    /// # Errors
    /// Everything that is wrong with it, each problem naming its nodes. How large it may be is judged by the client that
    /// enqueues it ([`Client::with_graph_limits`]).
    pub fn build(self) -> Result<Graph, InvalidGraph> {
        self.build_within(&GraphLimits::HIGHEST)
    }

    fn build_within(self, limits: &GraphLimits) -> Result<Graph, InvalidGraph> {
        let State { input, unique, mut nodes, edges, mut problems, functions, .. } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        builtin::name_runs(self.id, &mut nodes, &functions);
        problems.extend(conditions::check(&nodes, &edges));
        let name = GraphName::new(&self.name).unwrap_or_else(|problem| {
            problems.push(GraphProblem::Name(problem));
            GraphName::from_stored(&self.name)
        });
        let new = NewGraph { id: self.id, name, rules: self.rules, input, unique, nodes, edges: edges.clone() };
        match new.prepare_within(limits) {
            Ok(prepared) if problems.is_empty() => Ok(Graph::new(prepared, edges)),
            Ok(_) => Err(InvalidGraph { graph: self.name, problems }),
            Err(invalid) => {
                problems.extend(invalid.problems);
                Err(InvalidGraph { graph: self.name, problems })
            }
        }
    }

    /// Builds and enqueues it.
    ///
    /// # Errors
    /// As [`build`](Self::build) and [`Graph::enqueue`].
    pub async fn enqueue(self, client: &Client) -> Result<GraphHandle, Error> {
        self.build_within(client.graph_limits())?.enqueue(client).await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a node.
    fn change(&self, place: usize, change: impl FnOnce(&mut NewNode)) {
        if let Some(node) = self.state().nodes.get_mut(place) {
            change(node);
        }
    }

    /// The name of a node that this builder has made.
    fn name_of(&self, place: usize) -> NodeName {
        // A handle is made with its node, and nodes are never taken away.
        self.state().nodes.get(place).map_or_else(|| NodeName::from_stored(""), |node| node.name.clone())
    }

    fn job_of(&self, place: usize) -> JobId {
        // As above.
        self.state().nodes.get(place).map_or_else(random::job_id, |node| node.job.id)
    }

    fn connect(&self, child: usize, edges: Vec<Edge<'_>>) {
        let child = self.name_of(child);
        for edge in edges {
            let parent = edge.parent_name();
            let mut state = self.state();
            if std::ptr::eq(edge.graph, self) {
                state.edges.push(NewEdge { parent, child: child.clone(), condition: edge.condition });
            } else {
                let graph = edge.graph.name.clone();
                state.problems.push(GraphProblem::OtherGraph { child: child.clone(), parent, graph });
            }
        }
    }

    fn is_connected(&self, edge: &Edge<'_>, child: usize) -> bool {
        let (parent, child) = (edge.parent_name(), self.name_of(child));
        let same = |e: &NewEdge| e.parent == parent && e.child == child && e.condition == edge.condition;
        self.state().edges.iter().any(same)
    }

    /// Notes that a node joins branches of another one, which must have some.
    fn note_join(&self, gate: usize, child: usize) {
        let child = self.name_of(child);
        let mut state = self.state();
        if let Some(node) = state.nodes.get(gate).filter(|node| node.job.rules.labels.is_empty()) {
            let node = node.name.clone();
            state.problems.push(GraphProblem::NotAGate { node, child });
        }
    }

    fn problem(&self, problem: GraphProblem) {
        self.state().problems.push(problem);
    }
}

impl fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("GraphBuilder")
            .field("name", &self.name)
            .field("nodes", &state.nodes.len())
            .field("edges", &state.edges.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
