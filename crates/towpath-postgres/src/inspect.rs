//! Questions of people.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Row;
use towpath_core::store::{
    AttemptLine, AttemptOutcome, AuditLine, BoxFuture, Census, EdgeLine, GraphDetail, GraphFilter, GraphLine,
    GraphStanding, Inspect, JobDetail, JobFilter, JobLine, JobShape, NodeLine, Page, PatchLine, PauseLine, QueueLine,
    RunLine, Showing, StateCounts, StopLine, StoreResult, StreamHead, TagLine, TagQuery, TallyLine, TallyQuery,
    Tombstone, VersionLine, WorkerLine,
};
use towpath_core::{
    CauseRank, Compensation, End, GraphEnd, GraphId, GraphName, GraphRules, Incarnation, JobId, Kind, Label,
    NodeCounters, NodeName, Queue, Role, RunId, State, Timestamp, VerdictTable, limits,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, counters, instant, node_ref, parsed, payload, rules, state, stop, stored};
use crate::session::{Params, Session};
use crate::store::PostgresStore;
use crate::{note, tally};

impl Inspect for PostgresStore {
    fn job(&self, id: JobId) -> BoxFuture<'_, StoreResult<Option<JobDetail>>> {
        self.look("show a job", move |session| async move {
            let rows = session.run(Query::JobDetail, &[&id.as_uuid()]).await?;
            rows.first().map(job_detail).transpose()
        })
    }

    fn run(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<JobId>>> {
        let ids = Arc::new(vec![id.as_str().to_owned()]);
        self.look("look for a run", move |session| {
            let ids = Arc::clone(&ids);
            async move {
                let rows = session.run(Query::ExistingRuns, &[&*ids]).await?;
                rows.first().map(|row| Ok(JobId::from(row.try_get::<_, Uuid>(1)?))).transpose()
            }
        })
    }

    fn tombstone(&self, id: RunId) -> BoxFuture<'_, StoreResult<Option<Tombstone>>> {
        let id = Arc::new(id);
        self.look("look for a tombstone", move |session| {
            let id = Arc::clone(&id);
            async move {
                let rows = session.run(Query::TombstoneFind, &[&id.as_str()]).await?;
                rows.first().map(|row| tombstone(&id, row)).transpose()
            }
        })
    }

    fn jobs(&self, filter: JobFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<JobLine>>> {
        let filter = Arc::new(filter);
        self.list("list jobs", move |session| list_jobs(session, Arc::clone(&filter), page))
    }

    fn attempts(&self, id: JobId) -> BoxFuture<'_, StoreResult<Vec<AttemptLine>>> {
        self.look("list attempts", move |session| async move {
            let rows = session.run(Query::AttemptList, &[&id.as_uuid()]).await?;
            rows.iter().map(attempt_line).collect()
        })
    }

    fn graph(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphDetail>>> {
        self.look("show a graph", move |session| async move { graph_detail(&session, id).await })
    }

    fn graph_line(&self, id: GraphId) -> BoxFuture<'_, StoreResult<Option<GraphLine>>> {
        self.look("look at a graph", move |session| async move {
            graph_row(&session, id).await?.map(|row| graph_line(&row)).transpose()
        })
    }

    fn graphs(&self, filter: GraphFilter, page: Page) -> BoxFuture<'_, StoreResult<Vec<GraphLine>>> {
        self.list("list graphs", move |session| {
            let filter = filter.clone();
            async move { graphs(&session, &filter, page).await?.iter().map(graph_line).collect() }
        })
    }

    fn tags(&self, query: TagQuery) -> BoxFuture<'_, StoreResult<Vec<TagLine>>> {
        let query = Arc::new(query);
        self.list("list tags", move |session| note::tags(session, Arc::clone(&query)))
    }

    fn queues(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<QueueLine>>> {
        self.list("list queues", move |session| async move {
            let rows = session.run(Query::QueueList, &[&i64::from(most)]).await?;
            let line = |row: &Row| {
                Ok(QueueLine {
                    queue: Queue::from_stored(row.try_get(0)?),
                    ready: number(row, 1)?,
                    later: number(row, 2)?,
                    running: number(row, 3)?,
                    blocked: number(row, 4)?,
                    paused: match row.try_get::<_, Option<i64>>(5)? {
                        Some(at) => Some(PauseLine {
                            at: Timestamp::from_micros(at),
                            actor: row.try_get(6)?,
                            why: row.try_get(7)?,
                        }),
                        None => None,
                    },
                })
            };
            rows.iter().map(line).collect()
        })
    }

    fn streams(&self, run: RunId) -> BoxFuture<'_, StoreResult<Vec<StreamHead>>> {
        self.list("list streams", move |session| {
            let run = run.clone();
            async move {
                let (past, most) = (Showing::PASSING.to_string(), stored(limits::STREAMS_MAX));
                let rows = session.run(Query::StreamList, &[&run.as_str(), &past, &most]).await?;
                let head = |row: &Row| {
                    let at = Timestamp::from_micros(row.try_get(2)?);
                    Ok(StreamHead { name: row.try_get(0)?, lines: number(row, 1)?, at })
                };
                rows.iter().map(head).collect()
            }
        })
    }

    fn tallies(&self, query: TallyQuery) -> BoxFuture<'_, StoreResult<Vec<TallyLine>>> {
        let query = Arc::new(query);
        self.list("list tallies", move |session| tally::list(session, Arc::clone(&query)))
    }

    fn open_versions(&self, most: u32) -> BoxFuture<'_, StoreResult<Vec<VersionLine>>> {
        self.list("list versions", move |session| async move {
            let rows = session.run(Query::VersionList, &[&Kind::END, &i64::from(most)]).await?;
            let line = |row: &Row| {
                Ok(VersionLine {
                    kind: Kind::from_stored(row.try_get(0)?),
                    version: u16::try_from(row.try_get::<_, i32>(1)?).unwrap_or(u16::MAX),
                    open: number(row, 2)?,
                    runs: number(row, 3)?,
                    oldest: Timestamp::from_micros(row.try_get(4)?),
                })
            };
            rows.iter().map(line).collect()
        })
    }

    fn open_patches(&self) -> BoxFuture<'_, StoreResult<Vec<PatchLine>>> {
        self.read("list patches", move |session| async move {
            let rows = session.run(Query::PatchList, &[]).await?;
            let mut lines = Vec::with_capacity(rows.len());
            for row in &rows {
                // What begins so and is no such line is of a newer release.
                let line = towpath_core::Payload::json_bytes(row.try_get::<_, Vec<u8>>(2)?);
                let Some(patch) = PatchLine::patch_of(&line) else { continue };
                lines.push(PatchLine {
                    kind: Kind::from_stored(row.try_get(0)?),
                    version: u16::try_from(row.try_get::<_, i32>(1)?).unwrap_or(u16::MAX),
                    patch,
                    runs: number(row, 3)?,
                    first: Timestamp::from_micros(row.try_get(4)?),
                    others: number(row, 5)?,
                    oldest_other: row.try_get::<_, Option<i64>>(6)?.map(Timestamp::from_micros),
                });
            }
            lines.sort_by(PatchLine::order);
            Ok(lines)
        })
    }

    fn workers(&self) -> BoxFuture<'_, StoreResult<Vec<WorkerLine>>> {
        self.list("list workers", move |session| async move {
            let rows = session.run(Query::WorkerList, &[]).await?;
            let line = |row: &Row| {
                Ok(WorkerLine {
                    worker: incarnation(row.try_get(0)?),
                    name: row.try_get(1)?,
                    queues: parsed(row.try_get(2)?).unwrap_or_default(),
                    kinds: parsed(row.try_get(3)?).unwrap_or_default(),
                    running: u32::try_from(number(row, 4)?).unwrap_or(u32::MAX),
                    started_at: Timestamp::from_micros(row.try_get(5)?),
                    lease_until: Timestamp::from_micros(row.try_get(6)?),
                    wish: parsed(row.try_get(7)?),
                })
            };
            rows.iter().map(line).collect()
        })
    }

    fn audit(&self, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>> {
        self.list("list the audit", move |session| async move {
            let rows = session.run(Query::AuditList, &[&page.after, &length(page)]).await?;
            rows.iter().map(audit_line).collect()
        })
    }

    fn audit_of(&self, target: String, page: Page) -> BoxFuture<'_, StoreResult<Vec<AuditLine>>> {
        let target = Arc::new(target);
        self.list("list the audit of one thing", move |session| {
            let target = Arc::clone(&target);
            async move {
                let rows = session.run(Query::AuditOf, &[&target.as_str(), &page.after, &length(page)]).await?;
                rows.iter().map(audit_line).collect()
            }
        })
    }

    fn counts(&self, most: u32) -> BoxFuture<'_, StoreResult<StateCounts>> {
        self.list("count jobs", move |session| async move {
            let most = i32::try_from(most).unwrap_or(i32::MAX);
            let row = session.one(Query::StateCounts, &[&most]).await?;
            Ok(StateCounts {
                ready: number(&row, 0)?,
                later: number(&row, 1)?,
                running: number(&row, 2)?,
                blocked: number(&row, 3)?,
                dead: number(&row, 4)?,
                quarantined: number(&row, 5)?,
                cancelled: number(&row, 6)?,
                skipped: number(&row, 7)?,
                open_graphs: number(&row, 8)?,
                repaired: number(&row, 9)?,
            })
        })
    }

    fn revision(&self) -> BoxFuture<'_, StoreResult<u64>> {
        self.look("look for changes", move |session| async move {
            let row = session.one(Query::Revision, &[]).await?;
            number(&row, 0)
        })
    }

    fn census(&self) -> BoxFuture<'_, StoreResult<Census>> {
        self.list("count rows", move |session| async move {
            let row = session.one(Query::Census, &[]).await?;
            Ok(Census {
                jobs: number(&row, 0)?,
                ready: number(&row, 1)?,
                later: number(&row, 2)?,
                running: number(&row, 3)?,
                blocked: number(&row, 4)?,
                undecided: number(&row, 5)?,
                ended: number(&row, 6)?,
                graphs: number(&row, 7)?,
                nodes: number(&row, 8)?,
                edges: number(&row, 9)?,
                stops: number(&row, 10)?,
                attempts: number(&row, 11)?,
                outputs: number(&row, 12)?,
                deadlines: number(&row, 13)?,
                workers: number(&row, 14)?,
                leases: number(&row, 15)?,
                runs: number(&row, 16)?,
                entries: number(&row, 17)?,
                arrivals: number(&row, 18)?,
                undos: number(&row, 19)?,
                keys: number(&row, 20)?,
                shown: number(&row, 21)?,
                notes: number(&row, 22)?,
                tombstones: number(&row, 23)?,
            })
        })
    }
}

fn audit_line(row: &Row) -> Result<AuditLine, Fault> {
    Ok(AuditLine {
        key: row.try_get(0)?,
        at: Timestamp::from_micros(row.try_get(1)?),
        actor: row.try_get(2)?,
        reason: row.try_get(3)?,
        action: row.try_get(4)?,
        target: row.try_get(5)?,
        outcome: row.try_get(6)?,
    })
}

fn tombstone(run: &RunId, row: &Row) -> Result<Tombstone, Fault> {
    Ok(Tombstone {
        run: run.clone(),
        job: JobId::from(row.try_get::<_, Uuid>(0)?),
        kind: Kind::from_stored(row.try_get(1)?),
        version: u16::try_from(row.try_get::<_, i32>(2)?).unwrap_or(u16::MAX),
        end: crate::rows::end(row.try_get(3)?)?,
        ended_at: Timestamp::from_micros(row.try_get(4)?),
        until: Timestamp::from_micros(row.try_get(5)?),
    })
}

/// So many ready jobs are found faster among all jobs than one by one.
const READY_MANY: i32 = 100_000;

/// Each list starts from what there is least of: a graph's nodes, an end, the small tables of what is
/// live, or the runs.
async fn list_jobs(session: Session, filter: Arc<JobFilter>, page: Page) -> Result<Vec<JobLine>, Fault> {
    let place = |wanted: State| State::ALL.iter().position(|state| *state == wanted);
    let wanted = filter.state.and_then(place).and_then(|place| i16::try_from(place).ok());
    let queue = filter.queue.as_ref().map(Queue::as_str);
    let kind = filter.kind.as_ref().map(Kind::as_str);
    let graph = filter.graph.map(|graph| graph.as_uuid());
    let above = filter.above.unwrap_or(i64::MIN);
    let (limit, is_run) = (length(page), filter.shape == JobShape::Run);
    let is_live = match filter.state {
        Some(State::Running | State::Blocked) => true,
        Some(State::Ready) => !session.one(Query::ReadyMany, &[&READY_MANY]).await?.try_get::<_, bool>(0)?,
        _ => false,
    };
    let rows = match filter.state {
        _ if !filter.tags.is_empty() => {
            let (tag, all) = (filter.tags.first(), &filter.tags);
            let which: Params<'_> = &[&page.after, &limit, &wanted, &queue, &kind, &tag, all, &is_run, &graph, &above];
            session.run(Query::JobListTagged, which).await?
        }
        _ if graph.is_some() => {
            session
                .run(Query::JobListOfGraph, &[&page.after, &limit, &wanted, &queue, &kind, &graph, &is_run, &above])
                .await?
        }
        Some(State::Ended(end)) if end != End::Succeeded => {
            let code = end.code();
            session
                .run(Query::JobListEnded, &[&page.after, &limit, &wanted, &queue, &kind, &code, &is_run, &above])
                .await?
        }
        Some(State::Ended(_)) => {
            session
                .run(Query::JobListSucceeded, &[&page.after, &limit, &wanted, &queue, &kind, &is_run, &above])
                .await?
        }
        Some(State::Waiting) => {
            session.run(Query::JobListWaiting, &[&page.after, &limit, &wanted, &queue, &kind, &is_run, &above]).await?
        }
        _ if is_live => {
            session.run(Query::JobListLive, &[&page.after, &limit, &wanted, &queue, &kind, &is_run, &above]).await?
        }
        _ if is_run => session.run(Query::JobListRuns, &[&page.after, &limit, &wanted, &queue, &kind, &above]).await?,
        _ => session.run(Query::JobList, &[&page.after, &limit, &wanted, &queue, &kind, &above]).await?,
    };
    rows.iter().map(job_line).collect()
}

fn length(page: Page) -> i32 {
    i32::try_from(page.limit.clamp(1, 1_000)).unwrap_or(1_000)
}

fn number(row: &Row, at: usize) -> Result<u64, Fault> {
    Ok(u64::try_from(row.try_get::<_, i64>(at)?).unwrap_or(0))
}

fn incarnation(id: Uuid) -> Incarnation {
    Incarnation::from_bytes(id.into_bytes())
}

fn job_line(row: &Row) -> Result<JobLine, Fault> {
    Ok(JobLine {
        key: row.try_get(0)?,
        id: JobId::from(row.try_get::<_, Uuid>(1)?),
        kind: Kind::from_stored(row.try_get(2)?),
        queue: Queue::from_stored(row.try_get(3)?),
        priority: row.try_get(4)?,
        state: state(row.try_get(5)?)?,
        due: instant(row.try_get(6)?),
        counters: counters(row, 7)?,
        node: node_ref(row.try_get(10)?, row.try_get(11)?),
        enqueued_at: Timestamp::from_micros(row.try_get(12)?),
        started_at: instant(row.try_get(13)?),
        ended_at: instant(row.try_get(14)?),
        version: u16::try_from(row.try_get::<_, i32>(15)?).unwrap_or(u16::MAX),
        parked: row.try_get(16)?,
    })
}

fn job_detail(row: &Row) -> Result<JobDetail, Fault> {
    Ok(JobDetail {
        line: job_line(row)?,
        input: payload(row.try_get("codec")?, row.try_get("input")?).unwrap_or_default(),
        rules: rules(row.try_get("rules")?),
        deadline: instant(row.try_get("deadline")?),
        tags: note::all_tags(parsed(row.try_get("tags")?).unwrap_or_default(), row.try_get("tags_now")?),
        progress: note::progress(row)?,
        headers: parsed(row.try_get("headers")?).unwrap_or_default(),
        cause: parsed(row.try_get("cause")?),
        output: payload(row.try_get("output_codec")?, row.try_get("output")?),
        blocked: row.try_get("blocked")?,
        worker: row.try_get::<_, Option<Uuid>>("worker")?.map(incarnation),
        cancel: parsed(row.try_get("cancel")?),
        run: run_line(row)?,
    })
}

fn run_line(row: &Row) -> Result<Option<RunLine>, Fault> {
    let Some(id) = row.try_get::<_, Option<&str>>("run")? else { return Ok(None) };
    Ok(Some(RunLine {
        id: RunId::from_stored(id),
        chapter: count(row.try_get("chapter")?),
        entries: count(row.try_get("entries")?),
        arrived: u32::try_from(row.try_get::<_, i64>("arrived")?).unwrap_or(u32::MAX),
        paused: parsed(row.try_get("paused")?),
        origin: parsed(row.try_get("origin")?),
    }))
}

fn attempt_line(row: &Row) -> Result<AttemptLine, Fault> {
    let code = row.try_get(1)?;
    Ok(AttemptLine {
        attempt: count(row.try_get(0)?),
        outcome: AttemptOutcome::from_code(code)
            .ok_or_else(|| Fault::corrupt("list attempts", format!("no outcome has the code {code}")))?,
        started_at: Timestamp::from_micros(row.try_get(2)?),
        ended_at: Timestamp::from_micros(row.try_get(3)?),
        error: row.try_get(4)?,
        log: row.try_get(5)?,
    })
}

fn graph_line(row: &Row) -> Result<GraphLine, Fault> {
    Ok(GraphLine {
        key: row.try_get(0)?,
        id: GraphId::from(row.try_get::<_, Uuid>(1)?),
        name: GraphName::from_stored(row.try_get(2)?),
        end: row.try_get::<_, Option<i16>>(3)?.and_then(GraphEnd::from_code),
        stop: stop(row.try_get(4)?),
        nodes: count(row.try_get(5)?),
        generation: count(row.try_get(8)?),
        restart_of: row.try_get::<_, Option<Uuid>>(9)?.map(GraphId::from),
        created_at: Timestamp::from_micros(row.try_get(6)?),
        ended_at: instant(row.try_get(7)?),
        compensation: compensation(row)?,
    })
}

fn compensation(row: &Row) -> Result<Option<Compensation>, Fault> {
    let rank = row.try_get::<_, Option<i32>>("undo_rank")?.map(count);
    let read = Compensation::of_stored(rank, row.try_get("counts")?);
    read.map_err(|e| Fault::corrupt("show a graph", format!("its counts: {e}")))
}

/// Starts from what there is least of: open graphs, those of an end other than success, those of a name, else all.
async fn graphs(session: &Session, filter: &GraphFilter, page: Page) -> Result<Vec<Row>, Fault> {
    let (after, limit) = (&page.after, &length(page));
    let name = &filter.name.as_ref().map(GraphName::as_str);
    let end = match filter.standing {
        GraphStanding::Open => return session.run(Query::GraphListOpen, &[after, limit, name]).await,
        GraphStanding::Ended(end) if end != GraphEnd::Succeeded => {
            return session.run(Query::GraphListOther, &[after, limit, &end.code(), name]).await;
        }
        GraphStanding::Ended(end) => Some(end.code()),
        GraphStanding::Any => None,
    };
    match name {
        Some(name) => session.run(Query::GraphListNamed, &[after, limit, name, &end]).await,
        None => session.run(Query::GraphList, &[after, limit, &None::<Uuid>, &end]).await,
    }
}

async fn graph_row(session: &Session, id: GraphId) -> Result<Option<Row>, Fault> {
    let (none, one, id) = (None::<i64>, 1_i32, Some(id.as_uuid()));
    Ok(session.run(Query::GraphList, &[&none, &one, &id, &None::<i16>]).await?.into_iter().next())
}

async fn graph_detail(session: &Session, id: GraphId) -> Result<Option<GraphDetail>, Fault> {
    let Some(row) = &graph_row(session, id).await? else { return Ok(None) };
    let line = graph_line(row)?;
    let (nodes, edges, restarts) = futures_util::future::try_join3(
        session.run(Query::GraphNodes, &[&line.key]),
        session.run(Query::GraphEdges, &[&line.key]),
        session.run(Query::GraphRestarts, &[&line.id.as_uuid()]),
    )
    .await?;
    let names = names(&nodes)?;
    let stopped = match line.stop {
        Some(reason) => {
            let at = Timestamp::from_micros(row.try_get(12)?);
            let due = instant(row.try_get("retry_due")?);
            Some(StopLine { reason, at, actor: row.try_get(13)?, why: row.try_get(14)?, due })
        }
        None => None,
    };
    Ok(Some(GraphDetail {
        line,
        rules: GraphRules::from_stored(row.try_get("rules")?).unwrap_or_default(),
        stopped,
        input: payload(row.try_get(10)?, row.try_get(11)?),
        restarts: restarts
            .iter()
            .map(|row| Ok(GraphId::from(row.try_get::<_, Uuid>(0)?)))
            .collect::<Result<_, Fault>>()?,
        edges: edge_lines(&edges, &names)?,
        nodes: nodes.iter().map(|row| node_line(row, &names)).collect::<Result<_, _>>()?,
    }))
}

/// The names of nodes, by their keys.
pub(crate) type Names = HashMap<i64, NodeName>;

/// Those of rows that begin with a name and have the job's key.
pub(crate) fn names(nodes: &[Row]) -> Result<Names, Fault> {
    nodes.iter().map(name).collect()
}

fn name(row: &Row) -> Result<(i64, NodeName), Fault> {
    Ok((row.try_get("job")?, NodeName::from_stored(row.try_get(0)?)))
}

fn node_line(row: &Row, names: &Names) -> Result<NodeLine, Fault> {
    Ok(NodeLine {
        name: name(row)?.1,
        job: JobId::from(row.try_get::<_, Uuid>(1)?),
        kind: Kind::from_stored(row.try_get(2)?),
        queue: Queue::from_stored(row.try_get(3)?),
        role: Role::from_bits(row.try_get(4)?),
        guards: row.try_get::<_, Option<i64>>("guards")?.and_then(|key| names.get(&key).cloned()),
        parents: NodeCounters {
            left: count(row.try_get(5)?),
            ok: count(row.try_get(6)?),
            untaken: count(row.try_get(7)?),
            spoiled: count(row.try_get(8)?),
            need: count(row.try_get(9)?),
            eager: row.try_get(10)?,
            cause: row.try_get::<_, Option<i64>>(11)?.map(CauseRank::from_stored),
        },
        state: state(row.try_get(12)?)?,
        due: instant(row.try_get("due")?),
        parked: row.try_get("parked")?,
        cause: parsed(row.try_get(13)?),
        counters: counters(row, 14)?,
        enqueued_at: Timestamp::from_micros(row.try_get("enqueued_at")?),
        started_at: instant(row.try_get(17)?),
        ended_at: instant(row.try_get(18)?),
    })
}

/// The edges between nodes that have names here, by their places. A large graph has many: they come with keys, and the names are
/// put in here.
pub(crate) fn edge_lines(rows: &[Row], names: &Names) -> Result<Vec<EdgeLine>, Fault> {
    let mut lines: Vec<(i32, EdgeLine)> = Vec::with_capacity(rows.len());
    for row in rows {
        let (parent, child) = (names.get(&row.try_get(0)?), names.get(&row.try_get(1)?));
        let (Some(parent), Some(child)) = (parent, child) else { continue };
        let line = EdgeLine {
            parent: parent.clone(),
            child: child.clone(),
            verdicts: VerdictTable::from_bits(row.try_get(2)?),
            label: row.try_get::<_, Option<&str>>(3)?.map(Label::from_stored),
        };
        lines.push((row.try_get(4)?, line));
    }
    lines.sort_by_key(|(place, _)| *place);
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}
