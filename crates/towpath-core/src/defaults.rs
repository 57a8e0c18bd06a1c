//! Every default, in one table, with its reason. Draining a backlog at full speed needs no setting.

use std::time::Duration;

use crate::graph::GraphLimits;
use crate::retry::RetryPolicy;

/// Failures after which a job is dead. With the back-off below that is about 33 hours: it survives
/// a night's outage.
pub const ATTEMPTS_MAX: u32 = 20;
/// The wait after a first failure.
pub const BACKOFF_BASE: Duration = Duration::from_secs(1);
/// The longest wait between attempts.
pub const BACKOFF_CAP: Duration = Duration::from_secs(6 * 3_600);
/// Jitter of a wait, in percent: retries of one outage spread out.
pub const BACKOFF_JITTER_PERCENT: u8 = 20;
/// Attempts of a node in a flow file: commands are not idempotent.
pub const FLOW_ATTEMPTS_MAX: u32 = 1;
/// Attempts of the undo of a node in a flow file: an undo that dies leaves something behind, and one that must be run by
/// hand is worse than one that runs twice.
pub const FLOW_UNDO_ATTEMPTS_MAX: u32 = 5;
/// How a step of a durable function is tried again: steps are mostly idempotent, and their function waits for them.
pub const STEP_RETRY: RetryPolicy =
    RetryPolicy { attempts_max: 10, base_us: 1_000_000, cap_us: 600_000_000, jitter_percent: BACKOFF_JITTER_PERCENT };
/// Crashes in a row after which a job is quarantined: one bad deploy is not the job's fault.
pub const CRASH_LIMIT: u32 = 3;
/// How long a worker's claim on its jobs holds without a heartbeat: hand-over in seconds.
pub const LEASE: Duration = Duration::from_secs(10);
/// Time between heartbeats: two may be lost.
pub const HEARTBEAT: Duration = Duration::from_secs(3);
/// How long a handler that was told to stop may take to clean up before it is aborted.
pub const ABORT_GRACE: Duration = Duration::from_secs(10);
/// How long a shutdown waits for running handlers: under Kubernetes' 30 s.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(25);
/// Jobs that a worker runs at once. Handlers are async and mostly wait.
pub const SLOTS: u16 = 100;
/// Most jobs that one claim fetches: batch size is the whole game, and what is unused goes back.
pub const PREFETCH_MAX: u16 = 2_048;
/// How long a finished handler's outcome may wait for others while a turn could be sent.
pub const FLUSH: Duration = Duration::from_millis(2);
/// How often an idle worker looks for work when hints may be lost.
pub const POLL: Duration = Duration::from_secs(1);
/// The same where no hints come from other processes.
pub const POLL_DEAF: Duration = Duration::from_millis(200);
/// How often a SQLite store looks whether another process has committed.
pub const SQLITE_WATCH: Duration = Duration::from_millis(20);
/// How often a worker looks for jobs of dead workers, deadlines and things to prune.
pub const MAINTENANCE: Duration = Duration::from_secs(5);
/// How long a lone job that succeeded or was skipped stays: volume against usefulness.
pub const KEEP_JOB: Duration = Duration::from_secs(24 * 3_600);
/// How long a lone run that succeeded stays: somebody may wait days for its result.
pub const KEEP_RUN: Duration = Duration::from_secs(7 * 24 * 3_600);
/// How long the id of a run stays taken after its end, though the run was pruned: a request that comes twice comes within days.
pub const KEEP_ID: Duration = Duration::from_secs(30 * 24 * 3_600);
/// How long a graph that succeeded stays.
pub const KEEP_GRAPH: Duration = Duration::from_secs(7 * 24 * 3_600);
/// How long what is dead, quarantined or cancelled stays: people come back to it.
pub const KEEP_FAILED: Duration = Duration::from_secs(30 * 24 * 3_600);
/// How long a signal stays whose run is not there when it comes: as long as the people who would start it come back.
pub const KEEP_ARRIVAL: Duration = Duration::from_secs(30 * 24 * 3_600);
/// How long a run that begins a later chapter keeps an answer that nobody can ask for twice: whoever waits for it looks many
/// times a second.
pub const KEEP_ANSWER: Duration = Duration::from_secs(3_600);
/// Rows that one prune deletes at most: short transactions.
pub const PRUNE_BATCH: u32 = 1_000;
/// Who does what the engine does by itself, as an audit line and a stop show it.
pub const ACTOR: &str = "towpath";
/// How long a graph whose rules retry it waits after it has failed, unless they say how long: what its nodes' own retries
/// did not mend is not mended in a second.
pub const GRAPH_RETRY_DELAY: Duration = Duration::from_secs(10);
/// How often a worker looks for retries of graphs that others have put off or left.
pub const RETRIES_LOOK: Duration = Duration::from_secs(5);
/// How often a worker counts open graphs again, a bounded part of them each time. It finds nothing unless a store has a fault.
pub const SWEEP: Duration = Duration::from_secs(60);
/// After this long others carry a retry of a graph on: whoever began it has most likely died.
pub const RETRY_GRACE: Duration = Duration::from_secs(30);
/// After this long others carry on what whoever cancelled a graph has begun: he has most likely died.
pub const STOP_GRACE: Duration = Duration::from_secs(10);
/// A stopped graph whose nodes are settled is looked at once more after this long: no transaction that did not see the stop is
/// still under way.
pub const STOP_LOOK_AGAIN: Duration = Duration::from_secs(60);
/// How often a worker looks for stopped graphs that others have left.
pub const STOPS_LOOK: Duration = Duration::from_secs(5);
/// How long a node of a graph that is being retried stays off the head when it is claimed: a retry takes moments.
pub const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Elements of a list at work at once: as many as one worker has slots, and few enough that what their node is rebuilt
/// from stays small.
pub const MAP_CONCURRENCY: u32 = 100;

/// How long after its instant a tick of a schedule is in time: a restart is no outage.
pub const SCHEDULE_GRACE: Duration = Duration::from_secs(60);

/// How often a worker hands over what it has counted: an open page of charts is not far behind, and the store hears of it
/// six times a minute.
pub const RECORD: Duration = Duration::from_secs(10);

/// How often a worker looks for blobs whose jobs are gone.
pub const BLOB_SWEEP: Duration = Duration::from_secs(600);
/// How old such a blob must be: what is enqueued just now has its blob before its job, and no enqueue takes that long.
pub const BLOB_ORPHAN_AGE: Duration = Duration::from_secs(3_600);

/// How often a worker writes how far its jobs are, while they say so: a bar moves, and the store hears of it once a second.
pub const PROGRESS: Duration = Duration::from_secs(1);

/// How often a worker looks for schedules that others have made or changed.
pub const SCHEDULE_LOOK: Duration = Duration::from_secs(5);
/// How often a worker says that its code still has its schedules.
pub const SCHEDULE_DECLARE: Duration = Duration::from_secs(3_600);
/// How long after the last such word a schedule of code counts as a ghost.
pub const SCHEDULE_GHOST: Duration = Duration::from_secs(86_400);

/// One line of the table of defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultLine {
    /// What it sets.
    pub name: &'static str,
    /// Its value, for people.
    pub value: String,
    /// Why this value.
    pub reason: &'static str,
}

/// The table as the documentation prints it.
pub fn table() -> Vec<DefaultLine> {
    use crate::limits;
    let line = |name, value: String, reason| DefaultLine { name, value, reason };
    vec![
        line("queue", crate::Queue::DEFAULT.into(), "a job that names none still has a home"),
        line("attempts", ATTEMPTS_MAX.to_string(), "about 33 h with the back-off: survives a night's outage"),
        line(
            "back-off",
            format!("{BACKOFF_BASE:?} × 2ⁿ, at most {} h, ±{BACKOFF_JITTER_PERCENT} %", BACKOFF_CAP.as_secs() / 3_600),
            "quick first retry, no storm after an outage",
        ),
        line(
            "attempts of a step",
            format!("{}, at most {} min apart", STEP_RETRY.attempts_max, STEP_RETRY.cap_us / 60_000_000),
            "steps are mostly idempotent, and a function waits for them",
        ),
        line("attempts of a flow node", FLOW_ATTEMPTS_MAX.to_string(), "commands are not idempotent"),
        line("attempts of its undo", FLOW_UNDO_ATTEMPTS_MAX.to_string(), "an undo that dies leaves something behind"),
        line("attempt timeout", "none".into(), "long work is legal"),
        line("crash limit", format!("{CRASH_LIMIT} in a row"), "one bad deploy is not the job's fault"),
        line("crash limit of a flow node", "none".into(), "each resume is a person's decision"),
        line("lease", format!("{LEASE:?}"), "hand-over in seconds"),
        line("heartbeat", format!("{HEARTBEAT:?} ±10 %"), "two beats may be lost"),
        line("abort grace", format!("{ABORT_GRACE:?}"), "time to clean up"),
        line("drain limit at shutdown", format!("{DRAIN_LIMIT:?}"), "under Kubernetes' 30 s"),
        line("slots per worker", SLOTS.to_string(), "handlers are async and mostly wait"),
        line(
            "jobs in one claim",
            format!("as many as finish in two turns, {SLOTS} to {PREFETCH_MAX}"),
            "batch size is the whole game",
        ),
        line("flush", format!("when no turn is under way, else {FLUSH:?}"), "under one fsync"),
        line("idle poll", format!("{POLL:?} ±20 %, hints beside it"), "cheap truth"),
        line(
            "the same where nothing is heard of others",
            format!("{POLL_DEAF:?} ±20 %"),
            "a transaction pooler does not listen",
        ),
        line("SQLite, other process", format!("{SQLITE_WATCH:?}"), "one pragma per look"),
        line("input, output", format!("{} MiB", limits::PAYLOAD_BYTES_MAX >> 20), "refused before the write"),
        line("enqueue, turn", format!("{} MiB", limits::BATCH_BYTES_MAX >> 20), "short transactions"),
        line(
            "graph",
            format!(
                "{} nodes, {} edges, graphs inside graphs {} deep, lists of {} elements",
                GraphLimits::default().nodes,
                GraphLimits::default().edges,
                GraphLimits::default().depth,
                GraphLimits::default().elements,
            ),
            "1→10,000→1 fits",
        ),
        line(
            "the most that `Client::with_graph_limits` takes",
            format!(
                "{} nodes, {} edges, {} deep, {} elements",
                GraphLimits::HIGHEST.nodes,
                GraphLimits::HIGHEST.edges,
                GraphLimits::HIGHEST.depth,
                GraphLimits::HIGHEST.elements,
            ),
            "an enqueue is one transaction, a view one answer",
        ),
        line(
            "elements of a map at work at once",
            format!("{MAP_CONCURRENCY}, at most {}", limits::MAP_CONCURRENCY_MAX),
            "as many as a worker has slots",
        ),
        line(
            "wait before a graph is tried again",
            format!("{GRAPH_RETRY_DELAY:?}"),
            "what its nodes' own retries did not mend is not mended in a second",
        ),
        line(
            "lines of a run's journal",
            format!("warned of from {}, at most {}", limits::JOURNAL_WARN, limits::JOURNAL_MAX),
            "warned of early, never killed silently",
        ),
        line(
            "open graphs are counted again",
            format!("{} nodes and edges, every {SWEEP:?}", limits::SWEEP_SIZE_MAX),
            "finds nothing but faults, at next to no cost",
        ),
        line("arrivals kept of a run", limits::INBOX_MAX.to_string(), "whoever sends more is told"),
        line("attempts kept", format!("first 1 + last {}", limits::ATTEMPTS_KEPT_NEWEST), "shows cause and now"),
        line("error text", format!("{} KiB", limits::ERROR_BYTES_MAX >> 10), "bounded"),
        line("kept: succeeded, skipped", "24 h lone jobs, 7 d graphs and runs".into(), "volume against usefulness"),
        line("kept: dead, quarantined, cancelled", "30 d".into(), "people come back"),
        line("id of a run taken after its end", "30 d".into(), "a request that comes twice comes within days"),
        line("prune", format!("{PRUNE_BATCH} rows a call, every {MAINTENANCE:?}"), "short transactions"),
    ]
}
