//! A worker's turn: settle, release, claim, and the answer that a repeat of it gets too.

use crate::graph::{GraphRules, ParentCause, Role, Why};
use crate::id::Incarnation;
use crate::lifecycle::StopReason;
use crate::limits;
use crate::store::{
    Assigned, Claimed, Head, Lease, Rescued, RunHead, Settle, Settled, StoreError, StoreErrorKind, StoreResult, Turn,
    TurnReply, Undecided,
};
use crate::time::Timestamp;

use super::Transaction;
use super::place::Holder;
use super::tables::{JobRow, Key, RunningRow, Tables, With};

/// Whether a number is the next exchange of a worker or repeats its last one.
#[derive(PartialEq, Eq)]
pub(super) enum Exchange {
    New,
    Repeat,
}

impl Transaction<'_> {
    pub(super) fn turn(&mut self, turn: Turn) -> StoreResult<TurnReply> {
        turn.check()?;
        let (worker, exchange) = self.exchange(turn.worker, turn.number, "take a turn")?;
        if exchange == Exchange::New {
            self.new_turn(worker, turn);
        }
        let tables = &*self.tables;
        let (number, settled) =
            tables.worker.get(&worker).map_or((0, Vec::new()), |row| (row.turn, row.settled.clone()));
        let given = tables.running_by_turn.range((worker, number, 0)..=(worker, number, u16::MAX));
        Ok(TurnReply {
            now: self.now,
            settled,
            problems: Vec::new(),
            assigned: given.filter_map(|(_, job)| tables.assigned(*job)).collect(),
            next_due: tables.later.keys().next().map(|(due, _)| *due).filter(|due| *due < Timestamp::NEVER),
            lease: if self.holds_lease(worker) { Lease::Holds } else { Lease::Over },
        })
    }

    fn new_turn(&mut self, worker: Key, turn: Turn) {
        let mut ended: Vec<Key> = Vec::new();
        let items: Vec<Settle> = turn.settle.into_iter().map(|item| self.append_first(turn.worker, item)).collect();
        let settled: Vec<Settled> = items.into_iter().map(|item| self.settle(turn.worker, item, &mut ended)).collect();
        let undecided = self.release(&ended);
        let holds = self.holds_lease(worker);
        let mut holder = Holder { worker, turn: turn.number, index: 0 };
        let room = if holds { usize::from(limits::DECISIONS_MAX) } else { 0 };
        for (at, job) in undecided.into_iter().enumerate() {
            if at < room {
                self.decide_by(job, &mut holder);
            } else {
                self.leave_undecided(job);
            }
        }
        if let Some(claim) = turn.claim.filter(|_| holds) {
            self.news.claimed_by = Some(turn.worker);
            self.claim(&claim, &mut holder);
        }
        self.remember(worker, turn.number, settled);
    }

    /// Finds a worker and tells whether this number is new.
    pub(super) fn exchange(
        &self,
        incarnation: Incarnation,
        number: u64,
        doing: &'static str,
    ) -> StoreResult<(Key, Exchange)> {
        let worker = self.tables.worker_by_incarnation.get(&incarnation);
        let Some((key, row)) = worker.and_then(|key| Some((*key, self.tables.worker.get(key)?))) else {
            let message = format!("the worker {incarnation} is not registered: extend first, what it held is lost");
            return Err(StoreError::new(StoreErrorKind::UnknownWorker, doing, message));
        };
        if number < row.turn {
            let message = format!("turn {number} comes after turn {} of the worker {incarnation}", row.turn);
            return Err(StoreError::new(StoreErrorKind::StaleTurn, doing, message));
        }
        Ok((key, if number == row.turn { Exchange::Repeat } else { Exchange::New }))
    }

    pub(super) fn remember(&mut self, worker: Key, number: u64, settled: Vec<Settled>) {
        if let Some(row) = self.tables.worker.get_mut(&worker) {
            row.turn = number;
            row.settled = settled;
        }
    }

    pub(super) fn holds_lease(&self, worker: Key) -> bool {
        self.tables.lease.get(&worker).is_some_and(|until| *until > self.now)
    }
}

impl Tables {
    /// A job that a worker holds, as it is told.
    fn assigned(&self, job: Key) -> Option<Assigned> {
        let running = self.running.get(&job)?;
        let row = self.job.get(&job)?;
        if running.with != With::Handler {
            return self.undecided_job(job, running, row).map(|undecided| Assigned::Decision(Box::new(undecided)));
        }
        Some(Assigned::Job(Box::new(Claimed {
            head: self.head(job, running, row)?,
            input: row.new.input.clone(),
            headers: row.new.headers.clone(),
            enqueued_at: row.enqueued_at,
            run: self.run.get(&job).map(|row| RunHead {
                id: row.id.clone(),
                chapter: row.chapter,
                entries: row.entries,
                paused: row.paused.is_some(),
            }),
        })))
    }

    /// A job that a worker took over, as it is told.
    pub(super) fn rescued(&self, job: Key) -> Option<Rescued> {
        let running = self.running.get(&job)?;
        let row = self.job.get(&job)?;
        if running.with == With::Handler {
            return self.head(job, running, row).map(|head| Rescued::Job(Box::new(head)));
        }
        self.undecided_job(job, running, row).map(|undecided| Rescued::Decision(Box::new(undecided)))
    }

    fn head(&self, job: Key, running: &RunningRow, row: &JobRow) -> Option<Head> {
        let worker = self.worker.get(&running.worker)?;
        Some(Head {
            fence: self.fence(job, running, worker.incarnation),
            id: row.new.id,
            kind: row.new.kind.clone(),
            version: row.new.version,
            queue: row.new.queue.clone(),
            counters: running.counters,
            rules: row.new.rules.clone(),
            deadline: row.new.deadline,
            node: self.node_ref(job),
            role: self.node.get(&job).map_or(Role::PLAIN, |node| node.role),
        })
    }

    fn undecided_job(&self, job: Key, running: &RunningRow, row: &JobRow) -> Option<Undecided> {
        let worker = self.worker.get(&running.worker)?;
        Some(Undecided {
            fence: self.fence(job, running, worker.incarnation),
            id: row.new.id,
            node: self.node_ref(job),
            counters: running.counters,
            rules: row.new.rules.clone(),
            why: self.why(job, running.with),
        })
    }

    /// What is to be decided of a job.
    fn why(&self, job: Key, with: With) -> Why {
        let node = self.node.get(&job);
        match (with, node) {
            (With::Parents, Some(node)) => {
                let cause = node.cause_parent.and_then(|parent| {
                    let end = self.ended.get(&parent)?.end;
                    Some(ParentCause { node: self.node.get(&parent)?.name.clone(), end })
                });
                let counters = node.counters;
                let (ok, untaken, spoiled, need) = (counters.ok, counters.untaken, counters.spoiled, counters.need);
                Why::Parents { ok, untaken, spoiled, need, cause }
            }
            (With::End, Some(node)) => {
                let rules = self.graph.get(&node.graph).map_or(GraphRules::default(), |row| row.rules);
                let undoing = self.undoing(node.graph);
                let counts = if undoing.wants_counts() { self.counts(node.graph) } else { Vec::new() };
                let tries =
                    if rules.retry.is_some() && undoing.verdict.is_none() { self.tries(node.graph) } else { None };
                Why::End { counts, rules, undoing, tries }
            }
            (With::Deadline, _) => Why::Deadline,
            _ => Why::Stopped { reason: self.stop_of(job).unwrap_or(StopReason::Cancel) },
        }
    }
}
