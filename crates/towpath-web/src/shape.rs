//! What the API answers: one shape per noun. Fields are only ever added.
//!
//! Instants are RFC 3339 in UTC with microseconds; ids and cursors are texts; counts are integers below 2^53. What a
//! payload holds is passed on byte by byte, so that no number of it is rounded on the way.

pub(crate) mod journal;
pub(crate) mod schedule;
pub(crate) mod stream;
pub(crate) mod tally;
pub(crate) mod version;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::value::RawValue;
use towpath::core::builtin::Progress;
use towpath::core::store::{
    AttemptLine, AttemptOutcome, AuditLine, Counters, EdgeLine, ForkedFrom, GraphDetail, GraphLine, InboxLine,
    JobDetail, JobLine, MarkLine, NodeLine, PauseLine, ProgressLine, QueueLine, RunLine, Shown as StoredShown,
    StateCounts, StopLine, TagLine, Versions, WishLine, WorkerLine,
};
use towpath::core::{BlobRef, Compensation, Role, SkipKind, State, StopReason};
use towpath::{Cause, Condition, End, GraphEnd, Holds, JobId, JobRules, Kind, NodeName, Payload, Timestamp};

use crate::app::Ctx;
use crate::options::Part;

/// A part of a list, newest first.
#[derive(Debug, Serialize)]
pub(crate) struct List<T> {
    pub(crate) items: Vec<T>,
    /// What to give as `after` for the next part; `null` at the end.
    pub(crate) next: Option<String>,
}

/// An instant as people and programs read it; `None` for one that never comes.
pub(crate) fn instant(at: Timestamp) -> Option<String> {
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
    Some(format!("{at:.6}"))
}

fn instant_of(at: Option<Timestamp>) -> Option<String> {
    at.and_then(instant)
}

/// What a payload holds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shown {
    /// JSON, as it is stored.
    Json(Box<RawValue>),
    /// A text.
    Text(String),
    /// Bytes that only the application understands: how many.
    Bytes(usize),
    /// It may not be shown to the one who asks.
    Hidden(bool),
}

impl Shown {
    pub(crate) fn of(ctx: &Ctx, kind: &Kind, part: Part, payload: &Payload) -> Self {
        if payload.bytes.is_empty() {
            return Self::Json(RawValue::NULL.to_owned());
        }
        if let Ok(Some(blob)) = BlobRef::of(payload) {
            return match ctx.shown(kind, part, &blob.preview) {
                None => Self::Hidden(true),
                Some(head) => Self::Text(format!("{} bytes, kept elsewhere: {head} …", blob.bytes)),
            };
        }
        match payload.decode::<Box<RawValue>>() {
            Ok(json) => Self::of_json(ctx, kind, part, json.get()),
            Err(_) if !ctx.may(crate::Action::SeePayloads) => Self::Hidden(true),
            Err(_) => Self::Bytes(payload.bytes.len()),
        }
    }

    pub(crate) fn of_json(ctx: &Ctx, kind: &Kind, part: Part, json: &str) -> Self {
        match ctx.shown(kind, part, json) {
            None => Self::Hidden(true),
            Some(text) => match RawValue::from_string(text.clone()) {
                Ok(json) => Self::Json(json),
                Err(_) => Self::Text(text),
            },
        }
    }
}

/// A text that may be hidden.
fn text(ctx: &Ctx, kind: &Kind, part: Part, text: Option<&str>) -> Option<Shown> {
    text.map(|text| ctx.shown(kind, part, text).map_or(Shown::Hidden(true), Shown::Text))
}

#[derive(Debug, Serialize)]
pub(crate) struct Job {
    id: String,
    kind: Kind,
    version: u16,
    queue: String,
    priority: i16,
    state: &'static str,
    skipped: Option<SkipKind>,
    due: Option<String>,
    parked: bool,
    attempt: u32,
    failures: u32,
    crashes: u32,
    graph: Option<String>,
    node: Option<String>,
    enqueued_at: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
}

impl Job {
    pub(crate) fn of(line: &JobLine) -> Self {
        let Counters { attempt, failures, crashes, .. } = line.counters;
        Self {
            id: line.id.to_string(),
            kind: line.kind.clone(),
            version: line.version,
            queue: line.queue.to_string(),
            priority: line.priority,
            state: line.state.word(),
            skipped: skipped(line.state),
            due: instant_of(line.due),
            parked: line.parked,
            attempt,
            failures,
            crashes,
            graph: line.node.as_ref().map(|node| node.graph.to_string()),
            node: line.node.as_ref().map(|node| node.name.to_string()),
            enqueued_at: instant(line.enqueued_at),
            started_at: instant_of(line.started_at),
            ended_at: instant_of(line.ended_at),
        }
    }
}

/// Which kind of skipped, if it is skipped.
fn skipped(state: State) -> Option<SkipKind> {
    match state {
        State::Ended(End::Skipped(kind)) => Some(kind),
        _ => None,
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Attempt {
    attempt: u32,
    outcome: AttemptOutcome,
    started_at: Option<String>,
    ended_at: Option<String>,
    error: Option<Shown>,
    log: Option<Shown>,
}

impl Attempt {
    fn of(ctx: &Ctx, kind: &Kind, line: &AttemptLine) -> Self {
        Self {
            attempt: line.attempt,
            outcome: line.outcome,
            started_at: instant(line.started_at),
            ended_at: instant(line.ended_at),
            error: text(ctx, kind, Part::Error, line.error.as_deref()),
            log: text(ctx, kind, Part::Log, line.log.as_deref()),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct JobWhole {
    #[serde(flatten)]
    line: Job,
    input: Shown,
    output: Option<Shown>,
    rules: JobRules,
    deadline: Option<String>,
    tags: Vec<String>,
    progress: Option<ProgressShape>,
    keeps: Vec<Kept>,
    headers: BTreeMap<String, String>,
    cause: Option<Cause>,
    blocked: Option<Shown>,
    worker: Option<String>,
    cancel: Option<Cause>,
    run: Option<Run>,
    attempts: Vec<Attempt>,
}

impl JobWhole {
    pub(crate) fn of(
        ctx: &Ctx,
        detail: &JobDetail,
        attempts: &[AttemptLine],
        marks: &[MarkLine],
        published: Option<&StoredShown>,
    ) -> Self {
        let kind = &detail.line.kind;
        Self {
            line: Job::of(&detail.line),
            input: Shown::of(ctx, kind, Part::Input, &detail.input),
            output: detail.output.as_ref().map(|output| Shown::of(ctx, kind, Part::Output, output)),
            rules: detail.rules.clone(),
            deadline: instant_of(detail.deadline),
            tags: detail.tags.clone(),
            progress: detail.progress.as_ref().map(ProgressShape::of),
            keeps: marks.iter().map(|line| Kept::of(ctx, kind, line)).collect(),
            headers: detail.headers.clone(),
            cause: detail.cause.clone(),
            blocked: text(ctx, kind, Part::Error, detail.blocked.as_deref()),
            worker: detail.worker.map(|worker| worker.to_string()),
            cancel: detail.cancel.clone(),
            run: detail.run.as_ref().map(|run| Run::of(ctx, kind, run, published)),
            attempts: attempts.iter().map(|line| Attempt::of(ctx, kind, line)).collect(),
        }
    }
}

/// How far a job was when it last said so.
#[derive(Debug, Serialize)]
pub(crate) struct ProgressShape {
    fraction: Option<f64>,
    done: Option<u64>,
    total: Option<u64>,
    message: String,
    attempt: u32,
    at: Option<String>,
}

impl ProgressShape {
    fn of(line: &ProgressLine) -> Self {
        let said = &line.progress;
        Self {
            fraction: said.fraction(),
            done: (!said.is_part).then_some(said.done),
            total: said.total.filter(|_| !said.is_part),
            message: said.message.clone(),
            attempt: line.attempt,
            at: instant(line.at),
        }
    }
}

/// What a job keeps across its attempts under a name.
#[derive(Debug, Serialize)]
pub(crate) struct Kept {
    name: String,
    value: Shown,
    at: Option<String>,
}

impl Kept {
    fn of(ctx: &Ctx, kind: &Kind, line: &MarkLine) -> Self {
        let value = Shown::of(ctx, kind, Part::Output, &line.mark.value);
        Self { name: line.mark.name.clone(), value, at: instant(line.at) }
    }
}

/// A tag, with how many jobs have it.
#[derive(Debug, Serialize)]
pub(crate) struct Tag {
    tag: String,
    jobs: u64,
    may_be_more: bool,
}

impl Tag {
    pub(crate) fn of(line: &TagLine) -> Self {
        let may_be_more = line.jobs >= u64::from(towpath::core::limits::TAG_JOBS_COUNTED_MAX);
        Self { tag: line.tag.clone(), jobs: line.jobs, may_be_more }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Run {
    id: String,
    chapter: u32,
    entries: u32,
    arrived: u32,
    paused: Option<Pause>,
    forked_from: Option<ForkedFrom>,
    published: Option<Shown>,
    published_at: Option<String>,
}

/// Who has paused a run or a queue.
#[derive(Debug, Serialize)]
pub(crate) struct Pause {
    at: Option<String>,
    actor: String,
    why: String,
}

impl Pause {
    fn of(line: &PauseLine) -> Self {
        Self { at: instant(line.at), actor: line.actor.clone(), why: line.why.clone() }
    }
}

impl Run {
    fn of(ctx: &Ctx, kind: &Kind, line: &RunLine, published: Option<&StoredShown>) -> Self {
        Self {
            id: line.id.to_string(),
            chapter: line.chapter,
            entries: line.entries,
            arrived: line.arrived,
            paused: line.paused.as_ref().map(Pause::of),
            forked_from: line.origin.clone(),
            published: published.map(|shown| Shown::of(ctx, kind, Part::Published, &shown.payload)),
            published_at: published.and_then(|shown| instant(shown.at)),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Signal {
    seq: String,
    name: String,
    payload: Shown,
    at: Option<String>,
}

impl Signal {
    pub(crate) fn of(ctx: &Ctx, kind: &Kind, line: &InboxLine) -> Self {
        Self {
            seq: line.seq.to_string(),
            name: line.name.to_string(),
            payload: Shown::of(ctx, kind, Part::Signal, &line.payload),
            at: instant(line.at),
        }
    }
}

/// What a run has answered.
#[derive(Debug, Serialize)]
pub(crate) struct Answered {
    pub(crate) answer: Shown,
}

#[derive(Debug, Serialize)]
pub(crate) struct Graph {
    id: String,
    name: String,
    state: &'static str,
    stop: Option<StopReason>,
    generation: u32,
    restart_of: Option<String>,
    /// What came of its undos, if any has started.
    undos: Option<&'static str>,
    node_count: u32,
    created_at: Option<String>,
    ended_at: Option<String>,
}

/// A graph's state in a word.
pub(crate) fn graph_state(end: Option<GraphEnd>) -> &'static str {
    match end {
        None => "open",
        Some(GraphEnd::Succeeded) => "succeeded",
        Some(GraphEnd::Failed) => "failed",
        Some(GraphEnd::Cancelled) => "cancelled",
    }
}

/// What came of a graph's undos, in a word.
fn undos(compensation: Compensation) -> &'static str {
    match compensation {
        Compensation::Running => "running",
        Compensation::Complete => "complete",
        Compensation::Incomplete => "incomplete",
    }
}

impl Graph {
    pub(crate) fn of(line: &GraphLine) -> Self {
        Self {
            id: line.id.to_string(),
            name: line.name.to_string(),
            state: graph_state(line.end),
            stop: line.stop,
            generation: line.generation,
            restart_of: line.restart_of.map(|graph| graph.to_string()),
            undos: line.compensation.map(undos),
            node_count: line.nodes,
            created_at: instant(line.created_at),
            ended_at: instant_of(line.ended_at),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct GraphWhole {
    #[serde(flatten)]
    line: Graph,
    input: Option<Shown>,
    stopped: Option<Stop>,
    retry: Option<TryAgain>,
    inside: Option<Inside>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// How often a graph is tried when it fails.
#[derive(Debug, Serialize)]
struct TryAgain {
    attempts: u32,
    delay_us: u64,
}

/// The run that has started a graph.
#[derive(Debug, Serialize)]
struct Inside {
    job: String,
    graph: Option<String>,
    node: Option<String>,
}

impl Inside {
    fn of(line: &JobLine) -> Self {
        let node = line.node.as_ref();
        Self {
            job: line.id.to_string(),
            graph: node.map(|node| node.graph.to_string()),
            node: node.map(|node| node.name.to_string()),
        }
    }
}

/// What a node stands for, beside itself.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Held {
    Graph(String),
    Elements(Elements),
}

/// How far the elements of a list have come.
#[derive(Debug, Serialize)]
struct Elements {
    of: u32,
    done: u32,
    failed: u32,
}

impl Held {
    fn of(holds: &Holds) -> Option<Self> {
        match holds {
            Holds::Graph(graph) => Some(Self::Graph(graph.to_string())),
            Holds::Elements(Progress { of, done, failed, .. }) => {
                Some(Self::Elements(Elements { of: *of, done: *done, failed: *failed }))
            }
            _ => None,
        }
    }
}

#[derive(Debug, Serialize)]
struct Stop {
    reason: StopReason,
    at: Option<String>,
    actor: String,
    why: String,
    due: Option<String>,
}

impl Stop {
    fn of(line: &StopLine) -> Self {
        let (at, due) = (instant(line.at), instant_of(line.due));
        Self { reason: line.reason, at, actor: line.actor.clone(), why: line.why.clone(), due }
    }
}

#[derive(Debug, Serialize)]
struct Node {
    name: String,
    job: String,
    kind: Kind,
    queue: String,
    gate: bool,
    may_fail: bool,
    at_least: Option<u32>,
    /// Of an undo, the node that it undoes.
    undoes: Option<String>,
    undone: bool,
    state: &'static str,
    skipped: Option<SkipKind>,
    due: Option<String>,
    parked: bool,
    cause: Option<Cause>,
    attempt: u32,
    failures: u32,
    enqueued_at: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
    holds: Option<Held>,
}

impl Node {
    fn of(line: &NodeLine, holds: Option<&Holds>, undone: &BTreeSet<&NodeName>) -> Self {
        Self {
            name: line.name.to_string(),
            job: line.job.to_string(),
            kind: line.kind.clone(),
            queue: line.queue.to_string(),
            gate: line.role.has(Role::GATE),
            may_fail: line.role.has(Role::MAY_FAIL),
            at_least: line.role.has(Role::AT_LEAST).then_some(line.parents.need),
            undoes: line.guards.as_ref().map(ToString::to_string),
            undone: undone.contains(&line.name),
            state: line.state.word(),
            skipped: skipped(line.state),
            due: instant_of(line.due),
            parked: line.parked,
            cause: line.cause.clone(),
            attempt: line.counters.attempt,
            failures: line.counters.failures,
            enqueued_at: instant(line.enqueued_at),
            started_at: instant_of(line.started_at),
            ended_at: instant_of(line.ended_at),
            holds: holds.and_then(Held::of),
        }
    }
}

#[derive(Debug, Serialize)]
struct Edge {
    parent: String,
    child: String,
    condition: Option<String>,
    branch: Option<String>,
}

impl Edge {
    fn of(line: &EdgeLine) -> Self {
        let condition = line.condition().map(|condition| match condition {
            Condition::Branch(_) => "branch".to_owned(),
            other => other.to_string(),
        });
        Self {
            parent: line.parent.to_string(),
            child: line.child.to_string(),
            condition,
            branch: line.label.as_ref().map(ToString::to_string),
        }
    }
}

impl GraphWhole {
    pub(crate) fn of(ctx: &Ctx, detail: &GraphDetail, held: &BTreeMap<JobId, Holds>, inside: Option<&JobLine>) -> Self {
        let undone = detail.undone();
        // The input is of the graph and not of a job: it is shown under the kind of its first node.
        let kind = detail.nodes.first().map(|node| node.kind.clone());
        let kind = kind.unwrap_or_else(|| Kind::from_stored("towpath.graph"));
        Self {
            line: Graph::of(&detail.line),
            input: detail.input.as_ref().map(|input| Shown::of(ctx, &kind, Part::Input, input)),
            stopped: detail.stopped.as_ref().map(Stop::of),
            retry: detail.rules.retry.map(|retry| TryAgain { attempts: retry.attempts, delay_us: retry.delay_us }),
            inside: inside.map(Inside::of),
            nodes: detail.nodes.iter().map(|node| Node::of(node, held.get(&node.job), &undone)).collect(),
            edges: detail.edges.iter().map(Edge::of).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct QueueShape {
    queue: String,
    ready: u64,
    later: u64,
    running: u64,
    blocked: u64,
    paused: Option<Pause>,
}

impl QueueShape {
    pub(crate) fn of(line: &QueueLine) -> Self {
        Self {
            queue: line.queue.to_string(),
            ready: line.ready,
            later: line.later,
            running: line.running,
            blocked: line.blocked,
            paused: line.paused.as_ref().map(Pause::of),
        }
    }
}

/// Jobs by state, each counted up to a number.
#[derive(Debug, Serialize)]
pub(crate) struct Counts {
    counted_to: u32,
    ready: u64,
    later: u64,
    running: u64,
    blocked: u64,
    dead: u64,
    quarantined: u64,
    cancelled: u64,
    skipped: u64,
    open_graphs: u64,
}

impl Counts {
    pub(crate) fn of(counts: &StateCounts, counted_to: u32) -> Self {
        let StateCounts { ready, later, running, blocked, dead, quarantined, cancelled, skipped, open_graphs, .. } =
            *counts;
        Self { counted_to, ready, later, running, blocked, dead, quarantined, cancelled, skipped, open_graphs }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Worker {
    worker: String,
    name: String,
    lives: bool,
    queues: Vec<String>,
    kinds: BTreeMap<Kind, Versions>,
    running: u32,
    started_at: Option<String>,
    lease_until: Option<String>,
    asked: Option<Asked>,
}

/// What was asked of a worker last.
#[derive(Debug, Serialize)]
pub(crate) struct Asked {
    to: &'static str,
    at: Option<String>,
    actor: String,
    why: String,
}

impl Asked {
    fn of(line: &WishLine) -> Self {
        Self { to: line.wish.word(), at: instant(line.at), actor: line.actor.clone(), why: line.why.clone() }
    }
}

impl Worker {
    pub(crate) fn of(line: &WorkerLine, lives: bool) -> Self {
        Self {
            worker: line.worker.to_string(),
            name: line.name.clone(),
            lives,
            queues: line.queues.clone(),
            kinds: line.kinds.clone(),
            running: line.running,
            started_at: instant(line.started_at),
            lease_until: instant(line.lease_until),
            asked: line.wish.as_ref().map(Asked::of),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Audit {
    at: Option<String>,
    actor: String,
    reason: String,
    action: String,
    target: String,
    outcome: String,
}

impl Audit {
    pub(crate) fn of(line: &AuditLine) -> Self {
        Self {
            at: instant(line.at),
            actor: line.actor.clone(),
            reason: line.reason.clone(),
            action: line.action.clone(),
            target: line.target.clone(),
            outcome: line.outcome.clone(),
        }
    }
}
