//! Tells runs by arrivals of our own: those that have begun that they are cancelled, which their functions obey, and those that
//! wait for a child that it has ended.

use std::collections::HashSet;

use towpath_core::store::{Arrival, CancelNote, Ending, Move, Settle};
use towpath_core::{Role, RunId, StopReason};

use crate::error::Fault;
use crate::pause;
use crate::queries::Query;
use crate::rows::stored;
use crate::session::Session;
use crate::signal;
use crate::store::{Inner, News};

/// Runs that were told: what is to be rung for once the transaction has committed.
#[derive(Default)]
pub(crate) struct Told {
    runs: Vec<RunId>,
    /// The lane and seq of each that was woken.
    woken: Vec<(i32, i64)>,
}

impl Told {
    /// Runs that go on, and were told nothing: their lanes and seqs.
    pub(crate) fn woken(woken: Vec<(i32, i64)>) -> Self {
        Self { runs: Vec::new(), woken }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.runs.extend(other.runs);
        self.woken.extend(other.woken);
    }

    /// Adds what is to be rung; answers the lanes that have more.
    pub(crate) fn ring(self, inner: &Inner, news: &mut News) -> Vec<i32> {
        news.signalled.extend(self.runs);
        for (lane, seq) in &self.woken {
            inner.inserted(std::iter::once(*lane), Some(*seq));
        }
        self.woken.into_iter().map(|(lane, _)| lane).collect()
    }
}

/// Tells runs that they are cancelled, behind their locks. Those that are paused go on, to obey.
pub(crate) async fn cancel(session: &Session, now: i64, runs: &[&str], note: &CancelNote) -> Result<Told, Fault> {
    let arrivals: Vec<Arrival> = runs.iter().map(|run| Arrival::cancel(RunId::from_stored(run), note)).collect();
    let mut told = if runs.is_empty() { Told::default() } else { pause::lift(session, runs).await? };
    told.append(tell(session, now, &arrivals).await?);
    Ok(told)
}

/// Puts arrivals of our own into inboxes, behind the locks of their runs and however full they are.
pub(crate) async fn tell(session: &Session, now: i64, arrivals: &[Arrival]) -> Result<Told, Fault> {
    if arrivals.is_empty() {
        return Ok(Told::default());
    }
    let most = stored(u32::try_from(arrivals.len()).unwrap_or(u32::MAX));
    let seqs: Vec<i64> = session.one(Query::DrawKeys, &[&most]).await?.try_get(1)?;
    let mut plan = signal::Plan::default();
    for (arrival, seq) in arrivals.iter().zip(seqs) {
        plan.add(arrival, seq);
    }
    let woken = plan.tell(session, now).await?;
    Ok(Told { runs: arrivals.iter().map(|arrival| arrival.run.clone()).collect(), woken })
}

/// Tells those runs of a graph that have begun and that a new stop cancels; a handler of the failure that stopped it goes on.
pub(crate) async fn tell_runs_of(
    session: &Session,
    now: i64,
    (graph, stop): (i64, StopReason),
    note: &CancelNote,
) -> Result<Told, Fault> {
    let spared = Role::spared_by(stop).bits();
    let mut runs: Vec<(i64, String)> = Vec::new();
    for row in session.run(Query::RunsOfGraph, &[&graph, &spared]).await? {
        runs.push((row.try_get(0)?, row.try_get(1)?));
    }
    let (jobs, ids): (Vec<i64>, Vec<&str>) = runs.iter().map(|(job, id)| (*job, id.as_str())).unzip();
    signal::lock(session, &ids).await?;
    let begun = begun(session, &jobs).await?;
    let told: Vec<&str> = runs.iter().filter(|(job, _)| begun.contains(job)).map(|(_, id)| id.as_str()).collect();
    cancel(session, now, &told, note).await
}

/// Shares the locks of runs that wait for what a turn settles. A turn does so before it locks anything else, as it does for
/// the runs beside it.
pub(crate) async fn lock_parents(session: &Session, settle: &[Settle]) -> Result<(), Fault> {
    let told = |ending: &Ending| ending.tells.as_deref().map(|telling| telling.run.clone());
    let then = |item: &Settle| match &item.then {
        Move::End(ending) => told(ending),
        Move::Close(closing) => closing.tells.as_deref().map(|telling| telling.run.clone()),
        _ => item.if_cancelled.as_ref().and_then(told),
    };
    let runs: Vec<RunId> = settle.iter().filter_map(then).collect();
    signal::lock(session, &runs.iter().map(RunId::as_str).collect::<Vec<_>>()).await
}

/// Shares the locks of the runs beside jobs that may stop their graphs. A turn does so before it locks anything else: one
/// that waited for them with rows in its hands could wait in a circle.
pub(crate) async fn lock_beside(session: &Session, jobs: &[i64]) -> Result<(), Fault> {
    if jobs.is_empty() {
        return Ok(());
    }
    let rows = session.run(Query::RunsBeside, &[&jobs]).await?;
    let runs: Vec<&str> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    signal::lock(session, &runs).await
}

/// Those runs that have begun and not ended.
pub(crate) async fn begun(session: &Session, jobs: &[i64]) -> Result<HashSet<i64>, Fault> {
    if jobs.is_empty() {
        return Ok(HashSet::new());
    }
    let rows = session.run(Query::RunsBegun, &[&jobs]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
