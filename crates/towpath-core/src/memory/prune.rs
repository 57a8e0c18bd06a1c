//! Deletes what is past its retention, a bounded number of rows at a time.

use crate::lifecycle::StopReason;
use crate::name::RunId;
use crate::store::Pruned;

use super::Transaction;
use super::tables::Key;

impl Transaction<'_> {
    pub(super) fn prune(&mut self, limit: u32) -> Pruned {
        let past = self.tables.prune_at.range(..=(self.now, Key::MAX)).take(limit as usize);
        let jobs: Vec<Key> = past.map(|(_, job)| *job).collect();
        if jobs.is_empty() {
            return match self.graph_to_prune() {
                Some(graph) => self.prune_graph(graph, limit),
                None => self.prune_arrivals(limit),
            };
        }
        for job in &jobs {
            self.leave_tombstone(*job);
            self.delete_job(*job);
        }
        Pruned { jobs: jobs.len() as u32, ..Pruned::default() }
    }

    /// The graph that is being deleted, or the next one, marked.
    fn graph_to_prune(&mut self) -> Option<Key> {
        let marked = self.tables.stop.iter().find(|(_, reason)| **reason == StopReason::Prune);
        if let Some((graph, _)) = marked {
            return Some(*graph);
        }
        let (at, graph) = *self.tables.graph_prune_at.first().filter(|(at, _)| *at <= self.now)?;
        self.tables.graph_prune_at.remove(&(at, graph));
        self.tables.stop.insert(graph, StopReason::Prune);
        self.tables.stop_due.remove(&graph);
        Some(graph)
    }

    fn prune_graph(&mut self, graph: Key, limit: u32) -> Pruned {
        let nodes: Vec<Key> = self.tables.nodes_of(graph).take(limit as usize).collect();
        for job in &nodes {
            self.delete_node(*job);
        }
        let is_gone = self.tables.nodes_of(graph).next().is_none();
        if is_gone {
            self.tables.stop.remove(&graph);
            self.tables.stopped.remove(&graph);
            self.tables.leave_key(graph, self.now);
            if let Some(row) = self.tables.graph.remove(&graph) {
                self.tables.graph_by_id.remove(&row.id);
            }
        }
        Pruned { nodes: nodes.len() as u32, graphs: u32::from(is_gone), ..Pruned::default() }
    }

    fn delete_node(&mut self, job: Key) {
        let edges: Vec<u32> = self.tables.edges_of(job).map(|(ord, _)| ord).collect();
        for ord in edges {
            self.tables.edge.remove(&(job, ord));
        }
        if let Some(node) = self.tables.node.remove(&job) {
            self.tables.undo.remove(&(node.graph, std::cmp::Reverse(node.depth), job));
            self.tables.node_by_graph.remove(&(node.graph, job));
            self.tables.node_by_name.remove(&(node.graph, node.name));
        }
        self.delete_job(job);
    }

    /// Deletes an ended job with all that is kept of it.
    pub(super) fn delete_job(&mut self, job: Key) {
        self.tables.leave_key(job, self.now);
        let tables = &mut *self.tables;
        if let Some(at) = tables.ended.remove(&job).and_then(|row| row.prune_at) {
            tables.prune_at.remove(&(at, job));
        }
        if let Some(row) = tables.job.remove(&job) {
            tables.job_by_id.remove(&row.new.id);
        }
        tables.output.remove(&job);
        tables.forget_notes(job);
        let attempts: Vec<u32> = tables.attempts_of(job).map(|(number, _)| number).collect();
        for number in attempts {
            tables.attempt.remove(&(job, number));
        }
        if let Some(run) = tables.run.remove(&job) {
            tables.run_by_id.remove(&run.id);
            self.delete_journal(job, &run.id);
        }
    }

    /// Deletes what a run has recorded and shown, and what has arrived for it.
    fn delete_journal(&mut self, job: Key, run: &RunId) {
        let tables = &mut *self.tables;
        let entries = tables.entry.range((job, 0, 0)..=(job, u32::MAX, u32::MAX));
        for entry in entries.map(|(place, _)| *place).collect::<Vec<_>>() {
            tables.entry.remove(&entry);
        }
        let shown = tables.shown.range((job, String::new())..(job + 1, String::new()));
        for place in shown.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            tables.shown.remove(&place);
        }
        let streams = tables.stream.range((job, String::new())..(job + 1, String::new()));
        for place in streams.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            tables.stream.remove(&place);
        }
        for seq in tables.arrivals_of(run).map(|(seq, _)| seq).collect::<Vec<_>>() {
            self.delete_arrival(run.clone(), seq);
        }
    }

    /// Deletes arrivals of runs that have not been there for long. One whose run has come meanwhile goes with it.
    fn prune_arrivals(&mut self, limit: u32) -> Pruned {
        let past = self.tables.arrival_prune_at.iter().take_while(|(at, ..)| *at <= self.now).take(limit as usize);
        let mut arrivals = 0;
        for (at, seq, run) in past.cloned().collect::<Vec<_>>() {
            if self.tables.run_by_id.contains_key(&run) {
                self.tables.arrival_prune_at.remove(&(at, seq, run.clone()));
                if let Some(row) = self.tables.arrival.get_mut(&(run, seq)) {
                    row.prune_at = None;
                }
            } else {
                self.delete_arrival(run, seq);
                arrivals += 1;
            }
        }
        if arrivals > 0 {
            return Pruned { arrivals, ..Pruned::default() };
        }
        let keys = self.tables.prune_keys(self.now, limit);
        if keys > 0 {
            return Pruned { keys, ..Pruned::default() };
        }
        Pruned { tombstones: self.tables.prune_tombstones(self.now, limit), ..Pruned::default() }
    }

    pub(super) fn delete_arrival(&mut self, run: RunId, seq: Key) {
        let tables = &mut *self.tables;
        let Some(row) = tables.arrival.remove(&(run.clone(), seq)) else { return };
        if let Some(at) = row.prune_at {
            tables.arrival_prune_at.remove(&(at, seq, run.clone()));
        }
        if let Some(dedup) = row.dedup {
            tables.arrival_by_dedup.remove(&(run, dedup));
        }
    }
}
