//! A worker's turn: outcomes go in, claims come out, one transaction.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::graph::{Count, GraphEnd, PreparedAppend, RetryLater, Role, UndoStep, Why};
use crate::id::{Fence, GraphId, Incarnation, JobId};
use crate::lifecycle::{Cause, End, StopReason};
use crate::limits;
use crate::name::{Kind, Label, NodeName, Queue, RunId};
use crate::payload::Payload;
use crate::rules::JobRules;
use crate::time::Timestamp;

use super::child::Telling;
use super::enqueue::Refusal;
use super::error::{StoreError, StoreErrorKind};
use super::served::Served;
use super::show::Showing;

/// One exchange of a worker with the store.
///
/// Within it the store first settles, then releases children, then claims.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The worker's life.
    pub worker: Incarnation,
    /// Its number: higher than the last one, or the same to repeat it.
    pub number: u64,
    /// Outcomes and decisions of what the worker holds. A job occurs at most once.
    pub settle: Vec<Settle>,
    /// What to claim, if anything.
    pub claim: Option<Claim>,
}

impl Turn {
    /// What it sends to the store, in bytes.
    pub fn bytes(&self) -> usize {
        self.settle.iter().map(Settle::bytes).sum()
    }

    /// Refuses a turn that breaks a limit or settles a job twice, before anything is written.
    ///
    /// A claim over its limits is no error: it takes less.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`], with both numbers: split the turn.
    pub fn check(&self) -> Result<(), StoreError> {
        let invalid = |message: String| Err(StoreError::new(StoreErrorKind::Invalid, "take a turn", message));
        if self.settle.len() > limits::SETTLE_MAX {
            let (have, max) = (self.settle.len(), limits::SETTLE_MAX);
            return invalid(format!("it settles {have} jobs, at most {max} are allowed"));
        }
        let bytes = self.bytes();
        if bytes > limits::BATCH_BYTES_MAX {
            return invalid(format!("it has {bytes} bytes, at most {} are allowed", limits::BATCH_BYTES_MAX));
        }
        let first = |settle: &'_ Settle| match &settle.then {
            Move::Renew(renewal) => Some(renewal.first.bytes.len()),
            _ => None,
        };
        let firsts = self.settle.iter().filter_map(first);
        let entries = self.settle.iter().flat_map(|settle| &settle.journal);
        if let Some(bytes) =
            entries.map(|entry| entry.bytes.len()).chain(firsts).find(|bytes| *bytes > limits::ENTRY_BYTES_MAX)
        {
            let max = limits::ENTRY_BYTES_MAX;
            return invalid(format!("it appends an entry of {bytes} bytes to a journal, at most {max} are allowed"));
        }
        self.settle.iter().flat_map(|settle| &settle.shows).try_for_each(Showing::check)?;
        let mut seen = HashSet::with_capacity(self.settle.len());
        match self.settle.iter().find(|settle| !seen.insert(settle.fence.key)) {
            Some(twice) => invalid(format!("it settles the job with the key {} twice", twice.fence.key)),
            None => Ok(()),
        }
    }

    /// Whether the turn must be on disk before it is answered.
    pub fn is_durable(&self) -> bool {
        self.settle.iter().any(|s| s.durability == Durability::Required)
    }
}

/// What to claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Each queue with its own limit.
    pub queues: Vec<QueueClaim>,
    /// Most jobs to take of all queues together, in the order of the queues; at most [`limits::CLAIM_MAX`].
    pub most: u16,
    /// Most undecided nodes and overdue jobs to take over besides; at most 512.
    pub decisions_max: u16,
}

/// What to claim from one queue: priority first, then the order of arrival.
#[derive(Clone, Debug)]
pub struct QueueClaim {
    /// The queue.
    pub queue: Queue,
    /// The kinds that the worker serves. Others are left alone.
    pub serves: Arc<[Served]>,
    /// Most jobs to take.
    pub limit: u16,
}

/// How often a job was started, has failed, and has lost its worker in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counters {
    /// Starts. In a claim, the number of the attempt that it begins.
    pub attempt: u32,
    /// Failures: what is spent of the attempts allowed.
    pub failures: u32,
    /// Crashes in a row.
    pub crashes: u32,
}

/// What an outcome does to a job. The counters are absolute: the fence guarantees that nobody else
/// has changed them.
#[derive(Clone, Debug)]
pub enum Move {
    /// It is over; its children are counted.
    End(Ending),
    /// It is ready again.
    Again {
        /// Not before this long from now.
        after: Duration,
        /// Its counters from now on.
        counters: Counters,
        /// What to keep of the attempt.
        record: Option<AttemptRecord>,
    },
    /// It cannot run until code or input changes.
    Block {
        /// Why, for people.
        reason: String,
        /// The build that refused it; another one will try it.
        build: u64,
        /// Its counters from now on.
        counters: Counters,
    },
    /// It is the `end` of a graph: the graph is over.
    Close(Closing),
    /// It is the `end` of a graph that has undos: some start, and it waits for them; others end unrun.
    Undo(UndoStep),
    /// It is the `end` of a graph that has failed and is tried again, as by [`Change::BeginRetry`](super::Change::BeginRetry) for what failed:
    /// it waits, and whoever looks carries the retry on once it is due. Somebody's cancel goes before it: the end is then
    /// decided anew.
    Retry(RetryLater),
    /// It is a run and goes on: it stays with its worker, under the same claim. Its journal grows.
    Stay {
        /// Its counters from now on, if they change.
        counters: Option<Counters>,
    },
    /// It is a run and waits: for its time, or for a signal that it has not read. If one is there already,
    /// it is ready at once.
    Park {
        /// Not longer than this from now; `None` for as long as it takes.
        until: Option<Duration>,
        /// Its counters from now on.
        counters: Counters,
    },
    /// It is a run that is paused: nothing wakes it until it is resumed, or cancelled. If that has happened meanwhile, it is ready
    /// at once.
    Hold {
        /// Its counters from now on.
        counters: Counters,
    },
    /// It is a run and begins anew: its next chapter, ready at once. However much has arrived, it is there for that.
    Renew(Renewal),
}

/// How a run begins its next chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The first line of the new journal. The one before it is kept until the next renewal; older ones go.
    pub first: Payload,
    /// The numbers of the arrivals that were taken. They go; of one with a dedup key of its own the key stays, so that it
    /// does not come again.
    pub taken: Vec<i64>,
    /// Its counters from now on.
    pub counters: Counters,
}

/// An end, with what is kept of it.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The end.
    pub end: End,
    /// Why, unless it is a success.
    pub cause: Option<Cause>,
    /// What it leaves, on success.
    pub output: Option<Payload>,
    /// The branches that a gate chose.
    pub branches: Vec<Label>,
    /// How long it stays stored, if it is a lone job. A node stays as long as its graph.
    pub keep: Duration,
    /// Its counters at the end.
    pub counters: Counters,
    /// What to keep of the last attempt.
    pub record: Option<AttemptRecord>,
    /// What it holds its graph back for, if it does. A stop that is there already stays.
    pub stop: Option<StopReason>,
    /// The run that is told of it in the same commit, if one waits for it.
    pub tells: Option<Box<Telling>>,
}

impl Ending {
    /// An end without output, branches or record, that nobody is told of.
    pub fn plain(end: End, cause: Option<Cause>, keep: Duration, counters: Counters) -> Self {
        Self { end, cause, output: None, branches: Vec::new(), keep, counters, record: None, stop: None, tells: None }
    }
}

/// How a graph ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// The end.
    pub end: GraphEnd,
    /// How many nodes ended how.
    pub counts: Vec<Count>,
    /// How long the graph stays stored.
    pub keep: Duration,
    /// The run that is told of it in the same commit, if one waits for it.
    pub tells: Option<Box<Telling>>,
}

/// How an attempt ended that is worth a line of its own. A first attempt that succeeded is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It succeeded.
    Succeeded,
    /// Its handler returned an error.
    Failed,
    /// Its handler panicked.
    Panicked,
    /// It took longer than its timeout.
    TimedOut,
    /// Its worker's lease was lost.
    Crashed,
    /// Its handler put it back.
    Snoozed,
    /// It was asked to stop and did.
    Cancelled,
}

impl AttemptOutcome {
    /// Every outcome, in the order of their codes.
    pub const ALL: [Self; 7] =
        [Self::Succeeded, Self::Failed, Self::Panicked, Self::TimedOut, Self::Crashed, Self::Snoozed, Self::Cancelled];

    /// The number that stores keep.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The outcome of a stored number, if this build knows it.
    pub fn from_code(code: i16) -> Option<Self> {
        usize::try_from(code).ok().and_then(|at| Self::ALL.get(at).copied())
    }

    /// The word that people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed out",
            Self::Crashed => "crashed",
            Self::Snoozed => "snoozed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One line of a job's history. The store adds when it started and ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Its number, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Its error, at most 8 KiB.
    pub error: Option<String>,
    /// What it logged, head and tail, at most 64 KiB.
    pub log: Option<String>,
}

/// Whether losing an outcome in a power cut matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A handler ran: its outcome must be on disk before it is acknowledged.
    Required,
    /// A decision of the core, which would only be made again.
    Lazy,
}

/// One outcome or decision.
#[derive(Clone, Debug)]
pub struct Settle {
    /// The claim under which it was made. A stale one changes nothing.
    pub fence: Fence,
    /// What becomes of the job.
    pub then: Move,
    /// What becomes of it instead if somebody has asked to cancel it or its graph. The store fills
    /// in the cause where it is `None`.
    pub if_cancelled: Option<Ending>,
    /// What a run's journal gains with it, in order, whichever of the two moves is made.
    pub journal: Vec<Payload>,
    /// What a run shows with it, whichever of the two moves is made; of one name the last counts.
    pub shows: Vec<Showing>,
    /// What its graph gains with it ([`Settle::appends`]).
    pub append: Option<Box<Appending>>,
    /// How many arrivals of the run the worker has read. If more are there, its end is refused
    /// ([`Settled::Unread`]; not that for a cancel) and its park is none. `None` to look at nothing.
    pub read: Option<u32>,
    /// Whether it must be on disk.
    pub durability: Durability,
}

impl Settle {
    /// A move without an alternative, a journal or a look at the inbox.
    pub fn new(fence: Fence, then: Move, durability: Durability) -> Self {
        Self {
            fence,
            then,
            if_cancelled: None,
            journal: Vec::new(),
            shows: Vec::new(),
            append: None,
            read: None,
            durability,
        }
    }

    /// A run that goes on: its journal grows, and it stays with its worker.
    pub fn stay(fence: Fence, journal: Vec<Payload>) -> Self {
        Self { journal, ..Self::new(fence, Move::Stay { counters: None }, Durability::Required) }
    }

    /// What its graph gains with it, and the end that it comes with. A store adds the nodes before it settles anything of the
    /// turn, if the claim holds and is with a handler, and settles what [`appended`](Self::appended) makes of it.
    pub fn appends(&self) -> Option<(&Appending, &Ending)> {
        match (&self.append, &self.then) {
            (Some(append), Move::End(ending)) if self.if_cancelled.is_none() && !self.is_of_run() => {
                Some((append, ending))
            }
            _ => None,
        }
    }

    /// What is to be settled once the store has added the nodes, or refused them.
    pub fn appended(&self, refusal: Option<&Refusal>) -> Self {
        let then = match (self.appends(), refusal) {
            (Some((append, success)), Some(refusal)) => Move::End(append.ending(success, refusal)),
            _ => self.then.clone(),
        };
        Self { then, append: None, ..self.clone() }
    }

    /// Whether it makes sense of a run only. Of another job it is [`Settled::Stale`].
    pub fn is_of_run(&self) -> bool {
        let is_of_run = matches!(self.then, Move::Stay { .. } | Move::Park { .. } | Move::Hold { .. } | Move::Renew(_));
        is_of_run || !self.journal.is_empty() || !self.shows.is_empty() || self.read.is_some()
    }

    /// What it adds to the bytes of a turn.
    pub fn bytes(&self) -> usize {
        let record = |r: &Option<AttemptRecord>| {
            r.as_ref().map_or(0, |r| r.error.as_ref().map_or(0, String::len) + r.log.as_ref().map_or(0, String::len))
        };
        let ending = |e: &Ending| e.output.as_ref().map_or(0, |o| o.bytes.len()) + record(&e.record);
        let then = match &self.then {
            Move::End(e) => ending(e),
            Move::Again { record: r, .. } => record(r),
            Move::Block { reason, .. } => reason.len(),
            Move::Undo(step) => 16 * (step.start.len() + step.pass.len()),
            Move::Retry(later) => later.reason.len(),
            Move::Renew(renewal) => renewal.first.bytes.len() + 8 * renewal.taken.len(),
            Move::Close(_) | Move::Stay { .. } | Move::Park { .. } | Move::Hold { .. } => 0,
        };
        let journal: usize = self.journal.iter().map(|entry| 64 + entry.bytes.len()).sum();
        let shows: usize = self.shows.iter().map(Showing::bytes).sum();
        let append = self.append.as_ref().map_or(0, |append| append.nodes.bytes());
        64 + then + journal + shows + append + self.if_cancelled.as_ref().map_or(0, ending)
    }
}

/// What a node adds to its graph with its success.
#[derive(Clone, Debug)]
pub struct Appending {
    /// The new nodes. They are written before the node ends, so that edges from it are counted with its end.
    pub nodes: PreparedAppend,
    /// How the node ends if they cannot be added: what it did is not what it was to do. Its record says why once the
    /// store has refused them.
    pub refused: Ending,
}

impl Appending {
    /// How the node ends whose success would be `success`, now that the store has refused the nodes.
    ///
    /// A success stands in a graph that takes nothing more, because it is stopped or undone; the refusal is recorded with
    /// the attempt. Any other refusal is the handler's own fault, and a failure that no retry can mend.
    pub fn ending(&self, success: &Ending, refusal: &Refusal) -> Ending {
        let stands = matches!(refusal, Refusal::Stopped { .. } | Refusal::Undone { .. } | Refusal::UnknownGraph { .. });
        let mut ending = if stands { success.clone() } else { self.refused.clone() };
        let outcome = if stands { AttemptOutcome::Succeeded } else { AttemptOutcome::Failed };
        let record = ending.record.get_or_insert(AttemptRecord {
            attempt: ending.counters.attempt,
            outcome,
            error: None,
            log: None,
        });
        let error = format!("what it would have added to its graph was refused: {refusal}");
        record.error = Some(limits::cut(&error, limits::ERROR_BYTES_MAX));
        ending
    }
}

/// What became of one [`Settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Settled {
    /// It was written.
    Done,
    /// The move for a cancel was written instead.
    Cancelled,
    /// The fence was stale: nothing was written.
    Stale,
    /// It was to end, and there are arrivals that it has not read, or may be: nothing was written, and
    /// it stays with its worker.
    Unread,
    /// The database raised for it, and for it alone: nothing of it was written, and it stays with its
    /// worker. The same again would be refused again: settle it otherwise.
    Refused,
    /// It was written, and goes on, and is paused: its worker is to bring what it has begun to an end, and hold it.
    Paused,
}

impl Settled {
    /// One byte, for the reply that a store keeps.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The answer of a kept byte.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Done),
            1 => Some(Self::Cancelled),
            2 => Some(Self::Stale),
            3 => Some(Self::Unread),
            4 => Some(Self::Refused),
            5 => Some(Self::Paused),
            _ => None,
        }
    }
}

/// What a turn did.
#[derive(Clone, Debug)]
pub struct TurnReply {
    /// The store's clock in that transaction.
    pub now: Timestamp,
    /// An answer for each outcome, in order.
    pub settled: Vec<Settled>,
    /// What the database said of each outcome that is [`Settled::Refused`], in order. An answer that is
    /// repeated has none of it.
    pub problems: Vec<String>,
    /// What the worker now holds in addition, in the order of its index.
    pub assigned: Vec<Assigned>,
    /// When the next job that is not due yet falls due, whoever serves it.
    pub next_due: Option<Timestamp>,
    /// Whether the worker's lease still holds. When it does not, nothing was claimed: renew it.
    pub lease: Lease,
}

/// Whether a worker's lease holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It does.
    Holds,
    /// Its time is over, though nobody may have taken anything yet.
    Over,
}

/// Something that a worker now holds.
#[derive(Clone, Debug)]
pub enum Assigned {
    /// A job for its handler.
    Job(Box<Claimed>),
    /// A job for a decision of the core.
    Decision(Box<Undecided>),
}

impl Assigned {
    /// The claim.
    pub fn fence(&self) -> Fence {
        match self {
            Self::Job(claimed) => claimed.head.fence,
            Self::Decision(undecided) => undecided.fence,
        }
    }
}

/// What the core needs of a claimed job to decide about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The claim.
    pub fence: Fence,
    /// The job.
    pub id: JobId,
    /// Its kind.
    pub kind: Kind,
    /// The version of its input.
    pub version: u16,
    /// Its queue.
    pub queue: Queue,
    /// Its counters; the attempt is the one that begins.
    pub counters: Counters,
    /// Its rules.
    pub rules: JobRules,
    /// By when it must have ended.
    pub deadline: Option<Timestamp>,
    /// Its place in a graph, if it has one.
    pub node: Option<NodeRef>,
    /// What it is to its graph.
    pub role: Role,
}

impl Head {
    /// Whether the job has lost its worker before, and the next time puts it aside.
    pub fn is_last_chance(&self) -> bool {
        self.counters.crashes > 0 && self.counters.crashes + 1 >= self.rules.crash_limit
    }
}

/// A job's place in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeRef {
    /// The graph.
    pub graph: GraphId,
    /// The node's name in it.
    pub name: NodeName,
}

/// A job under a worker's lease, with what its handler needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// What the core needs of it.
    pub head: Head,
    /// Its input.
    pub input: Payload,
    /// What travels with it.
    pub headers: BTreeMap<String, String>,
    /// When it was enqueued.
    pub enqueued_at: Timestamp,
    /// Its journal, if it is a run.
    pub run: Option<RunHead>,
}

/// What a worker is told of a run when it claims it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunHead {
    /// Its id.
    pub id: RunId,
    /// Its chapter, from 1.
    pub chapter: u32,
    /// How many entries its journal has in this chapter.
    pub entries: u32,
    /// Whether it is paused: it is to be held, and not to be entered.
    pub paused: bool,
}

/// A job that came for a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// The claim.
    pub fence: Fence,
    /// The job.
    pub id: JobId,
    /// Its place in a graph, if it has one.
    pub node: Option<NodeRef>,
    /// Its counters as they stand: a decision begins no attempt.
    pub counters: Counters,
    /// Its rules.
    pub rules: JobRules,
    /// What is to be decided.
    pub why: Why,
}
