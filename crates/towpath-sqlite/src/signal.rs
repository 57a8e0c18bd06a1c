//! Puts signals into the inboxes of runs, and wakes those that are parked.

use rusqlite::params;
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
    fn deliver(&mut self, arrival: &Arrival) -> Result<Result<Delivery, Refusal>, Fault> {
        if let Err(refusal) = arrival.check() {
            return Ok(Err(refusal));
        }
        let Arrival { run, dedup, .. } = arrival;
        let arrived: u32 = self.db.one(Query::ArrivalCount, [run.as_str()], |row| Ok(row.get(0)?))?;
        if arrived >= limits::INBOX_MAX {
            return self.turn_away(run, dedup.as_deref());
        }
        self.keep_arrival(arrival).map(Ok)
    }

    fn keep_arrival(&mut self, arrival: &Arrival) -> Result<Delivery, Fault> {
        let Arrival { run, name, dedup, payload } = arrival;
        let (seq, now, codec) = (self.draw()?, self.now_us(), payload.codec.code());
        let prune_at = (self.now + defaults::KEEP_ARRIVAL).as_micros();
        let row = params![run.as_str(), seq, name.as_str(), dedup, codec, now, &payload.bytes[..], prune_at];
        if self.db.run(Query::ArrivalInsert, row)? == 0 {
            return Ok(Delivery::Duplicate);
        }
        self.wake(run)?;
        self.ring_end(Hint::Signalled(run.clone()));
        Ok(Delivery::Delivered)
    }

    /// Puts an arrival of our own into an inbox, however full it is.
    pub(crate) fn tell(&mut self, arrival: &Arrival) -> Result<(), Fault> {
        self.keep_arrival(arrival).map(|_| ())
    }

    /// Tells a run that it is cancelled, however full its inbox is.
    pub(crate) fn tell_of_cancel(&mut self, run: &str, note: &CancelNote) -> Result<(), Fault> {
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

    /// The answer of a full inbox.
    fn turn_away(&mut self, run: &RunId, dedup: Option<&str>) -> Result<Result<Delivery, Refusal>, Fault> {
        let same = self.db.maybe(Query::ArrivalSame, params![run.as_str(), dedup], |_| Ok(()))?;
        Ok(match same {
            Some(()) => Ok(Delivery::Duplicate),
            None => Err(Refusal::InboxFull { run: run.clone(), max: limits::INBOX_MAX }),
        })
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
