//! What is asked of workers; and pauses of runs: a mark on the run, at which a worker holds it, and a place where nothing wakes it.

use rusqlite::params;
use towpath_core::store::{Changed, Order, PauseLine, Wish, WishLine};
use towpath_core::{Incarnation, RunId, State, Timestamp};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Place};
use crate::tx::Tx;

impl Tx<'_, '_> {
    /// Asks something of a worker, which is told to beat.
    pub(crate) fn command(&mut self, worker: Incarnation, wish: Wish, order: &Order) -> Result<Changed, Fault> {
        let line = WishLine { wish, at: self.now, actor: order.actor.clone(), why: order.reason.clone() };
        let line = serde_json::to_string(&line).map_err(|e| Fault::invalid(format!("a wish has no JSON form: {e}")))?;
        if self.db.run(Query::LeaseWish, params![&worker.as_bytes()[..], line])? == 0 {
            return Ok(Changed::Unknown);
        }
        self.ring_cancel();
        Ok(Changed::Asked)
    }

    pub(crate) fn pause_run(&mut self, run: &RunId, order: &Order) -> Result<Changed, Fault> {
        let job = match self.live_run(run)? {
            Ok(job) => job,
            Err(changed) => return Ok(changed),
        };
        let line = PauseLine { at: self.now, actor: order.actor.clone(), why: order.reason.clone() };
        let line =
            serde_json::to_string(&line).map_err(|e| Fault::invalid(format!("a pause has no JSON form: {e}")))?;
        self.db.run(Query::RunPause, params![job, line])?;
        Ok(Changed::Paused)
    }

    pub(crate) fn resume_run(&mut self, run: &RunId) -> Result<Changed, Fault> {
        if let Err(changed) = self.live_run(run)? {
            return Ok(changed);
        }
        self.lift_pause(run.as_str())?;
        Ok(Changed::Unpaused)
    }

    /// The key of a run that has not ended, or what is to be said of it.
    fn live_run(&mut self, run: &RunId) -> Result<Result<i64, Changed>, Fault> {
        let Some(job) = self.db.maybe(Query::RunKey, [run.as_str()], |row| Ok(row.get(0)?))? else {
            return Ok(Err(Changed::Unknown));
        };
        Ok(match self.state(job)? {
            state @ State::Ended(_) => Err(Changed::Left(state)),
            _ => Ok(job),
        })
    }

    /// Lets a run go on that is paused.
    pub(crate) fn lift_pause(&mut self, run: &str) -> Result<(), Fault> {
        let Some(job) = self.db.maybe(Query::RunResume, [run], |row| Ok(row.get::<_, i64>(0)?))? else { return Ok(()) };
        let held = self.db.maybe(Query::LaterHeld, params![job, Timestamp::NEVER.as_micros()], |row| {
            Ok((Place { lane: row.get(0)?, turnout: row.get(1)? }, rows::counters(row, 2)?))
        })?;
        if let Some((place, counters)) = held {
            self.db.run(Query::LaterDelete, [job])?;
            self.make_ready(job, place, counters)?;
        }
        Ok(())
    }
}
