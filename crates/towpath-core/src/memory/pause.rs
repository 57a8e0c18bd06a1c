//! What is asked of workers; and pauses of runs: a mark on the run, at which a worker holds it, and a place where nothing wakes it.

use crate::id::Incarnation;
use crate::lifecycle::State;
use crate::name::RunId;
use crate::store::{Changed, Counters, PauseLine, WishLine};
use crate::time::Timestamp;

use super::Transaction;
use super::tables::{Key, Tables};

impl Transaction<'_> {
    /// Asks something of a worker, which is told to beat.
    pub(super) fn command(&mut self, worker: Incarnation, line: WishLine) -> Changed {
        let known = self.tables.worker_by_incarnation.get(&worker).copied();
        let Some(row) = known.and_then(|worker| self.tables.worker.get_mut(&worker)) else { return Changed::Unknown };
        row.wish = Some(line);
        self.news.cancel = true;
        Changed::Asked
    }

    pub(super) fn pause_run(&mut self, run: &RunId, line: PauseLine) -> Changed {
        let Some(job) = self.tables.run_by_id.get(run).copied() else { return Changed::Unknown };
        if let state @ State::Ended(_) = self.tables.state(job) {
            return Changed::Left(state);
        }
        if let Some(row) = self.tables.run.get_mut(&job) {
            row.paused.get_or_insert(line);
        }
        Changed::Paused
    }

    pub(super) fn resume_run(&mut self, run: &RunId) -> Changed {
        let Some(job) = self.tables.run_by_id.get(run).copied() else { return Changed::Unknown };
        if let state @ State::Ended(_) = self.tables.state(job) {
            return Changed::Left(state);
        }
        self.lift_pause(job);
        Changed::Unpaused
    }

    /// Lets a run go on that is paused.
    pub(super) fn lift_pause(&mut self, job: Key) {
        let Some(_) = self.tables.run.get_mut(&job).and_then(|row| row.paused.take()) else { return };
        let held = self.tables.later.get(&(Timestamp::NEVER, job)).filter(|row| !row.parked);
        if let Some(counters) = held.map(|row| row.counters) {
            self.take_idle(job);
            self.make_ready(job, counters);
        }
    }

    /// Puts a run where neither time nor a signal wakes it.
    pub(super) fn set_aside(&mut self, job: Key, counters: Counters) {
        self.make_due(job, Timestamp::NEVER, counters);
    }
}

impl Tables {
    pub(super) fn is_paused(&self, job: Key) -> bool {
        self.run.get(&job).is_some_and(|row| row.paused.is_some())
    }
}
