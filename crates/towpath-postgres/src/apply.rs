//! Carries out an operator's order, each change with its line in the audit.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use towpath_core::store::{
    Applied, CancelNote, Change, Changed, Counters, Edit, Ending, Order, StopCounts, WhileRunning,
};
use towpath_core::{Cause, GraphId, JobId, JobRules, Queue, Standing, State, StopReason, Timestamp, defaults, fault};
use uuid::Uuid;

use crate::edit;
use crate::error::Fault;
use crate::queries::Query;
use crate::release::{self, Arrival, Release, standing};
use crate::rows::{json, rules, state, stop, with};
use crate::session::{Commit, Session};
use crate::settle::Plan;
use crate::signal;
use crate::store::{Inner, News};
use crate::told::{self, Told};
use crate::turn::{count_children, lock_nodes};

/// Carries out one order. Ends that follow each other are carried out together, and so are edits.
pub(crate) async fn apply(inner: Arc<Inner>, session: Session, order: Arc<Order>) -> Result<(Applied, News), Fault> {
    order.check()?;
    session.begin(Commit::Durable).await?;
    let now = session.one(Query::Clock, &[]).await?.try_get(0)?;
    let mut orders = Orders {
        session: &session,
        now,
        order: &order,
        news: News::default(),
        lanes: Vec::new(),
        told: Told::default(),
    };
    let keyed = orders.lock_keys().await?;
    let mut answers: Vec<Changed> = Vec::with_capacity(order.changes.len());
    let mut rest = &order.changes[..];
    while let Some(first) = rest.first() {
        let (ends, edits) = (ends(rest), edits(rest));
        rest = &rest[ends.len().max(edits.len()).max(1)..];
        match first {
            Change::Edit { .. } => {
                let (edited, lanes) = edit::edit(&inner, &session, now, &edits).await?;
                answers.extend(edited);
                orders.lanes.extend(lanes);
            }
            Change::Stop { graph, reason } => answers.push(orders.stop(*graph, *reason).await?),
            Change::Unstop { graph, reason } => answers.push(orders.unstop(*graph, *reason).await?),
            Change::SettleStopped { graph, reason, nodes, ending, look } => {
                answers.push(orders.settle_stopped((*graph, *reason), nodes, ending, *look).await?);
            }
            Change::Recount { graph } => answers.push(orders.recount_by_order(*graph).await?),
            Change::Pause { queue } => answers.push(orders.pause(queue).await?),
            Change::Unpause { queue } => answers.push(orders.unpause(queue).await?),
            Change::Command { worker, wish } => answers.push(orders.command(*worker, *wish).await?),
            Change::PauseRun { run } => answers.push(orders.pause_run(run).await?),
            Change::ResumeRun { run } => answers.push(orders.resume_run(run).await?),
            Change::RetryRun { job, from, chapter, first, kept } => {
                answers.push(orders.retry_run(*job, from, *chapter, (first, kept)).await?);
            }
            Change::BeginRetry { graph, mode, grace } => answers.push(orders.begin_retry(*graph, mode, *grace).await?),
            Change::Rearm { graph, generation, nodes, holding, undone, behind } => {
                answers.push(orders.rearm(*graph, *generation, nodes, (holding, undone, behind)).await?);
            }
            Change::EndRetry { graph, generation } => answers.push(orders.end_retry(*graph, *generation).await?),
            Change::Replace { job, input } => answers.push(orders.replace_input(*job, input).await?),
            Change::Requeue { job, from, input } => {
                answers.push(orders.requeue(*job, from, input.as_ref()).await?);
            }
            _ => answers.extend(orders.end(&ends).await?),
        }
    }
    orders.unlock_keys(keyed).await?;
    let on_record = || order.changes.iter().zip(&answers).filter(|(change, _)| change.is_on_record());
    let actions: Vec<&str> = on_record().map(|(change, _)| change.action()).collect();
    let targets: Vec<String> = on_record().map(|(change, _)| change.target()).collect();
    let outcomes: Vec<String> = on_record().map(|(_, answer)| answer.to_string()).collect();
    session.run(Query::Audit, &[&now, &order.actor, &order.reason, &actions, &targets, &outcomes]).await?;
    session.commit().await?;
    let Orders { mut news, mut lanes, told, .. } = orders;
    lanes.extend(told.ring(&inner, &mut news));
    news.ready(&inner, &session, lanes).await?;
    Ok((Applied { now: Timestamp::from_micros(now), changes: answers }, news))
}

type End<'a> = (JobId, &'a Ending, WhileRunning);

/// The ends at the start of a list, each job once.
fn ends(changes: &[Change]) -> Vec<End<'_>> {
    let mut seen = HashSet::new();
    let ends = changes.iter().map_while(|change| match change {
        Change::End { job, ending, running } if seen.insert(*job) => Some((*job, &**ending, *running)),
        _ => None,
    });
    ends.collect()
}

/// The edits at the start of a list, each job once.
fn edits(changes: &[Change]) -> Vec<(JobId, &Edit)> {
    let mut seen = HashSet::new();
    let edits = changes.iter().map_while(|change| match change {
        Change::Edit { job, edit } if seen.insert(*job) => Some((*job, &**edit)),
        _ => None,
    });
    edits.collect()
}

pub(crate) struct Orders<'a> {
    pub(crate) session: &'a Session,
    pub(crate) now: i64,
    pub(crate) order: &'a Order,
    pub(crate) news: News,
    pub(crate) lanes: Vec<i32>,
    pub(crate) told: Told,
}

impl Orders<'_> {
    async fn end(&mut self, ends: &[End<'_>]) -> Result<Vec<Changed>, Fault> {
        let found = self.find(ends).await?;
        self.end_found(ends, &found).await
    }

    /// Finds jobs, and shares the locks of the runs that their ends are told to, and that they are.
    async fn find(&self, ends: &[End<'_>]) -> Result<HashMap<JobId, Found>, Fault> {
        let ids: Vec<Uuid> = ends.iter().map(|(id, ..)| id.as_uuid()).collect();
        let mut found: HashMap<JobId, Found> = HashMap::with_capacity(ids.len());
        for row in self.session.run(Query::FindJobs, &[&ids]).await? {
            let lone = row.try_get::<_, Option<i64>>(2)?.is_none();
            found.insert(
                JobId::from(row.try_get::<_, Uuid>(0)?),
                Found {
                    key: row.try_get(1)?,
                    lone,
                    is_end: row.try_get(3)?,
                    run: row.try_get(4)?,
                    rules: rules(row.try_get(5)?),
                },
            );
        }
        // A run must not park or end unseen from here on.
        let mut runs: Vec<&str> = found.values().filter_map(|job| job.run.as_deref()).collect();
        runs.extend(found.values().filter_map(|job| Some(job.rules.parent.as_ref()?.run.as_str())));
        signal::lock(self.session, &runs).await?;
        Ok(found)
    }

    async fn end_found(&mut self, ends: &[End<'_>], found: &HashMap<JobId, Found>) -> Result<Vec<Changed>, Fault> {
        let mut answers = vec![Changed::Unknown; ends.len()];
        let mut open: Vec<usize> = (0..ends.len()).filter(|at| found.contains_key(&ends[*at].0)).collect();
        while !open.is_empty() {
            self.end_once(ends, found, &open, &mut answers).await?;
            // An end may have freed a node that comes later in the order: it is asked for once more.
            let first = open.iter().copied().find(|at| answers[*at] == Changed::Ended);
            open.retain(|at| answers[*at] == Changed::Left(State::Waiting) && first.is_some_and(|first| first < *at));
        }
        Ok(answers)
    }

    async fn end_once(
        &mut self,
        ends: &[End<'_>],
        found: &HashMap<JobId, Found>,
        open: &[usize],
        answers: &mut [Changed],
    ) -> Result<(), Fault> {
        let (session, now) = (self.session, self.now);
        let jobs: Vec<(usize, &Found)> = open.iter().filter_map(|at| Some((*at, found.get(&ends[*at].0)?))).collect();
        let keys: Vec<i64> = jobs.iter().map(|(_, job)| job.key).collect();
        let nodes: Vec<i64> = jobs.iter().filter(|(_, job)| !job.lone).map(|(_, job)| job.key).collect();
        let runs: Vec<i64> = jobs.iter().filter(|(_, job)| job.run.is_some()).map(|(_, job)| job.key).collect();
        session.run(Query::LockRunning, &[&keys]).await?;
        lock_nodes(session, &nodes).await?;
        let begun = told::begun(session, &runs).await?;
        let is_fenced = |at: usize| ends[at].2 == WhileRunning::Fence;
        let may_end = |at: usize, job: &Found| !job.is_end && (is_fenced(at) || !begun.contains(&job.key));
        let idle: Vec<i64> = jobs.iter().filter(|(at, job)| may_end(*at, job)).map(|(_, job)| job.key).collect();
        let fenced: Vec<i64> = jobs.iter().filter(|(at, _)| is_fenced(*at)).map(|(_, job)| job.key).collect();
        let mut taken: HashMap<i64, Counters> = HashMap::new();
        for row in session.run(Query::TakeIdle, &[&idle]).await? {
            taken.insert(row.try_get(0)?, crate::rows::counters(&row, 1)?);
        }
        let unfenced: Vec<i64> =
            runs.iter().filter(|run| taken.contains_key(run) && !fenced.contains(run)).copied().collect();
        if !told::begun(session, &unfenced).await?.is_empty() {
            return Err(Fault::Again("a run began just now"));
        }
        let mut started: HashMap<i64, i64> = HashMap::new();
        if !fenced.is_empty() {
            for row in session.run(Query::TakeRunning, &[&fenced]).await? {
                let job = row.try_get(0)?;
                taken.insert(job, crate::rows::counters(&row, 1)?);
                started.insert(job, row.try_get(4)?);
                self.news.cancel = true;
            }
        }
        let mut stands: HashMap<i64, (State, Option<i16>)> = HashMap::new();
        for row in session.run(Query::StateOf, &[&keys]).await? {
            stands.insert(row.try_get(0)?, (state(row.try_get(1)?)?, row.try_get(2)?));
        }
        let mut plan = Plan::default();
        let (mut asked, mut causes) = (Vec::new(), Vec::new());
        let mut tell: Vec<&str> = Vec::new();
        for (at, job) in jobs {
            let (id, ending, running) = &ends[at];
            answers[at] = if let Some(counters) = taken.get(&job.key) {
                let (keep, tells) = (job.rules.keep(ending.end), job.rules.tells());
                let ending = Ending { counters: *counters, keep, tells, ..(*ending).clone() };
                plan.end_job(job.key, &ending, started.get(&job.key).copied(), job.lone, now);
                if let Some(record) = &ending.record {
                    plan.record(job.key, record, now);
                }
                self.news.ended.push(*id);
                Changed::Ended
            } else {
                match stands.get(&job.key) {
                    Some((State::Ready | State::Blocked, None)) if begun.contains(&job.key) => {
                        match (running, &job.run) {
                            (WhileRunning::Ask, Some(run)) => {
                                tell.push(run);
                                Changed::Asked
                            }
                            _ => stands.get(&job.key).map_or(Changed::Unknown, |(state, _)| Changed::Left(*state)),
                        }
                    }
                    Some((State::Running, Some(with::HANDLER)))
                        if *running == WhileRunning::Ask && job.run.is_some() =>
                    {
                        tell.extend(job.run.as_deref());
                        Changed::Asked
                    }
                    Some((State::Running, Some(with::HANDLER))) if *running == WhileRunning::Ask => {
                        let Order { actor, reason, .. } = self.order;
                        let cause = ending.cause.clone();
                        asked.push(job.key);
                        causes.push(json(
                            &cause.unwrap_or_else(|| Cause::Asked { actor: actor.clone(), reason: reason.clone() }),
                        ));
                        Changed::Asked
                    }
                    Some((State::Ready | State::Blocked, None)) => return Err(Fault::Again("a job moved just now")),
                    Some((state, _)) => Changed::Left(*state),
                    None => Changed::Unknown,
                }
            };
        }
        self.told.append(told::cancel(session, now, &tell, &note_of(self.order)).await?);
        if !asked.is_empty() {
            session.run(Query::AskCancel, &[&asked, &causes]).await?;
            self.news.cancel = true;
        }
        self.told.append(plan.write(session, now).await?.told);
        let release = Release::of(&count_children(session, &plan.nodes, false).await?)?;
        self.place(release).await
    }

    async fn place(&mut self, release: Release) -> Result<(), Fault> {
        self.news.undecided |= !release.undecided.is_empty();
        self.lanes.extend(release::to_nobody(self.session, self.now, release, Arrival::Now).await?);
        Ok(())
    }

    /// Locks a graph that can be seen; answers its key and stop.
    pub(crate) async fn graph(&self, id: GraphId) -> Result<Option<(i64, Option<StopReason>)>, Fault> {
        let rows = self.session.run(Query::FindGraph, &[&id.as_uuid()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let graph: i64 = row.try_get(0)?;
        let rows = self.session.run(Query::StopLook, &[&graph]).await?;
        let held = rows.first().map(|row| row.try_get(0)).transpose()?;
        let held = stop(held);
        Ok((held != Some(StopReason::Prune)).then_some((graph, held)))
    }

    async fn stop(&mut self, id: GraphId, reason: StopReason) -> Result<Changed, Fault> {
        let Some((graph, held)) = self.graph(id).await? else { return Ok(Changed::Unknown) };
        let Order { actor, reason: why, .. } = self.order;
        let lock = reason == StopReason::Retry || held == Some(StopReason::Retry);
        if lock {
            self.lock_nodes_of(graph).await?;
        }
        let is_settled = matches!(reason, StopReason::Cancel | StopReason::Fail);
        let due = is_settled.then(|| (Timestamp::from_micros(self.now) + defaults::STOP_GRACE).as_micros());
        let row = self.session.run(Query::StopInsert, &[&graph, &reason.code(), &self.now, actor, why, &due]).await?;
        if !row.is_empty() {
            match reason {
                StopReason::Retry => self.take_back_decisions(graph).await?,
                _ if held == Some(StopReason::Retry) => {
                    self.session.run(Query::RetryDelete, &[&graph]).await?;
                    self.recount(graph).await?;
                }
                _ => {}
            }
            if is_settled {
                self.news.cancel = true;
                let note = note_of(self.order);
                self.told.append(told::tell_runs_of(self.session, self.now, (graph, reason), &note).await?);
            }
        }
        let row = self.session.one(Query::StopCounts, &[&graph]).await?;
        let number = |at: usize| Ok::<_, Fault>(u32::try_from(row.try_get::<_, i64>(at)?).unwrap_or(u32::MAX));
        Ok(Changed::Stopped(StopCounts { ended: number(0)?, running: number(1)?, unstarted: number(2)? }))
    }

    async fn settle_stopped(
        &mut self,
        (id, reason): (GraphId, StopReason),
        nodes: &[JobId],
        ending: &Ending,
        look: Option<Duration>,
    ) -> Result<Changed, Fault> {
        let ends: Vec<End<'_>> = nodes.iter().map(|job| (*job, ending, WhileRunning::Leave)).collect();
        let found = self.find(&ends).await?;
        // Who lifts the stop locks the graph: from here on it stays as it is.
        let Some((graph, held)) = self.graph(id).await? else { return Ok(Changed::Unknown) };
        if held != Some(reason) {
            return Ok(Changed::NotStopped);
        }
        let answers = self.end_found(&ends, &found).await?;
        let due = look.map(|look| (Timestamp::from_micros(self.now) + look).as_micros());
        self.session.run(Query::StopSettled, &[&graph, &due]).await?;
        let ended = answers.iter().filter(|answer| **answer == Changed::Ended).count();
        Ok(Changed::Settled { nodes: u32::try_from(ended).unwrap_or(u32::MAX) })
    }

    async fn unstop(&mut self, id: GraphId, reason: StopReason) -> Result<Changed, Fault> {
        let Some((graph, held)) = self.graph(id).await? else { return Ok(Changed::Unknown) };
        if held == Some(reason) {
            self.session.run(Query::StopDelete, &[&graph, &reason.code()]).await?;
            self.session.run(Query::RetryDelete, &[&graph]).await?;
            // Nodes that stood ready came for a decision while the stop was there.
            self.recount(graph).await?;
        }
        Ok(Changed::Unstopped)
    }

    async fn pause(&mut self, queue: &Queue) -> Result<Changed, Fault> {
        let Order { actor, reason, .. } = self.order;
        self.session.run(Query::PauseInsert, &[&queue.as_str(), &self.now, actor, reason]).await?;
        Ok(Changed::Paused)
    }

    async fn unpause(&mut self, queue: &Queue) -> Result<Changed, Fault> {
        self.session.run(Query::PauseDelete, &[&queue.as_str()]).await?;
        self.news.ready.insert(queue.clone());
        Ok(Changed::Unpaused)
    }

    async fn recount_by_order(&mut self, id: GraphId) -> Result<Changed, Fault> {
        let Some((graph, _)) = self.graph(id).await? else { return Ok(Changed::Unknown) };
        if fault::is_put_back(fault::Fault::NoRecount) {
            return Ok(Changed::Recounted { repaired: 0 });
        }
        let repaired = self.recount(graph).await?;
        if repaired > 0 {
            self.session.run(Query::MetaRepaired, &[&i64::from(repaired)]).await?;
        }
        Ok(Changed::Recounted { repaired })
    }

    /// Locks the decisions and the nodes of a locked graph.
    pub(crate) async fn lock_nodes_of(&self, graph: i64) -> Result<(), Fault> {
        self.session.run(Query::RecountUndecided, &[&graph]).await?;
        self.session.run(Query::RecountLock, &[&graph]).await?;
        self.session.run(Query::RecountNodes, &[&graph]).await?;
        Ok(())
    }

    /// Counts the parents of every node that is not released anew, and puts each where its counters say.
    pub(crate) async fn recount(&mut self, graph: i64) -> Result<u32, Fault> {
        self.lock_nodes_of(graph).await?;
        let mut repaired = 0;
        let mut release = Release::default();
        let mut moved: Vec<i64> = Vec::new();
        for row in &self.session.run(Query::Recount, &[&graph]).await? {
            let (job, phase): (i64, i16) = (row.try_get(0)?, row.try_get(2)?);
            let (was_wrong, is_held): (bool, bool) = (row.try_get(10)?, row.try_get(11)?);
            let (stands, decide) = standing(row)?;
            let is_there = match stands {
                Standing::Waits => phase == 0,
                Standing::Ready => false,
                Standing::Undecided => phase == 1 && is_held,
            };
            if !is_there {
                moved.push(job);
                release.add(job, (stands, decide));
            }
            repaired += u32::from(was_wrong || !is_there);
        }
        if !moved.is_empty() {
            self.session.run(Query::RecountReset, &[&moved]).await?;
            self.place(release).await?;
        }
        Ok(repaired)
    }
}

/// A job that an order names.
struct Found {
    key: i64,
    lone: bool,
    is_end: bool,
    /// The run that it is.
    run: Option<String>,
    rules: JobRules,
}

fn note_of(order: &Order) -> CancelNote {
    CancelNote { actor: order.actor.clone(), reason: order.reason.clone() }
}
