//! A graph as it would be enqueued once more.

use std::collections::BTreeMap;

use crate::graph::{Condition, FailureMode, Need, NewEdge, NewGraph, NewNode, Role};
use crate::id::GraphId;
use crate::time::Timestamp;

use super::tables::{Key, Tables};

impl Tables {
    pub(super) fn content(&self, id: GraphId, now: Timestamp) -> Option<NewGraph> {
        let (key, row) = self.visible_graph(id)?;
        let nodes: Vec<Key> = self.nodes_of(key).filter(|job| !self.is_end(*job)).collect();
        let edges: BTreeMap<u32, NewEdge> = nodes.iter().flat_map(|parent| self.new_edges(*parent)).collect();
        Some(NewGraph {
            id,
            name: row.name.clone(),
            rules: row.rules,
            input: row.input.clone(),
            // A restart is a graph beside the old one, which may hold its key still.
            unique: None,
            nodes: nodes.iter().filter_map(|job| self.new_node(*job, now)).collect(),
            edges: edges.into_values().collect(),
        })
    }

    fn new_node(&self, job: Key, now: Timestamp) -> Option<NewNode> {
        let node = self.node.get(&job)?;
        let mut new = self.job.get(&job)?.new.clone();
        new.unique = None;
        new.deadline = new.deadline.filter(|at| *at > now);
        let is_at_least = node.role.has(Role::AT_LEAST);
        Some(NewNode {
            name: node.name.clone(),
            job: new,
            need: if is_at_least { Need::AtLeast(node.counters.need) } else { Need::All },
            failure: if node.role.has(Role::MAY_FAIL) { FailureMode::MayFail } else { FailureMode::Counts },
            guards: node.guards.and_then(|guarded| self.node.get(&guarded)).map(|node| node.name.clone()),
        })
    }

    /// The edges from a node by their place, those to `end` left out.
    fn new_edges(&self, parent: Key) -> impl Iterator<Item = (u32, NewEdge)> {
        self.edges_of(parent).filter(|(_, edge)| !self.is_end(edge.child)).filter_map(move |(ord, edge)| {
            let (parent, child) = (self.node.get(&parent)?.name.clone(), self.node.get(&edge.child)?.name.clone());
            let condition = Condition::of(edge.verdicts, edge.label.as_ref())?;
            Some((ord, NewEdge { parent, child, condition }))
        })
    }
}
