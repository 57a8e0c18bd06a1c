//! Carries out an operator's order, each change with its line in the audit.

use std::time::Duration;

use rusqlite::params;
use towpath_core::store::{
    Applied, CancelNote, Change, Changed, Counters, Ending, Order, StopCounts, Telling, WhileRunning,
};
use towpath_core::{Cause, GraphId, JobId, Queue, Role, State, StopReason, defaults, fault};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{self, Decide, Facts};
use crate::tx::Tx;

pub(crate) fn apply(tx: &mut Tx<'_, '_>, order: &Order) -> Result<Applied, Fault> {
    let mut changes = Vec::with_capacity(order.changes.len());
    for change in &order.changes {
        let changed = match change {
            Change::End { job, ending, running } => tx.end_by_order(*job, ending, *running, order)?,
            Change::Stop { graph, reason } => tx.put_stop(*graph, *reason, order)?,
            Change::Unstop { graph, reason } => tx.lift_stop(*graph, *reason)?,
            Change::SettleStopped { graph, reason, nodes, ending, look } => {
                tx.settle_stopped((*graph, *reason), nodes, ending, *look, order)?
            }
            Change::Recount { graph } => tx.recount_by_order(*graph)?,
            Change::Edit { job, edit } => tx.edit(*job, edit)?,
            Change::Pause { queue } => tx.pause(queue, order)?,
            Change::Unpause { queue } => tx.unpause(queue)?,
            Change::RetryRun { job, from, chapter, first, kept } => {
                tx.retry_run(*job, from, *chapter, (first, kept))?
            }
            Change::BeginRetry { graph, mode, grace } => tx.begin_retry(*graph, mode, *grace, order)?,
            Change::Rearm { graph, generation, nodes, holding, undone, behind } => {
                tx.rearm(*graph, *generation, nodes, (holding, undone, behind))?
            }
            Change::EndRetry { graph, generation } => tx.end_retry(*graph, *generation)?,
            Change::Replace { job, input } => tx.replace_input(*job, input)?,
            Change::Command { worker, wish } => tx.command(*worker, *wish, order)?,
            Change::PauseRun { run } => tx.pause_run(run, order)?,
            Change::ResumeRun { run } => tx.resume_run(run)?,
            Change::Requeue { job, from, input } => tx.requeue(*job, from, input.as_ref())?,
            _ => return Err(Fault::invalid("this store is older than the order: update it")),
        };
        if change.is_on_record() {
            tx.audit(order, change, &changed)?;
        }
        changes.push(changed);
    }
    Ok(Applied { now: tx.now, changes })
}

impl Tx<'_, '_> {
    fn end_by_order(
        &mut self,
        id: JobId,
        ending: &Ending,
        running: WhileRunning,
        order: &Order,
    ) -> Result<Changed, Fault> {
        let Some(facts) = self.db.maybe(Query::JobFind, [&id.as_bytes()[..]], rows::facts)? else {
            return Ok(Changed::Unknown);
        };
        let decide = self.db.maybe(Query::RunningDecide, [facts.key], |row| rows::decide(row.get(0)?))?;
        let begun: Option<String> = self.db.maybe(Query::RunBegun, [facts.key], |row| Ok(row.get(0)?))?;
        let is_held_back = decide.is_some_and(|decide| decide != Decide::Handler);
        if is_held_back || running == WhileRunning::Leave && (decide.is_some() || begun.is_some()) {
            return Ok(Changed::Left(self.state(facts.key)?));
        }
        if let (WhileRunning::Fence, Some(_)) = (running, decide) {
            return self.fence_out(&facts, ending);
        }
        if let (WhileRunning::Ask, Some(run)) = (running, begun) {
            self.tell_of_cancel(&run, &note_of(order))?;
            return Ok(Changed::Asked);
        }
        if decide.is_some() {
            let asked = Cause::Asked { actor: order.actor.clone(), reason: order.reason.clone() };
            let cause = rows::cause_text(Some(ending.cause.as_ref().unwrap_or(&asked)))?;
            self.db.run(Query::RunningCancel, params![facts.key, cause])?;
            self.ring_cancel();
            return Ok(Changed::Asked);
        }
        let Some(counters) = self.take_unstarted(&facts)? else { return Ok(Changed::Left(self.state(facts.key)?)) };
        let (keep, tells) = (self.keep(&facts, ending)?, self.told_of(facts.key)?);
        let over = self.end(&facts, &Ending { counters, keep, tells, ..ending.clone() }, None)?;
        self.release_to_nobody(&[over])?;
        Ok(Changed::Ended)
    }

    /// How long the job's own rules keep such an end. Rules that cannot be read are the defaults.
    fn keep(&mut self, facts: &Facts, ending: &Ending) -> Result<Duration, Fault> {
        let rules = self.db.one(Query::JobRules, [facts.key], |row| Ok(rows::rules(row, 0).unwrap_or_default()))?;
        Ok(rules.keep(ending.end))
    }

    /// Ends a job under its worker's hands.
    fn fence_out(&mut self, facts: &Facts, ending: &Ending) -> Result<Changed, Fault> {
        let Some(taken) = self.take_running(facts.key)? else { return Ok(Changed::Left(self.state(facts.key)?)) };
        let (keep, tells) = (self.keep(facts, ending)?, self.told_of(facts.key)?);
        let ending = Ending { counters: taken.counters, keep, tells, ..ending.clone() };
        let over = self.end(facts, &ending, Some(taken.started_at))?;
        self.release_to_nobody(&[over])?;
        self.ring_cancel();
        Ok(Changed::Ended)
    }

    /// The run that is told of a job's end, as its rules say.
    fn told_of(&mut self, job: i64) -> Result<Option<Box<Telling>>, Fault> {
        // An order is not refused for rules that cannot be read.
        let rules = self.db.one(Query::JobRules, [job], |row| Ok(rows::rules(row, 0).unwrap_or_default()))?;
        Ok(rules.tells())
    }

    /// Takes out a job that has not started and that no parent holds back; `end` is not for orders.
    fn take_unstarted(&mut self, facts: &Facts) -> Result<Option<Counters>, Fault> {
        if let Some(graph) = facts.graph {
            let end = self.db.maybe(Query::GraphEndNode, [graph], |row| Ok(row.get::<_, i64>(0)?))?;
            if end != Some(facts.key) && self.db.run(Query::UndecidedDelete, [facts.key])? > 0 {
                return Ok(Some(Counters::default()));
            }
        }
        self.take_idle(facts)
    }

    pub(crate) fn state(&mut self, job: i64) -> Result<State, Fault> {
        self.db.one(Query::JobState, [job], |row| rows::state(row.get(0)?))
    }

    fn put_stop(&mut self, id: GraphId, reason: StopReason, order: &Order) -> Result<Changed, Fault> {
        let Some(graph) = self.visible_graph(id)? else { return Ok(Changed::Unknown) };
        let held = self.stop(graph)?;
        let is_settled = matches!(reason, StopReason::Cancel | StopReason::Fail);
        let due = is_settled.then(|| (self.now + defaults::STOP_GRACE).as_micros());
        let row = params![graph, reason.code(), self.now_us(), order.actor, order.reason, due];
        let is_new = self.db.run(Query::StopInsert, row)? > 0;
        self.forget_stop(graph);
        if is_new && is_settled {
            self.ring_cancel();
            self.tell_runs_of(graph, reason, &note_of(order))?;
        }
        if is_new && reason == StopReason::Retry {
            self.take_back_decisions(graph)?;
        } else if is_new && held == Some(StopReason::Retry) {
            self.db.run(Query::RetryDelete, [graph])?;
            self.recount(graph)?;
        }
        let counts = self.db.one(Query::StopCounts, params![graph, Role::END.with(Role::UNDO).bits()], |row| {
            Ok(StopCounts { ended: row.get(0)?, running: row.get(1)?, unstarted: row.get(2)? })
        })?;
        Ok(Changed::Stopped(counts))
    }

    fn settle_stopped(
        &mut self,
        (id, reason): (GraphId, StopReason),
        nodes: &[JobId],
        ending: &Ending,
        look: Option<Duration>,
        order: &Order,
    ) -> Result<Changed, Fault> {
        let Some(graph) = self.visible_graph(id)? else { return Ok(Changed::Unknown) };
        if self.stop(graph)? != Some(reason) {
            return Ok(Changed::NotStopped);
        }
        let mut ended = 0;
        for job in nodes {
            let changed = self.end_by_order(*job, ending, WhileRunning::Leave, order)?;
            ended += u32::from(changed == Changed::Ended);
        }
        let due = look.map(|look| (self.now + look).as_micros());
        self.db.run(Query::StopSettled, params![graph, due])?;
        Ok(Changed::Settled { nodes: ended })
    }

    fn lift_stop(&mut self, id: GraphId, reason: StopReason) -> Result<Changed, Fault> {
        let Some(graph) = self.visible_graph(id)? else { return Ok(Changed::Unknown) };
        if self.db.run(Query::StopDelete, params![graph, reason.code()])? > 0 {
            self.forget_stop(graph);
            self.db.run(Query::RetryDelete, [graph])?;
            // Nodes that stood ready came for a decision while the stop was there.
            self.recount(graph)?;
        }
        Ok(Changed::Unstopped)
    }

    fn pause(&mut self, queue: &Queue, order: &Order) -> Result<Changed, Fault> {
        self.db.run(Query::PauseInsert, params![queue.as_str(), self.now_us(), order.actor, order.reason])?;
        Ok(Changed::Paused)
    }

    fn unpause(&mut self, queue: &Queue) -> Result<Changed, Fault> {
        self.db.run(Query::PauseDelete, [queue.as_str()])?;
        self.ring_queue(queue);
        Ok(Changed::Unpaused)
    }

    fn recount_by_order(&mut self, id: GraphId) -> Result<Changed, Fault> {
        let Some(graph) = self.visible_graph(id)? else { return Ok(Changed::Unknown) };
        if fault::is_put_back(fault::Fault::NoRecount) {
            return Ok(Changed::Recounted { repaired: 0 });
        }
        let repaired = self.recount(graph)?;
        if repaired > 0 {
            self.db.run(Query::MetaRepaired, [repaired])?;
        }
        Ok(Changed::Recounted { repaired })
    }

    /// A graph that can be seen: not one that is being pruned.
    pub(crate) fn visible_graph(&mut self, id: GraphId) -> Result<Option<i64>, Fault> {
        let Some((graph, _)) = self.stored_graph(id)? else { return Ok(None) };
        Ok((self.stop(graph)? != Some(StopReason::Prune)).then_some(graph))
    }

    pub(crate) fn audit(&mut self, order: &Order, change: &Change, changed: &Changed) -> Result<(), Fault> {
        let key = self.draw()?;
        let (action, target) = (change.action(), change.target());
        let row = params![key, self.now_us(), order.actor, order.reason, action, target, changed.to_string()];
        self.db.run(Query::AuditInsert, row)?;
        Ok(())
    }
}

fn note_of(order: &Order) -> CancelNote {
    CancelNote { actor: order.actor.clone(), reason: order.reason.clone() }
}
