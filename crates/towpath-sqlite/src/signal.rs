//! Puts signals into the inboxes of runs, and wakes those that are parked.

use rusqlite::{Row, params};
use towpath_core::store::{Arrival, CancelNote, Delivery, Hint, Refusal, Signalled};
use towpath_core::{Role, RunId, StopReason, defaults, limits};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Place};
use crate::tx::Tx;

pub(crate) fn signal(tx: &mut Tx<'_, '_>, arrivals: &[Arrival]) -> Result<Signalled, Fault> {
    let items = arrivals.iter().map(|arrival| tx.deliver(arrival)).collect::<Result<_, _>>()?;
    Ok(Signalled { now: tx.now, items })
}

impl Tx<'_, '_> {
    pub(crate) fn deliver(&mut self, arrival: &Arrival) -> Result<Result<Delivery, Refusal>, Fault> {
        if let Err(refusal) = arrival.check() {
            return Ok(Err(refusal));
        }
        let Arrival { run, dedup, .. } = arrival;
        let look = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (arrived, is_there, has_ended): (u32, bool, bool) =
            self.db.one(Query::ArrivalLook, [run.as_str()], look)?;
        let is_full = arrived >= limits::INBOX_MAX;
        if (has_ended || is_full) && self.has_arrived(run, dedup.as_deref())? {
            return Ok(Ok(Delivery::Duplicate));
        }
        if has_ended {
            return Ok(Ok(Delivery::Ended));
        }
        if is_full {
            return Ok(Err(Refusal::InboxFull { run: run.clone(), max: limits::INBOX_MAX }));
        }
        Ok(Ok(match self.keep_arrival(arrival)? {
            false => Delivery::Duplicate,
            true if is_there => Delivery::Delivered,
            true => Delivery::Kept,
        }))
    }

    /// Puts an arrival into an inbox, and answers whether its dedup key was not there.
    fn keep_arrival(&mut self, arrival: &Arrival) -> Result<bool, Fault> {
        let Arrival { run, name, dedup, payload } = arrival;
        let (seq, now, codec) = (self.draw()?, self.now_us(), payload.codec.code());
        let prune_at = (self.now + defaults::KEEP_ARRIVAL).as_micros();
        let row = params![run.as_str(), seq, name.as_str(), dedup, codec, now, &payload.bytes[..], prune_at];
        if self.db.run(Query::ArrivalInsert, row)? == 0 {
            return Ok(false);
        }
        self.wake(run)?;
        self.ring_end(Hint::Signalled(run.clone()));
        Ok(true)
    }

    /// Puts an arrival of our own into an inbox, however full it is.
    pub(crate) fn tell(&mut self, arrival: &Arrival) -> Result<(), Fault> {
        self.keep_arrival(arrival).map(|_| ())
    }

    /// Tells a run that it is cancelled, however full its inbox is. One that is paused goes on, to obey.
    pub(crate) fn tell_of_cancel(&mut self, run: &str, note: &CancelNote) -> Result<(), Fault> {
        self.lift_pause(run)?;
        self.tell(&Arrival::cancel(RunId::from_stored(run), note))
    }

    /// Tells those runs of a graph that have begun and that a new stop cancels.
    pub(crate) fn tell_runs_of(&mut self, graph: i64, stop: StopReason, note: &CancelNote) -> Result<(), Fault> {
        let spared = Role::spared_by(stop).bits();
        for run in self.db.all(Query::RunBegunOf, params![graph, spared], |row| Ok(row.get::<_, String>(0)?))? {
            self.tell_of_cancel(&run, note)?;
        }
        Ok(())
    }

    fn has_arrived(&mut self, run: &RunId, dedup: Option<&str>) -> Result<bool, Fault> {
        Ok(self.db.maybe(Query::ArrivalSame, params![run.as_str(), dedup], |_| Ok(()))?.is_some())
    }

    /// Makes a parked run ready.
    fn wake(&mut self, run: &RunId) -> Result<(), Fault> {
        let parked = self.db.maybe(Query::LaterParked, [run.as_str()], |row| {
            let place = Place { lane: row.get(1)?, turnout: row.get(2)? };
            Ok((row.get(0)?, place, rows::counters(row, 3)?))
        })?;
        if let Some((job, place, counters)) = parked {
            self.db.run(Query::LaterDelete, [job])?;
            self.make_ready(job, place, counters)?;
        }
        Ok(())
    }
}
