//! Undos: how they stand when the `end` of their graph is decided, and what the decision does to them.

use std::cmp::Reverse;

use crate::graph::{Condition, Guard, Guarded, UndoStep, Undoing};
use crate::lifecycle::{End, SkipKind};
use crate::limits;
use crate::store::{Counters, Ending};

use super::Transaction;
use super::tables::{EdgeRow, Key, Phase, Tables};

impl Transaction<'_> {
    /// Starts undos, which the `end` of their graph waits for, and ends those that are not needed.
    pub(super) fn step_undos(&mut self, end: Key, step: UndoStep) {
        let Some(graph) = self.tables.node.get(&end).map(|node| node.graph) else { return };
        if let Some(row) = self.tables.graph.get_mut(&graph) {
            row.undoing = Some(step.verdict);
            row.undo_rank = step.rank.or(row.undo_rank);
        }
        for passed in step.pass {
            if self.take_undo(passed.key) {
                let end = End::Skipped(SkipKind::Untaken);
                let keep = std::time::Duration::ZERO;
                self.end(passed.key, Ending::plain(end, Some(passed.cause), keep, Counters::default()), None);
            }
        }
        let mut started = 0;
        for job in step.start {
            if !self.take_undo(job) {
                continue;
            }
            let edge = EdgeRow { child: end, verdicts: Condition::Finished.table(), label: None };
            self.tables.edge.insert((job, 0), edge);
            let mut counters = Counters::default();
            if let Some(node) = self.tables.node.get_mut(&job) {
                node.phase = Phase::Released;
                counters.attempt = node.attempt;
            }
            let due = self.tables.job.get(&job).map_or(self.now, |row| row.new.due.instant(self.now));
            self.make_due(job, due, counters);
            started += 1;
        }
        let Some(node) = self.tables.node.get_mut(&end) else { return };
        node.counters.left += started;
        if step.more || node.counters.left == 0 {
            node.phase = Phase::Undecided;
            self.leave_undecided(end);
        } else {
            node.phase = Phase::Waiting;
        }
    }

    /// Takes an undo out of those that wait.
    fn take_undo(&mut self, job: Key) -> bool {
        let Some(node) = self.tables.node.get(&job) else { return false };
        self.tables.undo.remove(&(node.graph, Reverse(node.depth), job))
    }
}

impl Tables {
    /// How the undos of a graph stand.
    pub(super) fn undoing(&self, graph: Key) -> Undoing {
        let row = self.graph.get(&graph);
        let running = self.end_of(graph).and_then(|end| self.node.get(&end)).map_or(0, |node| node.counters.left);
        let waiting = self.undo.range((graph, Reverse(u32::MAX), Key::MIN)..=(graph, Reverse(0), Key::MAX));
        let waiting = waiting.take(usize::from(limits::UNDOS_MAX)).filter_map(|(_, Reverse(rank), job)| {
            let guarded = self.node.get(job)?.guards?;
            Some(Guard {
                key: *job,
                rank: *rank,
                node: self.node.get(&guarded)?.name.clone(),
                guarded: self.guarded(*job, guarded),
            })
        });
        Undoing {
            verdict: row.and_then(|row| row.undoing),
            rank: row.and_then(|row| row.undo_rank),
            running,
            waiting: waiting.collect(),
        }
    }

    fn guarded(&self, undo: Key, guarded: Key) -> Guarded {
        let Some(node) = self.node.get(&guarded) else { return Guarded::NeverStarted };
        let ended_so = self.ended.get(&guarded).is_some_and(|row| row.started_at.is_some());
        if self.graph.get(&node.graph).is_some_and(|row| undo < row.committed) {
            Guarded::Committed
        } else if node.started || ended_so || node.attempt.max(self.counters(guarded).attempt) > node.undone {
            Guarded::Started
        } else {
            Guarded::NeverStarted
        }
    }
}
