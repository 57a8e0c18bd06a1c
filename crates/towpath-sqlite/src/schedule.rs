//! Schedules: which are due, and changes of them that count only on the revision that was read.

use rusqlite::{Row, params};
use towpath_core::schedule::{ScheduleWrite, StoredSchedule};
use towpath_core::store::{DueSchedules, ScheduleWritten, Schedules};
use towpath_core::{ScheduleName, Timestamp};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

pub(crate) fn due(db: &mut Db<'_>, now: Timestamp, limit: u32) -> Result<DueSchedules, Fault> {
    let rows = db.all(Query::ScheduleDue, params![now.as_micros(), limit], schedule)?;
    let next = db.one(Query::ScheduleNext, [now.as_micros()], |row| rows::instant_or_none(row, 0))?;
    Ok(DueSchedules { now, rows: rows.into_iter().flatten().collect(), next })
}

pub(crate) fn list(
    db: &mut Db<'_>,
    now: Timestamp,
    after: Option<&ScheduleName>,
    limit: u32,
) -> Result<Schedules, Fault> {
    let after = after.map_or("", ScheduleName::as_str);
    let rows = db.all(Query::ScheduleList, params![after, limit], schedule)?;
    Ok(Schedules { now, rows: rows.into_iter().flatten().collect() })
}

/// One that cannot be read, such as one of a newer release, stops no other.
fn schedule(row: &Row<'_>) -> Result<Option<(i64, StoredSchedule)>, Fault> {
    let (revision, body): (i64, String) = (row.get(0)?, row.get(1)?);
    Ok(StoredSchedule::from_stored(&body).ok().map(|schedule| (revision, schedule)))
}

pub(crate) fn write(tx: &mut Tx<'_, '_>, writes: &[ScheduleWrite]) -> Result<Vec<ScheduleWritten>, Fault> {
    writes.iter().map(|write| tx.write_schedule(write)).collect()
}

impl Tx<'_, '_> {
    fn write_schedule(&mut self, write: &ScheduleWrite) -> Result<ScheduleWritten, Fault> {
        let name = write.name.as_str();
        let stored: Option<i64> = self.db.maybe(Query::ScheduleRevision, [name], |row| Ok(row.get(0)?))?;
        let is_as_read = stored == write.revision;
        if is_as_read {
            match &write.row {
                Some(row) => {
                    let (revision, next) = (self.draw()?, row.next.map(Timestamp::as_micros));
                    self.db.run(Query::SchedulePut, params![name, revision, next, row.to_stored()])?;
                }
                None => {
                    self.db.run(Query::ScheduleDelete, [name])?;
                }
            }
            for job in &write.mint {
                // Its id follows from the tick: one that is there was minted before.
                let _ = self.enqueue_job(job)?;
            }
        }
        let answer = if is_as_read { ScheduleWritten::Done } else { ScheduleWritten::Stale };
        if let Some(audit) = &write.audit {
            let (key, at) = (self.draw()?, self.now_us());
            let line = params![key, at, audit.actor, audit.reason, audit.action, name, answer.to_string()];
            self.db.run(Query::AuditInsert, line)?;
        }
        Ok(answer)
    }
}
