//! Tallies: what was counted is added to what is there, and what is too old goes.

use rusqlite::params;
use towpath_core::store::{TallyLine, TallyQuery};
use towpath_core::tally::{Record, Tally, Width, places};
use towpath_core::{Kind, Queue, Timestamp, limits};

use crate::db::Db;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

pub(crate) fn record(tx: &mut Tx<'_, '_>, records: &[Record]) -> Result<(), Fault> {
    for (place, tally) in places(records, tx.now) {
        let (width, at) = (place.width.code(), place.at.as_micros());
        let which = params![width, at, place.queue.as_str(), place.kind.as_str()];
        let stored: Option<String> = tx.db.maybe(Query::TallyFind, which, |row| Ok(row.get(0)?))?;
        let body = tally.onto(stored.as_deref());
        tx.db.run(Query::TallyPut, params![width, at, place.queue.as_str(), place.kind.as_str(), body])?;
    }
    for width in Width::ALL {
        tx.db.run(Query::TallyDelete, params![width.code(), width.kept_from(tx.now).as_micros()])?;
    }
    Ok(())
}

pub(crate) fn list(db: &mut Db<'_>, query: &TallyQuery) -> Result<Vec<TallyLine>, Fault> {
    let (queue, kind) = (query.queue.as_ref().map(Queue::as_str), query.kind.as_ref().map(Kind::as_str));
    let which = params![query.width.code(), query.from.as_micros(), queue, kind, limits::TALLIES_MAX];
    let lines = db.all(Query::TallyList, which, |row| {
        let (queue, kind, body): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let line = |tally: Tally, at: Timestamp| TallyLine {
            at,
            queue: Queue::from_stored(&queue),
            kind: Kind::from_stored(&kind),
            tally,
        };
        // One of a newer release stops no other.
        let at = rows::instant(row, 0)?;
        Ok(Tally::from_stored(&body).ok().map(|tally| line(tally, at)))
    })?;
    Ok(lines.into_iter().flatten().collect())
}
