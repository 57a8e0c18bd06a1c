//! Graphs: declared nodes and edges, validated, then prepared for a store.
//!
//! A store never judges a graph. It writes a [`PreparedGraph`], whose edges carry verdict tables and
//! whose nodes carry counters, and from then on it only looks up and counts.

mod condition;
mod counters;
mod decide;
mod document;
mod grow;
mod limits;
mod nested;
mod picture;
mod policy;
mod prepare;
mod problem;
mod restart;
mod retry;
mod shape;
mod undo;

pub use condition::{Condition, Verdict, VerdictTable};
pub use counters::{CauseRank, NodeCounters, Standing};
pub use decide::{Count, GraphEnd, ParentCause, Why, decide, decide_end};
pub use document::{GraphText, schema as graph_schema};
pub use grow::Wiring;
pub use limits::{GraphLimits, InvalidGraphLimits};
pub use picture::Picture;
pub use policy::{GraphRetry, RetryLater, Tries};
pub use prepare::{ParentRef, PreparedAppend, PreparedEdge, PreparedGraph, PreparedNode};
pub use problem::{GraphProblem, InvalidGraph};
pub use restart::{Restart, restart};
pub use retry::{
    Behind, RetryEdge, RetryMode, RetryNode, RetryNodeEnd, RetryPlan, RetryRefusal, RetryView, Retrying, check_undone,
    plan_retry,
};
pub use shape::{Difference, Shape};
pub use undo::{Compensation, Guard, Guarded, Passed, UndoStep, Undoing};

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crate::defaults;
use crate::id::GraphId;
use crate::job::NewJob;
use crate::lifecycle::StopReason;
use crate::name::{GraphName, NodeName};
use crate::payload::Payload;
use crate::unique::{OwnKey, Unique};

/// A graph to be enqueued, as its author wrote it.
#[derive(Clone, Debug)]
pub struct NewGraph {
    /// Its id, drawn by the caller.
    pub id: GraphId,
    /// Its name, for people.
    pub name: GraphName,
    /// What holds for the whole of it.
    pub rules: GraphRules,
    /// What every node can read, appended ones too.
    pub input: Option<Payload>,
    /// The key that it alone of its name may have, until it has ended or for a window. Nothing of a stored graph is
    /// replaced.
    pub unique: Option<Box<Unique>>,
    /// Its nodes, in the order in which they are shown.
    pub nodes: Vec<NewNode>,
    /// Its edges.
    pub edges: Vec<NewEdge>,
}

/// A node to be enqueued: a job with a name and what it asks of its parents.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Its name, unique in the graph.
    pub name: NodeName,
    /// The job.
    pub job: NewJob,
    /// How many parents must end as their edges ask.
    pub need: Need,
    /// What its failure means to the graph.
    pub failure: FailureMode,
    /// The node that it undoes, if it is an undo: it has no edges, and runs once the graph has failed or was
    /// cancelled, if that node was started.
    pub guards: Option<NodeName>,
}

impl NewNode {
    /// A node that needs all its parents and whose failure fails the graph.
    pub fn new(name: NodeName, job: NewJob) -> Self {
        Self { name, job, need: Need::All, failure: FailureMode::Counts, guards: None }
    }

    /// An undo of another node.
    pub fn undo(name: NodeName, job: NewJob, guards: NodeName) -> Self {
        Self { guards: Some(guards), ..Self::new(name, job) }
    }
}

/// How many parents of a node must end as their edges ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Need {
    /// All of them, and all must have ended.
    #[default]
    All,
    /// This many, whichever they are; it starts as soon as they have.
    AtLeast(u32),
}

/// What the failure of a node means to its graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FailureMode {
    /// It makes the graph failed.
    #[default]
    Counts,
    /// The graph can still read succeeded.
    MayFail,
}

/// An edge: the child waits until the parent has ended as the condition asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEdge {
    /// Waited for.
    pub parent: NodeName,
    /// Waiting.
    pub child: NodeName,
    /// How the parent must end.
    pub condition: Condition,
}

impl NewEdge {
    /// An edge that asks for success.
    pub fn new(parent: NodeName, child: NodeName) -> Self {
        Self { parent, child, condition: Condition::Succeeded }
    }
}

/// Nodes to be added to a graph that is stored already. Edges may come from its existing nodes, by
/// name; existing nodes get no new parents.
#[derive(Clone, Debug)]
pub struct NewAppend {
    /// The graph.
    pub graph: GraphId,
    /// The new nodes.
    pub nodes: Vec<NewNode>,
    /// Their edges.
    pub edges: Vec<NewEdge>,
}

/// What holds for a whole graph. Stored as one opaque JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphRules {
    /// How long a graph that succeeded stays stored, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_us: Option<u64>,
    /// How long a graph that ended otherwise stays stored, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_failed_us: Option<u64>,
    /// Whether the first failure that counts stops every node to which no edge of a failure leads. What is appended
    /// later is stopped with the rest; its own failure stops nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// How often it is tried when it fails; once if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<GraphRetry>,
}

impl GraphRules {
    /// The stored form: `None` when every rule is the default.
    pub fn to_stored(&self) -> Option<String> {
        if *self == Self::default() {
            return None;
        }
        serde_json::to_string(self).ok()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The text is not JSON of that shape: the row is corrupt.
    pub fn from_stored(text: Option<&str>) -> Result<Self, serde_json::Error> {
        text.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }

    /// The key that the graph has again when it is retried after its end, by the stored form of
    /// [`PreparedGraph::rules_to_store`]; `None` if it has none.
    pub fn own_key(stored: Option<&str>) -> Option<OwnKey> {
        #[derive(Deserialize)]
        struct Kept {
            #[serde(default)]
            own_key: Option<OwnKey>,
        }
        serde_json::from_str::<Kept>(stored?).ok()?.own_key
    }

    /// How long the graph stays stored after it ended so.
    pub fn keep(&self, end: GraphEnd) -> Duration {
        match end {
            GraphEnd::Succeeded => self.keep_us.map_or(defaults::KEEP_GRAPH, Duration::from_micros),
            _ => self.keep_failed_us.map_or(defaults::KEEP_FAILED, Duration::from_micros),
        }
    }
}

/// What a node is to its graph, as a set of marks. Stored as a small number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(i16);

impl Role {
    /// An ordinary node.
    pub const PLAIN: Self = Self(0);
    /// Its failure does not fail the graph.
    pub const MAY_FAIL: Self = Self(1);
    /// Only `at_least` nodes depend on it, and each can do without it.
    pub const SPARE: Self = Self(2);
    /// It needs a number of its parents.
    pub const AT_LEAST: Self = Self(4);
    /// The hidden last node.
    pub const END: Self = Self(8);
    /// It undoes another node.
    pub const UNDO: Self = Self(16);
    /// Its output names branches.
    pub const GATE: Self = Self(32);
    /// An edge that asks for a failure, or for any end, leads to it by some path: a graph that fails fast still runs it.
    pub const HANDLER: Self = Self(64);

    /// The marks of a stored number.
    pub const fn from_bits(bits: i16) -> Self {
        Self(bits)
    }

    /// The number that stores keep.
    pub const fn bits(self) -> i16 {
        self.0
    }

    /// Both sets of marks together.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a stop for this reason holds such a node back. Neither a cancel nor a failure holds back an undo, and a
    /// failure not those that handle it.
    pub const fn is_held_by(self, stop: StopReason) -> bool {
        self.0 & Self::spared_by(stop).0 == 0
    }

    /// The marks of nodes that whoever settles a graph leaves out that is stopped so, or not at all.
    pub const fn not_settled(stop: Option<StopReason>) -> Self {
        match stop {
            Some(stop) => Self::UNDO.with(Self::END).with(Self::spared_by(stop)),
            None => Self::UNDO.with(Self::END),
        }
    }

    /// The marks of nodes that no such stop holds back.
    pub const fn spared_by(stop: StopReason) -> Self {
        match stop {
            StopReason::Cancel => Self::UNDO,
            StopReason::Fail => Self::UNDO.with(Self::HANDLER),
            StopReason::Retry | StopReason::Prune => Self::PLAIN,
        }
    }

    /// Whether all marks of `other` are here.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
