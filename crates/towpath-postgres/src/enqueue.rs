//! Writes jobs and graphs, in a constant number of statements however many there are.
//!
//! A batch of nothing but jobs is one statement and one round trip. Others are looked at first, then written; what another
//! writes in between shows as a unique violation, and the verb is replayed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;
use towpath_core::store::{Enqueued, Item, Placed, Refusal};
use towpath_core::{
    Due, GraphId, JobId, NewJob, NodeName, ParentRef, PreparedEdge, PreparedGraph, PreparedNode, Role, RunId, Timestamp,
};
use uuid::Uuid;

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{json, stored, trimmed};
use crate::session::{Commit, Session};
use crate::store::{Inner, News};

/// The longest delay that is stored, in microseconds: added to any clock it still fits.
const DELAY_US_MAX: i64 = 4_000_000_000_000_000_000;

/// Carries out one transaction of enqueues.
pub(crate) async fn enqueue(inner: &Inner, session: Session, items: Arc<Vec<Item>>) -> Result<(Enqueued, News), Fault> {
    inner.lanes.intern(&session, items.iter().flat_map(jobs_of)).await?;
    let mut ids = HashSet::with_capacity(items.len());
    if items.iter().all(|item| matches!(item, Item::Job(job) if job.run.is_none() && ids.insert(job.id))) {
        return enqueue_jobs(inner, &session, &items).await;
    }
    session.begin(Commit::Durable).await?;
    let now = session.one(Query::Clock, &[]).await?.try_get(0)?;
    let mut written = Written::default();
    let mut answers = Vec::with_capacity(items.len());
    for part in items.chunk_by(|a, b| !matches!(a, Item::Append(_)) && !matches!(b, Item::Append(_))) {
        match part {
            [Item::Append(append)] => {
                answers.push(crate::append::append(inner, &session, now, append, &mut written).await?);
            }
            _ => answers.extend(enqueue_part(inner, &session, now, part, &mut written).await?),
        }
    }
    session.commit().await?;
    Ok((Enqueued { now: Timestamp::from_micros(now), items: answers }, written.tell(inner)?))
}

fn jobs_of(item: &Item) -> Vec<&NewJob> {
    match item {
        Item::Job(job) => vec![job],
        Item::Graph(graph) => graph.nodes().iter().map(|node| &node.job).collect(),
        Item::Append(append) => append.nodes().iter().map(|node| &node.job).collect(),
        _ => Vec::new(),
    }
}

/// What was inserted where, for the hints.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) lanes: HashSet<i32>,
    pub(crate) first: Option<i64>,
    pub(crate) undecided: bool,
}

impl Written {
    fn tell(self, inner: &Inner) -> Result<News, Fault> {
        inner.inserted(self.lanes.iter().copied(), self.first);
        let mut news = News { undecided: self.undecided, ..News::default() };
        for lane in self.lanes {
            news.ready.insert(inner.lanes.lane(lane)?.queue);
        }
        Ok(news)
    }
}

/// The way of a batch of jobs with different ids, none a run: written first, and only looked at where an id was there.
async fn enqueue_jobs(inner: &Inner, session: &Session, items: &[Item]) -> Result<(Enqueued, News), Fault> {
    let mut columns = Columns::default();
    let mut answers = Vec::with_capacity(items.len());
    let mut written = Written::default();
    for item in items {
        let Item::Job(job) = item else { continue };
        answers.push(job.check().map(|()| Placed::Inserted));
        if answers.last().is_some_and(Result::is_ok) {
            let lane = inner.lanes.number(job)?;
            written.lanes.insert(lane);
            columns.push(job, lane, None, None);
        }
    }
    let row = columns.write(session, None).await?;
    inner.server.commits.durable(Duration::ZERO);
    let now = Timestamp::from_micros(row.try_get(0)?);
    written.first = row.try_get(2)?;
    if usize::try_from(row.try_get::<_, i64>(1)?) != Ok(columns.ids.len()) {
        let inserted: HashSet<Uuid> = row.try_get::<_, Option<Vec<Uuid>>>(3)?.unwrap_or_default().into_iter().collect();
        let others: Vec<Uuid> = columns.ids.iter().filter(|id| !inserted.contains(id)).copied().collect();
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

/// Jobs and graphs of which some may be there, or be twice in the batch.
async fn enqueue_part(
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
                    Some(refusal) => Err(refusal),
                    None => {
                        let lane = inner.lanes.number(job)?;
                        written.lanes.insert(lane);
                        growth.jobs.push(job, lane, keys.next(), None);
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

/// Jobs as columns.
#[derive(Default)]
pub(crate) struct Columns<'a> {
    keys: Vec<Option<i64>>,
    ids: Vec<Uuid>,
    lanes: Vec<i32>,
    priorities: Vec<i16>,
    delays: Vec<Option<i64>>,
    dues: Vec<Option<i64>>,
    deadlines: Vec<Option<i64>>,
    rules: Vec<Option<String>>,
    tags: Vec<Option<String>>,
    headers: Vec<Option<String>>,
    codecs: Vec<i16>,
    inputs: Vec<&'a [u8]>,
    graphs: Vec<Option<i64>>,
    parents: Vec<Option<Vec<u8>>>,
    runs: Vec<Option<bool>>,
    /// Of those that are runs, the key and the id.
    run_ids: Vec<(i64, &'a str)>,
}

impl<'a> Columns<'a> {
    /// `node`: the graph, and the parents unless it is `end`.
    fn push(&mut self, job: &'a NewJob, lane: i32, key: Option<i64>, node: Option<(i64, Option<Vec<u8>>)>) {
        let (delay, due) = match job.due {
            Due::Now => (None, None),
            Due::After(wait) => (Some(towpath_core::micros(wait).min(DELAY_US_MAX)), None),
            Due::At(at) => (None, Some(at.as_micros())),
        };
        self.keys.push(key);
        self.ids.push(job.id.as_uuid());
        self.lanes.push(lane);
        self.priorities.push(job.priority);
        self.delays.push(delay);
        self.dues.push(due);
        self.deadlines.push(job.deadline.map(Timestamp::as_micros));
        self.rules.push(job.rules.to_stored());
        self.tags.push(if job.tags.is_empty() { None } else { json(&job.tags) });
        self.headers.push(if job.headers.is_empty() { None } else { json(&job.headers) });
        self.codecs.push(job.input.codec.code());
        self.inputs.push(&job.input.bytes);
        self.graphs.push(node.as_ref().map(|(graph, _)| *graph));
        self.parents.push(node.and_then(|(_, parents)| parents));
        self.runs.push(job.run.as_ref().map(|_| true));
        self.run_ids.extend(key.zip(job.run.as_ref().map(RunId::as_str)));
    }

    async fn write(&self, session: &Session, now: Option<i64>) -> Result<Row, Fault> {
        let (keys, delays, dues) = (trimmed(&self.keys), trimmed(&self.delays), trimmed(&self.dues));
        let (deadlines, rules) = (trimmed(&self.deadlines), trimmed(&self.rules));
        let (tags, headers) = (trimmed(&self.tags), trimmed(&self.headers));
        let (graphs, parents, runs) = (trimmed(&self.graphs), trimmed(&self.parents), trimmed(&self.runs));
        session
            .one(
                Query::EnqueueJobs,
                &[
                    &now,
                    &keys,
                    &self.ids,
                    &self.lanes,
                    &self.priorities,
                    &delays,
                    &dues,
                    &deadlines,
                    &rules,
                    &tags,
                    &headers,
                    &self.codecs,
                    &self.inputs,
                    &graphs,
                    &parents,
                    &runs,
                ],
            )
            .await
    }

    async fn write_runs(&self, session: &Session) -> Result<(), Fault> {
        if !self.run_ids.is_empty() {
            let (jobs, ids): (Vec<i64>, Vec<&str>) = self.run_ids.iter().copied().unzip();
            session.run(Query::InsertRuns, &[&jobs, &ids]).await?;
        }
        Ok(())
    }
}

/// Everything that a part of a batch writes.
#[derive(Default)]
pub(crate) struct Growth<'a> {
    jobs: Columns<'a>,
    graphs: Vec<(i64, &'a PreparedGraph)>,
    /// The job, its graph, and the node.
    nodes: Vec<(i64, i64, &'a PreparedNode)>,
    /// The parent, the place, the child, and the edge.
    edges: Vec<(i64, i32, i64, &'a PreparedEdge)>,
}

/// A graph that is stored already, as an append finds it.
pub(crate) struct Stored {
    pub(crate) key: i64,
    pub(crate) first_edge: i32,
    pub(crate) end: i64,
    pub(crate) parents: HashMap<NodeName, i64>,
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
        self.graphs.push((key, graph));
        let stored = Stored { key, first_edge: 0, end: 0, parents: HashMap::new() };
        self.grow(inner, &stored, graph.nodes(), graph.edges(), keys, written)
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
        let mut parents: Vec<Vec<i64>> = vec![Vec::new(); nodes.len()];
        let mut seen = HashSet::with_capacity(edges.len());
        for edge in edges {
            let parent = match &edge.parent {
                ParentRef::New(place) => new.get(*place),
                ParentRef::Existing(name) => graph.parents.get(name),
            };
            let parent = *parent.ok_or_else(|| Fault::corrupt("enqueue", "an edge leads from nowhere"))?;
            let child = new.get(edge.child).copied().unwrap_or(graph.end);
            self.edges.push((parent, graph.first_edge + stored(edge.ord), child, edge));
            if let Some(of_child) = parents.get_mut(edge.child)
                && seen.insert((parent, child))
            {
                of_child.push(parent);
            }
        }
        for ((key, node), parents) in new.into_iter().zip(nodes).zip(parents) {
            let lane = inner.lanes.number(&node.job)?;
            let is_end = node.role.has(Role::END);
            if !is_end && parents.is_empty() {
                written.lanes.insert(lane);
            }
            let parents = (!is_end).then(|| parents.iter().flat_map(|key| key.to_le_bytes()).collect());
            self.jobs.push(&node.job, lane, Some(key), Some((graph.key, parents)));
            self.nodes.push((key, graph.key, node));
        }
        Ok(())
    }

    pub(crate) async fn write(&self, session: &Session, now: i64, written: &mut Written) -> Result<(), Fault> {
        session.prepare(&[Query::EnqueueJobs, Query::InsertGraphs, Query::InsertNodes, Query::InsertEdges]).await?;
        session.prepare(&[Query::InsertRuns]).await?;
        let jobs = self.jobs.write(session, Some(now));
        let (row, ..) = futures_util::future::try_join5(
            jobs,
            self.jobs.write_runs(session),
            self.write_graphs(session, now),
            self.write_nodes(session),
            self.write_edges(session),
        )
        .await?;
        if usize::try_from(row.try_get::<_, i64>(1)?) != Ok(self.jobs.ids.len()) {
            return Err(Fault::Again("a job was written meanwhile"));
        }
        let first: Option<i64> = row.try_get(2)?;
        written.first = written.first.into_iter().chain(first).min();
        Ok(())
    }

    async fn write_graphs(&self, session: &Session, now: i64) -> Result<(), Fault> {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let column = self.graphs.iter();
        let keys: Vec<i64> = column.clone().map(|(key, _)| *key).collect();
        let ids: Vec<Uuid> = column.clone().map(|(_, graph)| graph.id().as_uuid()).collect();
        let names: Vec<&str> = column.clone().map(|(_, graph)| graph.name().as_str()).collect();
        let rules: Vec<Option<String>> = column.clone().map(|(_, graph)| graph.rules().to_stored()).collect();
        let codecs: Vec<Option<i16>> = column.clone().map(|(_, graph)| Some(graph.input()?.codec.code())).collect();
        let inputs: Vec<Option<&[u8]>> = column.clone().map(|(_, graph)| Some(&graph.input()?.bytes[..])).collect();
        // `end` is not counted.
        let nodes: Vec<i32> = column.clone().map(|(_, graph)| stored(graph.nodes().len() as u32) - 1).collect();
        let edges: Vec<i32> = column.map(|(_, graph)| stored(graph.edges().len() as u32)).collect();
        session
            .run(Query::InsertGraphs, &[&now, &keys, &ids, &names, &rules, &codecs, &inputs, &nodes, &edges])
            .await?;
        Ok(())
    }

    async fn write_nodes(&self, session: &Session) -> Result<(), Fault> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        let column = self.nodes.iter();
        let jobs: Vec<i64> = column.clone().map(|(job, ..)| *job).collect();
        let graphs: Vec<i64> = column.clone().map(|(_, graph, _)| *graph).collect();
        let names: Vec<&str> = column.clone().map(|(.., node)| node.name.as_str()).collect();
        let roles: Vec<i16> = column.clone().map(|(.., node)| node.role.bits()).collect();
        let needs: Vec<i32> = column.clone().map(|(.., node)| stored(node.counters.need)).collect();
        let eager: Vec<bool> = column.clone().map(|(.., node)| node.counters.eager).collect();
        let left: Vec<i32> = column.map(|(.., node)| stored(node.counters.left)).collect();
        session.run(Query::InsertNodes, &[&jobs, &graphs, &names, &roles, &needs, &eager, &left]).await?;
        Ok(())
    }

    async fn write_edges(&self, session: &Session) -> Result<(), Fault> {
        if self.edges.is_empty() {
            return Ok(());
        }
        let column = self.edges.iter();
        let parents: Vec<i64> = column.clone().map(|(parent, ..)| *parent).collect();
        let places: Vec<i32> = column.clone().map(|(_, place, ..)| *place).collect();
        let children: Vec<i64> = column.clone().map(|(_, _, child, _)| *child).collect();
        let verdicts: Vec<i32> = column.clone().map(|(.., edge)| edge.verdicts.bits()).collect();
        let labels: Vec<Option<&str>> = column.map(|(.., edge)| Some(edge.label.as_ref()?.as_str())).collect();
        let labels = trimmed(&labels);
        session.run(Query::InsertEdges, &[&parents, &places, &children, &verdicts, &labels]).await?;
        Ok(())
    }
}
