//! Counts ended jobs for their children, and makes those ready that may start.

use std::collections::BTreeSet;

use super::Transaction;
use super::place::Holder;
use super::tables::{Key, With};
use crate::fault::{self, Fault};
use crate::store::{CancelNote, Counters, StopLine};

impl Transaction<'_> {
    /// Counts jobs that have just ended. Answers the children that came for a decision, by key.
    pub(super) fn release(&mut self, ended: &[Key]) -> Vec<Key> {
        for arrival in std::mem::take(&mut self.tells) {
            self.tell(arrival);
        }
        for (graph, stop) in std::mem::take(&mut self.stops) {
            if self.tables.stop.contains_key(&graph) {
                continue;
            }
            let (actor, why) = ("towpath".to_owned(), "a node failed".to_owned());
            let note = CancelNote { actor: actor.clone(), reason: why.clone() };
            self.tables.stop.insert(graph, stop);
            self.tables.stop_due.insert(graph, self.now);
            self.tables.stopped.insert(graph, StopLine { reason: stop, at: self.now, actor, why, due: None });
            self.news.cancel = true;
            self.tell_runs_of(graph, &note);
        }
        let mut children: BTreeSet<Key> = BTreeSet::new();
        for parent in ended {
            let tables = &mut *self.tables;
            let Some(row) = tables.ended.get(parent) else { continue };
            for ((_, ord), edge) in tables.edge.range((*parent, 0)..=(*parent, u32::MAX)) {
                if let Some(child) = tables.node.get_mut(&edge.child) {
                    child.count(*parent, row, *ord, edge);
                    if fault::is_put_back(Fault::ReleaseTwice) {
                        child.count(*parent, row, *ord, edge);
                    }
                    children.insert(edge.child);
                }
            }
        }
        children.into_iter().filter(|child| self.look_at(*child)).collect()
    }

    /// Counts jobs that no worker's turn has ended: their undecided children wait for a claim.
    pub(super) fn release_to_nobody(&mut self, ended: &[Key]) {
        for child in self.release(ended) {
            self.leave_undecided(child);
        }
    }

    /// Gives a node of phase undecided to a worker.
    pub(super) fn decide_by(&mut self, job: Key, holder: &mut Holder) {
        let with = if self.tables.is_end(job) {
            With::End
        } else if self.tables.is_stopped(job) {
            With::Stopped
        } else {
            With::Parents
        };
        self.hold(job, with, Counters::default(), holder);
    }
}
