//! Gives a worker what it asked for: decisions first, then jobs by queue, priority and arrival.

use std::time::Instant;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use towpath_core::limits;
use towpath_core::store::{Assigned, Claim, QueueClaim};

use crate::error::Fault;
use crate::low_water::{LowWater, Reach};
use crate::queries::Query;
use crate::release::Holder;
use crate::rows::Holding;
use crate::session::Session;
use crate::store::Inner;
use crate::undo;

/// A claim as the statement takes it, every queue at once.
pub(crate) struct Wanted<'a> {
    places: Vec<i32>,
    queues: Vec<&'a str>,
    kinds: Vec<&'a str>,
    oldest: Vec<i32>,
    newest: Vec<i32>,
    /// By the place of the queue.
    limits: Vec<i32>,
    room: i32,
}

/// What a claim took.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) rows: Vec<Row>,
    /// Lanes in which nodes stand ready that the turn has released.
    pub(crate) rest: Vec<i32>,
}

impl<'a> Wanted<'a> {
    /// Nothing is wanted of a queue that is paused.
    pub(crate) fn of(claim: &'a Claim, paused: &[String]) -> Self {
        let is_paused = |queue: &QueueClaim| paused.iter().any(|name| name == queue.queue.as_str());
        let limit =
            |queue: &QueueClaim| if is_paused(queue) { 0 } else { i32::from(queue.limit.min(limits::CLAIM_MAX)) };
        let served =
            claim.queues.iter().zip(1..).filter(|(queue, _)| !is_paused(queue)).flat_map(|(queue, place)| {
                queue.serves.iter().map(move |served| (place, queue.queue.as_str(), served))
            });
        let ranges = served.flat_map(|(place, queue, served)| {
            let kind = served.kind.as_str();
            served.versions.ranges().into_iter().map(move |range| (place, queue, kind, range))
        });
        let mut wanted = Self {
            places: Vec::new(),
            queues: Vec::new(),
            kinds: Vec::new(),
            oldest: Vec::new(),
            newest: Vec::new(),
            limits: claim.queues.iter().map(limit).collect(),
            room: i32::from(claim.most.min(limits::CLAIM_MAX)),
        };
        for (place, queue, kind, (oldest, newest)) in ranges {
            wanted.places.push(place);
            wanted.queues.push(queue);
            wanted.kinds.push(kind);
            wanted.oldest.push(i32::from(oldest));
            wanted.newest.push(i32::from(newest));
        }
        wanted
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty() || self.limits.iter().all(|limit| *limit == 0)
    }

    /// Whether a queue gave less than was asked of it.
    fn is_short(&self) -> bool {
        self.room > 0 && self.limits.iter().any(|limit| *limit > 0)
    }

    /// From which index each queue counts, and what it may give: however many the others give, the indexes ascend.
    fn indexes(&self, first: i32) -> (Vec<i32>, Vec<i32>) {
        let mut next = first;
        let capped = self.limits.iter().map(|limit| {
            let (index, limit) = (next, (*limit).min(i32::from(u16::MAX) - next).max(0));
            next += limit;
            (index, limit)
        });
        capped.unzip()
    }

    /// One claim, in the parts of the head that are named, and among nodes that the turn has released: those that are not
    /// taken are placed.
    pub(crate) async fn take(
        &self,
        session: &Session,
        now: i64,
        holder: &Holder,
        reaches: &[Reach],
        freed: &[i64],
    ) -> Result<Taken, Fault> {
        if self.is_empty() {
            return Ok(Taken::default());
        }
        let lanes: Vec<i32> = reaches.iter().map(|reach| reach.lane).collect();
        let (indexes, limits) = self.indexes(holder.index);
        let from_turnouts: Vec<i32> = reaches.iter().map(|reach| reach.from_turnout).collect();
        let from_seqs: Vec<i64> = reaches.iter().map(|reach| reach.from_seq).collect();
        let to_turnouts: Vec<i32> = reaches.iter().map(|reach| reach.to_turnout).collect();
        let params: [&(dyn ToSql + Sync); 16] = [
            &now,
            &holder.worker,
            &holder.turn,
            &indexes,
            &self.room,
            &self.places,
            &self.queues,
            &self.kinds,
            &self.newest,
            &limits,
            &lanes,
            &from_turnouts,
            &from_seqs,
            &to_turnouts,
            &self.oldest,
            &freed,
        ];
        let mut rows = if freed.is_empty() {
            session.run(Query::Claim, &params[..15]).await?
        } else {
            session.run(Query::ClaimFreed, &params).await?
        };
        let rest: Option<Vec<i32>> = rows.first().map(|row| row.try_get(21)).transpose()?.flatten();
        if let Some(first) = rows.first()
            && first.try_get::<_, Option<i64>>(0)?.is_none()
        {
            rows.clear();
        }
        Ok(Taken { rows, rest: rest.unwrap_or_default() })
    }

    /// Notes what a claim took, and takes the rest of a short batch from everywhere.
    pub(crate) async fn complete(
        &mut self,
        inner: &Inner,
        session: &Session,
        now: i64,
        holder: &mut Holder,
        reaches: &[Reach],
        rows: &mut Vec<Row>,
    ) -> Result<(), Fault> {
        self.note(inner, holder, rows)?;
        if reaches.is_empty() || !self.is_short() {
            return Ok(());
        }
        inner.low_water(LowWater::forget);
        let more = self.take(session, now, holder, &[], &[]).await?;
        self.note(inner, holder, &more.rows)?;
        rows.extend(more.rows);
        Ok(())
    }

    pub(crate) fn note(&mut self, inner: &Inner, holder: &mut Holder, rows: &[Row]) -> Result<(), Fault> {
        for row in rows {
            if let Some(limit) = self.limits.get_mut(usize::try_from(row.try_get::<_, i32>(19)? - 1).unwrap_or(0)) {
                *limit -= 1;
            }
        }
        self.room -= i32::try_from(rows.len()).unwrap_or(self.room);
        for row in rows {
            holder.index = holder.index.max(row.try_get::<_, i32>(1)? + 1);
        }
        let is_short = self.is_short();
        inner.low_water(|marks| {
            for row in rows.iter().filter(|_| !is_short) {
                marks.claimed(row.try_get(7)?, row.try_get(17)?, row.try_get(18)?);
            }
            Ok::<(), Fault>(())
        })
    }
}

/// Where to look, as a claim begins.
pub(crate) fn reaches(inner: &Inner) -> Vec<Reach> {
    inner.low_water(|marks| marks.reaches(Instant::now()))
}

/// Takes undecided nodes and overdue jobs over, as far as there are any.
pub(crate) async fn decisions(
    session: &Session,
    now: i64,
    holder: &mut Holder,
    most: u16,
    (undecided, overdue): (bool, bool),
) -> Result<(), Fault> {
    let mut room = i32::from(most.min(limits::DECISIONS_MAX));
    for (query, _) in [(Query::TakeUndecided, undecided), (Query::TakeOverdue, overdue)].iter().filter(|(_, any)| *any)
    {
        if room > 0 {
            let rows = session.run(*query, &[&now, &holder.worker, &holder.turn, &holder.index, &room]).await?;
            let taken = i32::try_from(rows.len()).unwrap_or(room);
            room -= taken;
            holder.index += taken;
        }
    }
    Ok(())
}

/// What a worker holds of a turn, by index, below the one given.
pub(crate) async fn held(
    inner: &Inner,
    session: &Session,
    holding: &mut Holding<'_>,
    holder: &Holder,
) -> Result<Vec<Row>, Fault> {
    let rows = session.run(Query::Held, &[&holder.worker, &holder.turn, &0_i32, &holder.index]).await?;
    let lanes: Vec<i32> = rows.iter().map(|row| row.try_get(7)).collect::<Result<_, _>>()?;
    inner.lanes.meet(session, lanes.into_iter()).await?;
    undo::look_at_ends(session, &rows, &mut holding.ends).await?;
    Ok(rows)
}

/// Rows of a claim as they are told.
pub(crate) async fn told(
    inner: &Inner,
    session: &Session,
    holding: &Holding<'_>,
    rows: &[Row],
) -> Result<Vec<Assigned>, Fault> {
    let lanes: Vec<i32> = rows.iter().map(|row| row.try_get(7)).collect::<Result<_, _>>()?;
    inner.lanes.meet(session, lanes.into_iter()).await?;
    rows.iter().map(|row| holding.assigned(row)).collect()
}
