//! A worker's turn: settle, release, claim, and the answer that a repeat of it gets too.
//!
//! Four exchanges with the server at most: look, write, claim, commit; a turn of lone jobs with nothing to look for a
//! second time needs two.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::{ready, try_join, try_join3, try_join4};
use tokio_postgres::Row;
use towpath_core::store::{
    Assigned, BoxFuture, Ending, Lease, Move, Settle, Settled, StoreError, StoreErrorKind, Turn, TurnReply,
};
use towpath_core::{Timestamp, fault, limits};
use uuid::Uuid;

use crate::append;
use crate::claim::{self, Wanted};
use crate::error::Fault;
use crate::plain::Plain;
use crate::queries::Query;
use crate::release::{self, Arrival, Holder, Release};
use crate::rows::{Holding, instant, job_key, signed, stored, unsigned};
use crate::runs::Runs;
use crate::session::{Commit, Session};
use crate::settle::{self, Looked, Plan};
use crate::store::{Inner, News};
use crate::told;
use crate::undo::Stepped;

/// What a worker's row said as its turn began.
pub(crate) struct Opened {
    pub(crate) worker: i64,
    pub(crate) now: i64,
    pub(crate) lease: Lease,
    pub(crate) is_repeat: bool,
    settled: Vec<u8>,
    undecided: bool,
    later: Option<i64>,
    pub(crate) overdue: bool,
    /// Queues that nothing is claimed from.
    pub(crate) paused: Vec<String>,
}

/// Carries out one turn.
pub(crate) async fn turn(inner: &Inner, session: Session, turn: Arc<Turn>) -> Result<(TurnReply, News), Fault> {
    let plain = Plain::of(&turn.settle, turn.worker);
    let appends = turn.settle.iter().any(|item| item.appends().is_some());
    if appends {
        inner.lanes.intern(&session, append::jobs_of(&turn.settle)).await?;
    }
    let looked_at = turn.settle.iter().enumerate().filter(|(at, _)| !plain.has(*at));
    let mut keys: Vec<i64> = looked_at.map(|(_, item)| job_key(item.fence.key)).collect();
    session
        .prepare(&[Query::TurnStart, Query::LockGraphs, Query::SettleLook, Query::LockNodes, Query::CountChildren])
        .await?;
    session.prepare(&settle::QUERIES).await?;
    session
        .prepare(&[Query::ReleaseReady, Query::ReleaseLease, Query::ReleaseHold, Query::Promote, Query::Claim])
        .await?;
    session.prepare(&[Query::TurnFinish, Query::HandBack]).await?;
    let commit = if turn.is_durable() { Commit::Durable } else { Commit::Lazy };
    let incarnation = turn.worker.as_uuid();
    let failing: Vec<i64> = turn.settle.iter().filter(|item| may_stop(item)).map(|i| job_key(i.fence.key)).collect();
    let mut begun: BoxFuture<'_, Result<(), Fault>> = Box::pin(session.begin(commit));
    if !failing.is_empty() || turn.settle.iter().any(tells) {
        begun.await?;
        told::lock_beside(&session, &failing).await?;
        told::lock_parents(&session, &turn.settle).await?;
        begun = Box::pin(ready(Ok(())));
    }
    let (started, looked) = if appends {
        begun.await?;
        let started = session.run(Query::TurnStart, &[&incarnation]).await?;
        lock_graphs(&session, &turn.settle).await?;
        keys.extend(append::lock_ends(&session, &turn.settle).await?);
        (started, look(&session, &keys, &turn.settle).await?)
    } else {
        let (_, started, (), looked) = try_join4(
            begun,
            session.run(Query::TurnStart, &[&incarnation]),
            lock_graphs(&session, &turn.settle),
            look(&session, &keys, &turn.settle),
        )
        .await?;
        (started, looked)
    };
    let opened = Opened::of(&started, turn.worker.as_uuid(), turn.number, "take a turn")?;
    if opened.is_repeat {
        let reply = repeat(inner, &session, &turn, &opened).await?;
        session.commit().await?;
        return Ok((reply, News::default()));
    }
    if !appends {
        return Phases { inner, session: &session, turn: &turn, plain, opened }.carry_out(&looked).await;
    }
    let who = (turn.worker, opened.worker);
    let (settle, written) = append::append_first(inner, &session, opened.now, who, &turn.settle, &looked.rows).await?;
    let turn = Turn { settle, ..Turn::clone(&turn) };
    let mut opened = opened;
    opened.undecided |= written.undecided;
    let (reply, mut news) = Phases { inner, session: &session, turn: &turn, plain, opened }.carry_out(&looked).await?;
    news.append(written.tell(inner)?);
    Ok((reply, news))
}

/// Whether an outcome may hold its graph back.
fn may_stop(item: &Settle) -> bool {
    let stops = |ending: &Ending| ending.stop.is_some();
    item.if_cancelled.as_ref().is_some_and(stops)
        || item.append.as_ref().is_some_and(|append| stops(&append.refused))
        || matches!(&item.then, Move::End(ending) if stops(ending))
}

/// Whether a run may wait for what an outcome ends.
fn tells(item: &Settle) -> bool {
    let tells = |ending: &Ending| ending.tells.is_some();
    item.if_cancelled.as_ref().is_some_and(tells)
        || match &item.then {
            Move::End(ending) => tells(ending),
            Move::Close(closing) => closing.tells.is_some(),
            _ => false,
        }
}

async fn hand_back(session: &Session, jobs: &[i64]) -> Result<(), Fault> {
    if !jobs.is_empty() {
        session.run(Query::HandBack, &[&jobs]).await?;
    }
    Ok(())
}

/// Locks the graphs that are about to end, to be undone, to be tried again or to grow, before anything of theirs: orders and appends begin with them too.
pub(crate) async fn lock_graphs(session: &Session, settle: &[Settle]) -> Result<(), Fault> {
    let is_of_graph = |item: &&Settle| {
        matches!(item.then, Move::Close(_) | Move::Undo(_) | Move::Retry(_)) || item.appends().is_some()
    };
    let closing = settle.iter().filter(is_of_graph);
    let ends: Vec<i64> = closing.map(|item| job_key(item.fence.key)).collect();
    if !ends.is_empty() {
        session.run(Query::LockGraphs, &[&ends]).await?;
    }
    Ok(())
}

pub(crate) async fn look(session: &Session, keys: &[i64], settle: &[Settle]) -> Result<Looked, Fault> {
    if keys.is_empty() {
        return Ok(Looked { rows: Vec::new(), runs: Runs::default() });
    }
    let (rows, runs) = try_join(session.run(Query::SettleLook, &[&keys]), Runs::look(session, settle)).await?;
    Ok(Looked { rows, runs })
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
            paused: row.try_get::<_, Option<Vec<String>>>(8)?.unwrap_or_default(),
        })
    }

    /// How many undecided nodes the worker may be given at once.
    pub(crate) fn room(&self, holder: &Holder) -> usize {
        let room = i32::from(limits::DECISIONS_MAX) - holder.index;
        if self.lease == Lease::Holds { usize::try_from(room).unwrap_or(0) } else { 0 }
    }
}

/// The answer to a turn that was carried out already.
pub(crate) async fn repeat(inner: &Inner, session: &Session, turn: &Turn, opened: &Opened) -> Result<TurnReply, Fault> {
    let mut holding = Holding { lanes: &inner.lanes, worker: turn.worker, turn: turn.number, ends: HashMap::new() };
    let holder = Holder { worker: opened.worker, turn: signed(turn.number), index: i32::from(u16::MAX) + 1 };
    let rows = claim::held(inner, session, &mut holding, &holder).await?;
    let settled = opened.settled.iter().map(|code| Settled::from_code(*code).unwrap_or(Settled::Stale));
    Ok(TurnReply {
        now: Timestamp::from_micros(opened.now),
        settled: settled.collect(),
        problems: Vec::new(),
        assigned: rows.iter().map(|row| holding.assigned(row)).collect::<Result<_, _>>()?,
        next_due: instant(opened.later),
        lease: opened.lease,
    })
}

/// Rows of plain ends, and what came of the others.
type Written = (Vec<Row>, settle::Written);
type Releasing<'a> = BoxFuture<'a, Result<Vec<i32>, Fault>>;
type Writing<'a> = BoxFuture<'a, Result<Written, Fault>>;

struct Phases<'a> {
    inner: &'a Inner,
    session: &'a Session,
    turn: &'a Turn,
    plain: Plain,
    opened: Opened,
}

impl Phases<'_> {
    async fn carry_out(self, looked: &Looked) -> Result<(TurnReply, News), Fault> {
        let (session, inner) = (self.session, self.inner);
        let plain = &self.plain;
        let mut news = News::default();
        let Opened { worker, now, lease, .. } = self.opened;
        let who = (self.turn.worker, worker, now);
        let (plan, mut settled) = Plan::of(&self.turn.settle, looked, who, &mut news)?;
        let mut lanes: Vec<i32> = plan.lanes.clone();
        let first = Holder { worker, turn: signed(self.turn.number), index: 0 };
        let mut holder = Holder { ..first };
        let mut holding =
            Holding { lanes: &inner.lanes, worker: self.turn.worker, turn: self.turn.number, ends: HashMap::new() };
        let mut written: Writing<'_> = Box::pin(try_join(plain.write(session, worker, now), plan.write(session, now)));
        let claim = self.turn.claim.as_ref().filter(|_| lease == Lease::Holds);
        let mut assigned: Vec<Assigned> = Vec::new();
        let mut release = Release::default();
        let mut stepped = Stepped::default();
        if !plan.is_lone() {
            let (rows, counted) = self.count(&plan, written).await?;
            written = Box::pin(ready(Ok(rows)));
            release = Release::of(&counted)?;
            stepped = plan.undos.write(session, now).await?;
            plan.retries.write(session, now).await?;
            lanes.append(&mut stepped.lanes);
            news.ended.append(&mut stepped.ended);
            news.undecided |= stepped.undecided;
        }
        let mut released: Releasing<'_> = Box::pin(place(session, &self.opened, &first, &plan.back, &release));
        let room = self.opened.room(&first);
        let has_overflow = release.undecided.len() > room;
        let found =
            (self.opened.undecided || has_overflow || stepped.undecided || !plan.back.is_empty(), self.opened.overdue);
        if !release.undecided.is_empty() || claim.is_some() && found != (false, false) {
            let rows = written.await?;
            lanes.extend(released.await?);
            (written, released) = (Box::pin(ready(Ok(rows))), Box::pin(ready(Ok(Vec::new()))));
            holder.index = stored(release.undecided.len().min(room) as u32);
            if let Some(claim) = claim {
                claim::decisions(session, now, &mut holder, claim.decisions_max, found).await?;
            }
            for row in &claim::held(inner, session, &mut holding, &holder).await? {
                assigned.push(holding.assigned(row)?);
            }
        }
        let written = try_join(written, released);
        let mut wanted = claim.map(|claim| Wanted::of(claim, &self.opened.paused)).filter(|wanted| !wanted.is_empty());
        let reaches = if wanted.is_some() { claim::reaches(inner) } else { Vec::new() };
        let taken = async {
            match &wanted {
                Some(wanted) => wanted.take(session, now, &holder, &reaches).await,
                None => Ok(Vec::new()),
            }
        };
        // A claim of parts may have to be completed, and plain ends are answered only now.
        let is_last = reaches.is_empty() && plain.is_empty();
        let (finished, mut rows, outcome);
        if is_last {
            let codes: Vec<u8> = settled.iter().map(|answer| answer.code()).collect();
            let finish = self.finish(&codes);
            let writes = try_join3(written, self.promote(claim.is_some()), taken);
            let ((((_, others), more), (), taken), finished_rows, ()) =
                try_join3(writes, finish, session.commit()).await?;
            lanes.extend(more);
            outcome = others;
            (rows, finished) = (taken, finished_rows);
        } else {
            let (((ended, others), more), (), taken) = try_join3(written, self.promote(claim.is_some()), taken).await?;
            lanes.extend(more);
            outcome = others;
            rows = taken;
            plain.answer(&self.turn.settle, &ended, &mut settled, &mut news.ended)?;
            if let Some(wanted) = &mut wanted {
                wanted.complete(inner, session, now, &mut holder, &reaches, &mut rows).await?;
            }
            let codes: Vec<u8> = settled.iter().map(|answer| answer.code()).collect();
            (finished, ()) = try_join(self.finish(&codes), session.commit()).await?;
        }
        if let (Some(wanted), true) = (&mut wanted, is_last) {
            wanted.note(inner, &mut holder, &rows)?;
        }
        rows.sort_by_cached_key(|row| row.try_get::<_, i32>(1).unwrap_or(i32::MAX));
        assigned.extend(claim::told(inner, session, &holding, &rows).await?);
        news.graphs_ended = outcome.graphs_ended;
        lanes.extend(outcome.told.ring(inner, &mut news));
        news.undecided |= has_overflow;
        news.claimed_by = claim.map(|_| self.turn.worker);
        news.ready(inner, session, lanes).await?;
        inner.claimed(rows.len());
        let next_due = finished.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose()?.flatten();
        let now = Timestamp::from_micros(now);
        Ok((TurnReply { now, settled, problems: Vec::new(), assigned, next_due: instant(next_due), lease }, news))
    }

    async fn finish(&self, codes: &[u8]) -> Result<Vec<Row>, Fault> {
        self.session.run(Query::TurnFinish, &[&self.opened.worker, &signed(self.turn.number), &codes]).await
    }

    /// Locks what ended and its children, writes, and counts. Lock, then look: the count is a statement of its own,
    /// behind the locks.
    async fn count(&self, plan: &Plan, written: Writing<'_>) -> Result<(Written, Vec<Row>), Fault> {
        let locked = lock_nodes(self.session, &plan.nodes);
        let counted = count_children(self.session, &plan.nodes);
        let ((), written, counted) = try_join3(locked, written, counted).await?;
        Ok((written, counted))
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

/// Places the children that are free now, and what was put back; answers the lanes that have more.
pub(crate) async fn place(
    session: &Session,
    opened: &Opened,
    holder: &Holder,
    back: &[i64],
    release: &Release,
) -> Result<Vec<i32>, Fault> {
    let (leased, overflow) = release.undecided.split_at(release.undecided.len().min(opened.room(holder)));
    let (lanes, (), (), ()) = try_join4(
        release::make_ready(session, opened.now, &release.ready, Arrival::Now),
        release::lease(session, opened.now, holder, leased),
        release::hold(session, overflow),
        hand_back(session, back),
    )
    .await?;
    Ok(lanes)
}

pub(crate) async fn lock_nodes(session: &Session, nodes: &[i64]) -> Result<(), Fault> {
    if fault::is_put_back(fault::Fault::LockOutOfOrder) {
        for node in nodes {
            session.run(Query::LockNodes, &[&vec![*node]]).await?;
        }
    } else if !nodes.is_empty() {
        session.run(Query::LockNodes, &[&nodes]).await?;
    }
    Ok(())
}

pub(crate) async fn count_children(session: &Session, nodes: &[i64]) -> Result<Vec<Row>, Fault> {
    if fault::is_put_back(fault::Fault::ReleaseTwice) && !nodes.is_empty() {
        session.run(Query::CountChildren, &[&nodes, &0_i32]).await?;
    }
    if nodes.is_empty() { Ok(Vec::new()) } else { session.run(Query::CountChildren, &[&nodes, &0_i32]).await }
}
