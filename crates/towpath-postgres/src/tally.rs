//! Tallies: what was counted is added to what is there, and what is too old goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use towpath_core::store::{TallyLine, TallyQuery};
use towpath_core::tally::{Place, Record, Tally, Width, check, places};
use towpath_core::{Kind, Queue, Timestamp, limits};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{parsed, stored};
use crate::session::Session;
use crate::store::{Inner, News};

/// The rows of a batch, column by column.
#[derive(Default)]
struct Columns<'a> {
    widths: Vec<i16>,
    at: Vec<i64>,
    queues: Vec<&'a str>,
    kinds: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    fn of(places: impl Iterator<Item = &'a Place>) -> Self {
        let mut columns = Self::default();
        for place in places {
            columns.widths.push(place.width.code());
            columns.at.push(place.at.as_micros());
            columns.queues.push(place.queue.as_str());
            columns.kinds.push(place.kind.as_str());
        }
        columns
    }
}

pub(crate) async fn record(_: Arc<Inner>, session: Session, records: Arc<Vec<Record>>) -> Result<((), News), Fault> {
    check(&records)?;
    let now = Timestamp::from_micros(session.one(Query::Clock, &[]).await?.try_get(0)?);
    let places = places(&records, now);
    let columns = Columns::of(places.keys());
    let Columns { widths, at, queues, kinds } = &columns;
    // Lock, then look: whoever adds to the same row waits here, and finds what we have written.
    let locked = session.run(Query::TallyLock, &[widths, at, queues, kinds]).await?;
    let mut there: BTreeMap<(i16, i64, String, String), String> = BTreeMap::new();
    for row in &locked {
        there.insert((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?), row.try_get(4)?);
    }
    let bodies: Vec<String> = places
        .iter()
        .map(|(place, tally)| {
            let key = (place.width.code(), place.at.as_micros(), place.queue.to_string(), place.kind.to_string());
            tally.onto(there.get(&key).map(String::as_str))
        })
        .collect();
    session.run(Query::TallyPut, &[widths, at, queues, kinds, &bodies]).await?;
    for width in Width::ALL {
        session.run(Query::TallyDelete, &[&width.code(), &width.kept_from(now).as_micros()]).await?;
    }
    Ok(((), News::default()))
}

pub(crate) async fn list(session: Session, query: Arc<TallyQuery>) -> Result<Vec<TallyLine>, Fault> {
    let (queue, kind) = (query.queue.as_ref().map(Queue::as_str), query.kind.as_ref().map(Kind::as_str));
    let (width, from, most) = (query.width.code(), query.from.as_micros(), stored(limits::TALLIES_MAX));
    let mut lines = Vec::new();
    for row in session.run(Query::TallyList, &[&width, &from, &queue, &kind, &most]).await? {
        let body: &str = row.try_get(3)?;
        // One of a newer release stops no other.
        let Some(tally) = parsed::<Tally>(Some(body)) else { continue };
        lines.push(TallyLine {
            at: Timestamp::from_micros(row.try_get(0)?),
            queue: Queue::from_stored(row.try_get(1)?),
            kind: Kind::from_stored(row.try_get(2)?),
            tally,
        });
    }
    Ok(lines)
}
