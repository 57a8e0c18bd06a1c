//! A node's handle: what it has besides its job, and how others wait for it.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use towpath_core::{
    Condition, Due, FailureMode, GraphProblem, JobId, Label, Need, NewJob, NodeName, Queue, RetryPolicy, Timestamp,
};

use super::edge::Parent;
use super::{Edge, GraphBuilder, Parallel, Parents};
use crate::branch::{Branch, Gate};
use crate::client::JobHandle;
use crate::job::Job;

/// A node of a graph in the making. Cheap to copy; `J` is its job, so what it leaves is known.
pub struct Node<'g, J> {
    pub(super) graph: &'g GraphBuilder,
    pub(super) place: usize,
    pub(super) job: PhantomData<fn() -> J>,
}

impl<J> Clone for Node<'_, J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J> Copy for Node<'_, J> {}

impl<'g, J> Node<'g, J> {
    /// Its name.
    pub fn name(self) -> NodeName {
        self.graph.name_of(self.place)
    }

    /// A handle on its job, for whoever waits for this node's output.
    pub fn job(self) -> JobHandle<J> {
        JobHandle::from_id(self.graph.job_of(self.place))
    }

    // ---- parents and children -----------------------------------------------------------------

    /// Waits for these: a node (it must succeed), an edge such as `node.failed()`, or a tuple, array or vector of
    /// them. All must have ended as their edges ask, unless [`at_least`](Self::at_least) asks for fewer.
    pub fn after(self, parents: impl Parents<'g>) -> Self {
        let mut edges = Vec::new();
        parents.edges(&mut edges);
        self.graph.connect(self.place, edges);
        self
    }

    /// Goes on where the branches of a gate come together. `lasts` are the last nodes of the branches; of those that
    /// were not taken it waits for nothing. A branch without a node needs none here.
    ///
    /// It waits for the gate too, so that an `if` without `else` goes on, and a gate inside a branch that was not
    /// taken is skipped with all that belongs to it. The build refuses a join of a node that is no gate.
    pub fn joins<G>(self, gate: Node<'g, G>, lasts: impl Parents<'g>) -> Self {
        let mut edges = Vec::new();
        lasts.edges(&mut edges);
        for edge in &mut edges {
            if edge.condition == Condition::Succeeded {
                edge.condition = Condition::Joined;
            }
        }
        if std::ptr::eq(gate.graph, self.graph) {
            self.graph.note_join(gate.place, self.place);
        }
        let gate = gate.succeeded();
        if !std::ptr::eq(gate.graph, self.graph) || !self.graph.is_connected(&gate, self.place) {
            edges.insert(0, gate);
        }
        self.graph.connect(self.place, edges);
        self
    }

    /// Adds a node that runs when this one has succeeded.
    pub fn then<C: Job>(self, name: impl AsRef<str>, job: &C) -> Node<'g, C> {
        self.graph.node(name, job).after(self)
    }

    /// Goes on in several arms side by side, each of as many nodes as it likes.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "work")] struct Work;
    /// let graph = Graph::builder("prints");
    /// graph
    ///     .node("fetch", &Work)
    ///     .parallel()
    ///     .arm(|fetched| fetched.then("resize", &Work).then("sharpen", &Work))
    ///     .arm(|fetched| fetched.then("index", &Work))
    ///     .then("publish", &Work);
    /// assert_eq!(graph.build()?.edges().len(), 5);
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn parallel(self) -> Parallel<'g, J> {
        Parallel::new(self)
    }

    /// For a child that runs when this node has succeeded, as the node itself does.
    pub fn succeeded(self) -> Edge<'g> {
        self.edge(Condition::Succeeded)
    }

    /// For a child that runs when this node has ended, however.
    pub fn finished(self) -> Edge<'g> {
        self.edge(Condition::Finished)
    }

    /// For a child that runs when this node is dead or quarantined.
    pub fn failed(self) -> Edge<'g> {
        self.edge(Condition::Failed)
    }

    /// For a child that runs when this node, a gate, has chosen this branch.
    pub fn branch(self, branch: <J as Job>::Output) -> Edge<'g>
    where
        J: Gate,
    {
        self.branch_named(branch.label())
    }

    /// For a child that runs when this node, a gate, has chosen a branch that is known by name only.
    pub fn branch_named(self, label: &str) -> Edge<'g> {
        let label = Label::new(label).unwrap_or_else(|problem| {
            self.graph.problem(GraphProblem::Name(problem));
            Label::from_stored(label)
        });
        self.edge(Condition::Branch(label))
    }

    fn edge(self, condition: Condition) -> Edge<'g> {
        Edge { graph: self.graph, parent: Parent::Place(self.place), condition }
    }

    /// Adds the undo of this node: a job that reverses what the node has done. Answers the undo's handle, on which its queue,
    /// its retries and so on are set; it has no edges.
    ///
    /// It runs if the graph fails or is cancelled, once all nodes have ended, and only if this node was started: with a
    /// handler at least once, however it ended then. The undos of nodes further down run first, and those of one depth side
    /// by side. Its handler reads how the node ended, and what it left, by [`Context::guarded`](crate::Context::guarded).
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "reserve")] struct Reserve;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "charge")] struct Charge;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "release")] struct Release;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "refund")] struct Refund;
    /// let graph = Graph::builder("checkout");
    /// let reserve = graph.node("reserve", &Reserve);
    /// reserve.undo("release", &Release).attempts(50);
    /// let charge = reserve.then("charge", &Charge);
    /// charge.undo("refund", &Refund).queue("money");
    /// assert_eq!(graph.build()?.nodes().len(), 4);
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn undo<U: Job>(self, name: impl AsRef<str>, job: &U) -> Node<'g, U> {
        self.graph.undo(name.as_ref(), job, self.place)
    }

    // ---- what the node is to its graph --------------------------------------------------------

    /// Starts as soon as this many of its parents have ended as their edges ask, whichever they are.
    pub fn at_least(self, parents: u32) -> Self {
        self.graph.change(self.place, |node| node.need = Need::AtLeast(parents));
        self
    }

    /// Its failure does not make the graph failed. What waits for its success is still skipped.
    pub fn may_fail(self) -> Self {
        self.graph.change(self.place, |node| node.failure = FailureMode::MayFail);
        self
    }

    // ---- what its job has ---------------------------------------------------------------------

    /// Uses an id drawn before ([`Client::new_job_id`](crate::Client::new_job_id)).
    pub fn id(self, id: JobId) -> Self {
        self.with(|job| job.id = id)
    }

    /// Puts it into this queue.
    pub fn queue(self, queue: &str) -> Self {
        match Queue::new(queue) {
            Ok(queue) => self.with(|job| job.queue = queue),
            Err(e) => {
                self.graph.problem(GraphProblem::Job(self.name(), e.to_string()));
                self
            }
        }
    }

    /// Higher first; ties by the order in which they become ready.
    pub fn priority(self, priority: i16) -> Self {
        self.with(|job| job.priority = priority)
    }

    /// Waits this long from when its parents have ended.
    pub fn delay(self, delay: Duration) -> Self {
        self.with(|job| job.due = Due::After(delay))
    }

    /// Does not start before this instant.
    pub fn at(self, at: Timestamp) -> Self {
        self.with(|job| job.due = Due::At(at))
    }

    /// Dead if it has not succeeded by this instant.
    pub fn deadline(self, at: Timestamp) -> Self {
        self.with(|job| job.deadline = Some(at))
    }

    /// Replaces the retry policy.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        self.with(|job| job.rules.retry = retry)
    }

    /// Sets how many failures make it dead.
    pub fn attempts(self, attempts: u32) -> Self {
        self.with(|job| job.rules.retry.attempts_max = attempts)
    }

    /// Replaces the timeout of an attempt.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|job| job.rules.timeout_us = u64::try_from(timeout.as_micros()).ok())
    }

    /// Adds a tag: a label by which people find it. Those of the kind stay.
    pub fn tag(self, tag: &str) -> Self {
        self.with(|job| job.tags.push(tag.to_owned()))
    }

    /// Adds the tag `key=value`.
    pub fn tag_value(self, key: &str, value: impl std::fmt::Display) -> Self {
        self.with(|job| job.tags.push(towpath_core::tag::pair(key, value)))
    }

    /// Adds a header, which travels with the job to its handler. The last one of a name holds.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.with(|job| {
            job.headers.insert(name.to_owned(), value.to_owned());
        })
    }

    pub(super) fn with(self, change: impl FnOnce(&mut NewJob)) -> Self {
        self.graph.change(self.place, |node| change(&mut node.job));
        self
    }
}

impl<J> fmt::Debug for Node<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.name()).finish()
    }
}
