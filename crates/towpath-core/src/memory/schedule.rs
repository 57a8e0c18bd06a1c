//! Schedules: which are due, and changes of them that count only on the revision that was read.

use crate::name::ScheduleName;
use crate::schedule::{ScheduleWrite, StoredSchedule};
use crate::store::{DueSchedules, ScheduleWritten, Schedules};
use crate::time::Timestamp;

use super::Transaction;
use super::tables::{AuditRow, Tables};

impl Transaction<'_> {
    pub(super) fn write_schedules(&mut self, writes: Vec<ScheduleWrite>) -> Vec<ScheduleWritten> {
        writes.into_iter().map(|write| self.write_schedule(write)).collect()
    }

    fn write_schedule(&mut self, write: ScheduleWrite) -> ScheduleWritten {
        let ScheduleWrite { name, revision, row, mint, audit } = write;
        let is_as_read = self.tables.schedule.get(&name).map(|(revision, _)| *revision) == revision;
        if is_as_read {
            if let Some((_, old)) = self.tables.schedule.remove(&name)
                && let Some(next) = old.next
            {
                self.tables.schedule_next.remove(&(next, name.clone()));
            }
            if let Some(row) = row {
                if let Some(next) = row.next {
                    self.tables.schedule_next.insert((next, name.clone()));
                }
                let revision = self.tables.draw();
                self.tables.schedule.insert(name.clone(), (revision, row));
            }
            for job in mint {
                // Its id follows from the tick: one that is there was minted before.
                let _ = self.enqueue_job(job);
            }
        }
        let answer = if is_as_read { ScheduleWritten::Done } else { ScheduleWritten::Stale };
        if let Some(audit) = audit {
            let key = self.tables.draw();
            let row = AuditRow {
                at: self.now,
                actor: audit.actor,
                reason: audit.reason,
                action: audit.action,
                target: name.to_string(),
                outcome: answer.to_string(),
            };
            self.tables.audit.insert(key, row);
        }
        answer
    }
}

impl Tables {
    pub(super) fn due_schedules(&self, now: Timestamp, limit: u32) -> DueSchedules {
        let mut due = self.schedule_next.iter().take_while(|(next, _)| *next <= now).take(limit as usize);
        let rows = due.by_ref().filter_map(|(_, name)| self.schedule.get(name).cloned()).collect();
        let next = self.schedule_next.iter().map(|(next, _)| *next).find(|next| *next > now);
        DueSchedules { now, rows, next }
    }

    pub(super) fn schedules(&self, now: Timestamp, after: Option<&ScheduleName>, limit: u32) -> Schedules {
        let behind = |(name, _): &(&ScheduleName, &(i64, StoredSchedule))| after.is_none_or(|after| *name > after);
        let rows = self.schedule.iter().filter(behind).take(limit as usize).map(|(_, row)| row.clone()).collect();
        Schedules { now, rows }
    }
}
