//! Changes what a job was enqueued with, as long as no worker has it.

use crate::id::JobId;
use crate::job::Due;
use crate::store::{Changed, Edit};

use super::Transaction;
use super::tables::{Key, Phase};

impl Transaction<'_> {
    pub(super) fn edit(&mut self, id: JobId, edit: Edit) -> Changed {
        let Some(job) = self.tables.job_by_id.get(&id).copied() else { return Changed::Unknown };
        let tables = &*self.tables;
        // `end` and a run that has begun are left alone, and so is what a worker or a decision has in hand.
        let waits = tables.node.get(&job).is_some_and(|node| node.phase == Phase::Waiting);
        let is_idle = waits
            || tables.ready_by_job.contains_key(&job)
            || tables.later_by_job.contains_key(&job)
            || tables.blocked.contains_key(&job);
        if !is_idle || tables.is_end(job) || tables.has_begun(job) || tables.ended.contains_key(&job) {
            return Changed::Left(self.tables.state(job));
        }
        let Edit { input, priority, due } = edit;
        if waits {
            self.rewrite(job, input, priority);
            if let (Some(due), Some(row)) = (due, self.tables.job.get_mut(&job)) {
                row.new.due = Due::At(due);
            }
            return Changed::Edited;
        }
        let place = self.tables.ready_by_job.get(&job).copied();
        let stays = self.tables.job.get(&job).is_some_and(|row| priority.is_none_or(|to| to == row.new.priority));
        let was_due = self.tables.later_by_job.get(&job).copied();
        let Some(counters) = self.take_idle(job) else { return Changed::Left(self.tables.state(job)) };
        self.rewrite(job, input, priority);
        match (due.or(was_due), place.filter(|_| stays)) {
            (Some(due), _) => self.make_due(job, due, counters),
            // Its place in the head is kept where nothing about it has changed.
            (None, Some(slot)) => self.put_ready(job, slot, counters),
            (None, None) => self.make_ready(job, counters),
        }
        Changed::Edited
    }

    fn rewrite(&mut self, job: Key, input: Option<crate::payload::Payload>, priority: Option<i16>) {
        let Some(row) = self.tables.job.get_mut(&job) else { return };
        row.new.priority = priority.unwrap_or(row.new.priority);
        if let Some(input) = input {
            row.new.input = input;
            // What was kept was made of the input before.
            self.tables.forget_marks(job);
        }
    }
}
