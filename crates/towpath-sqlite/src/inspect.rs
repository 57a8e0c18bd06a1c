//! Questions of people, each answered from one snapshot beside the writer.

use rusqlite::{Row, params};
use towpath_core::Timestamp;
use towpath_core::store::{
    AttemptLine, AttemptOutcome, AuditLine, BoxFuture, Census, EdgeLine, GraphDetail, GraphFilter, GraphLine,
    GraphStanding, JobDetail, JobFilter, JobLine, JobShape, NodeLine, NodeRef, Page, PatchLine, PauseLine,
    ProgressLine, QueueLine, RunLine, Showing, StateCounts, StopLine, StoreResult, StreamHead, TagLine, TagQuery,
    TallyLine, TallyQuery, Tombstone, VersionLine, WorkerLine,
};
use towpath_core::{
    Compensation, End, GraphEnd, GraphId, GraphName, GraphRules, Inspect, JobId, Kind, Label, NodeName, Progress,
    Queue, Role, RunId, State, StopReason, VerdictTable, limits,
};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::store::SqliteStore;
use crate::{note, tally};

impl Inspect for SqliteStore {
    fn job(&self, id: JobId) -> BoxFuture<'_, StoreResult<Option<JobDetail>>> {
        Box::pin(async move { self.read("show a job", |db| job(db, id)) })
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<JobId>>> {
        Box::pin(async move { self.read("look for a run", |db| run(db, &id)) })
    }

    fn tombstone(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<Tombstone>>> {
        Box::pin(async move { self.read("look for a tombstone", |db| tombstone(db, id)) })
    }

    fn jobs(&self, filter: JobFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<JobLine>>> {
        Box::pin(async move { self.read("list jobs", |db| jobs(db, &filter, page)) })
    }

    fn attempts(&self, id: JobId) -> BoxFuture<'_, StoreResult<Vec<AttemptLine>>> {
        Box::pin(async move { self.read("list attempts", |db| attempts(db, id)) })
    }

    fn graph(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphDetail>>> {
        Box::pin(async move { self.read("show a graph", |db| graph(db, id)) })
    }

    fn graph_line(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphLine>>> {
        Box::pin(async move {
            self.read("look at a graph", |db| {
                db.maybe(Query::GraphDetail, params![&id.as_bytes()[..], StopReason::Prune.code()], graph_line)
            })
        })
    }

    fn graphs(&self, filter: GraphFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<GraphLine>>> {
        Box::pin(async move { self.read("list graphs", |db| graphs(db, &filter, page)) })
    }

    fn tags(&self, query: TagQuery) -> BoxFuture<'_, StoreResult<Vec<TagLine>>> {
        Box::pin(async move { self.read("list tags", |db| note::tags(db, &query)) })
    }

    fn queues(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<QueueLine>>> {
        Box::pin(async move { self.read("list queues", |db| queues(db, most)) })
    }

    fn streams(&self, run: RunId) -> BoxFuture<'_, StoreResult<Vec<StreamHead>>> {
        Box::pin(async move { self.read("list streams", |db| streams(db, &run)) })
    }

    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, StoreResult<Vec<TallyLine>>> {
        Box::pin(async move { self.read("list tallies", |db| tally::list(db, &query)) })
    }

    fn open_patches(&self) -> BoxFuture<'_, StoreResult<Vec<PatchLine>>> {
        Box::pin(async move { self.read("list patches", open_patches) })
    }

    fn open_versions(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<VersionLine>>> {
        Box::pin(async move { self.read("list versions", |db| open_versions(db, most)) })
    }

    fn workers(&self) -> BoxFuture<'_, StoreResult<Vec<WorkerLine>>> {
        Box::pin(async move { self.read("list workers", workers) })
    }

    fn audit(&self, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>> {
        Box::pin(async move { self.read("list the audit", |db| audit(db, page)) })
    }

    fn audit_of(&self, target: String, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>> {
        Box::pin(async move {
            self.read("list the audit of one thing", |db| {
                db.all(Query::AuditOf, params![target, before(page), length(page)], audit_line)
            })
        })
    }

    fn counts(&self, most: u32) -> BoxFuture<'_, StoreResult<StateCounts>> {
        Box::pin(async move { self.read("count jobs", |db| state_counts(db, most)) })
    }

    fn revision(&self) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(async move { self.look_for_changes() })
    }

    fn census(&self) -> BoxFuture<'_, StoreResult<Census>> {
        Box::pin(async move { self.read("count rows", census) })
    }
}

/// The columns of the view `job_line`, which come first in every list of jobs.
fn job_line(row: &Row<'_>) -> Result<JobLine, Fault> {
    let (kind, queue): (String, String) = (row.get(2)?, row.get(3)?);
    let name: Option<String> = row.get(10)?;
    let node = match name {
        Some(name) => Some(NodeRef { graph: rows::graph_id(row, 11)?, name: NodeName::from_stored(&name) }),
        None => None,
    };
    Ok(JobLine {
        key: row.get(0)?,
        id: rows::job_id(row, 1)?,
        kind: Kind::from_stored(&kind),
        queue: Queue::from_stored(&queue),
        priority: row.get(4)?,
        state: rows::state(row.get(5)?)?,
        due: rows::instant_or_none(row, 6)?,
        counters: rows::counters(row, 7)?,
        node,
        enqueued_at: rows::instant(row, 12)?,
        started_at: rows::instant_or_none(row, 13)?,
        ended_at: rows::instant_or_none(row, 14)?,
        version: row.get(15)?,
        parked: row.get(16)?,
    })
}

fn job(db: &mut Db<'_>, id: JobId) -> Result<Option<JobDetail>, Fault> {
    let found = db.maybe(Query::JobDetail, params![&id.as_bytes()[..], StopReason::Prune.code()], |row| {
        let worker: Option<[u8; 16]> = row.get(26)?;
        Ok(JobDetail {
            line: job_line(row)?,
            input: rows::payload(row, 17)?.unwrap_or_default(),
            rules: rows::rules(row, 19)?,
            deadline: rows::instant_or_none(row, 20)?,
            tags: rows::texts(row, 21)?,
            headers: rows::headers(row, 22)?,
            cause: rows::cause(row, 23)?,
            output: rows::payload(row, 24)?,
            worker: worker.map(towpath_core::Incarnation::from_bytes),
            cancel: rows::cause(row, 27)?,
            blocked: row.get(28)?,
            run: run_line(row)?,
            progress: progress(row)?,
        })
    })?;
    let Some(mut detail) = found else { return Ok(None) };
    detail.tags = note::all_tags(db, detail.line.key, detail.tags)?;
    Ok(Some(detail))
}

/// How far a job is, if it has said so in a way that this build can read.
fn progress(row: &Row<'_>) -> Result<Option<ProgressLine>, Fault> {
    let Some(body) = row.get::<_, Option<String>>(37)? else { return Ok(None) };
    let Ok(progress) = Progress::from_stored(&body) else { return Ok(None) };
    Ok(Some(ProgressLine { progress, attempt: row.get(35)?, at: rows::instant(row, 36)? }))
}

/// The run of a job, if it is one.
fn run_line(row: &Row<'_>) -> Result<Option<RunLine>, Fault> {
    let Some(id) = row.get::<_, Option<String>>(29)? else { return Ok(None) };
    let (chapter, entries, arrived) = (row.get(30)?, row.get(31)?, row.get(32)?);
    let paused = rows::pause(row, 33)?;
    let origin = rows::json(row, 34, |text| serde_json::from_str(text))?;
    Ok(Some(RunLine { id: RunId::from_stored(&id), chapter, entries, arrived, paused, origin }))
}

fn run(db: &mut Db<'_>, id: &RunId) -> Result<Option<JobId>, Fault> {
    db.maybe(Query::RunJob, [id.as_str()], |row| rows::job_id(row, 0))
}

fn tombstone(db: &mut Db<'_>, run: RunId) -> Result<Option<Tombstone>, Fault> {
    db.maybe(Query::TombstoneFind, [run.as_str()], |row| {
        Ok(Tombstone {
            run: run.clone(),
            job: rows::job_id(row, 0)?,
            kind: Kind::from_stored(&row.get::<_, String>(1)?),
            version: row.get(2)?,
            end: rows::end(row.get(3)?)?,
            ended_at: rows::instant(row, 4)?,
            until: rows::instant(row, 5)?,
        })
    })
}

/// So many ready jobs are found faster among all jobs than one by one.
const READY_MANY: u32 = 100_000;

/// Each list starts from what there is least of: a graph's nodes, an end, the small tables of what is
/// live, or the runs.
fn jobs(db: &mut Db<'_>, filter: &JobFilter, page: Page) -> Result<Vec<JobLine>, Fault> {
    let (queue, kind) = (filter.queue.as_ref().map(Queue::as_str), filter.kind.as_ref().map(Kind::as_str));
    let state = filter.state.map(rows::state_code);
    let (prune, end) = (StopReason::Prune.code(), Role::END.bits());
    let is_run = filter.shape == JobShape::Run;
    let (from, above) = (before(page), filter.above.unwrap_or(i64::MIN));
    if let Some(tag) = filter.tags.first() {
        let (all, graph) = (rows::list_text(&filter.tags), filter.graph.map(|graph| graph.as_bytes().to_vec()));
        let which = params![from, state, queue, kind, prune, end, length(page), tag, all, is_run, graph, above];
        return db.all(Query::JobListTagged, which, job_line);
    }
    if let Some(graph) = filter.graph {
        let graph = &graph.as_bytes()[..];
        let which = params![from, state, queue, kind, prune, end, length(page), graph, is_run, above];
        return db.all(Query::JobListOfGraph, which, job_line);
    }
    match filter.state {
        Some(State::Ended(other)) if other != End::Succeeded => {
            let which = params![from, state, queue, kind, prune, end, length(page), other.code(), is_run, above];
            db.all(Query::JobListEnded, which, job_line)
        }
        Some(State::Ended(_)) => {
            let which = params![from, state, queue, kind, prune, end, length(page), is_run, above];
            db.all(Query::JobListSucceeded, which, job_line)
        }
        Some(State::Waiting) => {
            let which = params![from, state, queue, kind, prune, end, length(page), is_run, above];
            db.all(Query::JobListWaiting, which, job_line)
        }
        Some(State::Running | State::Blocked) => {
            let which = params![from, state, queue, kind, prune, end, length(page), is_run, above];
            db.all(Query::JobListLive, which, job_line)
        }
        Some(State::Ready) if !db.one(Query::ReadyMany, [READY_MANY], |row| Ok(row.get::<_, bool>(0)?))? => {
            let which = params![from, state, queue, kind, prune, end, length(page), is_run, above];
            db.all(Query::JobListLive, which, job_line)
        }
        _ => {
            let which = params![from, state, queue, kind, prune, end, length(page), above];
            db.all(if is_run { Query::JobListRuns } else { Query::JobList }, which, job_line)
        }
    }
}

fn attempts(db: &mut Db<'_>, id: JobId) -> Result<Vec<AttemptLine>, Fault> {
    db.all(Query::AttemptList, params![&id.as_bytes()[..], StopReason::Prune.code()], |row| {
        let code: i16 = row.get(1)?;
        let outcome = AttemptOutcome::from_code(code);
        Ok(AttemptLine {
            attempt: row.get(0)?,
            outcome: outcome.ok_or_else(|| Fault::corrupt(format!("no outcome has the code {code}")))?,
            started_at: rows::instant(row, 2)?,
            ended_at: rows::instant(row, 3)?,
            error: row.get(4)?,
            log: row.get(5)?,
        })
    })
}

fn graph_line(row: &Row<'_>) -> Result<GraphLine, Fault> {
    let name: String = row.get(2)?;
    let stop: Option<i16> = row.get(4)?;
    Ok(GraphLine {
        key: row.get(0)?,
        id: rows::graph_id(row, 1)?,
        name: GraphName::from_stored(&name),
        end: rows::graph_end(row, 3)?,
        stop: stop.map(rows::stop_reason).transpose()?,
        nodes: row.get(5)?,
        generation: row.get(8)?,
        restart_of: row.get::<_, Option<[u8; 16]>>(9)?.map(GraphId::from_bytes),
        created_at: rows::instant(row, 6)?,
        ended_at: rows::instant_or_none(row, 7)?,
        compensation: compensation(row)?,
    })
}

fn compensation(row: &Row<'_>) -> Result<Option<Compensation>, Fault> {
    let (rank, counts): (Option<u32>, Option<String>) = (row.get(10)?, row.get(11)?);
    Compensation::of_stored(rank, counts.as_deref()).map_err(|e| Fault::corrupt(format!("the counts of a graph: {e}")))
}

fn graph(db: &mut Db<'_>, id: GraphId) -> Result<Option<GraphDetail>, Fault> {
    let which = params![&id.as_bytes()[..], StopReason::Prune.code()];
    let found = db.maybe(Query::GraphDetail, which, |row| {
        let line = graph_line(row)?;
        let stopped = match line.stop {
            Some(reason) => {
                let (at, due) = (rows::instant(row, 14)?, rows::instant_or_none(row, 17)?);
                Some(StopLine { reason, at, actor: row.get(15)?, why: row.get(16)?, due })
            }
            None => None,
        };
        let rules = rows::json(row, 18, |text| GraphRules::from_stored(Some(text)))?.unwrap_or_default();
        Ok((line, rows::payload(row, 12)?, rules, stopped))
    })?;
    let Some((line, input, rules, stopped)) = found else { return Ok(None) };
    let of_graph = params![line.key, Role::END.bits()];
    let nodes = db.all(Query::GraphNodes, of_graph, |row| {
        let job = job_line(row)?;
        let Some(node) = job.node else { return Err(Fault::corrupt("a node without a name")) };
        Ok(NodeLine {
            name: node.name,
            job: job.id,
            kind: job.kind,
            queue: job.queue,
            state: job.state,
            due: job.due,
            parked: job.parked,
            counters: job.counters,
            enqueued_at: job.enqueued_at,
            started_at: job.started_at,
            ended_at: job.ended_at,
            cause: rows::cause(row, 17)?,
            role: Role::from_bits(row.get(18)?),
            parents: rows::node_counters(row, 19)?,
            guards: row.get::<_, Option<String>>(26)?.as_deref().map(NodeName::from_stored),
        })
    })?;
    let edges = db.all(Query::GraphEdges, of_graph, |row| {
        let (parent, child): (String, String) = (row.get(0)?, row.get(1)?);
        let label: Option<String> = row.get(3)?;
        Ok(EdgeLine {
            parent: NodeName::from_stored(&parent),
            child: NodeName::from_stored(&child),
            verdicts: VerdictTable::from_bits(row.get(2)?),
            label: label.as_deref().map(Label::from_stored),
        })
    })?;
    let restarts = db.all(Query::GraphRestarts, which, |row| rows::graph_id(row, 0))?;
    Ok(Some(GraphDetail { line, input, rules, stopped, restarts, nodes, edges }))
}

/// Starts from what there is least of: open graphs, those of an end other than success, those of a name, else all.
fn graphs(db: &mut Db<'_>, filter: &GraphFilter, page: Page) -> Result<Vec<GraphLine>, Fault> {
    let (from, prune, most) = (before(page), StopReason::Prune.code(), length(page));
    let name = filter.name.as_ref().map(GraphName::as_str);
    let end = match filter.standing {
        GraphStanding::Open => return db.all(Query::GraphListOpen, params![from, name, prune, most], graph_line),
        GraphStanding::Ended(end) if end != GraphEnd::Succeeded => {
            return db.all(Query::GraphListOther, params![from, end.code(), prune, most, name], graph_line);
        }
        GraphStanding::Ended(end) => Some(end.code()),
        GraphStanding::Any => None,
    };
    match name {
        Some(name) => db.all(Query::GraphListNamed, params![from, end, prune, most, name], graph_line),
        None => db.all(Query::GraphList, params![from, end, prune, most], graph_line),
    }
}

fn queues(db: &mut Db<'_>, most: u32) -> Result<Vec<QueueLine>, Fault> {
    db.all(Query::QueueList, [most], |row| {
        let queue: String = row.get(0)?;
        Ok(QueueLine {
            queue: Queue::from_stored(&queue),
            ready: count(row, 1)?,
            later: count(row, 2)?,
            running: count(row, 3)?,
            blocked: count(row, 4)?,
            paused: match row.get::<_, Option<i64>>(5)? {
                Some(at) => Some(PauseLine { at: Timestamp::from_micros(at), actor: row.get(6)?, why: row.get(7)? }),
                None => None,
            },
        })
    })
}

fn streams(db: &mut Db<'_>, run: &RunId) -> Result<Vec<StreamHead>, Fault> {
    db.all(Query::StreamList, params![run.as_str(), Showing::PASSING.to_string(), limits::STREAMS_MAX], |row| {
        Ok(StreamHead { name: row.get(0)?, lines: count(row, 1)?, at: rows::instant(row, 2)? })
    })
}

fn open_versions(db: &mut Db<'_>, most: u32) -> Result<Vec<VersionLine>, Fault> {
    db.all(Query::VersionList, params![Kind::END, most], |row| {
        let kind: String = row.get(0)?;
        Ok(VersionLine {
            kind: Kind::from_stored(&kind),
            version: row.get(1)?,
            open: count(row, 2)?,
            runs: count(row, 3)?,
            oldest: rows::instant(row, 4)?,
        })
    })
}

fn open_patches(db: &mut Db<'_>) -> Result<Vec<PatchLine>, Fault> {
    let lines = db.all(Query::PatchList, [], |row| {
        let kind: String = row.get(0)?;
        // What begins so and is no such line is of a newer release.
        let Some(patch) = PatchLine::patch_of(&towpath_core::Payload::json_bytes(row.get::<_, Vec<u8>>(2)?)) else {
            return Ok(None);
        };
        Ok(Some(PatchLine {
            kind: Kind::from_stored(&kind),
            version: row.get(1)?,
            patch,
            runs: count(row, 3)?,
            first: rows::instant(row, 4)?,
            others: count(row, 5)?,
            oldest_other: row.get::<_, Option<i64>>(6)?.map(Timestamp::from_micros),
        }))
    })?;
    let mut lines: Vec<PatchLine> = lines.into_iter().flatten().collect();
    lines.sort_by(PatchLine::order);
    Ok(lines)
}

fn workers(db: &mut Db<'_>) -> Result<Vec<WorkerLine>, Fault> {
    db.all(Query::WorkerList, [], |row| {
        Ok(WorkerLine {
            worker: rows::incarnation(row, 0)?,
            name: row.get(1)?,
            queues: rows::texts(row, 2)?,
            kinds: rows::kinds(row, 3)?,
            running: row.get(4)?,
            started_at: rows::instant(row, 5)?,
            lease_until: rows::instant(row, 6)?,
            wish: rows::json(row, 7, |text| serde_json::from_str(text))?,
        })
    })
}

fn audit(db: &mut Db<'_>, page: Page) -> Result<Vec<AuditLine>, Fault> {
    db.all(Query::AuditList, params![before(page), length(page)], audit_line)
}

fn audit_line(row: &Row<'_>) -> Result<AuditLine, Fault> {
    Ok(AuditLine {
        key: row.get(0)?,
        at: rows::instant(row, 1)?,
        actor: row.get(2)?,
        reason: row.get(3)?,
        action: row.get(4)?,
        target: row.get(5)?,
        outcome: row.get(6)?,
    })
}

fn state_counts(db: &mut Db<'_>, most: u32) -> Result<StateCounts, Fault> {
    db.one(Query::StateCounts, [most], |row| {
        Ok(StateCounts {
            ready: count(row, 0)?,
            later: count(row, 1)?,
            running: count(row, 2)?,
            blocked: count(row, 3)?,
            dead: count(row, 4)?,
            quarantined: count(row, 5)?,
            cancelled: count(row, 6)?,
            skipped: count(row, 7)?,
            open_graphs: count(row, 8)?,
            repaired: count(row, 9)?,
        })
    })
}

fn census(db: &mut Db<'_>) -> Result<Census, Fault> {
    db.one(Query::Census, [], |row| {
        Ok(Census {
            jobs: count(row, 0)?,
            ready: count(row, 1)?,
            later: count(row, 2)?,
            running: count(row, 3)?,
            blocked: count(row, 4)?,
            undecided: count(row, 5)?,
            ended: count(row, 6)?,
            graphs: count(row, 7)?,
            nodes: count(row, 8)?,
            edges: count(row, 9)?,
            stops: count(row, 10)?,
            attempts: count(row, 11)?,
            outputs: count(row, 12)?,
            deadlines: count(row, 13)?,
            workers: count(row, 14)?,
            leases: count(row, 15)?,
            runs: count(row, 16)?,
            entries: count(row, 17)?,
            arrivals: count(row, 18)?,
            undos: count(row, 19)?,
            keys: count(row, 20)?,
            shown: count(row, 21)?,
            notes: count(row, 22)?,
            tombstones: count(row, 23)?,
        })
    })
}

fn count(row: &Row<'_>, at: usize) -> Result<u64, Fault> {
    Ok(row.get::<_, i64>(at)?.unsigned_abs())
}

/// Keys below this one.
fn before(page: Page) -> i64 {
    page.after.unwrap_or(i64::MAX)
}

fn length(page: Page) -> u32 {
    page.limit.clamp(1, 1_000)
}
