//! Puts jobs back that have ended or are blocked.

use crate::id::JobId;
use crate::lifecycle::{End, State};
use crate::payload::Payload;
use crate::store::{Changed, Counters};

use super::Transaction;
use super::tables::Key;

impl Transaction<'_> {
    pub(super) fn requeue(&mut self, id: JobId, from: &[End], input: Option<Payload>) -> Changed {
        let Some(job) = self.tables.job_by_id.get(&id).copied() else { return Changed::Unknown };
        let has_journal = self.tables.has_journal(job);
        match self.tables.state(job) {
            State::Ended(_) if self.tables.node.contains_key(&job) => return Changed::OfGraph,
            State::Ended(_) if has_journal => return Changed::HasBegun,
            State::Blocked if has_journal && input.is_some() => return Changed::HasBegun,
            State::Ended(end) if from.contains(&end) => {
                if let Some(by) = self.key_again(job, id) {
                    return Changed::KeyTaken { by };
                }
            }
            State::Blocked => {}
            state => return Changed::Left(state),
        }
        let counters = self.tables.counters(job);
        self.tables.blocked.remove(&job);
        self.leave_end(job);
        if let (Some(row), Some(input)) = (self.tables.job.get_mut(&job), input) {
            row.new.input = input;
            self.tables.forget_marks(job);
        }
        self.make_ready(job, Counters { attempt: counters.attempt, failures: 0, crashes: 0 });
        Changed::Requeued
    }

    /// Takes an end back: what was kept of it but the attempts goes, and its deadline is watched again, unless it has
    /// passed.
    pub(super) fn leave_end(&mut self, job: Key) {
        let tables = &mut *self.tables;
        let Some(ended) = tables.ended.remove(&job) else { return };
        if let Some(at) = ended.prune_at {
            tables.prune_at.remove(&(at, job));
        }
        tables.output.remove(&job);
        // What has succeeded and is to be done once more begins anew.
        if ended.end == End::Succeeded {
            tables.forget_marks(job);
        }
        let Some(row) = tables.job.get_mut(&job) else { return };
        row.new.deadline = row.new.deadline.filter(|at| *at > self.now);
        if let Some(at) = row.new.deadline {
            tables.deadline.insert((at, job));
        }
    }
}
