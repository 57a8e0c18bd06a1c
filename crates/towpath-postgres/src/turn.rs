//! A worker's turn: settle, release, claim, and the answer that a repeat of it gets too.
//!
//! Four exchanges with the server at most: look, write, claim, commit. A turn of lone jobs with nothing to look for a second
//! time needs two, and so does one of nodes that end as nearly all do; one of runs that go on is a single exchange.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::{ready, try_join, try_join3, try_join4};
use tokio_postgres::Row;
use towpath_core::store::{
    Assigned, BoxFuture, Ending, Lease, Move, Settle, Settled, StoreError, StoreErrorKind, Turn, TurnReply,
};
use towpath_core::{JobId, Timestamp, fault, limits};
use uuid::Uuid;

use crate::append;
use crate::claim::{self, Taken, Wanted};
use crate::error::Fault;
use crate::plain::Plain;
use crate::queries::Query;
use crate::release::{self, Arrival, Holder, Release};
use crate::rows::{Holding, instant, job_key, signed, stored, unsigned};
use crate::runs::Runs;
use crate::session::{Commit, Params, Session};
use crate::settle::{self, Looked, Plan};
use crate::steps::Steps;
use crate::store::{Inner, News};
use crate::straight::Straight;
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
    if let Some(steps) = Steps::of(&turn) {
        if let Some(reply) = steps.take(&session, &turn).await? {
            return Ok((reply, News::default()));
        }
        session.batch("rollback").await?;
    }
    prepare(&session).await?;
    let appends = turn.settle.iter().any(|item| item.appends().is_some());
    if appends {
        inner.lanes.intern(&session, append::jobs_of(&turn.settle)).await?;
    }
    let straight = if appends { Straight::default() } else { Straight::of(&turn.settle, turn.worker) };
    let hopes = !straight.is_empty();
    if let Some(done) = attempt(inner, &session, &turn, straight).await? {
        return Ok(done);
    }
    debug_assert!(hopes);
    session.batch("rollback").await?;
    attempt(inner, &session, &turn, Straight::default()).await?.ok_or(Fault::Again("a claim did not hold"))
}

/// Prepares whatever a turn may need: a statement that had to be prepared on its way would come after those behind it.
async fn prepare(session: &Session) -> Result<(), Fault> {
    session
        .prepare(&[Query::TurnStart, Query::LockGraphs, Query::SettleLook, Query::LockNodes, Query::CountChildren])
        .await?;
    session.prepare(&settle::QUERIES).await?;
    session.prepare(&[Query::ReleaseReady, Query::ReleaseLease, Query::ReleaseHold, Query::Promote]).await?;
    session.prepare(&[Query::EndHeld, Query::Claim, Query::ClaimFreed, Query::TurnFinish, Query::HandBack]).await
}

/// One attempt at a turn; nothing if not all that was written straight away stands.
async fn attempt(
    inner: &Inner,
    session: &Session,
    turn: &Turn,
    straight: Straight,
) -> Result<Option<(TurnReply, News)>, Fault> {
    let appends = turn.settle.iter().any(|item| item.appends().is_some());
    let plain = Plain::of(&turn.settle, turn.worker);
    let looked_at = turn.settle.iter().enumerate().filter(|(at, _)| !plain.has(*at) && !straight.has(*at));
    let mut keys: Vec<i64> = looked_at.map(|(_, item)| job_key(item.fence.key)).collect();
    let commit = if turn.is_durable() { Commit::Durable } else { Commit::Lazy };
    let incarnation = turn.worker.as_uuid();
    let failing: Vec<i64> = turn.settle.iter().filter(|item| may_stop(item)).map(|i| job_key(i.fence.key)).collect();
    let mut begun: BoxFuture<'_, Result<(), Fault>> = Box::pin(session.begin(commit));
    if !failing.is_empty() || turn.settle.iter().any(tells) {
        begun.await?;
        told::lock_beside(session, &failing).await?;
        told::lock_parents(session, &turn.settle).await?;
        begun = Box::pin(ready(Ok(())));
    }
    if appends {
        begun.await?;
        let started = session.run(Query::TurnStart, &[&incarnation]).await?;
        lock_graphs(session, &turn.settle).await?;
        keys.extend(append::lock_ends(session, &turn.settle).await?);
        let looked = look(session, &keys, &turn.settle).await?;
        let opened = Opened::of(&started, incarnation, turn.number, "take a turn")?;
        if opened.is_repeat {
            return repeat_whole(inner, session, turn, &opened).await.map(Some);
        }
        return append_and_go_on(inner, session, turn, (plain, opened), &looked).await.map(Some);
    }
    // Where nothing is looked for, the children of what ends are counted in the same exchange.
    let counts = !straight.is_empty() && keys.is_empty() && plain.is_empty();
    let nodes: &[i64] = if counts { &straight.nodes } else { &[] };
    let who: Params<'_> = &[&incarnation];
    let first = try_join4(
        begun,
        session.run(Query::TurnStart, who),
        lock_graphs(session, &turn.settle),
        straight.write(session, turn.worker),
    );
    let then =
        try_join3(look(session, &keys, &turn.settle), lock_nodes(session, nodes), count_children(session, nodes, true));
    let (((), started, (), ended), (looked, (), counted)) = try_join(first, then).await?;
    let opened = Opened::of(&started, incarnation, turn.number, "take a turn")?;
    let Some(ended) = straight.all_of(&ended)? else { return Ok(None) };
    if opened.is_repeat {
        return repeat_whole(inner, session, turn, &opened).await.map(Some);
    }
    let written = Straightened { straight, ended, counted: counts.then_some(counted) };
    Phases { inner, session, turn, plain, opened }.carry_out(&looked, written).await.map(Some)
}

/// Answers a turn that was carried out before.
async fn repeat_whole(
    inner: &Inner,
    session: &Session,
    turn: &Turn,
    opened: &Opened,
) -> Result<(TurnReply, News), Fault> {
    let reply = repeat(inner, session, turn, opened).await?;
    session.commit().await?;
    Ok((reply, News::default()))
}

/// Carries out a turn of which something appends, once it has looked.
async fn append_and_go_on(
    inner: &Inner,
    session: &Session,
    turn: &Turn,
    (plain, mut opened): (Plain, Opened),
    looked: &Looked,
) -> Result<(TurnReply, News), Fault> {
    let who = (turn.worker, opened.worker);
    let (settle, written) = append::append_first(inner, session, opened.now, who, &turn.settle, &looked.rows).await?;
    let turn = &Turn { settle, ..Turn::clone(turn) };
    opened.undecided |= written.undecided;
    let phases = Phases { inner, session, turn, plain, opened };
    let (reply, mut news) = phases.carry_out(looked, Straightened::default()).await?;
    news.append(written.tell(inner)?);
    Ok((reply, news))
}

/// What was written straight away, all of which stands.
#[derive(Default)]
struct Straightened {
    straight: Straight,
    ended: Vec<JobId>,
    /// The children of it, if they have been counted.
    counted: Option<Vec<Row>>,
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
    async fn carry_out(self, looked: &Looked, done: Straightened) -> Result<(TurnReply, News), Fault> {
        let (session, inner) = (self.session, self.inner);
        let plain = &self.plain;
        let mut news = News::default();
        let Opened { worker, now, lease, .. } = self.opened;
        let who = (self.turn.worker, worker, now);
        let (mut plan, mut settled) = Plan::of(&self.turn.settle, looked, who, &mut news)?;
        done.straight.answer(&mut settled);
        plan.nodes.extend(&done.straight.nodes);
        let plan = plan;
        news.ended.extend(done.ended);
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
            let (rows, counted) = match done.counted {
                Some(counted) => (written.await?, counted),
                None => self.count(&plan, written).await?,
            };
            written = Box::pin(ready(Ok(rows)));
            release = Release::of(&counted)?;
            stepped = plan.undos.write(session, now).await?;
            plan.retries.write(session, now).await?;
            lanes.append(&mut stepped.lanes);
            news.ended.append(&mut stepped.ended);
            news.undecided |= stepped.undecided;
        }
        let mut wanted = claim.map(|claim| Wanted::of(claim, &self.opened.paused)).filter(|wanted| !wanted.is_empty());
        // What is free now is placed by the claim, which may take it: a node of a chain never waits anywhere.
        // Jobs that fall due now arrive behind it, and it may itself be overdue: where there are such, it is placed first.
        let is_placed = self.opened.overdue || self.promotes(claim.is_some());
        let freed = if wanted.is_some() && !is_placed { release.take_sure() } else { Vec::new() };
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
        let reaches = if wanted.is_some() { claim::reaches(inner) } else { Vec::new() };
        let taken = async {
            match &wanted {
                Some(wanted) => wanted.take(session, now, &holder, &reaches, &freed).await,
                None => Ok(Taken::default()),
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
            lanes.extend(more.into_iter().chain(taken.rest));
            outcome = others;
            (rows, finished) = (taken.rows, finished_rows);
        } else {
            let (((ended, others), more), (), taken) = try_join3(written, self.promote(claim.is_some()), taken).await?;
            lanes.extend(more.into_iter().chain(taken.rest));
            outcome = others;
            rows = taken.rows;
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
        if !plan.stops.is_empty() {
            // What is counted by now is not free of a stop that this turn writes.
            let ((), written) = try_join(locked, written).await?;
            return Ok((written, count_children(self.session, &plan.nodes, false).await?));
        }
        let counted = count_children(self.session, &plan.nodes, false);
        let ((), written, counted) = try_join3(locked, written, counted).await?;
        Ok((written, counted))
    }

    /// Whether jobs fall due in this turn. What was put back for a moment in this very turn is left for the next one.
    fn promotes(&self, claims: bool) -> bool {
        claims && self.opened.later.is_some_and(|due| due <= self.opened.now)
    }

    async fn promote(&self, claims: bool) -> Result<(), Fault> {
        if self.promotes(claims) {
            let now = self.opened.now;
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

/// Counts the children of nodes; of those only that have ended in this transaction, if so asked.
pub(crate) async fn count_children(session: &Session, nodes: &[i64], just_now: bool) -> Result<Vec<Row>, Fault> {
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    if fault::is_put_back(fault::Fault::ReleaseTwice) {
        session.run(Query::CountChildren, &[&nodes, &0_i32, &just_now]).await?;
    }
    session.run(Query::CountChildren, &[&nodes, &0_i32, &just_now]).await
}
