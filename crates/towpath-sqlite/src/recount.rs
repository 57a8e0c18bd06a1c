//! Counts the parents of a graph's nodes anew, from its edges and ends, and puts right what differs.

use std::collections::BTreeMap;

use rusqlite::params;
use towpath_core::store::Suspects;
use towpath_core::{End, Label, NodeCounters, Role, Standing, StopReason, limits};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Node, Phase};
use crate::tx::Tx;

/// A node and how it ended, if it has.
struct Stands {
    node: Node,
    ended: Option<(End, Vec<Label>)>,
}

impl Tx<'_, '_> {
    /// Answers how many nodes were wrong. Nodes that are released or over are left alone.
    pub(crate) fn recount(&mut self, graph: i64) -> Result<u32, Fault> {
        let nodes = self.db.all(Query::NodeList, [graph], |row| {
            let ended = match row.get::<_, Option<i16>>(13)? {
                Some(code) => Some((rows::end(code)?, rows::labels(row, 14)?)),
                None => None,
            };
            Ok(Stands { node: rows::node(row)?, ended })
        })?;
        let fresh = self.count_from_edges(&nodes)?;
        let mut repaired = 0;
        for Stands { mut node, ended } in nodes {
            let (None, Phase::Waiting | Phase::Undecided) = (ended, node.phase) else { continue };
            // An undo waits for no parent.
            if node.role.has(Role::UNDO) {
                continue;
            }
            let Some(right) = fresh.get(&node.job) else { continue };
            let was_wrong = (node.counters, node.cause_parent) != (right.counters, right.cause_parent);
            (node.counters, node.cause_parent) = (right.counters, right.cause_parent);
            if was_wrong {
                self.write_node(&node)?;
            }
            repaired += u32::from(self.place_anew(&mut node)? || was_wrong);
        }
        Ok(repaired)
    }

    /// What every node's counters should be.
    fn count_from_edges(&mut self, nodes: &[Stands]) -> Result<BTreeMap<i64, Node>, Fault> {
        let mut fresh: BTreeMap<i64, Node> = BTreeMap::new();
        for Stands { node, .. } in nodes {
            let counters = NodeCounters::fresh(0, node.counters.need, node.counters.eager);
            fresh.insert(node.job, Node { counters, cause_parent: None, ..*node });
        }
        // A parent that has ended is counted out again, so every edge is counted in first.
        let mut edges = Vec::with_capacity(nodes.len());
        for parent in nodes {
            let of_parent = self.edges_from(parent.node.job, 0)?;
            for edge in &of_parent {
                if let Some(child) = fresh.get_mut(&edge.child) {
                    child.counters.left += 1;
                }
            }
            edges.push(of_parent);
        }
        for (parent, edges) in nodes.iter().zip(edges) {
            let Some((end, branches)) = &parent.ended else { continue };
            for edge in edges {
                if let Some(child) = fresh.get_mut(&edge.child) {
                    child.count(parent.node.job, *end, branches, &edge);
                }
            }
        }
        Ok(fresh)
    }

    /// Puts a node where its counters say; answers whether it stood elsewhere.
    fn place_anew(&mut self, node: &mut Node) -> Result<bool, Fault> {
        let stands = match self.standing(node)? {
            Standing::Waits => Phase::Waiting,
            Standing::Ready => Phase::Released,
            Standing::Undecided => Phase::Undecided,
        };
        let is_there = match stands {
            Phase::Undecided => self.db.maybe(Query::NodeDecided, [node.job], |_| Ok(()))?.is_some(),
            Phase::Waiting | Phase::Released => true,
        };
        if node.phase == stands && is_there {
            return Ok(false);
        }
        node.phase = Phase::Waiting;
        self.db.run(Query::UndecidedDelete, [node.job])?;
        self.db.run(Query::RunningDelete, [node.job])?;
        if self.look_at(node)? {
            self.leave_undecided(node.job)?;
        }
        Ok(true)
    }
}

/// Open graphs of which something is miscounted.
pub(crate) fn suspects(db: &mut Db<'_>, after: Option<i64>, size_max: u32) -> Result<Suspects, Fault> {
    let (retry, prune) = (StopReason::Retry.code(), StopReason::Prune.code());
    let from = after.unwrap_or(i64::MIN);
    let which = params![from, size_max, limits::SWEEP_GRAPHS_MAX, retry, prune, Role::UNDO.bits()];
    let looked = db.all(Query::Suspects, which, |row| {
        Ok((row.get::<_, i64>(0)?, rows::graph_id(row, 1)?, row.get::<_, bool>(3)?))
    })?;
    let next = looked.last().map(|(graph, ..)| *graph);
    Ok(Suspects { graphs: looked.into_iter().filter(|(.., is_wrong)| *is_wrong).map(|(_, id, _)| id).collect(), next })
}
