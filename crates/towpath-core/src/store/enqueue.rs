//! What is enqueued and what the store answers.

use std::collections::BTreeMap;

use crate::graph::{PreparedAppend, PreparedGraph};
use crate::id::{GraphId, JobId};
use crate::job::NewJob;
use crate::lifecycle::StopReason;
use crate::limits;
use crate::name::{NodeName, RunId, UniqueKey};
use crate::time::Timestamp;
use crate::unique::KeyHolder;

use super::start::Start;

/// A batch of things to write in one transaction.
#[derive(Clone, Debug, Default)]
pub struct Enqueue {
    /// The things, in order.
    pub items: Vec<Item>,
}

/// One thing to enqueue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Item {
    /// A lone job.
    Job(Box<NewJob>),
    /// A whole graph: all of it or nothing.
    Graph(Box<PreparedGraph>),
    /// More nodes for a stored graph: all of them or nothing.
    Append(Box<PreparedAppend>),
    /// A run, with what becomes of the one that has its id, and a signal: all of it or nothing.
    Start(Box<Start>),
}

impl Item {
    /// A lone job.
    pub fn job(job: NewJob) -> Self {
        Self::Job(Box::new(job))
    }

    /// What it adds to the bytes of a batch.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Job(job) => job.bytes(),
            Self::Graph(graph) => graph.bytes(),
            Self::Append(append) => append.bytes(),
            Self::Start(start) => start.bytes(),
        }
    }

    /// The jobs that it enqueues, in their order, for what every enqueue of a process adds to them. Their ids, kinds and inputs are
    /// what they are.
    pub fn jobs_mut(&mut self) -> Vec<&mut NewJob> {
        match self {
            Self::Job(job) => vec![job],
            Self::Graph(graph) => graph.jobs_mut().collect(),
            Self::Append(append) => append.jobs_mut().collect(),
            Self::Start(start) => vec![&mut start.job],
        }
    }

    /// Gives these headers to every job of it that has none of them, and has room for all.
    pub fn carry(&mut self, headers: &BTreeMap<String, String>) {
        match self {
            Self::Job(job) => job.carry(headers),
            Self::Graph(graph) => graph.carry(headers),
            Self::Append(append) => append.carry(headers),
            Self::Start(start) => start.job.carry(headers),
        }
    }
}

impl Enqueue {
    /// A batch of one.
    pub fn one(item: Item) -> Self {
        Self { items: vec![item] }
    }

    /// Refuses a batch that is too large as a whole, before anything is written.
    ///
    /// # Errors
    /// [`Refusal::TooLarge`] with both sizes: split the batch.
    pub fn check(&self) -> Result<(), Refusal> {
        let bytes: usize = self.items.iter().map(Item::bytes).sum();
        if bytes > limits::BATCH_BYTES_MAX {
            return Err(Refusal::TooLarge { what: "the batch".into(), bytes, max: limits::BATCH_BYTES_MAX });
        }
        Ok(())
    }
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The store's clock in that transaction.
    pub now: Timestamp,
    /// An answer for each item, in order.
    pub items: Vec<Result<Placed, Refusal>>,
}

/// Where an accepted item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It was written.
    Inserted,
    /// The same thing was there already.
    Existing,
    /// Nothing was written: another one has its unique key.
    Held(KeyHolder),
    /// Another job has its unique key and had not begun: that one got fields of this one. Nothing was added.
    Replaced(JobId),
    /// The run of that id is there, and has not ended: it was sent what came with the start, if anything did.
    Run(JobId),
}

impl Refusal {
    /// What a lone job is told that this refuses. One whose own tombstone has its run's id was carried out before.
    pub fn unless_repeated(self, job: JobId) -> Result<Placed, Self> {
        match self {
            Self::RunTaken { job: holder, .. } if holder == job => Ok(Placed::Existing),
            refusal => Err(refusal),
        }
    }
}

/// Why an item was not written. Nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The id of a job is taken by another content.
    #[error("the id {id} is taken by a job of kind {kind} with other content: draw another id")]
    JobConflict {
        /// The id.
        id: JobId,
        /// The kind of the job that has it.
        kind: String,
    },
    /// The id of a run is taken by another job.
    #[error("the run {id} is there already, or has been, as job {job}: use its result, or another id")]
    RunTaken {
        /// The id.
        id: RunId,
        /// The job that has it.
        job: JobId,
    },
    /// The run to fork is gone, or has begun chapters since its journal was read.
    #[error("the journal of run {run} is not there any more as it was read: look at the run, and fork it anew")]
    JournalGone {
        /// The run.
        run: RunId,
    },
    /// The unique key is held by another one, and was not to be shared.
    #[error("the unique key {key:?} is held by {by}: wait until it is free, or use that one")]
    KeyTaken {
        /// The key.
        key: UniqueKey,
        /// Who has it.
        by: KeyHolder,
    },
    /// A run has as many arrivals as are kept of one.
    #[error("the inbox of run {run} is full, at most {max} arrivals are kept")]
    InboxFull {
        /// The run.
        run: RunId,
        /// How many are kept.
        max: u32,
    },
    /// The id of a graph is taken.
    #[error("the id {id} is taken by the graph {name:?}: draw another id")]
    GraphConflict {
        /// The id.
        id: GraphId,
        /// The name of the graph that has it.
        name: String,
    },
    /// Something is over its limit.
    #[error("{what} has {bytes} bytes, at most {max} are allowed")]
    TooLarge {
        /// What.
        what: String,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        max: usize,
    },
    /// Something is not allowed.
    #[error("{problem}")]
    Invalid {
        /// What, and what to do.
        problem: String,
    },
    /// The graph to append to is not there.
    #[error("there is no graph {id}: it was never enqueued, or has been pruned")]
    UnknownGraph {
        /// Its id.
        id: GraphId,
    },
    /// Parents that the graph to append to does not have.
    #[error("graph {graph} has no node named {}", list(.names))]
    UnknownParents {
        /// The graph.
        graph: GraphId,
        /// The names, in the order of the edges.
        names: Vec<NodeName>,
    },
    /// Names that the graph to append to has already.
    #[error("graph {graph} has a node named {} already: rename it", list(.names))]
    NamesTaken {
        /// The graph.
        graph: GraphId,
        /// The names, in the order of the new nodes.
        names: Vec<NodeName>,
    },
    /// The undos of the graph to append to run, or have run.
    #[error("graph {graph} is undone: nothing can be added to it until a retry is through; or begin another graph")]
    Undone {
        /// The graph.
        graph: GraphId,
    },
    /// The graph to append to is stopped.
    #[error(
        "graph {graph} is stopped to {reason}: nothing can be added to it until a retry is through; or begin another graph"
    )]
    Stopped {
        /// The graph.
        graph: GraphId,
        /// For what.
        reason: StopReason,
    },
}

fn list(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}
