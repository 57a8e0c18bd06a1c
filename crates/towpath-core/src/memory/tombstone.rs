//! Ids of runs that are pruned and stay taken for a while.

use crate::id::JobId;
use crate::name::RunId;
use crate::store::Tombstone;
use crate::time::Timestamp;

use super::Transaction;
use super::tables::{Key, Tables};

impl Transaction<'_> {
    /// Writes down the id of an ended run that is to stay taken for longer than the run is there.
    pub(super) fn leave_tombstone(&mut self, job: Key) {
        let tables = &mut *self.tables;
        let (Some(run), Some(row), Some(ended)) = (tables.run.get(&job), tables.job.get(&job), tables.ended.get(&job))
        else {
            return;
        };
        let Some(until) = run.keep_id.map(|keep| ended.ended_at + keep).filter(|until| *until > self.now) else {
            return;
        };
        let left = Tombstone {
            run: run.id.clone(),
            job: row.new.id,
            kind: row.new.kind.clone(),
            version: row.new.version,
            end: ended.end,
            ended_at: ended.ended_at,
            until,
        };
        tables.tombstone_until.insert((until, left.run.clone()));
        tables.tombstone.insert(left.run.clone(), left);
    }
}

impl Tables {
    /// The job that has the id of a run, or had it when it was pruned.
    pub(super) fn job_of_run(&self, run: &RunId) -> Option<JobId> {
        match self.run_by_id.get(run) {
            Some(key) => self.job.get(key).map(|row| row.new.id),
            None => self.tombstone.get(run).map(|left| left.job),
        }
    }

    pub(super) fn forget_tombstone(&mut self, run: &RunId) {
        if let Some(left) = self.tombstone.remove(run) {
            self.tombstone_until.remove(&(left.until, left.run));
        }
    }

    /// Forgets tombstones whose time is over; answers how many.
    pub(super) fn prune_tombstones(&mut self, now: Timestamp, limit: u32) -> u32 {
        let past = self.tombstone_until.iter().take_while(|(until, _)| *until <= now).take(limit as usize);
        let runs: Vec<RunId> = past.map(|(_, run)| run.clone()).collect();
        runs.iter().for_each(|run| self.forget_tombstone(run));
        // At most `limit`.
        runs.len() as u32
    }
}
