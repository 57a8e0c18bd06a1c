//! Writes jobs and graphs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::graph::{PreparedEdge, PreparedGraph, PreparedNode, Restart, Role, Wiring};
use crate::id::JobId;
use crate::job::NewJob;
use crate::name::{NodeName, RunId};
use crate::store::{Counters, Enqueue, Enqueued, Item, Placed, Refusal, StoreError, StoreErrorKind, StoreResult};

use crate::unique::KeyHolder;

use super::Transaction;
use super::tables::{AuditRow, EdgeRow, GraphRow, JobRow, Key, NodeRow, Phase, RunRow};
use super::unique::Scope;

impl Transaction<'_> {
    pub(super) fn enqueue(&mut self, batch: Enqueue) -> StoreResult<Enqueued> {
        if let Err(refusal) = batch.check() {
            return Err(StoreError::new(StoreErrorKind::Invalid, "enqueue", refusal.to_string()));
        }
        let items = batch.items.into_iter().map(|item| match item {
            Item::Job(job) => self.enqueue_job(*job),
            Item::Graph(graph) => self.enqueue_graph(&graph),
            Item::Append(append) => self.append(&append),
            Item::Start(start) => self.start(*start),
        });
        let items = items.collect();
        Ok(Enqueued { now: self.now, items })
    }

    pub(super) fn enqueue_job(&mut self, job: NewJob) -> Result<Placed, Refusal> {
        job.check()?;
        if let Some(stored) = self.tables.job_by_id.get(&job.id).and_then(|key| self.tables.job.get(key)) {
            return if is_same(&stored.new, &job) { Ok(Placed::Existing) } else { Err(conflict(&stored.new)) };
        }
        if let Err(refusal) = self.refuse_taken_runs([&job]) {
            return refusal.unless_repeated(job.id);
        }
        let unique = job.unique.clone().map(|unique| (Scope::Kind(job.kind.to_string()), unique, job.id));
        if let Some((scope, unique, _)) = &unique
            && let Some(answer) = self.key_clash(scope, unique, Some(&job))
        {
            return answer;
        }
        let due = job.due.instant(self.now);
        let key = self.tables.draw();
        self.insert_job(key, job, Vec::new());
        self.make_due(key, due, Counters::default());
        if let Some((scope, unique, id)) = unique {
            self.take_key(scope, &unique, key, KeyHolder::Job(id));
        }
        Ok(Placed::Inserted)
    }

    fn enqueue_graph(&mut self, graph: &PreparedGraph) -> Result<Placed, Refusal> {
        if let Some(key) = self.tables.graph_by_id.get(&graph.id()) {
            return self.existing_graph(*key, graph);
        }
        let unique = graph.unique().map(|unique| (Scope::Graph(graph.name().to_string()), unique));
        if let Some((scope, unique)) = &unique
            && let Some(answer) = self.key_clash(scope, unique, None)
        {
            return answer;
        }
        self.refuse_taken_ids(graph.nodes())?;
        let key = self.tables.draw();
        if let Some((scope, unique)) = unique {
            self.take_key(scope, unique, key, KeyHolder::Graph(graph.id()));
        }
        let row = GraphRow {
            id: graph.id(),
            name: graph.name().clone(),
            rules: *graph.rules(),
            own_key: graph.unique().and_then(|unique| unique.own()),
            input: graph.input().cloned(),
            nodes: 0,
            edges: 0,
            created_at: self.now,
            generation: 1,
            rearmed: 0,
            restart_of: graph.restart().map(|restart| restart.of),
            over: None,
            undoing: None,
            undo_rank: None,
            committed: 0,
        };
        self.tables.graph.insert(key, row);
        self.tables.graph_by_id.insert(graph.id(), key);
        if let Some(Restart { of, actor, reason }) = graph.restart() {
            let (actor, reason, outcome) = (actor.clone(), reason.clone(), Restart::outcome(graph.id()));
            let target = of.to_string();
            let row = AuditRow { at: self.now, actor, reason, action: Restart::ACTION, target, outcome };
            let key = self.tables.draw();
            self.tables.audit.insert(key, row);
        }
        let nodes = self.grow(key, graph.nodes(), graph.edges(), &HashMap::new());
        for job in nodes {
            if self.look_at(job) {
                self.leave_undecided(job);
            }
        }
        Ok(Placed::Inserted)
    }

    /// The answer to a graph whose id is there. An append may have added to it since.
    fn existing_graph(&self, key: Key, graph: &PreparedGraph) -> Result<Placed, Refusal> {
        let stored = self.tables.visible_graph(graph.id()).map(|(_, row)| row);
        if stored.is_some_and(|row| row.name == *graph.name()) && self.has_all(key, graph.nodes()) {
            return Ok(Placed::Existing);
        }
        let name = self.tables.graph.get(&key).map(|row| row.name.to_string()).unwrap_or_default();
        Err(Refusal::GraphConflict { id: graph.id(), name })
    }

    /// Whether a graph has all these nodes, each with the same job.
    pub(super) fn has_all(&self, graph: Key, nodes: &[PreparedNode]) -> bool {
        nodes.iter().all(|node| {
            let stored = self.tables.node_by_name.get(&(graph, node.name.clone()));
            stored.is_some() && stored == self.tables.job_by_id.get(&node.job.id)
        })
    }

    pub(super) fn refuse_taken_ids(&self, nodes: &[PreparedNode]) -> Result<(), Refusal> {
        let stored = |id: &JobId| self.tables.job_by_id.get(id).and_then(|key| self.tables.job.get(key));
        if let Some(row) = nodes.iter().find_map(|node| stored(&node.job.id)) {
            return Err(conflict(&row.new));
        }
        self.refuse_taken_runs(nodes.iter().map(|node| &node.job))
    }

    /// Refuses runs whose id another job has, stored or among these.
    fn refuse_taken_runs<'j>(&self, jobs: impl IntoIterator<Item = &'j NewJob>) -> Result<(), Refusal> {
        let mut new: BTreeMap<&RunId, JobId> = BTreeMap::new();
        for job in jobs {
            let Some(run) = &job.run else { continue };
            let stored = self.tables.job_of_run(run);
            if let Some(job) = stored.or_else(|| new.insert(run, job.id)) {
                return Err(Refusal::RunTaken { id: run.clone(), job });
            }
        }
        Ok(())
    }

    /// Writes nodes and edges of a graph; nothing is counted yet. `existing` are parents by name; the
    /// place after the last new node, if an edge leads there, is the graph's stored `end`.
    pub(super) fn grow(
        &mut self,
        graph: Key,
        nodes: &[PreparedNode],
        edges: &[PreparedEdge],
        existing: &HashMap<NodeName, Key>,
    ) -> Vec<Key> {
        let new: Vec<Key> = nodes.iter().map(|_| self.tables.draw()).collect();
        let end = self.tables.end_of(graph);
        let first = self.tables.graph.get(&graph).map_or(0, |row| row.edges);
        let depth = |key: &Key| Some((*key, self.tables.node.get(key)?.depth));
        let depths: HashMap<Key, u32> = existing.values().filter_map(depth).collect();
        let wiring = Wiring::of(nodes, edges, &new, existing, &depths, end);
        let none = Wiring { edges: Vec::new(), parents: Vec::new(), depths: Vec::new() };
        let Wiring { edges: joined, parents, depths } = wiring.unwrap_or(none);
        for (parent, child, edge) in joined {
            let row = EdgeRow { child, verdicts: edge.verdicts, label: edge.label.clone() };
            self.tables.edge.insert((parent, first + edge.ord), row);
        }
        for (((job, node), parents), depth) in new.iter().zip(nodes).zip(parents).zip(depths) {
            let guards = node.guards.and_then(|at| new.get(at)).copied();
            self.insert_node(*job, node, parents.unwrap_or_default(), Place { graph, depth, guards });
        }
        if let Some(row) = self.tables.graph.get_mut(&graph) {
            row.nodes += nodes.iter().filter(|node| !node.role.has(Role::END)).count() as u32;
            row.edges += edges.len() as u32;
        }
        new
    }

    fn insert_node(&mut self, job: Key, node: &PreparedNode, parents: Vec<Key>, place: Place) {
        let Place { graph, depth, guards } = place;
        self.insert_job(job, node.job.clone(), parents);
        if guards.is_some() {
            self.tables.undo.insert((graph, Reverse(depth), job));
        }
        let row = NodeRow {
            graph,
            name: node.name.clone(),
            role: node.role,
            phase: Phase::Waiting,
            counters: node.counters,
            attempt: 0,
            cause_parent: None,
            depth,
            guards,
            started: false,
            undone: 0,
        };
        self.tables.node.insert(job, row);
        self.tables.node_by_graph.insert((graph, job));
        self.tables.node_by_name.insert((graph, node.name.clone()), job);
    }

    pub(super) fn insert_job(&mut self, key: Key, mut new: NewJob, parents: Vec<Key>) {
        new.keep_key();
        let lane = self.tables.lane(&new);
        if let Some(deadline) = new.deadline {
            self.tables.deadline.insert((deadline, key));
        }
        if let Some(id) = &new.run {
            self.tables.run_by_id.insert(id.clone(), key);
            self.tables.run.insert(key, RunRow::new(id.clone(), new.keep_id));
        }
        self.tables.put_tags(key, new.tags.iter().cloned());
        self.tables.job_by_id.insert(new.id, key);
        self.tables.job.insert(key, JobRow { new, lane, enqueued_at: self.now, parents });
    }
}

/// Where a new node lies in its graph.
struct Place {
    graph: Key,
    depth: u32,
    guards: Option<Key>,
}

/// Whether two jobs with the same id have the same content, so that one is a repeat of the other.
fn is_same(stored: &NewJob, job: &NewJob) -> bool {
    (&stored.kind, stored.version, &stored.input, &stored.run) == (&job.kind, job.version, &job.input, &job.run)
}

fn conflict(stored: &NewJob) -> Refusal {
    Refusal::JobConflict { id: stored.id, kind: stored.kind.to_string() }
}
