//! One look at the schedules that are due: read, plan, write. Any number of workers may look at once; each tick is minted once,
//! because a write counts only on the revision that was read.

use super::{LastRun, StoredSchedule};
use crate::store::{DueSchedules, ScheduleWritten, Store, StoreResult};
use crate::time::Timestamp;

/// What a look has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// How many schedules were due.
    pub due: u32,
    /// How many jobs were minted.
    pub minted: u32,
    /// The store's clock.
    pub now: Timestamp,
    /// When the next tick of all schedules is due.
    pub next: Option<Timestamp>,
}

/// Looks at up to `limit` schedules that are due. If as many were, there may be more: look again at once.
///
/// # Errors
/// The store could not be asked; nothing is lost by that but time.
pub async fn look(store: &dyn Store, limit: u32) -> StoreResult<Looked> {
    let DueSchedules { now, rows, next } = store.due_schedules(limit).await?;
    let mut looked = Looked { due: rows.len() as u32, minted: 0, now, next };
    if rows.is_empty() {
        return Ok(looked);
    }
    let mut writes = Vec::with_capacity(rows.len());
    for (revision, row) in rows {
        let last_run = last_run(store, &row).await?;
        writes.push(row.look(revision, now, last_run));
    }
    let nexts: Vec<_> = writes.iter().map(|write| (write.mint.len() as u32, write.next())).collect();
    let written = store.write_schedules(writes).await?;
    for (answer, (minted, own_next)) in written.into_iter().zip(nexts) {
        if answer == ScheduleWritten::Done {
            looked.minted += minted;
        }
        looked.next = looked.next.into_iter().chain(own_next).min();
    }
    Ok(looked)
}

async fn last_run(store: &dyn Store, row: &StoredSchedule) -> StoreResult<LastRun> {
    let jobs = row.may_run();
    if jobs.is_empty() {
        return Ok(LastRun::Ended);
    }
    for (job, ended) in jobs.iter().zip(store.ended(jobs.clone()).await?) {
        // One that is neither over nor there has been deleted.
        if ended.is_none() && store.inspect().job(*job).await?.is_some() {
            return Ok(LastRun::Going);
        }
    }
    Ok(LastRun::Ended)
}
