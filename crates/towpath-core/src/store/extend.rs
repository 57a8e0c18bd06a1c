//! Heartbeats and rescue: how a worker keeps what it holds, and how others get it when it is gone.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{Fence, Incarnation};
use crate::lifecycle::Cause;
use crate::name::Kind;
use crate::time::Timestamp;

use super::served::Versions;
use super::turn::{Head, Undecided};

/// A heartbeat. The first one registers the worker.
#[derive(Clone, Debug)]
pub struct Beat {
    /// The worker's life.
    pub worker: Incarnation,
    /// Who it is, for peers and people.
    pub identity: WorkerIdentity,
    /// How long its claims hold from now on.
    pub lease: Duration,
    /// The last turn whose reply it has seen.
    pub acknowledged: u64,
    /// Everything it holds. What it was given in an acknowledged turn and does not list goes back
    /// at no cost.
    pub holds: Vec<Fence>,
    /// Whether it stays.
    pub intent: Intent,
}

/// Whether a worker stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It does.
    Stay,
    /// It leaves: what it holds goes back at no cost, and the worker is forgotten.
    Leave,
}

/// What an operator asks of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// To claim nothing more, finish what it holds, and stay.
    Quiet,
    /// To claim nothing more, hand back what it has not begun, finish what it holds, and leave.
    Drain,
    /// To claim again, after it was quiet. A worker that drains goes on draining.
    Resume,
}

impl Wish {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Drain => "drain",
            Self::Resume => "resume",
        }
    }
}

/// What was asked of a worker last, and by whom. Kept as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WishLine {
    /// What.
    pub wish: Wish,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// Why, in their words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Who a worker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerIdentity {
    /// A name for people, such as `host/pid`.
    pub name: String,
    /// Where its process is, so that a peer on the same host can see whether it is gone.
    pub host: HostId,
    /// A hash of the kinds and versions that it serves. Blocked jobs are tried again by another one.
    pub build: u64,
    /// The queues it serves, for people.
    pub queues: Vec<String>,
    /// The kinds it serves, each with the versions that it takes, for people.
    pub kinds: BTreeMap<Kind, Versions>,
}

/// Where a process is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostId {
    /// The machine, as it names itself for ever.
    pub machine: String,
    /// This start of the machine.
    pub boot: String,
    /// The namespace in which the process id counts.
    pub pid_namespace: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in the machine's own ticks: a pid alone is reused.
    pub started: u64,
}

/// What a heartbeat brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeatReply {
    /// The store's clock in that transaction.
    pub now: Timestamp,
    /// What the worker listed and no longer holds.
    pub lost: Vec<Fence>,
    /// What it holds and should stop, with who asked.
    pub cancel: Vec<(Fence, Cause)>,
    /// How many jobs went back because it did not list them.
    pub handed_back: u32,
    /// What was asked of the worker last, if anything was since it registered. It comes with every beat: one that it has seen
    /// asks nothing new.
    pub wish: Option<WishLine>,
}

/// A request for the jobs of dead workers.
#[derive(Clone, Debug)]
pub struct Rescue {
    /// Who asks; it must be registered.
    pub worker: Incarnation,
    /// A turn number, drawn from the same count as its turns.
    pub number: u64,
    /// Workers that the asker knows to be gone, whatever their lease says.
    pub gone: Vec<Incarnation>,
    /// Most jobs to take over.
    pub limit: u16,
}

/// What was taken over.
#[derive(Clone, Debug)]
pub struct RescueReply {
    /// The store's clock in that transaction.
    pub now: Timestamp,
    /// The jobs, now held by the asker, in the order of their index.
    pub rescued: Vec<Rescued>,
}

/// A job taken over from a dead worker, for a decision.
#[derive(Clone, Debug)]
pub enum Rescued {
    /// It was with a handler: that attempt crashed. The counters are those of the claim it lost.
    Job(Box<Head>),
    /// It was there for a decision, which is the asker's now.
    Decision(Box<Undecided>),
}
