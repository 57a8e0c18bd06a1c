//! Carries out an operator's order, each change with its line in the audit.

use std::time::Duration;

use crate::defaults;
use crate::fault::{self, Fault};
use crate::id::{GraphId, JobId};
use crate::lifecycle::{Cause, State, StopReason};
use crate::store::{
    Applied, CancelNote, Change, Changed, Counters, Ending, Order, PauseLine, StopCounts, StopLine, Telling,
    WhileRunning, WishLine,
};

use super::Transaction;
use super::tables::{AuditRow, Key, With};

impl Transaction<'_> {
    pub(super) fn apply(&mut self, order: Order) -> Applied {
        let Order { actor, reason, changes } = order;
        let note = CancelNote { actor: actor.clone(), reason: reason.clone() };
        let mut answers = Vec::with_capacity(changes.len());
        for change in changes {
            let (action, target, is_on_record) = (change.action(), change.target(), change.is_on_record());
            let answer = match change {
                Change::End { job, ending, running } => self.end_by_order(job, *ending, running, &note),
                Change::Stop { graph, reason: what_for } => {
                    let (actor, why) = (actor.clone(), reason.clone());
                    self.stop(graph, StopLine { reason: what_for, at: self.now, actor, why, due: None })
                }
                Change::Unstop { graph, reason } => self.unstop(graph, reason),
                Change::SettleStopped { graph, reason, nodes, ending, look } => {
                    self.settle_stopped((graph, reason), &nodes, &ending, look, &note)
                }
                Change::Recount { graph } => self.recount(graph),
                Change::Edit { job, edit } => self.edit(job, *edit),
                Change::Pause { queue } => {
                    let line = || PauseLine { at: self.now, actor: actor.clone(), why: reason.clone() };
                    self.tables.pause.entry(queue).or_insert_with(line);
                    Changed::Paused
                }
                Change::Unpause { queue } => {
                    self.tables.pause.remove(&queue);
                    self.news.ready.insert(queue);
                    Changed::Unpaused
                }
                Change::Command { worker, wish } => {
                    let line = WishLine { wish, at: self.now, actor: actor.clone(), why: reason.clone() };
                    self.command(worker, line)
                }
                Change::PauseRun { run } => {
                    let line = PauseLine { at: self.now, actor: actor.clone(), why: reason.clone() };
                    self.pause_run(&run, line)
                }
                Change::ResumeRun { run } => self.resume_run(&run),
                Change::Requeue { job, from, input } => self.requeue(job, &from, input),
                Change::RetryRun { job, from, chapter, first, kept } => {
                    self.retry_run(job, &from, chapter, (first, &kept))
                }
                Change::BeginRetry { graph, mode, grace } => {
                    let (actor, why) = (actor.clone(), reason.clone());
                    let line = StopLine { reason: StopReason::Retry, at: self.now, actor, why, due: None };
                    self.begin_retry(graph, mode, self.now + grace, line)
                }
                Change::Rearm { graph, generation, nodes, holding, undone, behind } => {
                    self.rearm(graph, generation, &nodes, (&holding, &undone, &behind))
                }
                Change::EndRetry { graph, generation } => self.end_retry(graph, generation),
                Change::Replace { job, input } => self.replace_input(job, input),
            };
            let audit = AuditRow {
                at: self.now,
                actor: actor.clone(),
                reason: reason.clone(),
                action,
                target,
                outcome: answer.to_string(),
            };
            if is_on_record {
                let key = self.tables.draw();
                self.tables.audit.insert(key, audit);
            }
            answers.push(answer);
        }
        Applied { now: self.now, changes: answers }
    }

    fn end_by_order(&mut self, id: JobId, ending: Ending, running: WhileRunning, note: &CancelNote) -> Changed {
        let Some(job) = self.tables.job_by_id.get(&id).copied() else { return Changed::Unknown };
        let with = self.tables.running.get(&job).map(|row| row.with);
        if with.is_some_and(|with| with != With::Handler) {
            return Changed::Left(self.tables.state(job));
        }
        match (running, with.is_some(), self.tables.has_begun(job)) {
            (WhileRunning::Fence, true, _) => return self.fence_out(job, ending),
            (WhileRunning::Leave, true, _) | (WhileRunning::Leave, _, true) => {
                return Changed::Left(self.tables.state(job));
            }
            (WhileRunning::Ask, _, true) => {
                self.tell_of_cancel(job, note);
                return Changed::Asked;
            }
            _ => {}
        }
        if let Some(row) = self.tables.running.get_mut(&job) {
            let asked = || Cause::Asked { actor: note.actor.clone(), reason: note.reason.clone() };
            row.cancel.get_or_insert(ending.cause.unwrap_or_else(asked));
            self.news.cancel = true;
            return Changed::Asked;
        }
        let Some(counters) = self.take_unstarted(job) else { return Changed::Left(self.tables.state(job)) };
        let (keep, tells) = (self.keep(job, &ending), self.told_of(job));
        self.end(job, Ending { counters, keep, tells, ..ending }, None);
        self.release_to_nobody(&[job]);
        Changed::Ended
    }

    /// How long the job's own rules keep such an end.
    fn keep(&self, job: Key, ending: &Ending) -> Duration {
        self.tables.job.get(&job).map_or(ending.keep, |row| row.new.rules.keep(ending.end))
    }

    /// Ends a job under its worker's hands.
    fn fence_out(&mut self, job: Key, ending: Ending) -> Changed {
        let Some(row) = self.take_running(job) else { return Changed::Left(self.tables.state(job)) };
        let (keep, tells) = (self.keep(job, &ending), self.told_of(job));
        self.end(job, Ending { counters: row.counters, keep, tells, ..ending }, Some(row.started_at));
        self.release_to_nobody(&[job]);
        self.news.cancel = true;
        Changed::Ended
    }

    /// The run that is told of a job's end, as its rules say.
    fn told_of(&self, job: Key) -> Option<Box<Telling>> {
        self.tables.job.get(&job).and_then(|row| row.new.rules.tells())
    }

    /// Takes out a job that has not started and that no parent holds back; `end` is not for orders.
    fn take_unstarted(&mut self, job: Key) -> Option<Counters> {
        if !self.tables.is_end(job) && self.tables.undecided.remove(&job) {
            return Some(Counters::default());
        }
        self.take_idle(job)
    }

    fn stop(&mut self, id: GraphId, line: StopLine) -> Changed {
        let Some((graph, _)) = self.tables.visible_graph(id) else { return Changed::Unknown };
        let reason = line.reason;
        let held = self.tables.stop.get(&graph).copied();
        // A cancel goes further than a failure: no handler of it runs either. It also takes the place of a retry.
        let takes_over = reason == StopReason::Cancel && matches!(held, Some(StopReason::Fail | StopReason::Retry));
        if held.is_none() || takes_over {
            let note = CancelNote { actor: line.actor.clone(), reason: line.why.clone() };
            self.tables.stop.insert(graph, reason);
            self.tables.stop_due.remove(&graph);
            if matches!(reason, StopReason::Cancel | StopReason::Fail) {
                self.tables.stop_due.insert(graph, self.now + defaults::STOP_GRACE);
            }
            self.tables.stopped.insert(graph, line);
            self.tables.retry.remove(&graph);
            self.tell_runs_of(graph, &note);
            match reason {
                StopReason::Retry => self.take_back_decisions(graph),
                _ if held == Some(StopReason::Retry) => drop(self.recount_nodes(graph)),
                _ => {}
            }
        }
        let mut counts = StopCounts::default();
        for job in self.tables.nodes_of(graph).filter(|job| self.tables.is_plain(*job)) {
            match self.tables.state(job) {
                State::Ended(_) => counts.ended += 1,
                State::Running => counts.running += 1,
                _ if self.tables.has_begun(job) => counts.running += 1,
                State::Waiting | State::Ready | State::Blocked => counts.unstarted += 1,
            }
        }
        Changed::Stopped(counts)
    }

    fn settle_stopped(
        &mut self,
        (id, reason): (GraphId, StopReason),
        nodes: &[JobId],
        ending: &Ending,
        look: Option<Duration>,
        note: &CancelNote,
    ) -> Changed {
        let Some((graph, _)) = self.tables.visible_graph(id) else { return Changed::Unknown };
        if self.tables.stop.get(&graph) != Some(&reason) {
            return Changed::NotStopped;
        }
        let end = |job: &JobId| self.end_by_order(*job, ending.clone(), WhileRunning::Leave, note) == Changed::Ended;
        let ended = nodes.iter().map(end).filter(|ended| *ended).count();
        match look {
            Some(look) => self.tables.stop_due.insert(graph, self.now + look),
            None => self.tables.stop_due.remove(&graph),
        };
        Changed::Settled { nodes: u32::try_from(ended).unwrap_or(u32::MAX) }
    }

    fn unstop(&mut self, id: GraphId, reason: StopReason) -> Changed {
        let Some((graph, _)) = self.tables.visible_graph(id) else { return Changed::Unknown };
        if self.tables.stop.get(&graph) == Some(&reason) {
            self.tables.stop.remove(&graph);
            self.tables.stopped.remove(&graph);
            self.tables.stop_due.remove(&graph);
            self.tables.retry.remove(&graph);
            // Nodes that stood ready came for a decision while the stop was there.
            self.recount_nodes(graph);
        }
        Changed::Unstopped
    }

    fn recount(&mut self, id: GraphId) -> Changed {
        let Some((graph, _)) = self.tables.visible_graph(id) else { return Changed::Unknown };
        if fault::is_put_back(Fault::NoRecount) {
            return Changed::Recounted { repaired: 0 };
        }
        let repaired = self.recount_nodes(graph);
        self.tables.repaired += u64::from(repaired);
        Changed::Recounted { repaired }
    }
}
