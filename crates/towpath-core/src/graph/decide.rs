//! What becomes of a node whose parents have all ended and that may not simply start, and of a graph
//! whose nodes have all ended.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::undo::Undoing;
use super::{GraphRules, Role, Tries};
use crate::lifecycle::{Cause, End, SkipKind, StopReason};
use crate::name::NodeName;

/// How a graph ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphEnd {
    /// Nothing that counts failed or was cancelled.
    Succeeded,
    /// A node that counts is dead or quarantined.
    Failed,
    /// Nothing failed, and something was cancelled.
    Cancelled,
}

impl GraphEnd {
    /// The number that stores keep.
    pub const fn code(self) -> i16 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 1,
            Self::Cancelled => 2,
        }
    }

    /// The end of a stored number, if this build knows it.
    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Succeeded),
            1 => Some(Self::Failed),
            2 => Some(Self::Cancelled),
            _ => None,
        }
    }
}

impl fmt::Display for GraphEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// How many nodes of one role ended in one way. The hidden `end` is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count {
    /// How they ended.
    pub end: End,
    /// What they are to the graph.
    pub role: Role,
    /// How many.
    pub nodes: u32,
}

/// The parent to blame for a node that may not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentCause {
    /// Its name.
    pub node: NodeName,
    /// How it ended.
    pub end: End,
}

/// Why a job came to a worker for a decision instead of to its handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// All its parents have ended and it may not simply start.
    Parents {
        /// Parents that ended as their edges ask.
        ok: u32,
        /// Parents whose edges are untaken.
        untaken: u32,
        /// Parents whose edges are spoiled.
        spoiled: u32,
        /// How many `ok` it takes.
        need: u32,
        /// The parent to blame.
        cause: Option<ParentCause>,
    },
    /// It is ready, or was about to be, and its graph is stopped.
    Stopped {
        /// For what.
        reason: StopReason,
    },
    /// Its deadline has passed.
    Deadline,
    /// It is the `end` of a graph whose nodes have all ended.
    End {
        /// How many ended how, ordered by end, then role. Empty while there are undos to run.
        counts: Vec<Count>,
        /// The graph's rules.
        rules: GraphRules,
        /// How its undos stand.
        undoing: Undoing,
        /// How it stands to its policy of retries; `None` if it has none, or its undos were decided about.
        tries: Option<Tries>,
    },
}

/// How a node ends that may not start; `None` for an `end` node, which [`decide_end`] decides, and for a node of a graph that
/// is being retried, which goes back.
pub fn decide(why: &Why) -> Option<(End, Cause)> {
    match why {
        Why::Parents { ok, spoiled, need, cause, .. } => {
            let kind = if *spoiled > 0 { SkipKind::Upstream } else { SkipKind::Untaken };
            let cause = match cause {
                Some(parent) if *need <= 1 => Cause::Parent { node: parent.node.clone(), end: parent.end },
                _ => Cause::TooFew { ok: *ok, need: *need },
            };
            Some((End::Skipped(kind), cause))
        }
        Why::Stopped { reason: StopReason::Retry } => None,
        Why::Stopped { reason } => Some((End::Cancelled, Cause::GraphStopped { stop: *reason })),
        Why::Deadline => Some((End::Dead, Cause::Deadline)),
        Why::End { .. } => None,
    }
}

/// How a graph ends whose nodes ended so: failed before cancelled before succeeded.
///
/// A node that may fail never fails the graph. Nor does a spare one, unless an `at_least` node was
/// left without enough parents. How undos ended says nothing of the graph.
pub fn decide_end(counts: &[Count]) -> GraphEnd {
    let nodes = || counts.iter().filter(|c| c.nodes > 0 && !c.role.has(Role::UNDO));
    let starved = nodes().any(|c| c.role.has(Role::AT_LEAST) && c.end == End::Skipped(SkipKind::Upstream));
    let fails = |c: &Count| c.end.is_failure() && !c.role.has(Role::MAY_FAIL) && (starved || !c.role.has(Role::SPARE));
    if nodes().any(fails) {
        return GraphEnd::Failed;
    }
    if nodes().any(|c| c.end == End::Cancelled) {
        return GraphEnd::Cancelled;
    }
    GraphEnd::Succeeded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(end: End, role: Role) -> Count {
        Count { end, role, nodes: 1 }
    }

    #[test]
    fn failed_comes_before_cancelled_before_succeeded() {
        let ok = count(End::Succeeded, Role::PLAIN);
        let dead = count(End::Dead, Role::PLAIN);
        let cancelled = count(End::Cancelled, Role::PLAIN);
        assert_eq!(decide_end(&[ok]), GraphEnd::Succeeded);
        assert_eq!(decide_end(&[ok, cancelled]), GraphEnd::Cancelled);
        assert_eq!(decide_end(&[cancelled, dead, ok]), GraphEnd::Failed);
        assert_eq!(decide_end(&[count(End::Quarantined, Role::PLAIN)]), GraphEnd::Failed);
    }

    #[test]
    fn a_branched_graph_reads_succeeded() {
        assert_eq!(decide_end(&[count(End::Skipped(SkipKind::Untaken), Role::PLAIN)]), GraphEnd::Succeeded);
    }

    #[test]
    fn a_node_that_may_fail_does_not_fail_the_graph() {
        assert_eq!(decide_end(&[count(End::Dead, Role::MAY_FAIL)]), GraphEnd::Succeeded);
    }

    #[test]
    fn a_spare_parent_fails_the_graph_only_when_it_was_missed() {
        let dead = count(End::Dead, Role::SPARE);
        let met = count(End::Succeeded, Role::AT_LEAST);
        let missed = count(End::Skipped(SkipKind::Upstream), Role::AT_LEAST);
        assert_eq!(decide_end(&[dead, met]), GraphEnd::Succeeded);
        assert_eq!(decide_end(&[dead, missed]), GraphEnd::Failed);
    }

    #[test]
    fn spoil_is_said_before_untaken_and_names_the_parent() {
        let cause = Some(ParentCause { node: NodeName::from_stored("charge"), end: End::Dead });
        let why = Why::Parents { ok: 0, untaken: 1, spoiled: 1, need: 1, cause };
        let (end, cause) = decide(&why).unwrap();
        assert_eq!(end, End::Skipped(SkipKind::Upstream));
        assert_eq!(cause.to_string(), "charge is dead");
    }
}
