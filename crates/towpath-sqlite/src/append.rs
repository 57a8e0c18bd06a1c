//! Adds nodes to a graph that is stored already.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use rusqlite::params;
use towpath_core::store::{Placed, Refusal, Settle};
use towpath_core::{End, Incarnation, NodeName, PreparedAppend, StopReason};

use crate::enqueue::{Growth, Placement};
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Decide, Node, Phase};
use crate::tx::Tx;

/// A stored graph as an append sees it.
struct Stored {
    key: i64,
    nodes: u32,
    edges: u32,
    end: i64,
    undo_rank: Option<u32>,
}

/// The stored parents by name, and how deep they lie.
#[derive(Default)]
struct Above {
    parents: HashMap<NodeName, i64>,
    depths: HashMap<i64, u32>,
}

impl Tx<'_, '_> {
    pub(crate) fn append(&mut self, append: &PreparedAppend) -> Placement {
        let id = append.graph();
        let graph = self.db.maybe(Query::GraphToGrow, [&id.as_bytes()[..]], |row| {
            let (nodes, edges): (u32, u32) = (row.get(1)?, row.get(2)?);
            Ok(Stored { key: row.get(0)?, nodes, edges, end: row.get(3)?, undo_rank: row.get(4)? })
        })?;
        let Some(graph) = graph else { return Ok(Err(Refusal::UnknownGraph { id })) };
        let stop = self.stop(graph.key)?;
        if stop == Some(StopReason::Prune) {
            return Ok(Err(Refusal::UnknownGraph { id }));
        }
        if self.has_all(graph.key, append.nodes())? {
            return Ok(Ok(Placed::Existing));
        }
        if let Some(reason) = stop {
            return Ok(Err(Refusal::Stopped { graph: id, reason }));
        }
        if graph.undo_rank.is_some() {
            return Ok(Err(Refusal::Undone { graph: id }));
        }
        let Above { parents, depths } = match self.admit(&graph, append)? {
            Ok(above) => above,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some((key, by)) = self.graph_key_again(graph.key)? {
            return Ok(Err(Refusal::KeyTaken { key, by }));
        }
        let old: BTreeSet<i64> = parents.values().copied().collect();
        let first = i64::from(graph.edges);
        let mut growth = Growth { graph: graph.key, first, end: Some(graph.end), parents, depths };
        let mut new = match self.grow(&mut growth, append.nodes(), append.edges())? {
            Ok(new) => new,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let oldest = new.first().map_or(0, |node| node.job);
        let mut end = self.reopen(&graph, append.edges_to_end(), oldest)?;
        self.count_ended(&mut new, &mut end, first, &old)?;
        self.write_node(&end)?;
        self.start(new)?;
        Ok(Ok(Placed::Inserted))
    }

    /// Adds what a node adds to its graph with its end, before anything ends: the edges from what ends in the same turn are
    /// counted with its end.
    pub(crate) fn append_first<'i>(
        &mut self,
        worker: i64,
        incarnation: Incarnation,
        item: &'i Settle,
    ) -> Result<Cow<'i, Settle>, Fault> {
        let Some((append, _)) = item.appends().filter(|_| item.fence.token.worker == incarnation) else {
            return Ok(Cow::Borrowed(item));
        };
        let token = item.fence.token;
        let claim = params![item.fence.key, worker, token.turn.cast_signed(), token.index];
        let held = self.db.maybe(Query::RunningIs, claim, |_| Ok(()))?;
        let decide = self.db.maybe(Query::RunningDecide, [item.fence.key], |row| rows::decide(row.get(0)?))?;
        if held.is_none() || decide != Some(Decide::Handler) {
            return Ok(Cow::Borrowed(item));
        }
        let placed = self.part(|tx| tx.append(&append.nodes))?;
        Ok(Cow::Owned(item.appended(placed.err().as_ref())))
    }

    /// What can be refused before anything is written; the stored parents by name.
    fn admit(&mut self, graph: &Stored, append: &PreparedAppend) -> Result<Result<Above, Refusal>, Fault> {
        let mut above = Above::default();
        let stored = &mut above.parents;
        for name in append.nodes().iter().map(|node| &node.name).chain(append.parent_names()) {
            if let Some((job, depth)) = self.node_named(graph.key, name)? {
                stored.insert(name.clone(), job);
                above.depths.insert(job, depth);
            }
        }
        if let Some(taken) = append.refuse_taken(|name| stored.contains_key(name)) {
            return Ok(Err(taken));
        }
        // The hidden `end` is nobody's parent.
        stored.retain(|_, job| *job != graph.end);
        let refusal = append
            .refuse_unknown(|name| stored.contains_key(name))
            .or_else(|| append.refuse_too_large(graph.nodes, graph.edges));
        Ok(refusal.map_or(Ok(above), Err))
    }

    fn node_named(&mut self, graph: i64, name: &NodeName) -> Result<Option<(i64, u32)>, Fault> {
        self.db.maybe(Query::NodeByName, params![graph, name.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Lets the graph's `end` wait for the new leaves, whatever had become of it. `oldest` is the first new node.
    fn reopen(&mut self, graph: &Stored, gained: u32, oldest: i64) -> Result<Node, Fault> {
        let mut end = self.db.one(Query::NodeRead, [graph.end], rows::node)?;
        end.counters.left += gained;
        end.phase = Phase::Waiting;
        self.take_back_end(graph.key, graph.end, Some(oldest))?;
        Ok(end)
    }

    /// Takes back what had become of a graph's `end`, and with it the graph's own. Its node is written by the caller. What had
    /// succeeded stays so if the graph grows; `oldest` is the first new node then.
    pub(crate) fn take_back_end(&mut self, graph: i64, end: i64, oldest: Option<i64>) -> Result<(), Fault> {
        self.db.run(Query::UndecidedDelete, [end])?;
        self.db.run(Query::RunningDelete, [end])?;
        self.db.run(Query::EndedDelete, [end])?;
        self.db.run(Query::GraphReopen, params![graph, oldest])?;
        Ok(())
    }

    /// Counts parents that had ended before these nodes came, for them and for `end`.
    fn count_ended(
        &mut self,
        new: &mut [Node],
        end: &mut Node,
        first: i64,
        parents: &BTreeSet<i64>,
    ) -> Result<(), Fault> {
        let mut counted = BTreeSet::new();
        for parent in parents {
            let ended = self
                .db
                .maybe(Query::EndedVerdict, [parent], |row| Ok((rows::end(row.get(0)?)?, rows::labels(row, 1)?)))?;
            let Some((how, branches)): Option<(End, _)> = ended else { continue };
            for edge in self.edges_from(*parent, first)? {
                // New nodes have ascending keys.
                let child = match new.binary_search_by_key(&edge.child, |node| node.job) {
                    Ok(at) => new.get_mut(at),
                    Err(_) => (edge.child == end.job).then_some(&mut *end),
                };
                if let Some(child) = child {
                    child.count(*parent, how, &branches, &edge);
                    counted.insert(edge.child);
                }
            }
        }
        for node in new.iter().filter(|node| counted.contains(&node.job)) {
            self.write_node(node)?;
        }
        Ok(())
    }
}
