//! A worker's turn: settle, release, claim, and the answer that a repeat of it gets too.
//!
//! Four exchanges with the server at most: look, write, claim, commit; a turn of lone jobs with nothing to look for a
//! second time needs two.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Row;
use towpath_core::store::{Assigned, Lease, Settled, StoreError, StoreErrorKind, Turn, TurnReply};
use towpath_core::{Timestamp, limits};
use uuid::Uuid;

use crate::claim::{self, Wanted};
use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival, Holder, Release};
use crate::rows::{Holding, instant, signed, unsigned};
use crate::session::{Commit, Session};
use crate::settle::{self, Plan};
use crate::store::{Inner, News};

/// What a worker's row said as its turn began.
pub(crate) struct Opened {
    pub(crate) worker: i64,
    pub(crate) now: i64,
    pub(crate) lease: Lease,
    pub(crate) is_repeat: bool,
    settled: Vec<u8>,
    undecided: bool,
    later: Option<i64>,
    overdue: bool,
}

/// Carries out one turn.
pub(crate) async fn turn(inner: &Inner, session: Session, turn: Arc<Turn>) -> Result<(TurnReply, News), Fault> {
    let keys: Vec<i64> = turn.settle.iter().map(|item| item.fence.key).collect();
    session.prepare(&[Query::TurnStart, Query::SettleLook, Query::LockNodes, Query::CountChildren]).await?;
    session.prepare(&settle::QUERIES).await?;
    session
        .prepare(&[Query::ReleaseReady, Query::ReleaseLease, Query::ReleaseHold, Query::Promote, Query::Claim])
        .await?;
    session.prepare(&[Query::TurnFinish]).await?;
    let commit = if turn.is_durable() { Commit::Durable } else { Commit::Lazy };
    let incarnation = turn.worker.as_uuid();
    let (_, started, looked) = futures_util::future::try_join3(
        session.begin(commit),
        session.run(Query::TurnStart, &[&incarnation]),
        look(&session, &keys),
    )
    .await?;
    let opened = Opened::of(&started, turn.worker.as_uuid(), turn.number, "take a turn")?;
    if opened.is_repeat {
        let reply = repeat(inner, &session, &turn, &opened).await?;
        session.commit().await?;
        return Ok((reply, News::default()));
    }
    Phases { inner, session: &session, turn: &turn, opened, news: News::default() }.carry_out(&looked).await
}

async fn look(session: &Session, keys: &[i64]) -> Result<Vec<Row>, Fault> {
    if keys.is_empty() { Ok(Vec::new()) } else { session.run(Query::SettleLook, &[&keys]).await }
}

impl Opened {
    pub(crate) fn of(rows: &[Row], incarnation: Uuid, number: u64, doing: &'static str) -> Result<Self, Fault> {
        let Some(row) = rows.first() else {
            let message = format!("the worker {incarnation} is not registered: extend first, what it held is lost");
            return Err(StoreError::new(StoreErrorKind::UnknownWorker, doing, message).into());
        };
        let last = unsigned(row.try_get(1)?);
        if number < last {
            let message = format!("turn {number} comes after turn {last} of the worker {incarnation}");
            return Err(StoreError::new(StoreErrorKind::StaleTurn, doing, message).into());
        }
        let now: i64 = row.try_get(3)?;
        let until: Option<i64> = row.try_get(4)?;
        Ok(Self {
            worker: row.try_get(0)?,
            now,
            lease: if until.is_some_and(|until| until > now) { Lease::Holds } else { Lease::Over },
            is_repeat: number == last,
            settled: row.try_get(2)?,
            undecided: row.try_get(5)?,
            later: row.try_get(6)?,
            overdue: row.try_get::<_, Option<i64>>(7)?.is_some_and(|at| at <= now),
        })
    }
}

/// The answer to a turn that was carried out already.
async fn repeat(inner: &Inner, session: &Session, turn: &Turn, opened: &Opened) -> Result<TurnReply, Fault> {
    let mut holding = Holding { lanes: &inner.lanes, worker: turn.worker, turn: turn.number, ends: HashMap::new() };
    let holder = Holder { worker: opened.worker, turn: signed(turn.number), index: i32::from(u16::MAX) + 1 };
    let rows = claim::held(inner, session, &mut holding, &holder).await?;
    let settled = opened.settled.iter().map(|code| Settled::from_code(*code).unwrap_or(Settled::Stale));
    Ok(TurnReply {
        now: Timestamp::from_micros(opened.now),
        settled: settled.collect(),
        assigned: rows.iter().map(|row| holding.assigned(row)).collect::<Result<_, _>>()?,
        next_due: instant(opened.later),
        lease: opened.lease,
    })
}

struct Phases<'a> {
    inner: &'a Inner,
    session: &'a Session,
    turn: &'a Turn,
    opened: Opened,
    news: News,
}

impl Phases<'_> {
    async fn carry_out(mut self, looked: &[Row]) -> Result<(TurnReply, News), Fault> {
        let Opened { worker, now, lease, .. } = self.opened;
        let mut holder = Holder { worker, turn: signed(self.turn.number), index: 0 };
        let mut lanes: Vec<i32> = Vec::new();
        let settled = self.settle(looked, &mut holder, &mut lanes).await?;
        let codes: Vec<u8> = settled.iter().map(|answer| answer.code()).collect();
        let claim = self.turn.claim.as_ref().filter(|_| lease == Lease::Holds);
        if let Some(claim) = claim {
            let found = (self.opened.undecided, self.opened.overdue);
            claim::decisions(self.session, now, &mut holder, claim.decisions_max, found).await?;
        }
        let mut holding = Holding {
            lanes: &self.inner.lanes,
            worker: self.turn.worker,
            turn: self.turn.number,
            ends: HashMap::new(),
        };
        let decisions = match holder.index {
            0 => Vec::new(),
            _ => claim::held(self.inner, self.session, &mut holding, &holder).await?,
        };
        let mut assigned: Vec<Assigned> =
            decisions.iter().map(|row| holding.assigned(row)).collect::<Result<_, _>>()?;

        let mut wanted = claim.map(Wanted::of).filter(|wanted| !wanted.is_empty());
        let reaches = if wanted.is_some() { claim::reaches(self.inner) } else { Vec::new() };
        let finish = [&holder.worker as &(dyn tokio_postgres::types::ToSql + Sync), &holder.turn.clone(), &codes];
        let finish = self.session.run(Query::TurnFinish, &finish);
        let promote = self.promote(claim.is_some());
        let (finished, rows) = match &mut wanted {
            Some(wanted) if !reaches.is_empty() => {
                let taken = wanted.take(self.session, now, &holder, &reaches);
                let (_, mut rows) = futures_util::future::try_join(promote, taken).await?;
                let mut reached = Holder { index: holder.index, ..holder };
                wanted.complete(self.inner, self.session, now, &mut reached, &reaches, &mut rows).await?;
                let (finished, ()) = futures_util::future::try_join(finish, self.session.commit()).await?;
                (finished, rows)
            }
            // Nothing that the claim could say makes another one needed: all of it goes at once.
            Some(wanted) => {
                let taken = wanted.take(self.session, now, &holder, &[]);
                let (_, rows, finished, ()) =
                    futures_util::future::try_join4(promote, taken, finish, self.session.commit()).await?;
                let mut reached = Holder { index: holder.index, ..holder };
                wanted.note_all(self.inner, &mut reached, &rows)?;
                (finished, rows)
            }
            None => {
                let (_, finished, ()) = futures_util::future::try_join3(promote, finish, self.session.commit()).await?;
                (finished, Vec::new())
            }
        };
        assigned.extend(claim::told(self.inner, self.session, &holding, &rows).await?);
        self.news.ready(self.inner, self.session, lanes).await?;
        self.inner.claimed(rows.len());
        let next_due = finished.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose()?.flatten();
        let now = Timestamp::from_micros(now);
        Ok((TurnReply { now, settled, assigned, next_due: instant(next_due), lease }, self.news))
    }

    /// Settles, counts the children of what ended, and places those that are free now.
    async fn settle(
        &mut self,
        looked: &[Row],
        holder: &mut Holder,
        lanes: &mut Vec<i32>,
    ) -> Result<Vec<Settled>, Fault> {
        let (session, now) = (self.session, self.opened.now);
        let who = (self.turn.worker, self.opened.worker, now);
        let (plan, settled) = Plan::of(&self.turn.settle, looked, who, &mut self.news)?;
        lanes.extend(&plan.lanes);
        // Lock, then look: the count is a statement of its own, behind the locks.
        let (_, graphs, counted) = futures_util::future::try_join3(
            lock_nodes(session, &plan.nodes),
            plan.write(session, now),
            count_children(session, &plan.nodes),
        )
        .await?;
        self.news.graphs_ended = graphs;
        let mut release = Release::of(&counted)?;
        let room = if self.opened.lease == Lease::Holds { usize::from(limits::DECISIONS_MAX) } else { 0 };
        let overflow = release.undecided.split_off(release.undecided.len().min(room));
        if !plan.back.is_empty() {
            session.run(Query::HandBack, &[&plan.back]).await?;
        }
        let (ready, ..) = futures_util::future::try_join3(
            release::make_ready(session, now, &release.ready, Arrival::Now),
            release::lease(session, now, holder, &release.undecided),
            release::hold(session, &overflow),
        )
        .await?;
        lanes.extend(ready);
        holder.index += i32::try_from(release.undecided.len()).unwrap_or(0);
        self.opened.undecided |= !overflow.is_empty() || !plan.back.is_empty();
        self.news.undecided |= !overflow.is_empty();
        Ok(settled)
    }

    async fn promote(&self, claims: bool) -> Result<(), Fault> {
        let now = self.opened.now;
        // What was put back for a moment in this very turn is left for the next one.
        if claims && self.opened.later.is_some_and(|due| due <= now) {
            self.session.run(Query::Promote, &[&now, &i32::from(limits::CLAIM_MAX)]).await?;
        }
        Ok(())
    }
}

pub(crate) async fn lock_nodes(session: &Session, nodes: &[i64]) -> Result<(), Fault> {
    if !nodes.is_empty() {
        session.run(Query::LockNodes, &[&nodes]).await?;
    }
    Ok(())
}

pub(crate) async fn count_children(session: &Session, nodes: &[i64]) -> Result<Vec<Row>, Fault> {
    if nodes.is_empty() { Ok(Vec::new()) } else { session.run(Query::CountChildren, &[&nodes, &0_i32]).await }
}
