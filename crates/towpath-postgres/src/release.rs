//! Places children whose counters have changed: ready, with a worker for a decision, or kept for one.

use tokio_postgres::Row;
use towpath_core::{NodeCounters, Role, Standing, StopReason};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, stop, with};
use crate::session::Session;

/// What becomes of nodes that are not released yet.
#[derive(Default)]
pub(crate) struct Release {
    pub(crate) ready: Vec<i64>,
    /// How many of these are known to be released.
    sure: usize,
    /// The node, and what it comes for.
    pub(crate) undecided: Vec<(i64, i16)>,
}

/// A worker in a turn, and the index of the next job that it is given.
pub(crate) struct Holder {
    pub(crate) worker: i64,
    pub(crate) turn: i64,
    pub(crate) index: i32,
}

/// What a row of `count_children` or `recount` says of a node.
pub(crate) fn standing(row: &Row) -> Result<(Standing, i16), Fault> {
    let counters = NodeCounters {
        need: count(row.try_get(3)?),
        left: count(row.try_get(4)?),
        ok: count(row.try_get(5)?),
        untaken: count(row.try_get(6)?),
        spoiled: count(row.try_get(7)?),
        eager: row.try_get(8)?,
        cause: None,
    };
    let held = stop(row.try_get(9)?);
    let role = Role::from_bits(row.try_get(1)?);
    let may_start = counters.standing() == Standing::Ready;
    let is_held = held.is_some_and(|stop| role.is_held_by(stop));
    // A graph that fails fast says more of what waits for a failed node.
    let is_stopped = held == Some(StopReason::Cancel) || held == Some(StopReason::Fail) && is_held && may_start;
    let decide = if role.has(Role::END) {
        with::END
    } else if is_stopped {
        with::STOPPED
    } else {
        with::PARENTS
    };
    Ok(match counters.standing() {
        // Of a graph that is being retried nothing is placed.
        _ if held == Some(StopReason::Retry) => (Standing::Waits, decide),
        Standing::Ready if is_held => (Standing::Undecided, decide),
        standing => (standing, decide),
    })
}

impl Release {
    /// Judges rows of `count_children`.
    pub(crate) fn of(rows: &[Row]) -> Result<Self, Fault> {
        let mut release = Self::default();
        for row in rows {
            let judged = standing(row)?;
            release.sure += usize::from(judged.0 == Standing::Ready && row.try_get::<_, bool>(10)?);
            release.add(row.try_get(0)?, judged);
        }
        Ok(release)
    }

    /// Hands out those that are ready if their rows say of all of them that they are released.
    pub(crate) fn take_sure(&mut self) -> Vec<i64> {
        if self.sure == self.ready.len() { std::mem::take(&mut self.ready) } else { Vec::new() }
    }

    pub(crate) fn add(&mut self, job: i64, (standing, decide): (Standing, i16)) {
        match standing {
            Standing::Waits => {}
            Standing::Ready => self.ready.push(job),
            Standing::Undecided => self.undecided.push((job, decide)),
        }
    }
}

/// Where a node that is released stands among others of its priority.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Behind all that are there.
    Now,
    /// Among those that were appended with it.
    Appended,
}

/// Makes nodes ready; answers their lanes.
pub(crate) async fn make_ready(session: &Session, now: i64, jobs: &[i64], arrival: Arrival) -> Result<Vec<i32>, Fault> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let rows = session.run(Query::ReleaseReady, &[&now, &jobs, &(arrival == Arrival::Now)]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Gives undecided nodes to a worker.
pub(crate) async fn lease(session: &Session, now: i64, holder: &Holder, nodes: &[(i64, i16)]) -> Result<(), Fault> {
    if nodes.is_empty() {
        return Ok(());
    }
    let (jobs, decides): (Vec<i64>, Vec<i16>) = nodes.iter().copied().unzip();
    session.run(Query::ReleaseLease, &[&now, &holder.worker, &holder.turn, &holder.index, &jobs, &decides]).await?;
    Ok(())
}

/// Keeps undecided nodes for whoever claims decisions.
pub(crate) async fn hold(session: &Session, nodes: &[(i64, i16)]) -> Result<(), Fault> {
    if nodes.is_empty() {
        return Ok(());
    }
    let jobs: Vec<i64> = nodes.iter().map(|(job, _)| *job).collect();
    session.run(Query::ReleaseHold, &[&jobs]).await?;
    Ok(())
}

/// Places nodes that were released by a verb without a worker; answers the lanes that have more.
pub(crate) async fn to_nobody(
    session: &Session,
    now: i64,
    release: Release,
    arrival: Arrival,
) -> Result<Vec<i32>, Fault> {
    session.prepare(&[Query::ReleaseReady, Query::ReleaseHold]).await?;
    let ready = make_ready(session, now, &release.ready, arrival);
    let (lanes, ()) = futures_util::future::try_join(ready, hold(session, &release.undecided)).await?;
    Ok(lanes)
}
