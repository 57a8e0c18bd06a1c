//! Counts the parents of a graph's nodes anew, from its edges and ends: to see what differs, and to put it right.

use std::collections::BTreeMap;

use crate::graph::{NodeCounters, Standing};
use crate::lifecycle::StopReason;
use crate::store::Suspects;

use super::Transaction;
use super::tables::{Key, NodeRow, Phase, Tables};

impl Transaction<'_> {
    /// Counts the parents of every node that is not released anew; answers how many nodes were wrong.
    pub(super) fn recount_nodes(&mut self, graph: Key) -> u32 {
        let mut fresh = self.tables.count_from_edges(graph);
        // An undo waits for no parent.
        fresh.retain(|job, _| !self.tables.ended.contains_key(job) && !self.tables.is_undo(*job));
        let mut repaired = 0;
        for (job, (counters, cause_parent)) in fresh {
            let Some(node) = self.tables.node.get_mut(&job).filter(|node| node.phase != Phase::Released) else {
                continue;
            };
            let was_wrong = (node.counters, node.cause_parent) != (counters, cause_parent);
            (node.counters, node.cause_parent) = (counters, cause_parent);
            repaired += u32::from(self.place_anew(job) || was_wrong);
        }
        repaired
    }

    /// Puts a node where its counters say; answers whether it stood elsewhere.
    fn place_anew(&mut self, job: Key) -> bool {
        let stop = self.tables.stop_of(job);
        let Some(node) = self.tables.node.get_mut(&job) else { return false };
        let stands = match node.standing(stop) {
            Standing::Waits => Phase::Waiting,
            Standing::Ready => Phase::Released,
            Standing::Undecided => Phase::Undecided,
        };
        let is_there = match stands {
            Phase::Undecided => self.tables.undecided.contains(&job) || self.tables.running.contains_key(&job),
            Phase::Waiting | Phase::Released => true,
        };
        if node.phase == stands && is_there {
            return false;
        }
        node.phase = Phase::Waiting;
        self.tables.undecided.remove(&job);
        self.take_running(job);
        if self.look_at(job) {
            self.leave_undecided(job);
        }
        true
    }
}

impl Tables {
    /// Open graphs behind one, so many that their nodes and edges are no more than that; those of which a counter is wrong.
    pub(super) fn suspects(&self, after: Option<i64>, size_max: u32, graphs_max: u32) -> Suspects {
        let behind =
            self.graph.range(after.map_or(Key::MIN, |after| after + 1)..).filter(|(_, row)| row.over.is_none());
        let (mut suspects, mut size) = (Suspects::default(), 0);
        for (graph, row) in behind.take(graphs_max as usize) {
            if size >= size_max {
                break;
            }
            size += row.nodes + row.edges;
            suspects.next = Some(*graph);
            let is_held = matches!(self.stop.get(graph), Some(StopReason::Retry | StopReason::Prune));
            if !is_held && self.is_miscounted(*graph) {
                suspects.graphs.push(row.id);
            }
        }
        suspects
    }

    /// Whether a node that waits has other counters than its edges say, or does not stand where they put it.
    fn is_miscounted(&self, graph: Key) -> bool {
        self.count_from_edges(graph).into_iter().any(|(job, (fresh, _))| {
            let Some(node) = self.node.get(&job).filter(|node| node.phase != Phase::Released) else { return false };
            if self.ended.contains_key(&job) || self.is_undo(job) {
                return false;
            }
            let counts = |of: &NodeCounters| (of.left, of.ok, of.untaken, of.spoiled);
            let is_moved = match node.phase {
                Phase::Waiting => node.standing(self.stop_of(job)) != Standing::Waits,
                _ => !self.undecided.contains(&job) && !self.running.contains_key(&job),
            };
            counts(&node.counters) != counts(&fresh) || is_moved
        })
    }

    /// What every node's counters should be, by the edges and the ends.
    fn count_from_edges(&self, graph: Key) -> BTreeMap<Key, (NodeCounters, Option<Key>)> {
        let tables = self;
        let mut fresh: BTreeMap<Key, NodeRow> = BTreeMap::new();
        for job in tables.nodes_of(graph) {
            if let Some(node) = tables.node.get(&job) {
                let counters = NodeCounters::fresh(0, node.counters.need, node.counters.eager);
                fresh.insert(job, NodeRow { counters, cause_parent: None, name: node.name.clone(), ..*node });
            }
        }
        let edges =
            || tables.nodes_of(graph).flat_map(|parent| tables.edges_of(parent).map(move |edge| (parent, edge)));
        for (_, (_, edge)) in edges() {
            if let Some(child) = fresh.get_mut(&edge.child) {
                child.counters.left += 1;
            }
        }
        for (parent, (ord, edge)) in edges() {
            if let (Some(ended), Some(child)) = (tables.ended.get(&parent), fresh.get_mut(&edge.child)) {
                child.count(parent, ended, ord, edge);
            }
        }
        fresh.into_iter().map(|(job, node)| (job, (node.counters, node.cause_parent))).collect()
    }
}
