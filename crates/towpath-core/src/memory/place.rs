//! Where a job's row goes: every insert into and delete from the tables that say where a job stands.

use crate::graph::Standing;
use crate::lifecycle::End;
use crate::limits;
use crate::store::{AttemptRecord, Counters, Ending};
use crate::time::Timestamp;

use super::Transaction;
use super::tables::{AttemptRow, EndedRow, Key, LaterRow, Phase, ReadyRow, RunningRow, Slot, With};

/// A worker in a turn, and the index of the next job that it is given.
pub(super) struct Holder {
    pub(super) worker: Key,
    pub(super) turn: u64,
    pub(super) index: u16,
}

impl Transaction<'_> {
    /// Puts a job into the head, behind all of its priority, or where it waits for its time.
    pub(super) fn make_due(&mut self, job: Key, due: Timestamp, counters: Counters) {
        if due <= self.now {
            return self.make_ready(job, counters);
        }
        let Some(row) = self.tables.job.get(&job) else { return };
        if due < Timestamp::NEVER {
            self.news.ready.insert(row.new.queue.clone());
        }
        self.tables.later.insert((due, job), LaterRow { counters, parked: false });
        self.tables.later_by_job.insert(job, due);
    }

    /// Keeps a run until its time or a signal, which may be never.
    pub(super) fn park(&mut self, job: Key, due: Timestamp, counters: Counters) {
        self.make_due(job, due, counters);
        if let Some(row) = self.tables.later.get_mut(&(due, job)) {
            row.parked = true;
        }
    }

    /// Puts a job into the head, behind all of its priority.
    pub(super) fn make_ready(&mut self, job: Key, counters: Counters) {
        let seq = self.tables.draw();
        let Some(row) = self.tables.job.get(&job) else { return };
        let slot = (row.lane, row.turnout(), seq);
        self.put_ready(job, slot, counters);
    }

    /// Puts a job into the head at this place.
    pub(super) fn put_ready(&mut self, job: Key, slot: Slot, counters: Counters) {
        let Some(row) = self.tables.job.get(&job) else { return };
        self.news.ready.insert(row.new.queue.clone());
        self.tables.ready.insert(slot, ReadyRow { job, counters });
        self.tables.ready_by_job.insert(job, slot);
    }

    /// Looks at a waiting node whose counters have changed. One that may start becomes ready; its delay
    /// counts from now. Says whether it came for a decision instead.
    pub(super) fn look_at(&mut self, job: Key) -> bool {
        let stop = self.tables.stop_of(job);
        let Some(node) = self.tables.node.get_mut(&job).filter(|node| node.phase == Phase::Waiting) else {
            return false;
        };
        match node.standing(stop) {
            Standing::Waits => false,
            Standing::Ready => {
                node.phase = Phase::Released;
                let counters = Counters { attempt: node.attempt, ..Counters::default() };
                let due = self.tables.job.get(&job).map_or(self.now, |row| row.new.due.instant(self.now));
                self.make_due(job, due, counters);
                false
            }
            Standing::Undecided => {
                node.phase = Phase::Undecided;
                true
            }
        }
    }

    /// Keeps a node of phase undecided for whoever claims decisions.
    pub(super) fn leave_undecided(&mut self, job: Key) {
        self.tables.undecided.insert(job);
        self.news.undecided = true;
    }

    /// Gives a job to a worker.
    pub(super) fn hold(&mut self, job: Key, with: With, counters: Counters, holder: &mut Holder) {
        let row = RunningRow {
            worker: holder.worker,
            turn: holder.turn,
            index: holder.index,
            with,
            counters,
            started_at: self.now,
            cancel: None,
        };
        holder.index += 1;
        self.insert_running(job, row);
    }

    pub(super) fn insert_running(&mut self, job: Key, row: RunningRow) {
        self.tables.running_by_turn.insert((row.worker, row.turn, row.index), job);
        self.tables.running.insert(job, row);
    }

    pub(super) fn take_running(&mut self, job: Key) -> Option<RunningRow> {
        let row = self.tables.running.remove(&job)?;
        self.tables.running_by_turn.remove(&(row.worker, row.turn, row.index));
        Some(row)
    }

    /// Takes a job that is ready, blocked or not due yet out of its table.
    pub(super) fn take_idle(&mut self, job: Key) -> Option<Counters> {
        let tables = &mut *self.tables;
        if let Some(slot) = tables.ready_by_job.remove(&job) {
            return tables.ready.remove(&slot).map(|row| row.counters);
        }
        if let Some(due) = tables.later_by_job.remove(&job) {
            return tables.later.remove(&(due, job)).map(|row| row.counters);
        }
        tables.blocked.remove(&job).map(|row| row.counters)
    }

    /// Gives a job back unrun, at no cost. One that was to be cancelled ends so, for nobody would
    /// remember; `true` then, and its children are to be released.
    pub(super) fn hand_back(&mut self, job: Key) -> bool {
        let Some(row) = self.take_running(job) else { return false };
        let counters = match row.with {
            With::Handler => Counters { attempt: row.counters.attempt.saturating_sub(1), ..row.counters },
            _ => row.counters,
        };
        self.note_refund(job, &row, counters);
        if self.tables.is_undecided(job) {
            self.leave_undecided(job);
        } else if let Some(cause) = row.cancel {
            let rules = self.tables.job.get(&job).map(|job| job.new.rules.clone()).unwrap_or_default();
            let ending = Ending::plain(End::Cancelled, Some(cause), rules.keep(End::Cancelled), counters);
            let ending = Ending { tells: rules.tells(), ..ending };
            self.end(job, ending, Some(row.started_at));
            return true;
        } else {
            self.make_ready(job, counters);
        }
        false
    }

    /// Remembers of a node that it was with a handler, where its counters will not say so.
    pub(super) fn note_refund(&mut self, job: Key, row: &RunningRow, counters: Counters) {
        if row.with == With::Handler
            && counters.attempt < row.counters.attempt
            && let Some(node) = self.tables.node.get_mut(&job)
        {
            node.started = true;
        }
    }

    /// Writes a job's end. Its row elsewhere is gone already; its children are still to be counted.
    pub(super) fn end(&mut self, job: Key, ending: Ending, started_at: Option<Timestamp>) {
        let Some(row) = self.tables.job.get(&job) else { return };
        self.tells.extend(ending.arrival());
        if !self.tables.is_end(job) {
            self.news.ended.push(row.new.id);
        }
        if let Some(deadline) = row.new.deadline {
            self.tables.deadline.remove(&(deadline, job));
        }
        let lone = !self.tables.node.contains_key(&job);
        let prune_at = lone.then(|| self.now + ending.keep);
        if let Some(at) = prune_at {
            self.tables.prune_at.insert((at, job));
        }
        if let Some(record) = ending.record {
            self.keep_attempt(job, record, started_at.unwrap_or(self.now));
        }
        if let (Some(stop), Some(node)) = (ending.stop, self.tables.node.get(&job)) {
            self.stops.push((node.graph, stop));
        }
        if let Some(output) = ending.output {
            self.tables.output.insert(job, output);
        }
        let ended = EndedRow {
            end: ending.end,
            cause: ending.cause,
            branches: ending.branches,
            counters: ending.counters,
            started_at,
            ended_at: self.now,
            prune_at,
        };
        self.tables.ended.insert(job, ended);
    }

    /// Keeps an attempt: of all, the first one and the newest.
    pub(super) fn keep_attempt(&mut self, job: Key, record: AttemptRecord, started_at: Timestamp) {
        let AttemptRecord { attempt, outcome, error, log } = record;
        let row = AttemptRow { outcome, started_at, ended_at: self.now, error, log };
        self.tables.attempt.insert((job, attempt), row);
        let kept: Vec<u32> = self.tables.attempts_of(job).map(|(number, _)| number).collect();
        if kept.len() > 1 + limits::ATTEMPTS_KEPT_NEWEST as usize {
            self.tables.attempt.remove(&(job, kept[1]));
        }
    }
}
