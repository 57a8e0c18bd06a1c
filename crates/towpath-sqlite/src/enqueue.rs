//! Writes jobs and graphs.

use std::collections::HashMap;

use rusqlite::params;
use towpath_core::store::{Counters, Enqueue, Enqueued, Item, Placed, Refusal};
use towpath_core::{
    Due, GraphId, KeyHolder, NewJob, NodeName, PreparedEdge, PreparedGraph, PreparedNode, Restart, Role, RunId,
    Standing, Wiring,
};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Node, Phase, Place};
use crate::tx::Tx;
use crate::unique::Scope;

/// An item's answer, or a fault that spoils the batch.
pub(crate) type Placement = Result<Result<Placed, Refusal>, Fault>;

pub(crate) fn enqueue(tx: &mut Tx<'_, '_>, batch: &Enqueue) -> Result<Enqueued, Fault> {
    let mut items = Vec::with_capacity(batch.items.len());
    for item in &batch.items {
        items.push(match item {
            Item::Job(job) => tx.enqueue_job(job)?,
            Item::Graph(graph) => tx.part(|tx| tx.enqueue_graph(graph))?,
            Item::Append(append) => tx.part(|tx| tx.append(append))?,
            Item::Start(start) => tx.part(|tx| tx.start_run(start))?,
            _ => Err(Refusal::Invalid { problem: "this store is older than what is to be enqueued: update it".into() }),
        });
    }
    Ok(Enqueued { now: tx.now, items })
}

/// Where a new job belongs.
struct Belongs<'a> {
    graph: Option<i64>,
    parents: &'a [i64],
}

impl Tx<'_, '_> {
    pub(crate) fn enqueue_job(&mut self, job: &NewJob) -> Placement {
        if let Err(refusal) = job.check() {
            return Ok(Err(refusal));
        }
        if let Some(taken) = self.taken_run(job)? {
            return if self.db.maybe(Query::JobFind, [&job.id.as_bytes()[..]], |_| Ok(()))?.is_some() {
                self.existing_job(job)
            } else {
                Ok(taken.unless_repeated(job.id))
            };
        }
        let scope = Scope::Kind(job.kind.as_str());
        if let Some(unique) = &job.unique {
            if self.db.maybe(Query::JobFind, [&job.id.as_bytes()[..]], |_| Ok(()))?.is_some() {
                return self.existing_job(job);
            }
            if let Some(answer) = self.key_clash(scope, unique, Some(job))? {
                return Ok(answer);
            }
        }
        let key = self.draw()?;
        let Some(place) = self.insert_lone(key, job)? else { return self.existing_job(job) };
        if let Some(unique) = &job.unique {
            self.take_key(scope, unique, key, KeyHolder::Job(job.id))?;
        }
        self.insert_run(key, job)?;
        let due = job.due.instant(self.now);
        if due > self.now {
            self.make_due(key, place, due, Counters::default())?;
        } else {
            self.insert_ready(key, place, key, Counters::default())?;
        }
        Ok(Ok(Placed::Inserted))
    }

    /// The answer to a job whose id is there.
    fn existing_job(&mut self, job: &NewJob) -> Placement {
        let (kind, is_same) = self.db.one(Query::JobSame, [&job.id.as_bytes()[..]], |row| {
            let kind: String = row.get(0)?;
            let version: u16 = row.get(1)?;
            let input = rows::payload(row, 2)?;
            let run: Option<String> = row.get(4)?;
            let is_same = kind == job.kind.as_str()
                && version == job.version
                && input.as_ref() == Some(&job.input)
                && run.as_deref() == job.run.as_ref().map(RunId::as_str);
            Ok((kind, is_same))
        })?;
        Ok(if is_same { Ok(Placed::Existing) } else { Err(Refusal::JobConflict { id: job.id, kind }) })
    }

    /// Writes a lone job's row and its deadline; `None` if its id is there already.
    pub(crate) fn insert_lone(&mut self, key: i64, job: &NewJob) -> Result<Option<Place>, Fault> {
        self.insert_job(key, job, &Belongs { graph: None, parents: &[] })
    }

    /// Writes a job's row and its deadline; `None` if its id is there already.
    fn insert_job(&mut self, key: i64, job: &NewJob, belongs: &Belongs<'_>) -> Result<Option<Place>, Fault> {
        let lane = self.lane_of(job)?;
        let (delay_us, due_at) = match job.due {
            Due::After(wait) if belongs.graph.is_some() => (Some(towpath_core::micros(wait)), None),
            Due::At(at) if belongs.graph.is_some() => (None, Some(at.as_micros())),
            _ => (None, None),
        };
        let deadline = job.deadline.map(|at| at.as_micros());
        let row = params![
            key,
            &job.id.as_bytes()[..],
            lane,
            job.priority,
            self.now_us(),
            delay_us,
            due_at,
            deadline,
            job.rules_to_store(),
            rows::list_text(&job.tags),
            rows::headers_text(&job.headers),
            job.input.codec.code(),
            &job.input.bytes[..],
            belongs.graph,
            rows::keys_bytes(belongs.parents),
            job.run.as_ref().map(|_| 1),
        ];
        if self.db.run(Query::JobInsert, row)? == 0 {
            return Ok(None);
        }
        if let Some(deadline) = deadline {
            self.db.run(Query::DeadlineInsert, [deadline, key])?;
        }
        self.put_tags(key, &job.tags)?;
        Ok(Some(Place { lane, turnout: -i64::from(job.priority) }))
    }

    /// The refusal of a run whose id another job has.
    fn taken_run(&mut self, job: &NewJob) -> Result<Option<Refusal>, Fault> {
        let Some(id) = &job.run else { return Ok(None) };
        let job = self.db.maybe(Query::RunJob, [id.as_str()], |row| rows::job_id(row, 0))?;
        Ok(job.map(|job| Refusal::RunTaken { id: id.clone(), job }))
    }

    /// Writes a job's journal, if it is a run; `false` if its id is there already.
    fn insert_run(&mut self, key: i64, job: &NewJob) -> Result<bool, Fault> {
        let Some(id) = &job.run else { return Ok(true) };
        Ok(self.db.run(Query::RunInsert, params![key, id.as_str(), job.keep_id.map(towpath_core::micros)])? > 0)
    }

    fn enqueue_graph(&mut self, graph: &PreparedGraph) -> Placement {
        if let Some((key, name)) = self.stored_graph(graph.id())? {
            let is_same = name == graph.name().as_str()
                && self.stop(key)? != Some(towpath_core::StopReason::Prune)
                && self.has_all(key, graph.nodes())?;
            let conflict = Refusal::GraphConflict { id: graph.id(), name };
            return Ok(if is_same { Ok(Placed::Existing) } else { Err(conflict) });
        }
        let scope = Scope::Graph(graph.name().as_str());
        if let Some(unique) = graph.unique()
            && let Some(answer) = self.key_clash(scope, unique, None)?
        {
            return Ok(answer);
        }
        let key = self.draw()?;
        let (id, input) = (graph.id(), graph.input());
        let row = params![
            key,
            &id.as_bytes()[..],
            graph.name().as_str(),
            graph.rules_to_store(),
            input.map(|payload| payload.codec.code()),
            input.map(|payload| &payload.bytes[..]),
            self.now_us(),
            graph.restart().map(|restart| restart.of.as_bytes().to_vec()),
        ];
        self.db.run(Query::GraphInsert, row)?;
        if let Some(Restart { of, actor, reason }) = graph.restart() {
            let (key, of, outcome) = (self.draw()?, of.to_string(), Restart::outcome(id));
            let row = params![key, self.now_us(), actor, reason, Restart::ACTION, of, outcome];
            self.db.run(Query::AuditInsert, row)?;
        }
        let mut growth = Growth { graph: key, first: 0, end: None, parents: HashMap::new(), depths: HashMap::new() };
        let new = match self.grow(&mut growth, graph.nodes(), graph.edges())? {
            Ok(new) => new,
            Err(refusal) => return Ok(Err(refusal)),
        };
        self.start(new)?;
        if let Some(unique) = graph.unique() {
            self.take_key(scope, unique, key, KeyHolder::Graph(id))?;
        }
        Ok(Ok(Placed::Inserted))
    }

    pub(crate) fn stored_graph(&mut self, id: GraphId) -> Result<Option<(i64, String)>, Fault> {
        self.db.maybe(Query::GraphFind, [&id.as_bytes()[..]], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Whether a graph has all these nodes, each with the same job.
    pub(crate) fn has_all(&mut self, graph: i64, nodes: &[PreparedNode]) -> Result<bool, Fault> {
        for node in nodes {
            let pair = params![graph, node.name.as_str(), &node.job.id.as_bytes()[..]];
            if self.db.maybe(Query::NodeSame, pair, |_| Ok(()))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes nodes ready that wait for nobody, and leaves those to decide that may not start.
    pub(crate) fn start(&mut self, new: Vec<Node>) -> Result<(), Fault> {
        for mut node in new {
            if node.counters.standing() != Standing::Waits && self.look_at(&mut node)? {
                self.leave_undecided(node.job)?;
            }
        }
        Ok(())
    }

    /// Writes nodes and edges of a graph; nothing is counted yet.
    pub(crate) fn grow(
        &mut self,
        growth: &mut Growth,
        nodes: &[PreparedNode],
        edges: &[PreparedEdge],
    ) -> Result<Result<Vec<Node>, Refusal>, Fault> {
        let mut keys = Vec::with_capacity(nodes.len() + 1);
        for _ in nodes {
            keys.push(self.draw()?);
        }
        let wiring = Wiring::of(nodes, edges, &keys, &growth.parents, &growth.depths, growth.end);
        let Wiring { edges: joined, parents, depths } =
            wiring.ok_or_else(|| Fault::invalid("an edge leads to a node that is not there"))?;
        for (parent, child, edge) in joined {
            let ord = growth.first + i64::from(edge.ord);
            let label = edge.label.as_ref().map(|label| label.as_str());
            self.db.run(Query::EdgeInsert, params![parent, ord, child, edge.verdicts.bits(), label])?;
        }
        let mut new = Vec::with_capacity(nodes.len());
        for (((node, key), parents), depth) in nodes.iter().zip(&keys).zip(parents).zip(depths) {
            let lies = Lies { graph: growth.graph, depth, guards: node.guards.and_then(|at| keys.get(at)).copied() };
            match self.insert_node(*key, &lies, node, &parents.unwrap_or_default())? {
                Some(node) => new.push(node),
                None => {
                    let conflict = self.existing_job(&node.job)?;
                    return Ok(Err(taken(&node.job, conflict)));
                }
            }
        }
        for (node, key) in nodes.iter().zip(&keys) {
            if !self.insert_run(*key, &node.job)?
                && let Some(taken) = self.taken_run(&node.job)?
            {
                return Ok(Err(taken));
            }
        }
        let shown = nodes.iter().filter(|node| !node.role.has(Role::END)).count();
        self.db.run(Query::GraphGrow, params![growth.graph, shown as i64, edges.len() as i64])?;
        Ok(Ok(new))
    }

    fn insert_node(
        &mut self,
        key: i64,
        lies: &Lies,
        node: &PreparedNode,
        parents: &[i64],
    ) -> Result<Option<Node>, Fault> {
        let Lies { graph, depth, guards } = *lies;
        if self.insert_job(key, &node.job, &Belongs { graph: Some(graph), parents })?.is_none() {
            return Ok(None);
        }
        let counters = node.counters;
        let (name, role) = (node.name.as_str(), node.role.bits());
        let row = params![key, graph, name, role, counters.need, counters.eager, counters.left, depth, guards];
        self.db.run(Query::NodeInsert, row)?;
        if guards.is_some() {
            self.db.run(Query::UndoInsert, params![graph, depth, key])?;
        }
        let phase = Phase::Waiting;
        Ok(Some(Node {
            job: key,
            graph,
            role: node.role,
            phase,
            counters,
            cause_parent: None,
            attempt: 0,
            start: None,
        }))
    }
}

/// The job of a node is taken, whatever its content: a job is a node of one graph.
fn taken(job: &NewJob, conflict: Result<Placed, Refusal>) -> Refusal {
    match conflict {
        Err(refusal) => refusal,
        Ok(_) => Refusal::JobConflict { id: job.id, kind: job.kind.to_string() },
    }
}

/// A graph that gains nodes and edges.
pub(crate) struct Growth {
    pub(crate) graph: i64,
    /// The place of the first new edge.
    pub(crate) first: i64,
    /// Its `end`, if it is stored already.
    pub(crate) end: Option<i64>,
    /// The stored parents by name.
    pub(crate) parents: HashMap<NodeName, i64>,
    /// How deep they lie.
    pub(crate) depths: HashMap<i64, u32>,
}

/// Where a new node lies in its graph.
struct Lies {
    graph: i64,
    depth: u32,
    /// What it undoes.
    guards: Option<i64>,
}
