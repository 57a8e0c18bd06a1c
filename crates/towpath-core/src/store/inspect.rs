//! Questions of people: paged, never on the path of work.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::builtin::guard_of;
use crate::graph::{Compensation, Condition, GraphEnd, GraphRules, NodeCounters, Role, VerdictTable};
use crate::id::{GraphId, Incarnation, JobId};
use crate::lifecycle::{Cause, End, State, StopReason};
use crate::name::{GraphName, Kind, Label, NodeName, Queue, RunId};
use crate::payload::Payload;
use crate::rules::JobRules;
use crate::tally::{Tally, Width};
use crate::time::Timestamp;

use super::extend::WishLine;
use super::note::ProgressLine;
use super::served::Versions;
use super::show::StreamHead;
use super::start::ForkedFrom;
use super::tombstone::Tombstone;
use super::turn::{AttemptOutcome, Counters, NodeRef};
use super::{BoxFuture, StoreResult};

/// Read-only views. Lists come newest first and are paged by key.
pub trait Inspect: Send + Sync {
    /// One job.
    fn job(&self, id: JobId) -> BoxFuture<'_, StoreResult<Option<JobDetail>>>;

    /// The job that a run is, or, if it was pruned and its id is taken still, was ([`tombstone`](Self::tombstone)).
    fn run(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<JobId>>>;

    /// What is left of a run that was pruned, while its id stays taken. `None` if a run has the id, or nobody.
    fn tombstone(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<Tombstone>>>;

    /// The streams into which a run has written, by name; at most [`STREAMS_MAX`](crate::limits::STREAMS_MAX).
    fn streams(&self, run: RunId) -> BoxFuture<'_, StoreResult<Vec<StreamHead>>>;

    /// What was counted ([`Store::record`](super::Store::record)) from an instant on, by instant, queue and kind; at most
    /// [`TALLIES_MAX`](crate::limits::TALLIES_MAX) lines, the oldest first.
    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, StoreResult<Vec<TallyLine>>>;

    /// Jobs, newest first.
    fn jobs(&self, filter: JobFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<JobLine>>>;

    /// The attempts that are kept of a job, oldest first.
    fn attempts(&self, id: JobId) -> BoxFuture<'_, StoreResult<Vec<AttemptLine>>>;

    /// One graph, with all its nodes (in the order of their enqueue, `end` left out) and edges.
    fn graph(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphDetail>>>;

    /// One graph without its nodes and edges: what this costs does not grow with them.
    fn graph_line(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphLine>>>;

    /// Graphs, newest first.
    fn graphs(&self, filter: GraphFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<GraphLine>>>;

    /// Tags that jobs have, by their text, each with how many jobs have it: those that begin with `prefix`, after `after`; at
    /// most `limit`, and at most [`TAGS_LISTED_MAX`](crate::limits::TAGS_LISTED_MAX).
    fn tags(&self, query: TagQuery) -> BoxFuture<'_, StoreResult<Vec<TagLine>>>;

    /// Queues with live work, and those that are paused, by name. What is ready is counted up to `most` of each kind and
    /// version, what is not due yet up to `most` in all and which of it is not said, so that a backlog costs a look no more than
    /// that; what runs and what is blocked is counted whole.
    fn queues(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<QueueLine>>>;

    /// How much work of each kind and version has not ended, by kind, then by version: what the code of that version is still
    /// needed for. What is ready is counted up to `most` of each queue, kind and version; the other work that is open is counted whole.
    fn open_versions(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<VersionLine>>>;

    /// Which [patches](crate::replay::Entry::Patched) live runs have recorded in the chapter in which they are, by function, version and
    /// patch: while a run lacks one that passed its place before, the code for such runs is still needed. Looks at all that is
    /// open.
    fn open_patches(&self) -> BoxFuture<'_, StoreResult<Vec<PatchLine>>>;

    /// Workers, oldest first.
    fn workers(&self) -> BoxFuture<'_, StoreResult<Vec<WorkerLine>>>;

    /// What operators have done, newest first.
    fn audit(&self, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>>;

    /// What operators have done to one thing, newest first: [`AuditLine::target`] is this text. Names of different sorts may
    /// read the same, as those of a queue and of a schedule.
    fn audit_of(&self, target: String, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>>;

    /// How many jobs stand how, each counted up to `most` and no further. What is there only for the engine's own sake
    /// (a hidden node, a graph that is being deleted) may be counted with the others.
    fn counts(&self, most: u32) -> BoxFuture<'_, StoreResult<StateCounts>>;

    /// A number that is another one after anything was written. It may change without.
    fn revision(&self) -> BoxFuture<'_, StoreResult<u64>>;

    /// How many rows each table has, for tests and for diagnosis.
    fn census(&self) -> BoxFuture<'_, StoreResult<Census>>;
}

/// Which tallies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyQuery {
    /// By the minute, or by the quarter of an hour.
    pub width: Width,
    /// Those that start then or later.
    pub from: Timestamp,
    /// Of this queue.
    pub queue: Option<Queue>,
    /// Of this kind.
    pub kind: Option<Kind>,
}

/// Which tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagQuery {
    /// Those that begin so: `customer=` lists the values of a key.
    pub prefix: String,
    /// Those behind this one.
    pub after: Option<String>,
    /// Most lines. Clamped to 1 to 100.
    pub limit: u32,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagLine {
    /// Its text.
    pub tag: String,
    /// How many jobs have it, counted up to [`TAG_JOBS_COUNTED_MAX`](crate::limits::TAG_JOBS_COUNTED_MAX).
    pub jobs: u64,
}

/// What was counted of one kind in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyLine {
    /// When the minute or the quarter of an hour starts.
    pub at: Timestamp,
    /// The queue.
    pub queue: Queue,
    /// The kind.
    pub kind: Kind,
    /// What was counted.
    pub tally: Tally,
}

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only what comes after this key of the last line seen; `None` for the start.
    pub after: Option<i64>,
    /// Most lines. Clamped to 1 to 1,000.
    pub limit: u32,
}

impl Default for Page {
    fn default() -> Self {
        Self { after: None, limit: 100 }
    }
}

/// Which jobs. Everything that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// In this state (for an end, exactly this end).
    pub state: Option<State>,
    /// In this queue.
    pub queue: Option<Queue>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// Of this graph.
    pub graph: Option<GraphId>,
    /// Of this shape.
    pub shape: JobShape,
    /// With all of these tags.
    pub tags: Vec<String>,
    /// With keys above this one. What is rare is looked for among all jobs, from the newest back; between this and
    /// [`Page::after`] lie no more of them than there are keys, so that a look is as short as it is asked to be.
    pub above: Option<i64>,
}

/// What a job is besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobShape {
    /// Any job.
    #[default]
    Any,
    /// A run: it has a journal.
    Run,
}

/// Jobs by state, each counted up to a limit: a count that reaches it means that or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Could be claimed now.
    pub ready: u64,
    /// Not due yet.
    pub later: u64,
    /// Under a lease, with a handler.
    pub running: u64,
    /// No worker can run them.
    pub blocked: u64,
    /// Ended dead.
    pub dead: u64,
    /// Ended quarantined.
    pub quarantined: u64,
    /// Ended cancelled.
    pub cancelled: u64,
    /// Ended skipped, of both kinds.
    pub skipped: u64,
    /// Graphs that have not ended.
    pub open_graphs: u64,
    /// Nodes whose counters a recount has ever put right: it stays 0, or a store has a fault. Not limited.
    pub repaired: u64,
}

/// Which graphs. Everything that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphFilter {
    /// Of this name.
    pub name: Option<GraphName>,
    /// Standing so.
    pub standing: GraphStanding,
}

impl From<GraphStanding> for GraphFilter {
    fn from(standing: GraphStanding) -> Self {
        Self { name: None, standing }
    }
}

/// How a graph stands, as lists ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphStanding {
    /// However.
    #[default]
    Any,
    /// It has not ended.
    Open,
    /// It has ended so.
    Ended(GraphEnd),
}

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLine {
    /// The key by which the list is paged.
    pub key: i64,
    /// The job.
    pub id: JobId,
    /// Its kind.
    pub kind: Kind,
    /// The version of its input.
    pub version: u16,
    /// Its queue.
    pub queue: Queue,
    /// Its priority.
    pub priority: i16,
    /// Where it stands.
    pub state: State,
    /// When it falls due, while it is ready; `None` if it could be claimed, or waits for a signal only.
    pub due: Option<Timestamp>,
    /// Whether it is a run that has left its worker until something comes for it, or until `due`.
    pub parked: bool,
    /// Its counters.
    pub counters: Counters,
    /// Its place in a graph.
    pub node: Option<NodeRef>,
    /// When it was enqueued.
    pub enqueued_at: Timestamp,
    /// When its current or last attempt started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl JobLine {
    /// Whether a worker could claim it at this instant, by the store's clock.
    pub fn is_claimable(&self, now: Timestamp) -> bool {
        self.state == State::Ready && is_due(self.due, self.parked, now)
    }

    /// How it stands, in the words of people: of what is ready, and could not be claimed yet, the state says less than
    /// what it waits for. A run is *parked*; a job is *scheduled* before its first attempt, *retrying* after a failure
    /// and else *sleeping*.
    pub fn word(&self, now: Timestamp) -> &'static str {
        word(self.state, self.counters, self.due, self.parked, now)
    }
}

impl NodeLine {
    /// How it stands, in the words of people, as [`JobLine::word`] has them.
    pub fn word(&self, now: Timestamp) -> &'static str {
        word(self.state, self.counters, self.due, self.parked, now)
    }
}

fn is_due(due: Option<Timestamp>, parked: bool, now: Timestamp) -> bool {
    due.map_or(!parked, |due| due <= now)
}

fn word(state: State, counters: Counters, due: Option<Timestamp>, parked: bool, now: Timestamp) -> &'static str {
    if state != State::Ready || is_due(due, parked, now) {
        return state.word();
    }
    match (counters.failures, counters.attempt) {
        _ if parked => "parked",
        (0, 0) => "scheduled",
        (0, _) => "sleeping",
        _ => "retrying",
    }
}

/// A job with everything about it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobDetail {
    /// Its line.
    pub line: JobLine,
    /// Its input.
    pub input: Payload,
    /// Its rules.
    pub rules: JobRules,
    /// By when it must have ended.
    pub deadline: Option<Timestamp>,
    /// Its tags: those that it was given, then those that its handlers have added, by their text.
    pub tags: Vec<String>,
    /// How far it was when a handler last said so.
    pub progress: Option<ProgressLine>,
    /// What travels with it.
    pub headers: BTreeMap<String, String>,
    /// Why it ended.
    pub cause: Option<Cause>,
    /// What it left.
    pub output: Option<Payload>,
    /// Why it is blocked.
    pub blocked: Option<String>,
    /// Who holds it, while it runs.
    pub worker: Option<Incarnation>,
    /// Who asked to cancel it, while it runs. A run is asked by an arrival.
    pub cancel: Option<Cause>,
    /// Its journal and its inbox, if it is a run.
    pub run: Option<RunLine>,
}

/// What there is of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// Its id.
    pub id: RunId,
    /// Its chapter, from 1.
    pub chapter: u32,
    /// How many entries its journal has in this chapter.
    pub entries: u32,
    /// How many arrivals are kept of it, read or not.
    pub arrived: u32,
    /// By whom it is paused, if it is.
    pub paused: Option<PauseLine>,
    /// Where it was forked from, if it was.
    pub origin: Option<ForkedFrom>,
}

/// An attempt that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLine {
    /// Its number, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Its error.
    pub error: Option<String>,
    /// What it logged.
    pub log: Option<String>,
}

/// A graph in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLine {
    /// The key by which the list is paged.
    pub key: i64,
    /// The graph.
    pub id: GraphId,
    /// Its name.
    pub name: GraphName,
    /// How it ended, if it has.
    pub end: Option<GraphEnd>,
    /// What holds it back.
    pub stop: Option<StopReason>,
    /// What became of its undos, if any has started.
    pub compensation: Option<Compensation>,
    /// How many nodes it has, `end` not counted.
    pub nodes: u32,
    /// Its generation: 1, and one more with each retry in place.
    pub generation: u32,
    /// The graph that it is a restart of. That one may have been pruned since.
    pub restart_of: Option<GraphId>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// A graph with its shape and how each node stands.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphDetail {
    /// Its line.
    pub line: GraphLine,
    /// Its input.
    pub input: Option<Payload>,
    /// What holds for the whole of it.
    pub rules: GraphRules,
    /// Who stopped it, if anybody has.
    pub stopped: Option<StopLine>,
    /// Graphs that are restarts of it, oldest first.
    pub restarts: Vec<GraphId>,
    /// Its nodes, in the order of their enqueue.
    pub nodes: Vec<NodeLine>,
    /// Its edges, in the order of their place, those to `end` left out.
    pub edges: Vec<EdgeLine>,
}

impl GraphDetail {
    /// The nodes that are undone: their undos have succeeded. Their own states stay as they are.
    pub fn undone(&self) -> BTreeSet<&NodeName> {
        let undos = self.nodes.iter().filter(|node| node.state == State::Ended(End::Succeeded));
        undos.filter_map(|undo| undo.guards.as_ref()).collect()
    }
}

/// A stop of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopLine {
    /// What for.
    pub reason: StopReason,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// Why, in their words; may be empty.
    pub why: String,
    /// Of a retry, from when whoever looks carries it on.
    pub due: Option<Timestamp>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeLine {
    /// Its name.
    pub name: NodeName,
    /// Its job.
    pub job: JobId,
    /// Its kind.
    pub kind: Kind,
    /// Its queue.
    pub queue: Queue,
    /// What it is to the graph.
    pub role: Role,
    /// Its counters of parents.
    pub parents: NodeCounters,
    /// Of an undo, the node that it guards.
    pub guards: Option<NodeName>,
    /// Where it stands.
    pub state: State,
    /// When it falls due, as in [`JobLine`].
    pub due: Option<Timestamp>,
    /// Whether it is a run that waits for something, as in [`JobLine`].
    pub parked: bool,
    /// Why it ended so.
    pub cause: Option<Cause>,
    /// Its counters.
    pub counters: Counters,
    /// When it came: later than its graph if it was appended.
    pub enqueued_at: Timestamp,
    /// When its current or last attempt started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeLine {
    /// Waited for.
    pub parent: NodeName,
    /// Waiting.
    pub child: NodeName,
    /// What each end of the parent means.
    pub verdicts: VerdictTable,
    /// The branch that it asks for.
    pub label: Option<Label>,
}

impl GraphDetail {
    /// Why a node ended so, in words: what a gate has not chosen is told as that.
    pub fn in_words(&self, node: &NodeName, cause: &Cause) -> String {
        let Cause::Parent { node: parent, end: End::Succeeded } = cause else { return cause.to_string() };
        let edge = self.edges.iter().find(|edge| edge.parent == *parent && edge.child == *node);
        let Some(label) = edge.and_then(|edge| edge.label.as_ref()) else { return cause.to_string() };
        if guard_of(node).is_ok_and(|guard| guard == *parent) {
            return "its `if` is false".to_owned();
        }
        format!("{parent} did not choose {label}")
    }
}

impl EdgeLine {
    /// What it asks for, if this build knows it.
    pub fn condition(&self) -> Option<Condition> {
        Condition::of(self.verdicts, self.label.as_ref())
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueLine {
    /// Its name.
    pub queue: Queue,
    /// Jobs that could be claimed now.
    pub ready: u64,
    /// Jobs that are not due yet.
    pub later: u64,
    /// Jobs under a lease.
    pub running: u64,
    /// Jobs that no worker can run.
    pub blocked: u64,
    /// Who has paused it, if anybody has: nothing is claimed from it.
    pub paused: Option<PauseLine>,
}

/// A pause of a queue or a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseLine {
    /// Since when.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// Why, in their words; may be empty.
    pub why: String,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerLine {
    /// Its life.
    pub worker: Incarnation,
    /// Its name.
    pub name: String,
    /// The queues it serves.
    pub queues: Vec<String>,
    /// The kinds it serves, each with the versions that it takes. Empty if it has not said so.
    pub kinds: BTreeMap<Kind, Versions>,
    /// Jobs it holds.
    pub running: u32,
    /// When it registered.
    pub started_at: Timestamp,
    /// Until when its claims hold.
    pub lease_until: Timestamp,
    /// What was asked of it last.
    pub wish: Option<WishLine>,
}

/// Work of one kind and version that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLine {
    /// The kind, or the durable function.
    pub kind: Kind,
    /// The version of the input that it was enqueued with. A run is pinned to it.
    pub version: u16,
    /// How many jobs of it have not ended, waiting nodes and runs included.
    pub open: u64,
    /// How many of them are runs: of a function all, of other kinds none. Where somebody has enqueued both under one name, some are
    /// taken for the other sort.
    pub runs: u64,
    /// When the oldest of them was enqueued.
    pub oldest: Timestamp,
}

/// A patch that live runs of a function have recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchLine {
    /// The durable function.
    pub kind: Kind,
    /// Its version.
    pub version: u16,
    /// The patch.
    pub patch: String,
    /// How many live runs have recorded it.
    pub runs: u64,
    /// When the first of these did.
    pub first: Timestamp,
    /// How many live runs of that version have not: they have passed its place before it was there, have not come to it, or have
    /// recorded nothing since.
    pub others: u64,
    /// When the oldest of those was started.
    pub oldest_other: Option<Timestamp>,
}

impl PatchLine {
    /// The patch that a line of a journal says is in, if it is such a line. What stands in the stores' indexes is how it
    /// begins: `{"patched":`.
    pub fn patch_of(line: &Payload) -> Option<String> {
        if !line.bytes.starts_with(br#"{"patched":"#) {
            return None;
        }
        match crate::replay::Entry::decode(line) {
            Ok(crate::replay::Entry::Patched { id }) => Some(id),
            _ => None,
        }
    }

    /// The order in which stores list them: by function, version and patch.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        (&self.kind, self.version, &self.patch).cmp(&(&other.kind, other.version, &other.patch))
    }
}

/// Something that an operator did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// The key by which the list is paged.
    pub key: i64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// What, as a verb: `cancel`, `stop`, `unstop`, `recount`.
    pub action: String,
    /// The job or graph.
    pub target: String,
    /// What came of it.
    pub outcome: String,
}

/// Rows by table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Rows of jobs.
    pub jobs: u64,
    /// Rows of ready.
    pub ready: u64,
    /// Rows of later.
    pub later: u64,
    /// Rows of running.
    pub running: u64,
    /// Rows of blocked.
    pub blocked: u64,
    /// Rows of undecided.
    pub undecided: u64,
    /// Rows of ended.
    pub ended: u64,
    /// Rows of graphs.
    pub graphs: u64,
    /// Rows of nodes.
    pub nodes: u64,
    /// Rows of edges.
    pub edges: u64,
    /// Rows of stops.
    pub stops: u64,
    /// Rows of attempts.
    pub attempts: u64,
    /// Rows of outputs.
    pub outputs: u64,
    /// Rows of deadlines.
    pub deadlines: u64,
    /// Rows of workers.
    pub workers: u64,
    /// Rows of leases.
    pub leases: u64,
    /// Rows of runs.
    pub runs: u64,
    /// Rows of entries.
    pub entries: u64,
    /// Rows of arrivals.
    pub arrivals: u64,
    /// Rows of undos that wait.
    pub undos: u64,
    /// Rows of unique keys.
    pub keys: u64,
    /// Rows of what runs show.
    pub shown: u64,
    /// Rows of tombstones.
    pub tombstones: u64,
    /// Rows of what handlers have said of their jobs: how far they are, tags and marks.
    pub notes: u64,
}
