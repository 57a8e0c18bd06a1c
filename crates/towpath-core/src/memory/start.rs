//! Starts a run whose id may be taken.

use crate::lifecycle::State;
use crate::store::{Placed, Refusal, Start, Taken};

use super::Transaction;

impl Transaction<'_> {
    pub(super) fn start(&mut self, start: Start) -> Result<Placed, Refusal> {
        start.check()?;
        let Start { job, taken, signal, fork } = start;
        // One that is sent again, its signal with it, was carried out as a whole.
        if self.tables.job_by_id.contains_key(&job.id) {
            return self.enqueue_job(job);
        }
        let there = job.run.as_ref().and_then(|run| self.tables.run_by_id.get(run)).copied();
        let Some(key) = there else {
            if let Some(run) = job.run.as_ref().filter(|run| self.tables.tombstone.contains_key(*run)) {
                match taken {
                    Taken::ReplaceEnded => self.tables.forget_tombstone(&run.clone()),
                    // It says which job had the id.
                    _ => return self.enqueue_job(job),
                }
            }
            if let Some(fork) = &fork {
                self.check_fork(fork)?;
            }
            let id = job.id;
            signal.map_or(Ok(()), |signal| self.deliver(signal).map(|_| ()))?;
            let placed = self.enqueue_job(job)?;
            if let (Some(fork), Placed::Inserted) = (fork, placed) {
                self.fork(id, *fork);
            }
            return Ok(placed);
        };
        let has_ended = matches!(self.tables.state(key), State::Ended(_));
        match taken {
            Taken::ReplaceEnded if has_ended && !self.tables.node.contains_key(&key) => {
                self.delete_job(key);
                signal.map_or(Ok(()), |signal| self.deliver(signal).map(|_| ()))?;
                self.enqueue_job(job)
            }
            Taken::Join | Taken::ReplaceEnded if !has_ended => {
                let id = self.tables.job.get(&key).map_or(job.id, |row| row.new.id);
                signal.map_or(Ok(()), |signal| self.deliver(signal).map(|_| ()))?;
                Ok(Placed::Run(id))
            }
            // It says which job has the id.
            _ => self.enqueue_job(job),
        }
    }
}
