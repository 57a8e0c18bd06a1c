//! Adds nodes to a graph that is stored already.

use std::collections::{BTreeSet, HashMap};

use crate::graph::{GraphEnd, PreparedAppend};
use crate::id::Incarnation;
use crate::name::NodeName;
use crate::store::{Placed, Refusal, Settle};

use super::Transaction;
use super::tables::{Key, Phase, With};

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
        if self.tables.graph.get(&graph).is_some_and(|row| row.undo_rank.is_some()) {
            return Err(Refusal::Undone { graph: id });
        }
        let node = |name: &NodeName| self.tables.node_by_name.get(&(graph, name.clone())).copied();
        // The hidden `end` is nobody's parent.
        let parent = |name: &NodeName| node(name).filter(|parent| !self.tables.is_end(*parent));
        let parents: HashMap<NodeName, Key> =
            append.parent_names().into_iter().filter_map(|name| Some((name.clone(), parent(name)?))).collect();
        let (nodes, edges) = self.tables.graph.get(&graph).map_or((0, 0), |row| (row.nodes, row.edges));
        let refusal = append
            .refuse_taken(|name| node(name).is_some())
            .or_else(|| append.refuse_unknown(|name| parents.contains_key(name)))
            .or_else(|| append.refuse_too_large(nodes, edges));
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        self.refuse_taken_ids(append.nodes())?;
        if let Some((key, by)) = self.graph_key_again(graph) {
            return Err(Refusal::KeyTaken { key, by });
        }

        let first = self.tables.graph.get(&graph).map_or(0, |row| row.edges);
        let new = self.grow(graph, append.nodes(), append.edges(), &parents);
        self.reopen(graph, append, new.first().copied());
        self.count_ended(first, parents.into_values().collect());
        for job in new {
            if self.look_at(job) {
                self.leave_undecided(job);
            }
        }
        Ok(Placed::Inserted)
    }

    /// Adds what a node adds to its graph with its end, before anything ends: the edges from what ends in the same turn are
    /// counted with its end.
    pub(super) fn append_first(&mut self, worker: Incarnation, item: Settle) -> Settle {
        let Some((append, _)) = item.appends() else { return item };
        let held = self.tables.running_under(item.fence).filter(|_| item.fence.token.worker == worker);
        if held.is_none_or(|row| row.with != With::Handler) {
            return item;
        }
        let refusal = self.append(&append.nodes).err();
        item.appended(refusal.as_ref())
    }

    /// Lets the graph's `end` wait for the new leaves, whatever had become of it. What had succeeded stays so: it is older
    /// than the first new node.
    fn reopen(&mut self, graph: Key, append: &PreparedAppend, first: Option<Key>) {
        let Some(end) = self.tables.end_of(graph) else { return };
        if let Some(node) = self.tables.node.get_mut(&end) {
            node.counters.left += append.edges_to_end();
        }
        self.reopen_end(graph, end, first);
    }

    /// Takes back what had become of a graph's `end`, and with it the graph's own. `first` is the first new node, if it grows:
    /// what had succeeded stays so.
    pub(super) fn reopen_end(&mut self, graph: Key, end: Key, first: Option<Key>) {
        if let Some(node) = self.tables.node.get_mut(&end) {
            node.phase = Phase::Waiting;
        }
        self.tables.undecided.remove(&end);
        self.take_running(end);
        self.tables.ended.remove(&end);
        let Some(row) = self.tables.graph.get_mut(&graph) else { return };
        let (over, undoing) = (row.over.take(), row.undoing.take());
        if let Some(first) = first {
            let had_ended = undoing.or(over.as_ref().map(|over| over.end));
            if had_ended == Some(GraphEnd::Succeeded) {
                row.committed = first;
            }
        }
        if let Some(over) = over {
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
