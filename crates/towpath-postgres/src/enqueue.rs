//! Writes jobs and graphs, in a constant number of statements however many there are.
//!
//! A batch of nothing but jobs is one statement and one round trip. Others are looked at first, then written; what another
//! writes in between shows as a unique violation, and the verb is replayed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_postgres::Row;
use towpath_core::store::{Enqueued, Item, Placed, Refusal};
use towpath_core::{
    Due, GraphId, JobId, NewJob, NodeName, PreparedEdge, PreparedGraph, PreparedNode, Restart, RunId, Timestamp, Wiring,
};
use uuid::Uuid;

use crate::columns::columns;
use crate::error::Fault;
use crate::items;
use crate::queries::Query;
use crate::rows::{json, stored};
use crate::session::{Commit, Session};
use crate::store::{Inner, News};

/// The longest delay that is stored, in microseconds: added to any clock it still fits.
pub(crate) const DELAY_US_MAX: i64 = 4_000_000_000_000_000_000;

/// Carries out one transaction of enqueues.
pub(crate) async fn enqueue(inner: &Inner, session: Session, items: Arc<Vec<Item>>) -> Result<(Enqueued, News), Fault> {
    inner.lanes.intern(&session, items.iter().flat_map(jobs_of)).await?;
    let by_function = inner.by_function.load(Ordering::Relaxed);
    if (by_function || items.iter().any(goes_by_function)) && !items.iter().any(stands_alone) {
        return items::enqueue(inner, &session, &items).await;
    }
    let mut ids = HashSet::with_capacity(items.len());
    if items.iter().all(|item| matches!(item, Item::Job(job) if job.run.is_none() && ids.insert(job.id))) {
        return enqueue_jobs(inner, &session, &items).await;
    }
    session.begin(Commit::Durable).await?;
    let now = session.one(Query::Clock, &[]).await?.try_get(0)?;
    let mut written = Written::default();
    let mut answers = Vec::with_capacity(items.len());
    for part in items.chunk_by(|a, b| !stands_alone(a) && !stands_alone(b)) {
        match part {
            [Item::Append(append)] => {
                answers.push(crate::append::append(inner, &session, now, append, &mut written).await?);
            }
            _ if part.iter().any(goes_by_function) => {
                answers.extend(items::enqueue_part(inner, &session, now, part, &mut written).await?);
            }
            _ => answers.extend(enqueue_part(inner, &session, now, part, &mut written).await?),
        }
    }
    session.commit().await?;
    Ok((Enqueued { now: Timestamp::from_micros(now), items: answers }, written.tell(inner)?))
}

/// Whether it is carried out by itself, with locks of its own.
fn stands_alone(item: &Item) -> bool {
    matches!(item, Item::Append(_))
}

/// Whether what is there by then decides about it, in one exchange: it has a unique key, or is of an id that may be taken.
fn goes_by_function(item: &Item) -> bool {
    match item {
        Item::Start(_) => true,
        Item::Job(job) => job.unique.is_some(),
        Item::Graph(graph) => graph.unique().is_some(),
        _ => false,
    }
}

pub(crate) fn jobs_of(item: &Item) -> Vec<&NewJob> {
    match item {
        Item::Job(job) => vec![job],
        Item::Graph(graph) => graph.nodes().iter().map(|node| &node.job).collect(),
        Item::Append(append) => append.nodes().iter().map(|node| &node.job).collect(),
        Item::Start(start) => vec![&start.job],
        _ => Vec::new(),
    }
}

/// What was inserted where, for the hints.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) lanes: HashSet<i32>,
    pub(crate) first: Option<i64>,
    pub(crate) undecided: bool,
    /// Runs that were sent something.
    pub(crate) signalled: Vec<RunId>,
}

impl Written {
    pub(crate) fn tell(self, inner: &Inner) -> Result<News, Fault> {
        inner.inserted(self.lanes.iter().copied(), self.first);
        let mut news = News { undecided: self.undecided, ..News::default() };
        news.signalled.extend(self.signalled);
        for lane in self.lanes {
            news.ready.insert(inner.lanes.lane(lane)?.queue);
        }
        Ok(news)
    }
}

/// The way of a batch of jobs with different ids, none a run: written first, and only looked at where an id was there.
async fn enqueue_jobs(inner: &Inner, session: &Session, items: &[Item]) -> Result<(Enqueued, News), Fault> {
    let (mut columns, mut ids) = (Jobs::default(), Vec::with_capacity(items.len()));
    let mut answers = Vec::with_capacity(items.len());
    let mut written = Written::default();
    for item in items {
        let Item::Job(job) = item else { continue };
        answers.push(job.check().map(|()| Placed::Inserted));
        if answers.last().is_some_and(Result::is_ok) {
            let lane = inner.lanes.number(job)?;
            written.lanes.insert(lane);
            columns.add(job, lane, None, None);
            ids.push(job.id.as_uuid());
        }
    }
    // A batch without tags is one statement, which is its own transaction.
    let is_tagged = items.iter().any(|item| matches!(item, Item::Job(job) if !job.tags.is_empty()));
    if is_tagged {
        session.begin(Commit::Durable).await?;
    }
    let rows = columns.run(session, Query::EnqueueJobs, &[&None::<i64>]).await?;
    let Some(row) = rows.first() else {
        let now = Timestamp::from_micros(session.one(Query::Clock, &[]).await?.try_get(0)?);
        if is_tagged {
            session.commit().await?;
        }
        return Ok((Enqueued { now, items: answers }, News::default()));
    };
    let now = Timestamp::from_micros(row.try_get(0)?);
    written.first = row.try_get(2)?;
    let is_whole = usize::try_from(row.try_get::<_, i64>(1)?) == Ok(ids.len());
    let inserted: HashSet<Uuid> = if is_whole && !is_tagged {
        HashSet::new()
    } else {
        let some = row.try_get::<_, Option<Vec<Uuid>>>(3)?.unwrap_or_default();
        if is_whole { ids.iter().copied().collect() } else { some.into_iter().collect() }
    };
    if is_tagged {
        tag_inserted(session, items, &inserted).await?;
    } else {
        inner.server.commits.durable(Duration::ZERO);
    }
    if !is_whole {
        let others: Vec<Uuid> = ids.iter().filter(|id| !inserted.contains(id)).copied().collect();
        let known = known_jobs(&session.run(Query::ExistingJobs, &[&others]).await?)?;
        for (item, answer) in items.iter().zip(&mut answers) {
            if let (Item::Job(job), Ok(_)) = (item, &answer)
                && !inserted.contains(&job.id.as_uuid())
            {
                let known = known.get(&job.id).ok_or(Fault::Again("a job was pruned just now"))?;
                *answer = known.answer(job);
            }
        }
    }
    Ok((Enqueued { now, items: answers }, written.tell(inner)?))
}

/// Gives jobs their tags that were written just now, and commits both.
async fn tag_inserted(session: &Session, items: &[Item], inserted: &HashSet<Uuid>) -> Result<(), Fault> {
    let mut tags = Tags::default();
    for item in items {
        if let Item::Job(job) = item
            && inserted.contains(&job.id.as_uuid())
        {
            tags.of(job);
        }
    }
    tags.run(session, Query::TagPut, &[]).await?;
    session.commit().await
}

/// Jobs and graphs of which some may be there, or be twice in the batch.
pub(crate) async fn enqueue_part(
    inner: &Inner,
    session: &Session,
    now: i64,
    items: &[Item],
    written: &mut Written,
) -> Result<Vec<Result<Placed, Refusal>>, Fault> {
    let jobs: Vec<&NewJob> = items.iter().flat_map(jobs_of).collect();
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.id.as_uuid()).collect();
    let graphs: Vec<Uuid> = items.iter().filter_map(graph_of).map(|graph| graph.id().as_uuid()).collect();
    let keys = stored((jobs.len() + graphs.len()) as u32);
    session.prepare(&[Query::DrawKeys, Query::ExistingJobs, Query::ExistingGraphs, Query::ExistingRuns]).await?;
    let (drawn, stored_jobs, stored_graphs, mut runs) = futures_util::future::try_join4(
        session.one(Query::DrawKeys, &[&keys]),
        session.run(Query::ExistingJobs, &[&ids]),
        session.run(Query::ExistingGraphs, &[&graphs]),
        KnownRuns::look(session, jobs.iter().copied()),
    )
    .await?;
    let mut keys = drawn.try_get::<_, Vec<i64>>(1)?.into_iter();
    let mut known = known_jobs(&stored_jobs)?;
    let mut seen: HashMap<GraphId, Seen<'_>> = HashMap::new();
    for row in &stored_graphs {
        let (id, name) = (GraphId::from(row.try_get::<_, Uuid>(0)?), row.try_get(1)?);
        seen.insert(id, Seen::Stored { name, key: row.try_get(2)?, pruned: row.try_get(3)? });
    }
    let mut growth = Growth::default();
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        answers.push(match item {
            Item::Job(job) => match (job.check(), known.get(&job.id)) {
                (Err(refusal), _) => Err(refusal),
                (Ok(()), Some(known)) => known.answer(job),
                (Ok(()), None) => match runs.claim([&**job]) {
                    Some(refusal) => refusal.unless_repeated(job.id),
                    None => {
                        let lane = inner.lanes.number(job)?;
                        written.lanes.insert(lane);
                        growth.job(job, lane, keys.next(), None);
                        known.insert(job.id, Known::New(job));
                        Ok(Placed::Inserted)
                    }
                },
            },
            Item::Graph(graph) => match seen.get(&graph.id()) {
                Some(seen) => seen.answer(session, graph).await?,
                None => {
                    let nodes = graph.nodes().iter();
                    let taken = nodes.clone().find_map(|node| Some(known.get(&node.job.id)?.conflict(node.job.id)));
                    match taken.or_else(|| runs.claim(nodes.map(|node| &node.job))) {
                        Some(refusal) => Err(refusal),
                        None => {
                            growth.graph(inner, graph, &mut keys, written)?;
                            known.extend(graph.nodes().iter().map(|node| (node.job.id, Known::New(&node.job))));
                            seen.insert(graph.id(), Seen::New(graph));
                            Ok(Placed::Inserted)
                        }
                    }
                }
            },
            _ => Err(Refusal::Invalid { problem: "this build of the store cannot keep such an item".into() }),
        });
    }
    growth.write(session, now, written).await?;
    Ok(answers)
}

fn graph_of(item: &Item) -> Option<&PreparedGraph> {
    match item {
        Item::Graph(graph) => Some(graph),
        _ => None,
    }
}

/// A job that has an id already: in the store, or earlier in the batch.
pub(crate) enum Known<'a> {
    Stored { kind: String, version: i32, codec: i16, input: Vec<u8>, run: Option<String> },
    New(&'a NewJob),
}

/// Ids of runs that another job has: in the store, or earlier in the batch.
pub(crate) struct KnownRuns(HashMap<String, JobId>);

impl KnownRuns {
    pub(crate) async fn look<'j>(session: &Session, jobs: impl Iterator<Item = &'j NewJob>) -> Result<Self, Fault> {
        let ids: Vec<&str> = jobs.filter_map(|job| job.run.as_ref()).map(RunId::as_str).collect();
        let mut known = HashMap::new();
        if !ids.is_empty() {
            for row in session.run(Query::ExistingRuns, &[&ids]).await? {
                known.insert(row.try_get(0)?, JobId::from(row.try_get::<_, Uuid>(1)?));
            }
        }
        Ok(Self(known))
    }

    /// Takes the ids of runs, all or none; the refusal of the first that another job has.
    pub(crate) fn claim<'j>(&mut self, jobs: impl IntoIterator<Item = &'j NewJob>) -> Option<Refusal> {
        let mut taken: HashMap<&str, JobId> = HashMap::new();
        for job in jobs {
            let Some(id) = &job.run else { continue };
            let other = self.0.get(id.as_str()).copied().or_else(|| taken.insert(id.as_str(), job.id));
            if let Some(job) = other {
                return Some(Refusal::RunTaken { id: id.clone(), job });
            }
        }
        self.0.extend(taken.into_iter().map(|(id, job)| (id.to_owned(), job)));
        None
    }
}

pub(crate) fn known_jobs<'a>(rows: &[Row]) -> Result<HashMap<JobId, Known<'a>>, Fault> {
    let mut known = HashMap::with_capacity(rows.len());
    for row in rows {
        let (kind, version) = (row.try_get(1)?, row.try_get(2)?);
        let (codec, input, run) = (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
        let stored = Known::Stored { kind, version, codec, input, run };
        known.insert(JobId::from(row.try_get::<_, Uuid>(0)?), stored);
    }
    Ok(known)
}

impl Known<'_> {
    fn answer(&self, job: &NewJob) -> Result<Placed, Refusal> {
        let same = match self {
            Self::Stored { kind, version, codec, input, run } => {
                (kind.as_str(), *version, *codec) == (job.kind.as_str(), i32::from(job.version), job.input.codec.code())
                    && *input == job.input.bytes
                    && run.as_deref() == job.run.as_ref().map(RunId::as_str)
            }
            Self::New(other) => {
                (&other.kind, other.version, &other.input, &other.run) == (&job.kind, job.version, &job.input, &job.run)
            }
        };
        if same { Ok(Placed::Existing) } else { Err(self.conflict(job.id)) }
    }

    pub(crate) fn conflict(&self, id: JobId) -> Refusal {
        let kind = match self {
            Self::Stored { kind, .. } => kind.clone(),
            Self::New(job) => job.kind.to_string(),
        };
        Refusal::JobConflict { id, kind }
    }
}

/// A graph that has an id already.
enum Seen<'a> {
    Stored { name: String, key: i64, pruned: bool },
    New(&'a PreparedGraph),
}

impl Seen<'_> {
    /// The same name and the same jobs under the same names are the same graph; an append may have added others since.
    async fn answer(&self, session: &Session, graph: &PreparedGraph) -> Result<Result<Placed, Refusal>, Fault> {
        let (name, nodes): (&str, HashMap<String, JobId>) = match self {
            Self::Stored { name, key, pruned: false } => {
                let mut nodes = HashMap::new();
                for row in session.run(Query::ExistingNodes, &[key]).await? {
                    nodes.insert(row.try_get(0)?, JobId::from(row.try_get::<_, Uuid>(1)?));
                }
                (name, nodes)
            }
            Self::Stored { name, pruned: true, .. } => (name, HashMap::new()),
            Self::New(other) => {
                let nodes = other.nodes().iter().map(|node| (node.name.to_string(), node.job.id)).collect();
                (other.name().as_str(), nodes)
            }
        };
        let has_all = graph.nodes().iter().all(|node| nodes.get(node.name.as_str()) == Some(&node.job.id));
        if name == graph.name().as_str() && has_all {
            return Ok(Ok(Placed::Existing));
        }
        Ok(Err(Refusal::GraphConflict { id: graph.id(), name: name.to_owned() }))
    }
}

columns!(Jobs of JobRow<'a> {
    key: Option<i64>,
    id: Uuid,
    lane: i32,
    priority: i16,
    delay_us: Option<i64>,
    due_at: Option<i64>,
    deadline: Option<i64>,
    rules: Option<String>,
    tags: Option<String>,
    headers: Option<String>,
    codec: i16,
    input: &'a [u8],
    graph: Option<i64>,
    parents: Option<Vec<u8>>,
    run: Option<bool>,
});

columns!(Tags of TagRow<'a> {
    job: Uuid,
    tag: &'a str,
});

columns!(NewRuns of RunRow<'a> {
    job: i64,
    id: &'a str,
    keep_id_us: Option<i64>,
});

columns!(Graphs of GraphRow<'a> {
    key: i64,
    id: Uuid,
    name: &'a str,
    rules: Option<String>,
    codec: Option<i16>,
    input: Option<&'a [u8]>,
    nodes: i32,
    edges: i32,
    restart_of: Option<Uuid>,
});

columns!(Nodes of NodeRow<'a> {
    job: i64,
    graph: i64,
    name: &'a str,
    role: i16,
    need: i32,
    eager: bool,
    left: i32,
    depth: i32,
    guards: Option<i64>,
});

columns!(Undos of UndoRow {
    graph: i64,
    rank: i32,
    job: i64,
});

columns!(Edges of EdgeRow<'a> {
    parent: i64,
    ord: i32,
    child: i64,
    verdicts: i32,
    label: Option<&'a str>,
});

impl<'a> Tags<'a> {
    fn of(&mut self, job: &'a NewJob) {
        job.tags.iter().for_each(|tag| self.push(TagRow { job: job.id.as_uuid(), tag }));
    }
}

impl<'a> Jobs<'a> {
    /// `node`: the graph, and the parents unless it is `end`.
    fn add(&mut self, job: &'a NewJob, lane: i32, key: Option<i64>, node: Option<(i64, Option<Vec<u8>>)>) {
        let (delay_us, due_at) = match job.due {
            Due::Now => (None, None),
            Due::After(wait) => (Some(towpath_core::micros(wait).min(DELAY_US_MAX)), None),
            Due::At(at) => (None, Some(at.as_micros())),
        };
        self.push(JobRow {
            key,
            id: job.id.as_uuid(),
            lane,
            priority: job.priority,
            delay_us,
            due_at,
            deadline: job.deadline.map(Timestamp::as_micros),
            rules: job.rules_to_store(),
            tags: if job.tags.is_empty() { None } else { json(&job.tags) },
            headers: if job.headers.is_empty() { None } else { json(&job.headers) },
            codec: job.input.codec.code(),
            input: &job.input.bytes,
            graph: node.as_ref().map(|(graph, _)| *graph),
            parents: node.and_then(|(_, parents)| parents),
            run: job.run.as_ref().map(|_| true),
        });
    }
}

/// Everything that a part of a batch writes.
#[derive(Default)]
pub(crate) struct Growth<'a> {
    jobs: Jobs<'a>,
    runs: NewRuns<'a>,
    graphs: Graphs<'a>,
    nodes: Nodes<'a>,
    edges: Edges<'a>,
    undos: Undos,
    tags: Tags<'a>,
    restarts: Vec<(&'a Restart, GraphId)>,
    /// How many jobs there are.
    count: usize,
}

/// A graph that is stored already, as an append finds it.
pub(crate) struct Stored {
    pub(crate) key: i64,
    pub(crate) first_edge: i32,
    pub(crate) end: i64,
    pub(crate) parents: HashMap<NodeName, i64>,
    /// How deep they lie.
    pub(crate) depths: HashMap<i64, u32>,
}

impl<'a> Growth<'a> {
    fn graph(
        &mut self,
        inner: &Inner,
        graph: &'a PreparedGraph,
        keys: &mut impl Iterator<Item = i64>,
        written: &mut Written,
    ) -> Result<(), Fault> {
        let key = keys.next().ok_or(Fault::Again("too few keys"))?;
        self.graphs.push(GraphRow {
            key,
            id: graph.id().as_uuid(),
            name: graph.name().as_str(),
            rules: graph.rules_to_store(),
            codec: graph.input().map(|input| input.codec.code()),
            input: graph.input().map(|input| &input.bytes[..]),
            // `end` is not counted.
            nodes: stored(graph.nodes().len() as u32) - 1,
            edges: stored(graph.edges().len() as u32),
            restart_of: graph.restart().map(|restart| restart.of.as_uuid()),
        });
        self.restarts.extend(graph.restart().map(|restart| (restart, graph.id())));
        let new = Stored { key, first_edge: 0, end: 0, parents: HashMap::new(), depths: HashMap::new() };
        self.grow(inner, &new, graph.nodes(), graph.edges(), keys, written)
    }

    pub(crate) fn grow(
        &mut self,
        inner: &Inner,
        graph: &Stored,
        nodes: &'a [PreparedNode],
        edges: &'a [PreparedEdge],
        keys: &mut impl Iterator<Item = i64>,
        written: &mut Written,
    ) -> Result<(), Fault> {
        let new: Vec<i64> = keys.take(nodes.len()).collect();
        let wiring = Wiring::of(nodes, edges, &new, &graph.parents, &graph.depths, Some(graph.end));
        let wiring = wiring.ok_or_else(|| Fault::corrupt("enqueue", "an edge leads from nowhere"))?;
        for (parent, child, edge) in wiring.edges {
            self.edges.push(EdgeRow {
                parent,
                ord: graph.first_edge + stored(edge.ord),
                child,
                verdicts: edge.verdicts.bits(),
                label: edge.label.as_ref().map(|label| label.as_str()),
            });
        }
        for (((key, node), parents), depth) in new.iter().copied().zip(nodes).zip(wiring.parents).zip(wiring.depths) {
            let lane = inner.lanes.number(&node.job)?;
            if parents.as_ref().is_some_and(Vec::is_empty) {
                written.lanes.insert(lane);
            }
            let parents = parents.map(|parents| parents.iter().flat_map(|key| key.to_le_bytes()).collect());
            self.job(&node.job, lane, Some(key), Some((graph.key, parents)));
            self.nodes.push(NodeRow {
                job: key,
                graph: graph.key,
                name: node.name.as_str(),
                role: node.role.bits(),
                need: stored(node.counters.need),
                eager: node.counters.eager,
                left: stored(node.counters.left),
                depth: stored(depth),
                guards: node.guards.and_then(|at| new.get(at)).copied(),
            });
            if node.guards.is_some() {
                self.undos.push(UndoRow { graph: graph.key, rank: stored(depth), job: key });
            }
        }
        Ok(())
    }

    fn job(&mut self, job: &'a NewJob, lane: i32, key: Option<i64>, node: Option<(i64, Option<Vec<u8>>)>) {
        let keep_id_us = job.keep_id.map(towpath_core::micros);
        if let Some((job, id)) = key.zip(job.run.as_ref().map(RunId::as_str)) {
            self.runs.push(RunRow { job, id, keep_id_us });
        }
        self.tags.of(job);
        self.jobs.add(job, lane, key, node);
        self.count += 1;
    }

    pub(crate) async fn write(&self, session: &Session, now: i64, written: &mut Written) -> Result<(), Fault> {
        session.prepare(&[Query::EnqueueJobs, Query::InsertGraphs, Query::InsertNodes, Query::InsertEdges]).await?;
        session.prepare(&[Query::InsertRuns, Query::InsertUndos]).await?;
        let (jobs, ..) = futures_util::future::try_join5(
            self.jobs.run(session, Query::EnqueueJobs, &[&Some(now)]),
            futures_util::future::try_join(
                self.runs.run(session, Query::InsertRuns, &[]),
                self.undos.run(session, Query::InsertUndos, &[]),
            ),
            self.graphs.run(session, Query::InsertGraphs, &[&now]),
            self.nodes.run(session, Query::InsertNodes, &[]),
            self.edges.run(session, Query::InsertEdges, &[]),
        )
        .await?;
        for (Restart { of, actor, reason }, id) in &self.restarts {
            let line = [vec![Restart::ACTION.to_owned()], vec![of.to_string()], vec![Restart::outcome(*id)]];
            session.run(Query::Audit, &[&now, actor, reason, &line[0], &line[1], &line[2]]).await?;
        }
        let Some(row) = jobs.first() else { return Ok(()) };
        if usize::try_from(row.try_get::<_, i64>(1)?) != Ok(self.count) {
            return Err(Fault::Again("a job was written meanwhile"));
        }
        self.tags.run(session, Query::TagPut, &[]).await?;
        let first: Option<i64> = row.try_get(2)?;
        written.first = written.first.into_iter().chain(first).min();
        Ok(())
    }
}
