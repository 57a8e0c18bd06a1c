//! Adds nodes to a graph that is stored already.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{ParentRef, PreparedAppend};
use crate::limits;
use crate::name::NodeName;
use crate::store::{Placed, Refusal};

use super::Transaction;
use super::tables::{Key, Phase};

impl Transaction<'_> {
    pub(super) fn append(&mut self, append: &PreparedAppend) -> Result<Placed, Refusal> {
        let id = append.graph();
        let Some((graph, _)) = self.tables.visible_graph(id) else { return Err(Refusal::UnknownGraph { id }) };
        if self.has_all(graph, append.nodes()) {
            return Ok(Placed::Existing);
        }
        if let Some(reason) = self.tables.stop.get(&graph) {
            return Err(Refusal::Stopped { graph: id, reason: *reason });
        }
        self.refuse_taken_names(graph, append)?;
        let parents = self.existing_parents(graph, append)?;
        self.refuse_too_large(graph, append)?;
        self.refuse_taken_ids(append.nodes())?;

        let first = self.tables.graph.get(&graph).map_or(0, |row| row.edges);
        let new = self.grow(graph, append.nodes(), append.edges(), &parents);
        self.reopen(graph, append);
        self.count_ended(first, parents.into_values().collect());
        for job in new {
            if self.look_at(job) {
                self.leave_undecided(job);
            }
        }
        Ok(Placed::Inserted)
    }

    fn refuse_taken_names(&self, graph: Key, append: &PreparedAppend) -> Result<(), Refusal> {
        let is_taken = |name: &NodeName| self.tables.node_by_name.contains_key(&(graph, name.clone()));
        let names: Vec<NodeName> =
            append.nodes().iter().map(|node| &node.name).filter(|name| is_taken(name)).cloned().collect();
        if names.is_empty() { Ok(()) } else { Err(Refusal::NamesTaken { graph: append.graph(), names }) }
    }

    /// The stored parents by name. The hidden `end` is nobody's parent.
    fn existing_parents(&self, graph: Key, append: &PreparedAppend) -> Result<BTreeMap<NodeName, Key>, Refusal> {
        let mut found = BTreeMap::new();
        let mut missing = Vec::new();
        for edge in append.edges() {
            let ParentRef::Existing(name) = &edge.parent else { continue };
            let parent = self.tables.node_by_name.get(&(graph, name.clone()));
            match parent.filter(|parent| !self.tables.is_end(**parent)) {
                Some(parent) => drop(found.insert(name.clone(), *parent)),
                None if missing.contains(name) => {}
                None => missing.push(name.clone()),
            }
        }
        if missing.is_empty() {
            Ok(found)
        } else {
            Err(Refusal::UnknownParents { graph: append.graph(), names: missing })
        }
    }

    fn refuse_too_large(&self, graph: Key, append: &PreparedAppend) -> Result<(), Refusal> {
        let (nodes, edges) = self.tables.graph.get(&graph).map_or((0, 0), |row| (row.nodes, row.edges));
        let nodes = nodes as usize + append.nodes().len();
        let edges = edges as usize + append.edges().len();
        let invalid =
            |problem: String| Err(Refusal::Invalid { problem: format!("graph {}: {problem}", append.graph()) });
        if nodes > limits::GRAPH_NODES_MAX {
            let max = limits::GRAPH_NODES_MAX;
            return invalid(format!("it would have {nodes} nodes, at most {max} are allowed"));
        }
        // The edges to `end` are counted here, and there are about as many as nodes.
        let max = limits::GRAPH_EDGES_MAX + limits::GRAPH_NODES_MAX;
        if edges > max {
            return invalid(format!("it would have {edges} edges, at most {max} are allowed"));
        }
        Ok(())
    }

    /// Lets the graph's `end` wait for the new leaves, whatever had become of it.
    fn reopen(&mut self, graph: Key, append: &PreparedAppend) {
        let Some(end) = self.tables.end_of(graph) else { return };
        let gained = append.edges().iter().filter(|edge| edge.child == append.nodes().len()).count() as u32;
        if let Some(node) = self.tables.node.get_mut(&end) {
            node.counters.left += gained;
            node.phase = Phase::Waiting;
        }
        self.tables.undecided.remove(&end);
        self.take_running(end);
        self.tables.ended.remove(&end);
        if let Some(over) = self.tables.graph.get_mut(&graph).and_then(|row| row.over.take()) {
            self.tables.graph_prune_at.remove(&(over.prune_at, graph));
        }
    }

    /// Counts parents that had ended before these edges came, for the new nodes and for `end`.
    fn count_ended(&mut self, first: u32, parents: BTreeSet<Key>) {
        let tables = &mut *self.tables;
        for parent in parents {
            let Some(ended) = tables.ended.get(&parent) else { continue };
            for ((_, ord), edge) in tables.edge.range((parent, first)..=(parent, u32::MAX)) {
                if let Some(node) = tables.node.get_mut(&edge.child) {
                    node.count(parent, ended, *ord, edge);
                }
            }
        }
    }
}
