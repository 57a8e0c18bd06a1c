//! The rows, and the questions that every verb asks of them. Changes are in `place.rs` and in the verbs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use crate::blob::BlobName;
use crate::graph::{Count, GraphEnd, GraphRules, NodeCounters, RetryMode, Role, Standing, VerdictTable};
use crate::id::{Fence, GraphId, Incarnation, JobId, Token};
use crate::job::NewJob;
use crate::lifecycle::{Cause, End, State, StopReason};
use crate::name::{GraphName, Kind, Label, NodeName, Queue, RunId, ScheduleName, UniqueKey};
use crate::payload::Payload;
use crate::schedule::StoredSchedule;
use crate::store::{
    AttemptOutcome, Counters, ForkedFrom, HostId, MarkLine, NodeRef, PauseLine, ProgressLine, Served, Settled, Shown,
    StopLine, Tombstone, Versions, WishLine,
};
use crate::tally::{Place, Tally};
use crate::time::Timestamp;
use crate::unique::OwnKey;

use super::unique::{Scope, UniqueRow};

/// A number from the store's one ascending sequence: of a job, a graph, a worker, an audit line, or an
/// arrival.
pub(super) type Key = i64;

/// The tables of `docs/store.md`, and the indexes that their constraints and the verbs need.
#[derive(Default)]
pub(super) struct Tables {
    /// How many verbs have written, or tried to.
    pub(super) writes: u64,
    last_key: Key,
    lanes: BTreeMap<(Queue, Kind, u16), Key>,

    pub(super) job: BTreeMap<Key, JobRow>,
    pub(super) job_by_id: BTreeMap<JobId, Key>,

    pub(super) ready: BTreeMap<Slot, ReadyRow>,
    pub(super) ready_by_job: BTreeMap<Key, Slot>,
    pub(super) later: BTreeMap<(Timestamp, Key), LaterRow>,
    pub(super) later_by_job: BTreeMap<Key, Timestamp>,
    pub(super) running: BTreeMap<Key, RunningRow>,
    pub(super) running_by_turn: BTreeMap<(Key, u64, u16), Key>,
    pub(super) blocked: BTreeMap<Key, BlockedRow>,
    pub(super) undecided: BTreeSet<Key>,
    /// Undos that nobody has decided about: graph, rank (the highest first), job.
    pub(super) undo: BTreeSet<(Key, Reverse<u32>, Key)>,
    pub(super) deadline: BTreeSet<(Timestamp, Key)>,

    pub(super) ended: BTreeMap<Key, EndedRow>,
    pub(super) prune_at: BTreeSet<(Timestamp, Key)>,
    pub(super) output: BTreeMap<Key, Payload>,
    pub(super) attempt: BTreeMap<(Key, u32), AttemptRow>,

    pub(super) progress: BTreeMap<Key, ProgressLine>,
    pub(super) tag: BTreeSet<(Key, String)>,
    pub(super) tagged: BTreeSet<(String, Key)>,
    pub(super) mark: BTreeMap<(Key, String), MarkLine>,
    pub(super) blob: BTreeMap<BlobName, (Timestamp, Bytes)>,

    pub(super) run: BTreeMap<Key, RunRow>,
    pub(super) run_by_id: BTreeMap<RunId, Key>,
    /// Ids of runs that were pruned and are taken still.
    pub(super) tombstone: BTreeMap<RunId, Tombstone>,
    pub(super) tombstone_until: BTreeSet<(Timestamp, RunId)>,
    pub(super) entry: BTreeMap<(Key, u32, u32), EntryRow>,
    /// What runs show to their clients, by name.
    pub(super) shown: BTreeMap<(Key, String), Shown>,
    /// Lines of streams, by their numbers from 1.
    pub(super) stream: BTreeMap<(Key, String), Vec<Shown>>,
    pub(super) arrival: BTreeMap<(RunId, Key), ArrivalRow>,
    pub(super) arrival_by_dedup: BTreeSet<(RunId, String)>,
    pub(super) arrival_prune_at: BTreeSet<(Timestamp, Key, RunId)>,

    pub(super) graph: BTreeMap<Key, GraphRow>,
    pub(super) graph_by_id: BTreeMap<GraphId, Key>,
    pub(super) graph_prune_at: BTreeSet<(Timestamp, Key)>,
    pub(super) stop: BTreeMap<Key, StopReason>,
    /// Who asked for a stop.
    pub(super) stopped: BTreeMap<Key, StopLine>,
    /// When somebody is to look at a stopped graph.
    pub(super) stop_due: BTreeMap<Key, Timestamp>,
    /// Of graphs that are being retried: for which nodes, and from when whoever looks carries it on.
    pub(super) retry: BTreeMap<Key, RetryRow>,
    pub(super) node: BTreeMap<Key, NodeRow>,
    pub(super) node_by_graph: BTreeSet<(Key, Key)>,
    pub(super) node_by_name: BTreeMap<(Key, NodeName), Key>,
    pub(super) edge: BTreeMap<(Key, u32), EdgeRow>,

    pub(super) tally: BTreeMap<Place, Tally>,

    pub(super) schedule: BTreeMap<ScheduleName, (i64, StoredSchedule)>,
    pub(super) schedule_next: BTreeSet<(Timestamp, ScheduleName)>,

    pub(super) unique: BTreeMap<(Scope, UniqueKey), UniqueRow>,
    pub(super) unique_by_owner: BTreeMap<Key, (Scope, UniqueKey)>,
    pub(super) unique_until: BTreeSet<(Timestamp, (Scope, UniqueKey))>,

    pub(super) worker: BTreeMap<Key, WorkerRow>,
    pub(super) worker_by_incarnation: BTreeMap<Incarnation, Key>,
    pub(super) lease: BTreeMap<Key, Timestamp>,
    pub(super) pause: BTreeMap<Queue, PauseLine>,
    pub(super) audit: BTreeMap<Key, AuditRow>,
    /// Nodes that recounts have put right.
    pub(super) repaired: u64,
}

/// A place in the head: lane, turnout, seq.
pub(super) type Slot = (Key, i32, Key);

/// A job. Only a requeue updates it: its input, and its deadline.
pub(super) struct JobRow {
    pub(super) new: NewJob,
    pub(super) lane: Key,
    pub(super) enqueued_at: Timestamp,
    /// The parents of a node, each once, in the order of its edges. None for `end`.
    pub(super) parents: Vec<Key>,
}

impl JobRow {
    /// Higher priorities come first in an ascending order.
    pub(super) fn turnout(&self) -> i32 {
        -i32::from(self.new.priority)
    }
}

pub(super) struct ReadyRow {
    pub(super) job: Key,
    pub(super) counters: Counters,
}

pub(super) struct LaterRow {
    pub(super) counters: Counters,
    /// Whether it is a run that a signal wakes.
    pub(super) parked: bool,
}

pub(super) struct RunningRow {
    pub(super) worker: Key,
    pub(super) turn: u64,
    pub(super) index: u16,
    pub(super) with: With,
    pub(super) counters: Counters,
    pub(super) started_at: Timestamp,
    /// Who asked to cancel it.
    pub(super) cancel: Option<Cause>,
}

/// What a worker holds a job for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum With {
    Handler,
    /// A decision: its parents ended and it may not simply start.
    Parents,
    /// A decision: its graph is stopped.
    Stopped,
    /// A decision: its deadline has passed.
    Deadline,
    /// A decision: it is the `end` of its graph.
    End,
}

pub(super) struct BlockedRow {
    pub(super) counters: Counters,
    pub(super) build: u64,
    pub(super) reason: String,
}

pub(super) struct EndedRow {
    pub(super) end: End,
    pub(super) cause: Option<Cause>,
    pub(super) branches: Vec<Label>,
    pub(super) counters: Counters,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Timestamp,
    /// For a lone job; a node goes with its graph.
    pub(super) prune_at: Option<Timestamp>,
}

pub(super) struct AttemptRow {
    pub(super) outcome: AttemptOutcome,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) error: Option<String>,
    pub(super) log: Option<String>,
}

pub(super) struct RunRow {
    pub(super) id: RunId,
    pub(super) chapter: u32,
    /// How many entries this chapter has.
    pub(super) entries: u32,
    pub(super) paused: Option<PauseLine>,
    pub(super) origin: Option<ForkedFrom>,
    /// How long its id stays taken after its end.
    pub(super) keep_id: Option<Duration>,
}

impl RunRow {
    /// One that has not begun.
    pub(super) fn new(id: RunId, keep_id: Option<Duration>) -> Self {
        Self { id, chapter: 1, entries: 0, paused: None, origin: None, keep_id }
    }
}

/// An entry of a journal, by run, chapter and place.
pub(super) struct EntryRow {
    pub(super) payload: Payload,
    pub(super) at: Timestamp,
}

/// A signal, by run and number.
pub(super) struct ArrivalRow {
    pub(super) name: Label,
    pub(super) dedup: Option<String>,
    pub(super) payload: Payload,
    pub(super) at: Timestamp,
    /// Of one whose run was not there when it came.
    pub(super) prune_at: Option<Timestamp>,
}

pub(super) struct GraphRow {
    pub(super) id: GraphId,
    pub(super) name: GraphName,
    pub(super) rules: GraphRules,
    /// What it has again when it is retried after its end.
    pub(super) own_key: Option<OwnKey>,
    pub(super) input: Option<Payload>,
    /// `end` is not counted.
    pub(super) nodes: u32,
    /// The place of the next edge.
    pub(super) edges: u32,
    pub(super) created_at: Timestamp,
    /// From 1; rises with each retry.
    pub(super) generation: u32,
    /// How many nodes its last retry has let wait anew.
    pub(super) rearmed: u32,
    pub(super) restart_of: Option<GraphId>,
    pub(super) over: Option<OverRow>,
    /// How it had ended when its undos were first looked at, and the rank that was started last.
    pub(super) undoing: Option<GraphEnd>,
    pub(super) undo_rank: Option<u32>,
    /// Nodes of lower keys belong to what had succeeded before the graph grew.
    pub(super) committed: Key,
}

/// What is written on a graph when its `end` is decided, and unset when it grows again.
pub(super) struct OverRow {
    pub(super) end: GraphEnd,
    pub(super) ended_at: Timestamp,
    pub(super) prune_at: Timestamp,
}

pub(super) struct NodeRow {
    pub(super) graph: Key,
    pub(super) name: NodeName,
    pub(super) role: Role,
    pub(super) phase: Phase,
    pub(super) counters: NodeCounters,
    /// Attempts before it was last re-armed.
    pub(super) attempt: u32,
    /// The parent of the edge that `counters.cause` ranks.
    pub(super) cause_parent: Option<Key>,
    /// The longest path to it from a root. An undo's is that of what it guards.
    pub(super) depth: u32,
    /// Of an undo, what it guards.
    pub(super) guards: Option<Key>,
    /// Whether a claim of it was refunded: it has started, whatever its counters say.
    pub(super) started: bool,
    /// How many attempts it had when it was undone last.
    pub(super) undone: u32,
}

pub(super) struct RetryRow {
    pub(super) mode: RetryMode,
    pub(super) since: Timestamp,
    pub(super) due: Timestamp,
}

/// How far a node has come with its parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for them.
    Waiting,
    /// All have ended and it came for a decision.
    Undecided,
    /// It was made ready.
    Released,
}

pub(super) struct EdgeRow {
    pub(super) child: Key,
    pub(super) verdicts: VerdictTable,
    pub(super) label: Option<Label>,
}

pub(super) struct WorkerRow {
    pub(super) incarnation: Incarnation,
    /// The number of the last turn, and what it answered for each outcome.
    pub(super) turn: u64,
    pub(super) settled: Vec<Settled>,
    pub(super) name: String,
    pub(super) host: HostId,
    pub(super) queues: Vec<String>,
    pub(super) kinds: BTreeMap<Kind, Versions>,
    pub(super) registered_at: Timestamp,
    /// What was asked of it last. Stores on disk have it beside the lease.
    pub(super) wish: Option<WishLine>,
}

pub(super) struct AuditRow {
    pub(super) at: Timestamp,
    pub(super) actor: String,
    pub(super) reason: String,
    pub(super) action: &'static str,
    pub(super) target: String,
    pub(super) outcome: String,
}

impl Tables {
    /// The next number of the sequence.
    pub(super) fn draw(&mut self) -> Key {
        self.last_key += 1;
        self.last_key
    }

    /// The lane of a job, made when it is the first there.
    pub(super) fn lane(&mut self, job: &NewJob) -> Key {
        let name = (job.queue.clone(), job.kind.clone(), job.version);
        if let Some(lane) = self.lanes.get(&name) {
            return *lane;
        }
        let lane = self.draw();
        self.lanes.insert(name, lane);
        lane
    }

    /// The lanes of a queue with this kind and one of these versions.
    pub(super) fn lanes_served<'t>(&'t self, queue: &Queue, served: &'t Served) -> impl Iterator<Item = Key> + 't {
        let name = |version| (queue.clone(), served.kind.clone(), version);
        let lanes = self.lanes.range(name(0)..=name(u16::MAX));
        lanes.filter(|((.., version), _)| served.versions.has(*version)).map(|(_, lane)| *lane)
    }

    /// Where a job stands, which is where its row is.
    pub(super) fn state(&self, job: Key) -> State {
        if let Some(row) = self.ended.get(&job) {
            return State::Ended(row.end);
        }
        if let Some(row) = self.running.get(&job) {
            return match row.with {
                With::Handler => State::Running,
                With::Parents | With::End => State::Waiting,
                With::Stopped | With::Deadline => State::Ready,
            };
        }
        if self.blocked.contains_key(&job) {
            return State::Blocked;
        }
        if self.later_by_job.contains_key(&job) || self.ready_by_job.contains_key(&job) {
            return State::Ready;
        }
        State::Waiting
    }

    /// A job's counters, wherever its row is.
    pub(super) fn counters(&self, job: Key) -> Counters {
        let ended = || self.ended.get(&job).map(|row| row.counters);
        let running = || self.running.get(&job).map(|row| row.counters);
        let blocked = || self.blocked.get(&job).map(|row| row.counters);
        let later = || self.later_by_job.get(&job).and_then(|due| self.later.get(&(*due, job))).map(|row| row.counters);
        let ready = || self.ready_by_job.get(&job).and_then(|slot| self.ready.get(slot)).map(|row| row.counters);
        ended().or_else(running).or_else(blocked).or_else(later).or_else(ready).unwrap_or_default()
    }

    /// The error of a job's newest attempt that has one.
    pub(super) fn last_error(&self, job: Key) -> Option<String> {
        self.attempts_of(job).rev().find_map(|(_, row)| row.error.clone())
    }

    pub(super) fn attempts_of(&self, job: Key) -> impl DoubleEndedIterator<Item = (u32, &AttemptRow)> {
        self.attempt.range((job, 0)..=(job, u32::MAX)).map(|((_, number), row)| (*number, row))
    }

    /// A job's place in a graph.
    pub(super) fn node_ref(&self, job: Key) -> Option<NodeRef> {
        let node = self.node.get(&job)?;
        let graph = self.graph.get(&node.graph)?;
        Some(NodeRef { graph: graph.id, name: node.name.clone() })
    }

    /// What holds a job's graph back.
    pub(super) fn stop_of(&self, job: Key) -> Option<StopReason> {
        self.node.get(&job).and_then(|node| self.stop.get(&node.graph)).copied()
    }

    /// Whether an undecided node came because its graph is stopped: one that fails fast says more of what waits for a failed node.
    pub(super) fn is_stopped(&self, job: Key) -> bool {
        let would_start = |node: &NodeRow| node.counters.standing() == Standing::Ready;
        match self.stop_of(job) {
            Some(StopReason::Cancel) => true,
            Some(StopReason::Fail) => self.held_back(job).is_some() && self.node.get(&job).is_some_and(would_start),
            _ => false,
        }
    }

    /// What keeps a job from its handler: the stop of its graph, unless it handles the failure that stopped it, or is an
    /// undo.
    pub(super) fn held_back(&self, job: Key) -> Option<StopReason> {
        let role = || self.node.get(&job).map_or(Role::PLAIN, |node| node.role);
        self.stop_of(job).filter(|stop| role().is_held_by(*stop))
    }

    /// Why a job that runs is to stop, if its graph asks for it.
    pub(super) fn cancelled_by(&self, job: Key) -> Option<Cause> {
        let stop = self.held_back(job)?;
        matches!(stop, StopReason::Cancel | StopReason::Fail).then_some(Cause::GraphStopped { stop })
    }

    /// Whether a job is the hidden last node of a graph.
    pub(super) fn is_end(&self, job: Key) -> bool {
        self.node.get(&job).is_some_and(|node| node.role.has(Role::END))
    }

    /// Whether a job undoes another one.
    pub(super) fn is_undo(&self, job: Key) -> bool {
        self.node.get(&job).is_some_and(|node| node.role.has(Role::UNDO))
    }

    /// Whether a cancel of its graph ends a job: neither the `end` nor an undo.
    pub(super) fn is_plain(&self, job: Key) -> bool {
        !self.is_end(job) && !self.is_undo(job)
    }

    /// Whether a job is a node that came for a decision about its parents or its graph.
    pub(super) fn is_undecided(&self, job: Key) -> bool {
        self.node.get(&job).is_some_and(|node| node.phase == Phase::Undecided)
    }

    /// A graph that can be seen: not one that is being pruned.
    pub(super) fn visible_graph(&self, id: GraphId) -> Option<(Key, &GraphRow)> {
        let key = *self.graph_by_id.get(&id)?;
        if self.stop.get(&key) == Some(&StopReason::Prune) {
            return None;
        }
        Some((key, self.graph.get(&key)?))
    }

    /// The nodes of a graph by key, `end` among them.
    pub(super) fn nodes_of(&self, graph: Key) -> impl Iterator<Item = Key> + use<'_> {
        self.node_by_graph.range((graph, Key::MIN)..=(graph, Key::MAX)).map(|(_, job)| *job)
    }

    /// The hidden last node of a graph.
    pub(super) fn end_of(&self, graph: Key) -> Option<Key> {
        self.node_by_name.get(&(graph, NodeName::from_stored(NodeName::END))).copied()
    }

    /// The edges from a node to its children, by their place.
    pub(super) fn edges_of(&self, parent: Key) -> impl Iterator<Item = (u32, &EdgeRow)> {
        self.edge.range((parent, 0)..=(parent, u32::MAX)).map(|((_, ord), row)| (*ord, row))
    }

    /// The jobs that a worker holds, by turn and index.
    pub(super) fn held_by(&self, worker: Key) -> Vec<Key> {
        let all = (worker, 0, 0)..=(worker, u64::MAX, u16::MAX);
        self.running_by_turn.range(all).map(|(_, job)| *job).collect()
    }

    /// The claim under which a running job is held.
    pub(super) fn fence(&self, job: Key, row: &RunningRow, incarnation: Incarnation) -> Fence {
        Fence { key: job, token: Token { worker: incarnation, turn: row.turn, index: row.index } }
    }

    /// The running row of a claim, if the claim still holds.
    pub(super) fn running_under(&self, fence: Fence) -> Option<&RunningRow> {
        let Token { worker, turn, index } = fence.token;
        let worker = *self.worker_by_incarnation.get(&worker)?;
        self.running.get(&fence.key).filter(|row| (row.worker, row.turn, row.index) == (worker, turn, index))
    }

    /// What has arrived for a run, by number.
    pub(super) fn arrivals_of(&self, run: &RunId) -> impl Iterator<Item = (Key, &ArrivalRow)> {
        self.arrival.range((run.clone(), Key::MIN)..=(run.clone(), Key::MAX)).map(|((_, seq), row)| (*seq, row))
    }

    /// Whether a job is a run that has begun and has not ended: it is cancelled by an arrival, so that its undos run.
    pub(super) fn has_begun(&self, job: Key) -> bool {
        let Some(run) = self.run.get(&job) else { return false };
        let is_handled = self.running.get(&job).is_some_and(|row| row.with == With::Handler);
        !self.ended.contains_key(&job) && (is_handled || run.entries > 0)
    }

    /// Whether a job is a run with something in the journal of its chapter.
    pub(super) fn has_journal(&self, job: Key) -> bool {
        self.run.get(&job).is_some_and(|run| run.entries > 0)
    }

    /// How many nodes of a graph ended how, ordered by end, then role; `end` left out.
    pub(super) fn counts(&self, graph: Key) -> Vec<Count> {
        let mut counts: BTreeMap<(End, Role), u32> = BTreeMap::new();
        for job in self.nodes_of(graph).filter(|job| !self.is_end(*job)) {
            if let (Some(node), Some(row)) = (self.node.get(&job), self.ended.get(&job)) {
                *counts.entry((row.end, node.role)).or_default() += 1;
            }
        }
        counts.into_iter().map(|((end, role), nodes)| Count { end, role, nodes }).collect()
    }
}

impl NodeRow {
    /// Counts an ended parent by one of its edges.
    pub(super) fn count(&mut self, parent: Key, ended: &EndedRow, ord: u32, edge: &EdgeRow) {
        let before = self.counters.cause;
        self.counters.add(edge.verdicts.verdict(ended.end, edge.label.as_ref(), &ended.branches), ord);
        if self.counters.cause != before {
            self.cause_parent = Some(parent);
        }
    }

    /// What its counters say, in a graph that is stopped so: of one that is being retried nothing is placed.
    pub(super) fn standing(&self, stop: Option<StopReason>) -> Standing {
        match (stop, self.counters.standing()) {
            (Some(StopReason::Retry), _) => Standing::Waits,
            (Some(stop), Standing::Ready) if self.role.is_held_by(stop) => Standing::Undecided,
            (_, standing) => standing,
        }
    }

    /// Takes back an ended parent by one of its edges.
    pub(super) fn uncount(&mut self, ended: &EndedRow, edge: &EdgeRow) {
        self.counters.remove(edge.verdicts.verdict(ended.end, edge.label.as_ref(), &ended.branches));
    }
}
