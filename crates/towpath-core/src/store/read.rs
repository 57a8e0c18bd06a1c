//! What the runtime and the core's plans read.

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::id::{GraphId, Incarnation, JobId};
use crate::lifecycle::{Cause, State, StopReason};
use crate::name::{Kind, Label, NodeName};
use crate::payload::{DecodeError, Payload};
use crate::time::Timestamp;

use super::extend::HostId;

/// A direct parent of a node, as the node may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Its name.
    pub node: NodeName,
    /// Where it stands.
    pub state: State,
    /// What it left, if it succeeded and left something.
    pub output: Option<Payload>,
    /// Its last failure, if an attempt of it has failed.
    pub error: Option<String>,
}

impl Upstream {
    /// What it left, as the type that its kind has for it; `None` if it left nothing, as when it did not succeed.
    ///
    /// ```
    /// use towpath_core::store::Upstream;
    /// use towpath_core::{End, NodeName, Payload, State};
    /// let parent = Upstream {
    ///     node: NodeName::new("count").unwrap(),
    ///     state: State::Ended(End::Succeeded),
    ///     output: Some(Payload::json(&7).unwrap()),
    ///     error: None,
    /// };
    /// assert_eq!(parent.output::<u64>(), Ok(Some(7)));
    /// let refused = parent.output::<String>().unwrap_err().to_string();
    /// assert!(refused.starts_with("the output of node count: invalid type: integer `7`"), "{refused}");
    /// ```
    ///
    /// # Errors
    /// It is of another shape; the error names the node.
    pub fn output<T: DeserializeOwned>(&self) -> Result<Option<T>, DecodeError> {
        let read = self.output.as_ref().map(Payload::decode).transpose();
        read.map_err(|e| DecodeError { problem: format!("the output of node {}: {}", self.node, e.problem) })
    }
}

/// Which ancestors of a node are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The one of this name.
    Node(NodeName),
    /// Those of this kind.
    Kind(Kind),
}

impl Wanted {
    /// Whether a node of this name and kind is one.
    pub fn is(&self, name: &str, kind: &str) -> bool {
        match self {
            Self::Node(wanted) => wanted.as_str() == name,
            Self::Kind(wanted) => wanted.as_str() == kind,
        }
    }
}

/// A node above another one, as the other one may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its kind.
    pub kind: Kind,
    /// How it stands, and what it left.
    pub upstream: Upstream,
}

/// Retries of graphs that are to be carried on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueRetries {
    /// Those that are due, the first one first.
    pub graphs: Vec<GraphId>,
    /// How long it takes by the store's clock until the next one is due that is not yet; `None` if there is none.
    pub next: Option<Duration>,
}

/// Stopped graphs that are to be carried on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueStops {
    /// Those that are due, the first one first.
    pub graphs: Vec<DueStop>,
    /// How long it takes by the store's clock until the next one is due that is not yet; `None` if there is none.
    pub next: Option<Duration>,
}

/// A stopped graph of which nodes may stand about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueStop {
    /// The graph.
    pub graph: GraphId,
    /// For what it is held back.
    pub reason: StopReason,
    /// How long it has been.
    pub age: Duration,
}

/// Open graphs that were looked at, and of which something is miscounted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspects {
    /// Those of which a node has other counters than its edges say, or does not stand where they put it.
    pub graphs: Vec<GraphId>,
    /// The last one that was looked at, to go on behind it; `None` if there was none.
    pub next: Option<i64>,
}

/// A worker that holds a lease, or held one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its life.
    pub worker: Incarnation,
    /// Where its process is.
    pub host: HostId,
    /// Until when its claims hold.
    pub lease_until: Timestamp,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The job.
    pub id: JobId,
    /// Its state, which is an end.
    pub state: State,
    /// Why, unless it succeeded.
    pub cause: Option<Cause>,
    /// What it left.
    pub output: Option<Payload>,
    /// Its last failure, if an attempt of it has failed.
    pub error: Option<String>,
    /// When.
    pub ended_at: Timestamp,
}

/// A line of a run's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place in the chapter, from 0, without a gap.
    pub seq: u32,
    /// What was recorded.
    pub payload: Payload,
    /// When.
    pub at: Timestamp,
}

/// A signal in a run's inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxLine {
    /// The number by which the inbox is paged. Numbers have gaps.
    pub seq: i64,
    /// What it is called.
    pub name: Label,
    /// What it carries.
    pub payload: Payload,
    /// When it came.
    pub at: Timestamp,
}
