//! Starts a run whose id may be taken.

use towpath_core::store::{Arrival, Placed, Refusal, Start, Taken};

use crate::enqueue::Placement;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

impl Tx<'_, '_> {
    /// Within a part of its own: a refusal undoes what was written before it.
    pub(crate) fn start_run(&mut self, start: &Start) -> Placement {
        if let Err(refusal) = start.check() {
            return Ok(Err(refusal));
        }
        let Start { job, taken, signal, fork } = start;
        // One that is sent again, its signal with it, was carried out as a whole.
        if self.db.maybe(Query::JobFind, [&job.id.as_bytes()[..]], |_| Ok(()))?.is_some() {
            return self.enqueue_job(job);
        }
        let run = job.run.as_ref().map(|run| run.as_str());
        let there = self.db.maybe(Query::RunStands, [run], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, rows::job_id(row, 1)?, row.get::<_, bool>(2)?, row.get::<_, bool>(3)?))
        })?;
        match (there, taken) {
            (None, _) => {}
            (Some((Some(key), _, true, false)), Taken::ReplaceEnded) => self.delete_job(key)?,
            (Some((None, ..)), Taken::ReplaceEnded) => {
                self.db.run(Query::TombstoneForget, [run])?;
            }
            (Some((_, id, false, _)), Taken::Join | Taken::ReplaceEnded) => {
                return Ok(self.send(signal.as_ref())?.map(|()| Placed::Run(id)));
            }
            // It says which job has the id.
            _ => return self.enqueue_job(job),
        }
        if let Err(refusal) = self.send(signal.as_ref())? {
            return Ok(Err(refusal));
        }
        let placed = self.enqueue_job(job)?;
        match fork {
            Some(fork) if placed == Ok(Placed::Inserted) && !self.fork(job.id, fork)? => {
                Ok(Err(Refusal::JournalGone { run: fork.origin.run.clone() }))
            }
            _ => Ok(placed),
        }
    }

    fn send(&mut self, signal: Option<&Arrival>) -> Result<Result<(), Refusal>, Fault> {
        match signal {
            Some(signal) => Ok(self.deliver(signal)?.map(|_| ())),
            None => Ok(Ok(())),
        }
    }
}
