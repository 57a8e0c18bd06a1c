//! Counts ended jobs for their children, and makes those ready that may start.

use std::collections::BTreeMap;

use rusqlite::params;
use towpath_core::store::{CancelNote, Counters};
use towpath_core::{End, Label, Role, StopReason, VerdictTable, fault};

use crate::error::Fault;
use crate::place::{Holder, Over};
use crate::queries::Query;
use crate::rows::{self, Decide, Node};
use crate::tx::Tx;

/// An edge from a parent.
pub(crate) struct Edge {
    pub(crate) ord: u32,
    pub(crate) child: i64,
    verdicts: VerdictTable,
    label: Option<Label>,
}

impl Tx<'_, '_> {
    /// Counts jobs that have just ended. The children that came for a decision, by key.
    pub(crate) fn release(&mut self, ended: &[Over]) -> Result<Vec<Node>, Fault> {
        for arrival in ended.iter().filter_map(|over| over.tells.as_ref()) {
            self.tell(arrival)?;
        }
        // They hold once all that the verb settles is judged.
        for (graph, stop) in ended.iter().filter_map(|over| over.stop) {
            self.stop_by_failure(graph, stop)?;
        }
        let mut children: BTreeMap<i64, Node> = BTreeMap::new();
        for parent in ended.iter().filter(|over| over.is_node) {
            for edge in self.edges_from(parent.job, 0)? {
                let child = match children.entry(edge.child) {
                    std::collections::btree_map::Entry::Occupied(seen) => seen.into_mut(),
                    std::collections::btree_map::Entry::Vacant(new) => {
                        new.insert(self.db.one(Query::ChildRead, [edge.child], rows::child)?)
                    }
                };
                child.count(parent.job, parent.end, &parent.branches, &edge);
                if fault::is_put_back(fault::Fault::ReleaseTwice) {
                    child.count(parent.job, parent.end, &parent.branches, &edge);
                }
            }
        }
        let mut undecided = Vec::new();
        for mut child in children.into_values() {
            if self.look_at(&mut child)? {
                undecided.push(child);
            }
        }
        Ok(undecided)
    }

    /// Holds a graph back because a node of it has failed. A stop that is there stays.
    pub(crate) fn stop_by_failure(&mut self, graph: i64, stop: StopReason) -> Result<(), Fault> {
        let note = CancelNote { actor: "towpath".into(), reason: "a node failed".into() };
        let row = params![graph, stop.code(), self.now_us(), note.actor, note.reason, self.now_us()];
        if self.db.run(Query::StopInsert, row)? > 0 {
            self.tell_runs_of(graph, stop, &note)?;
        }
        self.forget_stop(graph);
        self.ring_cancel();
        Ok(())
    }

    /// Counts jobs that no worker's turn has ended: their undecided children wait for a claim.
    pub(crate) fn release_to_nobody(&mut self, ended: &[Over]) -> Result<(), Fault> {
        for child in self.release(ended)? {
            self.leave_undecided(child.job)?;
        }
        Ok(())
    }

    /// Gives a node of phase undecided to a worker.
    pub(crate) fn decide_by(&mut self, node: &Node, holder: &mut Holder) -> Result<(), Fault> {
        let decide = if node.role.has(Role::END) {
            Decide::End
        } else if self.is_stopped(node)? {
            Decide::Stopped
        } else {
            Decide::Parents
        };
        let place = self.facts(node.job)?.place;
        self.hold(node.job, decide, place, Counters::default(), holder)
    }

    /// The edges from a node to its children from this place on, by place.
    pub(crate) fn edges_from(&mut self, parent: i64, first: i64) -> Result<Vec<Edge>, Fault> {
        self.db.all(Query::EdgeChildren, params![parent, first], |row| {
            let label: Option<String> = row.get(3)?;
            Ok(Edge {
                ord: row.get(0)?,
                child: row.get(1)?,
                verdicts: VerdictTable::from_bits(row.get(2)?),
                label: label.as_deref().map(Label::from_stored),
            })
        })
    }
}

impl Node {
    /// Takes back an ended parent by one of its edges.
    pub(crate) fn uncount(&mut self, end: End, branches: &[Label], edge: &Edge) {
        self.counters.remove(edge.verdicts.verdict(end, edge.label.as_ref(), branches));
    }

    /// Counts an ended parent by one of its edges.
    pub(crate) fn count(&mut self, parent: i64, end: End, branches: &[Label], edge: &Edge) {
        let before = self.counters.cause;
        self.counters.add(edge.verdicts.verdict(end, edge.label.as_ref(), branches), edge.ord);
        if self.counters.cause != before {
            self.cause_parent = Some(parent);
        }
    }
}
