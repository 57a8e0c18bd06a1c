//! What a turn does once the database has raised for something in it: each job by itself, under a savepoint.
//!
//! Nearly every turn goes without, in a few exchanges for all its jobs. One that fails is rolled back and carried out again
//! with care. It is still one transaction: what raises again is left out of it, and answered or set aside alone.

use std::collections::HashMap;
use std::future::Future;
use std::slice;
use std::sync::Arc;

use towpath_core::store::{Claim, Ending, Lease, QueueClaim, Settle, Settled, Turn, TurnReply};
use towpath_core::{Cause, End, JobRules, Timestamp, limits};

use crate::append;
use crate::claim;
use crate::enqueue::Written;
use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival, Holder, Release};
use crate::rows::{Holding, counters, instant, job_key, rules, signed, stored};
use crate::session::{Commit, Session};
use crate::settle::{self, Plan};
use crate::store::{Inner, News};
use crate::told::{self, Told};
use crate::turn::{self, Opened, count_children, lock_nodes};

/// Whether a turn expects the database to raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// It does not: what raises fails the turn.
    None,
    /// Each job has a savepoint of its own.
    EachJob,
}

/// Carries out one turn, job by job.
pub(crate) async fn turn(inner: &Inner, session: Session, turn: Arc<Turn>) -> Result<(TurnReply, News), Fault> {
    if turn.settle.iter().any(|item| item.appends().is_some()) {
        inner.lanes.intern(&session, append::jobs_of(&turn.settle)).await?;
    }
    session.begin(if turn.is_durable() { Commit::Durable } else { Commit::Lazy }).await?;
    told::lock_parents(&session, &turn.settle).await?;
    let incarnation = turn.worker.as_uuid();
    let started = session.run(Query::TurnStart, &[&incarnation]).await?;
    let opened = Opened::of(&started, incarnation, turn.number, "take a turn")?;
    if opened.is_repeat {
        let reply = turn::repeat(inner, &session, &turn, &opened).await?;
        session.commit().await?;
        return Ok((reply, News::default()));
    }
    let holder = Holder { worker: opened.worker, turn: signed(turn.number), index: 0 };
    let (news, lanes, stops) = (News::default(), Vec::new(), Vec::new());
    let mut careful =
        Careful { inner, session: &session, turn: &turn, opened, holder, news, lanes, stops, told: Told::default() };
    let (mut settled, mut problems) = (Vec::with_capacity(turn.settle.len()), Vec::new());
    for item in &turn.settle {
        settled.push(careful.settle(item).await?.unwrap_or_else(|problem| {
            problems.push(problem);
            Settled::Refused
        }));
    }
    careful.stop().await?;
    if let Some(claim) = turn.claim.as_ref().filter(|_| careful.opened.lease == Lease::Holds) {
        careful.claim(claim).await?;
    }
    let Careful { opened, holder, mut news, mut lanes, told, .. } = careful;
    lanes.extend(told.ring(inner, &mut news));
    let mut holding = Holding { lanes: &inner.lanes, worker: turn.worker, turn: turn.number, ends: HashMap::new() };
    let rows = claim::held(inner, &session, &mut holding, &holder).await?;
    let assigned = rows.iter().map(|row| holding.assigned(row)).collect::<Result<_, _>>()?;
    news.ready(inner, &session, lanes).await?;
    let codes: Vec<u8> = settled.iter().map(|answer: &Settled| answer.code()).collect();
    let finished = session.one(Query::TurnFinish, &[&holder.worker, &holder.turn, &codes]).await?;
    session.commit().await?;
    let (now, next_due) = (Timestamp::from_micros(opened.now), instant(finished.try_get(0)?));
    Ok((TurnReply { now, settled, problems, assigned, next_due, lease: opened.lease }, news))
}

struct Careful<'a> {
    inner: &'a Inner,
    session: &'a Session,
    turn: &'a Turn,
    opened: Opened,
    /// The worker, and the index of the next job that it is given.
    holder: Holder,
    news: News,
    lanes: Vec<i32>,
    /// Nodes whose end stops their graph.
    stops: Vec<i64>,
    told: Told,
}

impl Careful<'_> {
    /// Settles one outcome, with its children; the inner error is what the database said against it.
    async fn settle(&mut self, item: &Settle) -> Result<Result<Settled, String>, Fault> {
        let mut news = News::default();
        let done = alone(self.session, async {
            let (session, now) = (self.session, self.opened.now);
            let items = slice::from_ref(item);
            turn::lock_graphs(session, items).await?;
            let mut keys = vec![job_key(item.fence.key)];
            let (incarnation, worker) = (self.turn.worker, self.holder.worker);
            let (mut added, mut written) = (Vec::new(), Written::default());
            let looked = if item.appends().is_some() {
                keys.extend(append::lock_ends(session, items).await?);
                let looked = turn::look(session, &keys, items).await?;
                let who = (incarnation, worker);
                (added, written) = append::append_first(self.inner, session, now, who, items, &looked.rows).await?;
                looked
            } else {
                turn::look(session, &keys, items).await?
            };
            let items = if added.is_empty() { items } else { &added };
            let (mut plan, answers) = Plan::of(items, &looked, (incarnation, worker, now), &mut news)?;
            news.append(written.tell(self.inner)?);
            let stops = std::mem::take(&mut plan.stops);
            lock_nodes(session, &plan.nodes).await?;
            let written = plan.write(session, now).await?;
            news.graphs_ended = written.graphs_ended;
            let told = written.told;
            let release = Release::of(&count_children(session, &plan.nodes, false).await?)?;
            let stepped = plan.undos.write(session, now).await?;
            plan.retries.write(session, now).await?;
            let mut lanes = turn::place(session, &self.opened, &self.holder, &plan.back, &release).await?;
            lanes.extend(&plan.lanes);
            lanes.extend(stepped.lanes);
            news.ended.extend(stepped.ended);
            news.undecided |= stepped.undecided;
            let leased = release.undecided.len().min(self.opened.room(&self.holder));
            news.undecided |= leased < release.undecided.len();
            Ok((answers, lanes, leased, stops, told))
        });
        Ok(match done.await? {
            Ok((answers, lanes, leased, stops, told)) => {
                self.told.append(told);
                self.lanes.extend(lanes);
                self.stops.extend(stops);
                self.holder.index += stored(leased as u32);
                self.news.append(news);
                Ok(answers.first().copied().unwrap_or(Settled::Stale))
            }
            Err(problem) => Err(problem),
        })
    }

    /// Stops the graphs of what has failed: once all is judged, as in a turn without care. One that cannot be stopped goes
    /// on, for the outcomes stand.
    async fn stop(&mut self) -> Result<(), Fault> {
        for node in &self.stops {
            let stopped = alone(self.session, settle::hold_back(self.session, self.opened.now, slice::from_ref(node)));
            match stopped.await? {
                Ok(told) => self.told.append(told),
                Err(problem) => tracing::error!(node, problem, "a node failed, and its graph cannot be stopped"),
            }
        }
        Ok(())
    }

    async fn claim(&mut self, claim: &Claim) -> Result<(), Fault> {
        let (session, now) = (self.session, self.opened.now);
        for row in session.run(Query::LaterLook, &[&now, &i32::from(limits::CLAIM_MAX)]).await? {
            let (job, lane, turnout): (i64, i32, i32) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let counters = counters(&row, 3)?;
            let promoted = alone(session, async {
                session.run(Query::TakeIdle, &[&[job].as_slice()]).await?;
                let mut plan = Plan::default();
                plan.put_back(job, (lane, turnout), counters, None, None);
                plan.write(session, now).await
            });
            if let Err(problem) = promoted.await? {
                self.set_aside(job, row.try_get(6)?, rules(row.try_get(7)?), &problem).await?;
            }
        }
        let before = self.holder.index;
        let found = (true, self.opened.overdue);
        let decisions = claim::decisions(session, now, &mut self.holder, claim.decisions_max, found);
        if let Err(problem) = alone(session, decisions).await? {
            self.holder.index = before;
            tracing::error!(problem, "no decisions are taken over: the database refuses one of them");
        }
        let mut room = i32::from(claim.most.min(limits::CLAIM_MAX));
        let paused = std::mem::take(&mut self.opened.paused);
        for queue in claim.queues.iter().filter(|claim| !paused.iter().any(|name| name == claim.queue.as_str())) {
            room -= self.claim_queue(queue, room).await?;
        }
        Ok(())
    }

    /// Answers how many it gave, at most `room`.
    async fn claim_queue(&mut self, queue: &QueueClaim, room: i32) -> Result<i32, Fault> {
        let (session, now) = (self.session, self.opened.now);
        let (mut kinds, mut oldest, mut newest) = (Vec::new(), Vec::new(), Vec::new());
        for served in queue.serves.iter() {
            for range in served.versions.ranges() {
                kinds.push(served.kind.as_str());
                oldest.push(i32::from(range.0));
                newest.push(i32::from(range.1));
            }
        }
        let limit = i32::from(queue.limit).min(room);
        let mut given = 0;
        let look: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&queue.queue.as_str(), &kinds, &newest, &limit, &oldest];
        for row in session.run(Query::ClaimLook, &look).await? {
            let (lane, turnout, seq): (i32, i32, i64) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
            let Holder { worker, turn, index } = &self.holder;
            let params: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
                [&now, worker, turn, index, &lane, &turnout, &seq];
            match alone(session, session.run(Query::ClaimOne, &params)).await? {
                Ok(rows) => {
                    let taken = i32::from(!rows.is_empty());
                    self.holder.index += taken;
                    given += taken;
                }
                Err(problem) => {
                    self.set_aside(row.try_get(0)?, row.try_get(4)?, rules(row.try_get(5)?), &problem).await?;
                }
            }
        }
        Ok(given)
    }

    /// Quarantines a job that no worker can be given.
    async fn set_aside(&mut self, job: i64, is_node: bool, rules: JobRules, problem: &str) -> Result<(), Fault> {
        let (session, now) = (self.session, self.opened.now);
        let aside = alone(session, async {
            lock_nodes(session, if is_node { slice::from_ref(&job) } else { &[] }).await?;
            let taken = session.one(Query::TakeIdle, &[&[job].as_slice()]).await?;
            let cause = Some(Cause::Corrupt { detail: format!("it could not be given to a worker: {problem}") });
            let keep = rules.keep(End::Quarantined);
            let stop = rules.stops(End::Quarantined);
            let tells = rules.tells();
            let ending = Ending { stop, tells, ..Ending::plain(End::Quarantined, cause, keep, counters(&taken, 1)?) };
            let mut plan = Plan::default();
            plan.end_job(job, &ending, None, !is_node, now);
            let told = plan.write(session, now).await?.told;
            let release = Release::of(&count_children(session, &plan.nodes, false).await?)?;
            let undecided = !release.undecided.is_empty();
            let lanes = release::to_nobody(session, now, release, Arrival::Now).await?;
            Ok((lanes, undecided, stop.is_some(), told))
        });
        match aside.await? {
            Ok((lanes, undecided, stops, told)) => {
                self.lanes.extend(lanes);
                self.told.append(told);
                self.news.cancel |= stops;
                self.news.undecided |= undecided;
            }
            // It stays where it is, and each claim that meets it is carried out with care.
            Err(still) => tracing::error!(job, problem, still, "a job can neither be given to a worker nor set aside"),
        }
        Ok(())
    }
}

/// Does something that is undone alone if the database raises for it; what it said is the inner error.
async fn alone<T>(session: &Session, work: impl Future<Output = Result<T, Fault>>) -> Result<Result<T, String>, Fault> {
    session.batch("savepoint job").await?;
    match work.await {
        Ok(done) => {
            session.batch("release savepoint job").await?;
            Ok(Ok(done))
        }
        Err(fault) => {
            let Some(problem) = fault.of_one_job() else { return Err(fault) };
            session.batch("rollback to savepoint job; release savepoint job").await?;
            Ok(Err(problem))
        }
    }
}
