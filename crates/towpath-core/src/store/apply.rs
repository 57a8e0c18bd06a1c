//! Operators' orders: planned by the core, carried out by the store, recorded in the same transaction.

use std::fmt;
use std::time::Duration;

use crate::graph::{Behind, RetryMode, Retrying};
use crate::id::{GraphId, Incarnation, JobId};
use crate::lifecycle::{Cause, End, State, StopReason};
use crate::limits;
use crate::name::{Queue, RunId};
use crate::payload::Payload;
use crate::replay::Kept;
use crate::time::Timestamp;
use crate::unique::KeyHolder;

use super::edit::Edit;
use super::error::{StoreError, StoreErrorKind};
use super::extend::Wish;
use super::turn::Ending;

/// Changes that somebody asked for.
#[derive(Clone, Debug)]
pub struct Order {
    /// Who.
    pub actor: String,
    /// Why, in their words.
    pub reason: String,
    /// What, in order; one transaction.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// Ends a job that has not started, children counted.
    ///
    /// A node whose parents have not all ended is left alone: a node never ends before its parents. A run that has
    /// begun (its journal has entries, or it is with a handler) does not end past its undos: see [`WhileRunning`].
    End {
        /// The job.
        job: JobId,
        /// Its end. The counters, and how long it is kept, are taken from the job.
        ending: Box<Ending>,
        /// What to do if it runs, or is a run that has begun.
        running: WhileRunning,
    },
    /// Holds a graph back. A second stop with the same reason changes nothing.
    Stop {
        /// The graph.
        graph: GraphId,
        /// For what.
        reason: StopReason,
    },
    /// Lifts a stop with this reason.
    Unstop {
        /// The graph.
        graph: GraphId,
        /// For what it was.
        reason: StopReason,
    },
    /// Ends nodes of a stopped graph that have not started, children counted, and says when somebody is to look at it next.
    /// Nothing is changed unless the graph is still held back for this reason. Nodes that run, or are runs that have begun,
    /// are left alone. Without nodes it is not put on record.
    SettleStopped {
        /// The graph.
        graph: GraphId,
        /// For what it is held back.
        reason: StopReason,
        /// Its nodes, as [`settleable`](super::Store::settleable) lists them.
        nodes: Vec<JobId>,
        /// How they end. The counters, and how long each is kept, are taken from the job.
        ending: Box<Ending>,
        /// After this long the graph is among [`stops`](super::Store::stops); `None`: never again.
        look: Option<Duration>,
    },
    /// Counts the parents of every waiting node again, from the edges.
    Recount {
        /// The graph.
        graph: GraphId,
    },
    /// Changes what a job was enqueued with, as long as no worker has it: it waits, is ready, not due yet (between two
    /// attempts too), or blocked, and is then tried again. A run that has begun is left alone. The only write of a `job` row
    /// after its insert: an id of a job whose input was edited is taken by other content.
    Edit {
        /// The job.
        job: JobId,
        /// What is new.
        edit: Box<Edit>,
    },
    /// Lets nobody claim from a queue any more, from the next claim on. What is with a worker stays there, and
    /// decisions (cancels, deadlines, skips) are made all the same. A queue that is paused already keeps its first pause.
    Pause {
        /// The queue, which need not have had a job yet.
        queue: Queue,
    },
    /// Lets workers claim from a queue again, and wakes them.
    Unpause {
        /// The queue.
        queue: Queue,
    },
    /// Asks something of a worker, in whichever process: it hears of it with its next heartbeat, and is told to make one.
    Command {
        /// The worker's life.
        worker: Incarnation,
        /// What is asked.
        wish: Wish,
    },
    /// Lets nobody enter a run any more. A worker that has it brings to an end what it has begun. Its timers, its `max_duration`
    /// and its deadline go on, and what arrives is kept. A run that is paused already keeps its first pause; one that has ended
    /// is left alone. A cancel lifts the pause.
    PauseRun {
        /// The run.
        run: RunId,
    },
    /// Lets a run go on. One that is not paused stays as it is.
    ResumeRun {
        /// The run.
        run: RunId,
    },
    /// Puts a lone job that has ended back into the head, or any job that is blocked: a new arrival, its failures and
    /// crashes at 0. The number of its attempts goes on and their history stays; its output is gone, and a deadline that
    /// has passed is lifted.
    Requeue {
        /// The job.
        job: JobId,
        /// The ends that it may leave.
        from: Vec<End>,
        /// What its handler is given from now on, in place of what it was given before.
        input: Option<Payload>,
    },
    /// Lets a lone run that has ended go on in its next chapter, whose journal begins with lines of the one that has ended: what a
    /// [`Cut`](crate::replay::Cut) says. That one is kept beside it, older ones go. The cancel that it was told goes; what it
    /// was sent stays, and what lines that are left out had taken is there again. Else as a requeue: a new arrival, its
    /// failures and crashes at 0. One that has begun another chapter meanwhile is left alone.
    RetryRun {
        /// The job that is the run.
        job: JobId,
        /// The ends that it may leave.
        from: Vec<End>,
        /// The chapter that has ended.
        chapter: u32,
        /// The first line of the next one.
        first: Payload,
        /// What follows it, of the lines of this one.
        kept: Kept,
    },
    /// Begins to retry a graph in place: a stop with this mode takes the place of one to cancel or of a failure. While it
    /// is there, nothing of the graph is decided or comes to a handler, and its `end` waits; what runs goes on. A retry that
    /// is under way stays as it is, and is answered. A graph that has ended and would hold its unique key again has it again,
    /// or is left where another one has it; so is one whose undos run.
    BeginRetry {
        /// The graph.
        graph: GraphId,
        /// Which nodes it is for, as [`plan_retry`](crate::plan_retry) reads it.
        mode: RetryMode,
        /// After this long, whoever looks carries it on.
        grace: Duration,
    },
    /// Lets nodes wait anew that have ended, and their children with them that have not started. Their outputs go; the
    /// number of their attempts goes on; a run begins its next chapter, with an empty journal; an undo waits until its
    /// graph has failed again or is cancelled. A node that has not ended is left out.
    Rearm {
        /// The graph, which is being retried.
        graph: GraphId,
        /// Of which generation it is.
        generation: u32,
        /// The nodes.
        nodes: Vec<JobId>,
        /// Those among them that the graph's `end` is to wait for by an edge of its own.
        holding: Vec<JobId>,
        /// Those among them that were undone: until they are with a handler again they count as never started.
        undone: Vec<JobId>,
        /// Edges that lead to them from now on. One that is there already, or whose parent is no node of the graph, is left out.
        behind: Vec<Behind>,
    },
    /// Ends a retry: the next generation begins. The stop goes, and every node is placed where its parents put it.
    EndRetry {
        /// The graph, which is being retried.
        graph: GraphId,
        /// Of which generation it is.
        generation: u32,
    },
    /// Gives an ended node of a graph that is being retried another input.
    Replace {
        /// The node's job.
        job: JobId,
        /// What its handler is given from now on.
        input: Payload,
    },
}

impl Order {
    /// Checks what can be refused without a look at the store.
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] for what [`Edit::check`] refuses, for an input that is too large or that no store can keep,
    /// and for inputs over 16 MiB in all: split the order.
    pub fn check(&self) -> Result<(), StoreError> {
        let mut bytes = 0;
        for change in &self.changes {
            let input = match change {
                Change::Edit { job, edit } => {
                    edit.check(*job)?;
                    &edit.input
                }
                Change::Requeue { job, input, .. } => {
                    check_input(*job, input.as_ref())?;
                    input
                }
                Change::RetryRun { job, first, kept, .. } => {
                    if !kept.is_sound() {
                        return Err(invalid(format!("the lines that job {job} is to keep are not in order")));
                    }
                    check_input(*job, Some(first))?;
                    bytes += first.bytes.len();
                    &None
                }
                Change::Replace { job, input } => {
                    check_input(*job, Some(input))?;
                    bytes += input.bytes.len();
                    &None
                }
                _ => &None,
            };
            bytes += input.as_ref().map_or(0, |input| input.bytes.len());
        }
        let max = limits::BATCH_BYTES_MAX;
        if bytes > max {
            return Err(invalid(format!("its inputs have {bytes} bytes, at most {max} are allowed: split it")));
        }
        Ok(())
    }
}

pub(super) fn invalid(problem: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, "carry out an order", problem)
}

pub(super) fn check_input(job: JobId, input: Option<&Payload>) -> Result<(), StoreError> {
    let Some(input) = input else { return Ok(()) };
    let (bytes, max) = (input.bytes.len(), limits::PAYLOAD_BYTES_MAX);
    if bytes > max {
        return Err(invalid(format!("the new input of job {job} has {bytes} bytes, at most {max} are allowed")));
    }
    input.check_text().map_err(|problem| invalid(format!("the new input of job {job}: {problem}")))
}

impl Change {
    /// What it does, as the verb that an audit line shows.
    pub fn action(&self) -> &'static str {
        match self {
            Self::End { ending, .. } if matches!(ending.cause, Some(Cause::Abandoned { .. })) => "abandon",
            Self::End { running: WhileRunning::Fence, .. } => "terminate",
            Self::End { ending, .. } if ending.end == End::Cancelled => "cancel",
            Self::End { .. } => "end",
            Self::Stop { .. } => "stop",
            Self::Unstop { .. } => "unstop",
            Self::SettleStopped { .. } => "settle",
            Self::Recount { .. } => "recount",
            Self::Edit { .. } => "edit",
            Self::Pause { .. } => "pause",
            Self::Command { wish: Wish::Quiet, .. } => "quiet worker",
            Self::Command { wish: Wish::Drain, .. } => "drain worker",
            Self::Command { wish: Wish::Resume, .. } => "resume worker",
            Self::Unpause { .. } => "unpause",
            Self::PauseRun { .. } => "pause run",
            Self::ResumeRun { .. } => "resume run",
            Self::Requeue { input: None, .. } => "requeue",
            Self::Requeue { input: Some(_), .. } => "requeue with a new input",
            Self::BeginRetry { .. } => "retry",
            Self::RetryRun { .. } => "retry run",
            Self::Rearm { .. } => "rearm",
            Self::EndRetry { .. } => "end retry",
            Self::Replace { .. } => "replace input",
        }
    }

    /// Whether it is put on record. What changes nothing that anybody sees is not.
    pub const fn is_on_record(&self) -> bool {
        !matches!(self, Self::SettleStopped { nodes, .. } if nodes.is_empty())
    }

    /// What it is done to, as an audit line shows it.
    pub fn target(&self) -> String {
        match self {
            Self::End { job, .. }
            | Self::Edit { job, .. }
            | Self::Requeue { job, .. }
            | Self::RetryRun { job, .. }
            | Self::Replace { job, .. } => job.to_string(),
            Self::Stop { graph, .. }
            | Self::Unstop { graph, .. }
            | Self::SettleStopped { graph, .. }
            | Self::Recount { graph }
            | Self::BeginRetry { graph, .. }
            | Self::Rearm { graph, .. }
            | Self::EndRetry { graph, .. } => graph.to_string(),
            Self::Pause { queue } | Self::Unpause { queue } => queue.to_string(),
            Self::Command { worker, .. } => worker.to_string(),
            Self::PauseRun { run } | Self::ResumeRun { run } => run.to_string(),
        }
    }
}

/// What an order to end a job does when it runs, or is a run that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhileRunning {
    /// Its worker is asked to stop it. A run gets an arrival that says so ([`CancelNote`](super::CancelNote)) and is woken.
    Ask,
    /// It is left alone.
    Leave,
    /// It ends all the same: its worker's claim is stale from then on, and undos do not run.
    Fence,
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The store's clock in that transaction.
    pub now: Timestamp,
    /// An answer for each change, in order.
    pub changes: Vec<Changed>,
}

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The job is over.
    Ended,
    /// The job runs, and its worker will be asked to stop it; or it is a run that has begun, and will be told.
    Asked,
    /// The job is in a state to which the change does not apply; nothing changed.
    Left(State),
    /// There is no such job or graph.
    Unknown,
    /// The graph is held back; its nodes stood so.
    Stopped(StopCounts),
    /// The stop is lifted, or there was none.
    Unstopped,
    /// So many of the nodes have ended.
    Settled {
        /// How many.
        nodes: u32,
    },
    /// The graph is not held back for this reason. Nothing changed.
    NotStopped,
    /// So many counters were wrong and are right now. More than none is a fault of the store.
    Recounted {
        /// How many.
        repaired: u32,
    },
    /// The job is as it was asked to be.
    Edited,
    /// The queue, or the run, is paused.
    Paused,
    /// The queue, or the run, is paused no longer, or was not.
    Unpaused,
    /// The job is ready again.
    Requeued,
    /// The job is a node that has ended, and others may have followed it: its graph is to be retried. Nothing changed.
    OfGraph,
    /// The job is a run that has begun: its journal stands against it. Nothing changed.
    HasBegun,
    /// The job or graph has ended, and another one has its unique key since. Nothing changed.
    KeyTaken {
        /// Who has it.
        by: KeyHolder,
    },
    /// The graph is being retried, by this order or by an earlier one.
    Retrying {
        /// For which nodes, since when.
        retrying: Retrying,
        /// The generation that is to end.
        generation: u32,
    },
    /// Undos of the graph run, or are to come: it is retried when it has ended. Nothing changed.
    Undoing,
    /// So many nodes wait anew.
    Rearmed {
        /// How many.
        nodes: u32,
    },
    /// The retry is over.
    Retried {
        /// The generation that begins.
        generation: u32,
    },
    /// The graph is not being retried, or is of another generation. Nothing changed.
    NotRetrying,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("ended"),
            Self::Asked => f.write_str("asked"),
            Self::Left(state) => write!(f, "left {state}"),
            Self::Unknown => f.write_str("unknown"),
            Self::Stopped(counts) => write!(
                f,
                "stopped: {} ended, {} running, {} not started",
                counts.ended, counts.running, counts.unstarted
            ),
            Self::Unstopped => f.write_str("unstopped"),
            Self::Settled { nodes } => write!(f, "settled {nodes}"),
            Self::NotStopped => f.write_str("left: not stopped"),
            Self::Recounted { repaired } => write!(f, "repaired {repaired}"),
            Self::Edited => f.write_str("edited"),
            Self::Paused => f.write_str("paused"),
            Self::Unpaused => f.write_str("unpaused"),
            Self::Requeued => f.write_str("requeued"),
            Self::OfGraph => f.write_str("left: a node of a graph"),
            Self::HasBegun => f.write_str("left: a run that has begun"),
            Self::KeyTaken { by } => write!(f, "left: its unique key is held by {by}"),
            Self::Retrying { retrying, generation } => write!(f, "retrying {}, generation {generation}", retrying.mode),
            Self::Undoing => f.write_str("left: its undos run"),
            Self::Rearmed { nodes } => write!(f, "rearmed {nodes}"),
            Self::Retried { generation } => write!(f, "generation {generation}"),
            Self::NotRetrying => f.write_str("left: not being retried"),
        }
    }
}

/// How a graph's nodes stood when it was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopCounts {
    /// Over already.
    pub ended: u32,
    /// Running, or a run that has begun and waits, as a node does that holds a graph or goes through a list: asked to stop.
    pub running: u32,
    /// Not started: will be cancelled.
    pub unstarted: u32,
}
