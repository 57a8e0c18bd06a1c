//! The life of a job: its states, its ends, and what may follow what.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::name::NodeName;

/// Why a node was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkipKind {
    /// It stands on a branch that was not chosen. Healthy.
    Untaken,
    /// Something above it went wrong.
    Upstream,
}

/// How a job ended. An end is left only by a requeue or by a graph's retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Its handler reported success.
    Succeeded,
    /// Its attempts are exhausted, an error was permanent, or its deadline passed.
    Dead,
    /// Its worker process died under it too often in a row, or an invariant was broken.
    Quarantined,
    /// A person, a parent run or its own handler asked for it.
    Cancelled,
    /// It never ran, and will not.
    Skipped(SkipKind),
}

impl End {
    /// Every end, in the order of [`End::code`].
    pub const ALL: [Self; 6] = [
        Self::Succeeded,
        Self::Dead,
        Self::Quarantined,
        Self::Cancelled,
        Self::Skipped(SkipKind::Untaken),
        Self::Skipped(SkipKind::Upstream),
    ];

    /// The number that stores keep, and the place of this end in an edge's verdict table.
    pub const fn code(self) -> i16 {
        match self {
            Self::Succeeded => 0,
            Self::Dead => 1,
            Self::Quarantined => 2,
            Self::Cancelled => 3,
            Self::Skipped(SkipKind::Untaken) => 4,
            Self::Skipped(SkipKind::Upstream) => 5,
        }
    }

    /// The end of a stored number, if this build knows it.
    pub fn from_code(code: i16) -> Option<Self> {
        usize::try_from(code).ok().and_then(|at| Self::ALL.get(at).copied())
    }

    /// Whether this end makes a graph failed (unless the node may fail).
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Dead | Self::Quarantined)
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// For its parents.
    Waiting,
    /// Claimable once due: scheduled, retrying and sleeping jobs are ready with a later due.
    Ready,
    /// Ready, but no worker can run it until code or input changes.
    Blocked,
    /// Under a worker's lease.
    Running,
    /// Over.
    #[serde(untagged)]
    Ended(End),
}

impl State {
    /// Every state, in the order of the lifecycle.
    pub const ALL: [Self; 10] = [
        Self::Waiting,
        Self::Ready,
        Self::Blocked,
        Self::Running,
        Self::Ended(End::Succeeded),
        Self::Ended(End::Dead),
        Self::Ended(End::Quarantined),
        Self::Ended(End::Cancelled),
        Self::Ended(End::Skipped(SkipKind::Untaken)),
        Self::Ended(End::Skipped(SkipKind::Upstream)),
    ];

    /// The word that people read; both kinds of skipped read `skipped`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Blocked => "blocked",
            Self::Running => "running",
            Self::Ended(End::Succeeded) => "succeeded",
            Self::Ended(End::Dead) => "dead",
            Self::Ended(End::Quarantined) => "quarantined",
            Self::Ended(End::Cancelled) => "cancelled",
            Self::Ended(End::Skipped(_)) => "skipped",
        }
    }

    /// The states a job may go to from this one.
    pub fn next(self) -> &'static [State] {
        use End::{Cancelled, Dead, Quarantined, Skipped, Succeeded};
        use SkipKind::{Untaken, Upstream};
        match self {
            Self::Waiting => &[
                Self::Ready,
                Self::Ended(Dead),
                Self::Ended(Cancelled),
                Self::Ended(Skipped(Untaken)),
                Self::Ended(Skipped(Upstream)),
            ],
            Self::Ready => &[Self::Blocked, Self::Running, Self::Ended(Dead), Self::Ended(Cancelled)],
            Self::Blocked => &[Self::Ready, Self::Ended(Dead), Self::Ended(Cancelled)],
            Self::Running => &[
                Self::Ready,
                Self::Blocked,
                Self::Ended(Succeeded),
                Self::Ended(Dead),
                Self::Ended(Quarantined),
                Self::Ended(Cancelled),
                Self::Ended(Skipped(Untaken)),
            ],
            Self::Ended(_) => &[],
        }
    }

    /// The lifecycle as a Mermaid state diagram, for the documentation.
    pub fn diagram() -> String {
        let mut out = String::from("stateDiagram-v2\n    [*] --> waiting: has parents\n    [*] --> ready\n");
        for from in Self::ALL {
            let mut seen = Vec::new();
            for to in from.next() {
                if !seen.contains(&to.word()) {
                    seen.push(to.word());
                    out.push_str(&format!("    {} --> {}\n", from.word(), to.word()));
                }
            }
        }
        for end in ["succeeded", "dead", "quarantined", "cancelled", "skipped"] {
            out.push_str(&format!("    {end} --> [*]\n"));
        }
        out
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(State::Ended(*self).word())
    }
}

/// Why a job ended other than by success. Stored with the end, shown to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Its last allowed attempt failed.
    Exhausted,
    /// An error that no retry can mend.
    Permanent,
    /// Its deadline passed before it succeeded.
    Deadline,
    /// Its worker died under it this often in a row.
    Crashes {
        /// Crashes in a row.
        count: u32,
    },
    /// A person or a program asked.
    Asked {
        /// Who.
        actor: String,
        /// Why, in their words.
        reason: String,
    },
    /// Its own handler asked (revoke or skip).
    Itself {
        /// Why, in the handler's words.
        reason: String,
    },
    /// Its graph was stopped.
    GraphStopped {
        /// For what.
        stop: StopReason,
    },
    /// An edge's parent ended in a way that the edge does not accept.
    Parent {
        /// The parent.
        node: NodeName,
        /// How it ended.
        end: End,
    },
    /// Too few parents ended as their edges ask.
    TooFew {
        /// How many did.
        ok: u32,
        /// How many were needed.
        need: u32,
    },
    /// It ignored a request to stop, and was given up: its worker's claim counts for nothing from then on.
    Abandoned {
        /// Who gave it up.
        actor: String,
        /// Why, in their words.
        reason: String,
    },
    /// It is an undo, and what it would undo stands: its graph had succeeded.
    Committed,
    /// It is an undo, and what it would undo was never started.
    NeverStarted {
        /// The node that it guards.
        node: NodeName,
    },
    /// A stored row contradicts another.
    Corrupt {
        /// Which, and how.
        detail: String,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted => f.write_str("its attempts are exhausted"),
            Self::Permanent => f.write_str("the error was permanent"),
            Self::Deadline => f.write_str("its deadline passed"),
            Self::Crashes { count } => write!(f, "its worker died under it {count} times in a row"),
            Self::Asked { actor, reason } if reason.is_empty() => write!(f, "{actor} asked"),
            Self::Asked { actor, reason } => write!(f, "{actor} asked: {reason}"),
            Self::Itself { reason } => write!(f, "its handler asked: {reason}"),
            Self::GraphStopped { stop: StopReason::Cancel } => f.write_str("its graph was cancelled"),
            Self::GraphStopped { stop: StopReason::Fail } => f.write_str("another node of its graph failed"),
            Self::GraphStopped { stop } => write!(f, "its graph was stopped to {stop}"),
            Self::Parent { node, end } => write!(f, "{node} is {end}"),
            Self::TooFew { ok, need } => write!(f, "{ok} of {need} needed parents ended well"),
            Self::Abandoned { actor, reason } if reason.is_empty() => write!(f, "{actor} abandoned it"),
            Self::Abandoned { actor, reason } => write!(f, "{actor} abandoned it: {reason}"),
            Self::Committed => f.write_str("its graph succeeded"),
            Self::NeverStarted { node } => write!(f, "{node} was never started"),
            Self::Corrupt { detail } => write!(f, "the store is inconsistent: {detail}"),
        }
    }
}

/// What a graph's stop is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StopReason {
    /// Somebody cancelled it: what has not started ends cancelled.
    Cancel,
    /// It is being re-armed.
    Retry,
    /// It is being deleted.
    Prune,
    /// A node failed in a graph that fails fast: what leads to no handling of a failure ends cancelled.
    Fail,
}

impl StopReason {
    /// The number that stores keep.
    pub const fn code(self) -> i16 {
        match self {
            Self::Cancel => 0,
            Self::Retry => 1,
            Self::Prune => 2,
            Self::Fail => 3,
        }
    }

    /// The reason of a stored number, if this build knows it.
    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Cancel),
            1 => Some(Self::Retry),
            2 => Some(Self::Prune),
            3 => Some(Self::Fail),
            _ => None,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Prune => "prune",
            Self::Fail => "fail fast",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for end in End::ALL {
            assert_eq!(End::from_code(end.code()), Some(end));
        }
        assert_eq!(End::from_code(6), None);
        assert_eq!(End::from_code(-1), None);
    }

    #[test]
    fn an_end_leads_nowhere_and_everything_else_leads_to_an_end() {
        for state in State::ALL {
            assert_eq!(state.next().is_empty(), matches!(state, State::Ended(_)), "{state}");
        }
    }

    #[test]
    fn states_read_as_words_in_json() {
        let text = serde_json::to_string(&[
            State::Ready,
            State::Ended(End::Dead),
            State::Ended(End::Skipped(SkipKind::Untaken)),
        ]);
        assert_eq!(text.unwrap(), r#"["ready","dead",{"skipped":"untaken"}]"#);
    }
}
