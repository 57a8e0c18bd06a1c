//! Retries a graph in place: holds it back, lets nodes wait anew, lets it go on.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::defaults;
use crate::graph::{
    Behind, Condition, RetryEdge, RetryLater, RetryMode, RetryNode, RetryNodeEnd, RetryView, Retrying, Standing, Tries,
};
use crate::id::{GraphId, JobId};
use crate::lifecycle::{State, StopReason};
use crate::payload::Payload;
use crate::store::{Change, Changed, Counters, DueRetries, StopLine};
use crate::time::Timestamp;

use super::Transaction;
use super::tables::{AuditRow, EdgeRow, Key, Phase, RetryRow, Tables, With};

impl Transaction<'_> {
    pub(super) fn begin_retry(&mut self, id: GraphId, mode: RetryMode, due: Timestamp, line: StopLine) -> Changed {
        let Some((graph, row)) = self.tables.visible_graph(id) else { return Changed::Unknown };
        let generation = row.generation;
        if !self.tables.retry.contains_key(&graph) {
            let waits = |job: Key| self.tables.is_undo(job) && !self.tables.ended.contains_key(&job);
            if row.undoing.is_some() && self.tables.nodes_of(graph).any(waits) {
                return Changed::Undoing;
            }
            if let Some((_, by)) = self.graph_key_again(graph) {
                return Changed::KeyTaken { by };
            }
            self.tables.stop.insert(graph, StopReason::Retry);
            self.tables.stop_due.remove(&graph);
            self.tables.stopped.insert(graph, line);
            self.tables.retry.insert(graph, RetryRow { mode: mode.clone(), since: self.now, due });
            if let Some(end) = self.tables.end_of(graph) {
                self.reopen_end(graph, end, None);
            }
            if let Some(row) = self.tables.graph.get_mut(&graph) {
                (row.undo_rank, row.rearmed) = (None, 0);
            }
            self.take_back_decisions(graph);
        }
        let retrying = self.tables.retrying(graph).unwrap_or(Retrying { mode, since: self.now });
        Changed::Retrying { retrying, generation }
    }

    /// Lets a graph wait whose `end` this is, until what failed in it runs again.
    pub(super) fn retry_later(&mut self, end: Key, later: RetryLater) {
        let Some(graph) = self.tables.node.get(&end).map(|node| node.graph) else { return };
        // Somebody was quicker: it is decided anew.
        if !matches!(self.tables.stop.get(&graph), None | Some(StopReason::Fail)) {
            self.leave_undecided(end);
            return;
        }
        let Some(id) = self.tables.graph.get(&graph).map(|row| row.id) else { return };
        let RetryLater { after, reason } = later;
        let change = Change::BeginRetry { graph: id, mode: RetryMode::Failed, grace: after };
        let actor = defaults::ACTOR.to_owned();
        let (actor_shown, why) = (actor.clone(), reason.clone());
        let line = StopLine { reason: StopReason::Retry, at: self.now, actor: actor_shown, why, due: None };
        let changed = self.begin_retry(id, RetryMode::Failed, self.now + after, line);
        let (action, target, outcome) = (change.action(), change.target(), changed.to_string());
        let key = self.tables.draw();
        self.tables.audit.insert(key, AuditRow { at: self.now, actor, reason, action, target, outcome });
    }

    /// Takes a graph's nodes back that came for a decision about their parents or their graph.
    pub(super) fn take_back_decisions(&mut self, graph: Key) {
        let nodes: Vec<Key> = self.tables.nodes_of(graph).collect();
        for job in nodes {
            let with = self.tables.running.get(&job).map(|row| row.with);
            let is_undecided = self.tables.is_undecided(job);
            if self.tables.undecided.remove(&job) || with.is_some_and(|with| with != With::Handler) && is_undecided {
                self.take_running(job);
                if let Some(node) = self.tables.node.get_mut(&job) {
                    node.phase = Phase::Waiting;
                }
            } else if with == Some(With::Stopped)
                && let Some(row) = self.take_running(job)
            {
                self.make_ready(job, row.counters);
            }
        }
    }

    pub(super) fn rearm(
        &mut self,
        id: GraphId,
        generation: u32,
        nodes: &[JobId],
        (holding, undone, behind): (&[JobId], &[JobId], &[Behind]),
    ) -> Changed {
        let Some(graph) = self.retried(id, generation) else { return Changed::NotRetrying };
        let mut rearmed: Vec<Key> = Vec::new();
        let mut children: BTreeSet<Key> = BTreeSet::new();
        for id in nodes {
            let Some(job) = self.tables.job_by_id.get(id).copied().filter(|job| self.may_rearm(graph, *job)) else {
                continue;
            };
            let Some(ended) = self.tables.ended.get(&job) else { continue };
            let attempt = ended.counters.attempt;
            for (_, edge) in self.tables.edge.range((job, 0)..=(job, u32::MAX)) {
                if let Some(child) = self.tables.node.get_mut(&edge.child) {
                    child.uncount(ended, edge);
                    children.insert(edge.child);
                }
            }
            self.leave_end(job);
            self.begin_anew(job);
            self.wait_anew(job, attempt);
            if undone.contains(id)
                && let Some(node) = self.tables.node.get_mut(&job)
            {
                (node.started, node.undone) = (false, node.attempt);
            }
            self.keep_undo(job);
            rearmed.push(job);
            if holding.contains(id) {
                self.hold_end(graph, job);
            }
        }
        for wait in behind {
            self.wait_behind(graph, wait, &rearmed);
        }
        for child in children {
            self.pull_back(child);
        }
        let nodes = rearmed.len() as u32;
        if let Some(row) = self.tables.graph.get_mut(&graph) {
            row.rearmed += nodes;
        }
        Changed::Rearmed { nodes }
    }

    /// The graph, if it is being retried in this generation.
    fn retried(&self, id: GraphId, generation: u32) -> Option<Key> {
        let (graph, row) = self.tables.visible_graph(id)?;
        (row.generation == generation && self.tables.retry.contains_key(&graph)).then_some(graph)
    }

    /// Whether a job is a node of this graph that may run once more; `end` is not for orders.
    fn may_rearm(&self, graph: Key, job: Key) -> bool {
        let is_of_graph = self.tables.node.get(&job).is_some_and(|node| node.graph == graph);
        is_of_graph && !self.tables.is_end(job)
    }

    fn wait_anew(&mut self, job: Key, attempt: u32) {
        if let Some(node) = self.tables.node.get_mut(&job) {
            node.phase = Phase::Waiting;
            node.attempt = node.attempt.max(attempt);
        }
    }

    /// Lets an undo wait until its graph has failed, and no `end` for it. Another node is left alone.
    fn keep_undo(&mut self, job: Key) {
        let Some(node) = self.tables.node.get(&job).filter(|node| node.guards.is_some()) else { return };
        self.tables.undo.insert((node.graph, Reverse(node.depth), job));
        if let Some(edge) = self.tables.edge.remove(&(job, 0))
            && let Some(end) = self.tables.node.get_mut(&edge.child)
        {
            end.counters.left -= 1;
        }
    }

    /// Lets the graph's `end` wait for a node, unless it does.
    fn hold_end(&mut self, graph: Key, job: Key) {
        let Some(end) = self.tables.end_of(graph) else { return };
        if self.tables.edges_of(job).any(|(_, edge)| edge.child == end) {
            return;
        }
        let Some(row) = self.tables.graph.get_mut(&graph) else { return };
        let edge = EdgeRow { child: end, verdicts: Condition::Finished.table(), label: None };
        self.tables.edge.insert((job, row.edges), edge);
        row.edges += 1;
        if let Some(node) = self.tables.node.get_mut(&end) {
            node.counters.left += 1;
        }
    }

    /// Lets a node that was re-armed wait for another one, unless it does.
    fn wait_behind(&mut self, graph: Key, wait: &Behind, rearmed: &[Key]) {
        let key = |id| self.tables.job_by_id.get(id).copied().filter(|job| self.may_rearm(graph, *job));
        let (Some(parent), Some(child)) = (key(&wait.parent), key(&wait.child)) else { return };
        if !rearmed.contains(&child) || self.tables.edges_of(parent).any(|(_, edge)| edge.child == child) {
            return;
        }
        let Some(row) = self.tables.graph.get_mut(&graph) else { return };
        let edge = EdgeRow { child, verdicts: wait.condition.table(), label: None };
        let ord = row.edges;
        row.edges += 1;
        if let Some(node) = self.tables.node.get_mut(&child) {
            node.counters.left += 1;
            if let Some(ended) = self.tables.ended.get(&parent) {
                node.count(parent, ended, ord, &edge);
            }
        }
        self.tables.edge.insert((parent, ord), edge);
    }

    /// Lets a child wait again that was released and has not started, if a parent of it is to end first.
    fn pull_back(&mut self, job: Key) {
        let waits = |node: &super::tables::NodeRow| {
            node.phase == Phase::Released && node.counters.standing() == Standing::Waits
        };
        if !self.tables.node.get(&job).is_some_and(waits) || self.tables.has_begun(job) {
            return;
        }
        let counters = match self.tables.running.get(&job).map(|row| row.with) {
            Some(With::Stopped) => self.take_running(job).map(|row| row.counters),
            Some(_) => None,
            None => self.take_idle(job),
        };
        if let Some(Counters { attempt, .. }) = counters {
            self.wait_anew(job, attempt);
        }
    }

    pub(super) fn end_retry(&mut self, id: GraphId, generation: u32) -> Changed {
        let Some(graph) = self.retried(id, generation) else { return Changed::NotRetrying };
        self.tables.stop.remove(&graph);
        self.tables.stopped.remove(&graph);
        self.tables.retry.remove(&graph);
        if let Some(row) = self.tables.graph.get_mut(&graph) {
            row.generation += 1;
        }
        self.recount_nodes(graph);
        Changed::Retried { generation: generation + 1 }
    }

    pub(super) fn replace_input(&mut self, id: JobId, input: Payload) -> Changed {
        let Some(job) = self.tables.job_by_id.get(&id).copied() else { return Changed::Unknown };
        let is_retried = self.tables.node.get(&job).is_some_and(|node| self.tables.retry.contains_key(&node.graph));
        match self.tables.state(job) {
            State::Ended(_) if !is_retried => return Changed::NotRetrying,
            State::Ended(_) => {}
            state => return Changed::Left(state),
        }
        if let Some(row) = self.tables.job.get_mut(&job) {
            row.new.input = input;
        }
        Changed::Edited
    }
}

impl Tables {
    fn retrying(&self, graph: Key) -> Option<Retrying> {
        self.retry.get(&graph).map(|row| Retrying { mode: row.mode.clone(), since: row.since })
    }

    pub(super) fn retry_view(&self, id: GraphId) -> Option<RetryView> {
        let (graph, row) = self.visible_graph(id)?;
        let nodes: Vec<Key> = self.nodes_of(graph).filter(|job| !self.is_end(*job)).collect();
        let place = |job: Key| nodes.binary_search(&job).ok();
        let edges = nodes.iter().enumerate().flat_map(|(at, parent)| {
            self.edges_of(*parent).filter_map(move |(_, edge)| {
                Some(RetryEdge { parent: at, child: place(edge.child)?, verdicts: edge.verdicts })
            })
        });
        Some(RetryView {
            generation: row.generation,
            rearmed: row.rearmed,
            stop: self.stop.get(&graph).copied(),
            is_undoing: row.undoing.is_some(),
            retrying: self.retrying(graph),
            edges: edges.collect(),
            nodes: nodes.iter().filter_map(|job| self.shape_node(*job, place)).collect(),
        })
    }

    fn shape_node(&self, job: Key, place: impl Fn(Key) -> Option<usize>) -> Option<RetryNode> {
        let node = self.node.get(&job)?;
        let end =
            |row: &super::tables::EndedRow| RetryNodeEnd { end: row.end, cause: row.cause.clone(), at: row.ended_at };
        Some(RetryNode {
            job: self.job.get(&job)?.new.id,
            name: node.name.clone(),
            role: node.role,
            guards: node.guards.and_then(place),
            ended: self.ended.get(&job).map(end),
        })
    }

    /// How a graph stands to its policy of retries.
    pub(super) fn tries(&self, graph: Key) -> Option<Tries> {
        Some(Tries {
            generation: self.graph.get(&graph)?.generation,
            stop: self.stop.get(&graph).copied(),
            is_barred: self.nodes_of(graph).any(|job| self.is_undo(job) && self.ended.contains_key(&job)),
        })
    }

    pub(super) fn retries(&self, now: Timestamp, limit: u32) -> DueRetries {
        let mut due: Vec<(Timestamp, Key)> =
            self.retry.iter().filter(|(_, row)| row.due <= now).map(|(graph, row)| (row.due, *graph)).collect();
        due.sort_unstable();
        let graphs = due.into_iter().take(limit as usize);
        let graphs = graphs.filter_map(|(_, graph)| self.graph.get(&graph).map(|row| row.id)).collect();
        let next = self.retry.values().map(|row| row.due).filter(|due| *due > now).min();
        DueRetries { graphs, next: next.map(|due| due.since(now)) }
    }
}
